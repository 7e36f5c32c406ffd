"""Volumes, filters, machines, annotations: objects with a secret where few look."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== webhook receiver | unusual
apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata: {name: team-data}
spec:
  receivers:
    - name: data
      webhookConfigs: [{url: "https://discord.com/api/webhooks/<=digits 18=>/<%base62 68%>"}]
    - name: mail
      emailConfigs: [{to: data@nordlicht.example, authUsername: alerts, authPassword: {name: smtp, key: password}}]
=== ingress snippets | unusual
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: legacy-intranet
  annotations:
    nginx.ingress.kubernetes.io/auth-secret: intranet-basic-auth
    nginx.ingress.kubernetes.io/auth-realm: Authentication Required
    nginx.ingress.kubernetes.io/configuration-snippet: |
      proxy_set_header Authorization "Basic <%basic%>";
      proxy_set_header X-Forwarded-User $remote_user;
    nginx.ingress.kubernetes.io/auth-url: https://auth.nordlicht.example/verify
    cert-manager.io/cluster-issuer: letsencrypt-prod
spec: {rules: [{host: intranet.nordlicht.example}]}
=== envoy filter | unusual
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: partner-egress}
spec:
  configPatches:
    - applyTo: HTTP_FILTER
      patch:
        value:
          typed_config:
            inlineCode: |
              function envoy_on_request(h)
                h:headers():add("x-partner-key", "<%base62 36%>")
              end
=== smb volume | unusual
apiVersion: v1
kind: PersistentVolume
metadata: {name: scans}
spec:
  csi:
    driver: smb.csi.k8s.io
    volumeHandle: fs01.nordlicht.example/scans
    volumeAttributes: {source: //fs01.nordlicht.example/scans, username: svc-scan, password: <%human%>}
  mountOptions: [vers=3.0, "username=svc-scan,password=<%human%>"]
=== flex volume | unusual
apiVersion: v1
kind: PersistentVolume
metadata: {name: ceph-old}
spec:
  rbd: {monitors: ["10.1.0.1:6789"], pool: rbd, image: orders, user: admin, keyring: /etc/ceph/keyring}
  flexVolume: {driver: nordlicht/cifs, options: {networkPath: //fs02/export, mountOptions: "user=export,pass=<%dull%>"}}
=== storage class | unusual
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gluster-old}
provisioner: kubernetes.io/glusterfs
parameters: {resturl: "http://heketi:8080", restuser: admin, restuserkey: <%dull%>, secretName: heketi-secret, secretNamespace: kube-system}
=== virtual machine | unusual
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: wms-old}
spec:
  template:
    spec:
      volumes:
        - name: cloudinit
          cloudInitNoCloud:
            userData: |
              #cloud-config
              user: ops
              password: <%dull%>
              chpasswd: {expire: false}
              ssh_authorized_keys:
                - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA<=base62 43=> ops@nordlicht
              runcmd:
                - echo 'wms:<%dull%>' | chpasswd
=== last applied | unusual
apiVersion: apps/v1
kind: Deployment
metadata:
  name: labels-printer
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"labels-printer"},"spec":{"template":{"spec":{"containers":[{"env":[{"name":"CUPS_PASSWORD","value":"<%dull@printer%>"}],"name":"printer"}]}}}}'
spec: {template: {spec: {containers: [{name: printer, env: [{name: CUPS_PASSWORD, value: <%dull@printer%>}]}]}}}
=== annotations of people | unusual
apiVersion: v1
kind: Service
metadata:
  name: mq-old
  annotations:
    nordlicht.example/owner: jana.petersen@nordlicht.example
    nordlicht.example/note: "admin console http://mq-old:8161, login admin / <%dull%>, ask team logistics before a restart"
    nordlicht.example/ticket: OPS-4711
    metallb.universe.tf/allow-shared-ip: key-to-share-1.2.3.4
spec: {ports: [{port: 61616}]}
=== node bootstrap | unusual
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: worker-7}
spec:
  joinConfiguration:
    discovery: {bootstrapToken: {apiServerEndpoint: "10.0.0.10:6443", token: "<%lower 6%>.<%lower 16%>", caCertHashes: ["sha256:<=sha256=>"]}}
  users: [{name: capv, passwd: <%dull%>, sshAuthorizedKeys: ["ssh-rsa AAAAB3NzaC1yc2E<=base62 80=>"]}]
=== scaled object
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: shipping-worker}
spec:
  scaleTargetRef: {name: shipping-worker}
  triggers:
    - {type: rabbitmq, metadata: {host: "amqp://keda:<%dull%>@rabbitmq.messaging:5672/shipping", queueName: labels, value: "50"}}
    - {type: postgresql, metadata: {connection: "host=orders-db user=keda password=<%dull%> dbname=orders", query: select count(*) from jobs}}
=== policy report | unusual
apiVersion: wgpolicyk8s.io/v1alpha2
kind: PolicyReport
metadata: {name: secrets-in-env}
results:
  - policy: no-plain-secrets
    result: fail
    message: 'validation error: env DB_PASSWORD of container orders has the literal value "<%strong%>". Use secretKeyRef.'
=== crossplane user | unusual
apiVersion: sql.crossplane.io/v1alpha1
kind: User
metadata: {name: reporting}
spec:
  forProvider: {passwordSecretRef: {name: reporting, key: password}, privileges: [LOGIN]}
status:
  atProvider: {connection: "postgresql://reporting:<%strong%>@dwh:5432/mart"}
"""
