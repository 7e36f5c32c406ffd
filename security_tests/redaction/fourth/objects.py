"""Custom resources, workloads, volumes, annotations."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== tenant of a home-made operator
apiVersion: platform.nordlicht.example/v1
kind: Tenant
metadata: {name: tenant-hamburg}
spec:
  owner: lager-hamburg@nordlicht.example
  adminUser: admin
  adminPassword: <%dull%>
  database: {host: tenants-db, secretRef: tenant-hamburg-db}
  smtp: {host: smtp.nordlicht.example, user: hamburg, pass: <%human%>}
  plan: large
status: {phase: Ready, observedSpecHash: <=hex 64=>}
=== queue user of a home-made operator
apiVersion: messaging.nordlicht.example/v1alpha1
kind: QueueUser
metadata: {name: shipping}
spec:
  vhost: /shipping
  credentials: {login: shipping, secret: <%dull%>}
  tokenReviewEnabled: true
=== argocd application
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: orders}
spec:
  project: default
  source:
    repoURL: https://git.nordlicht.example/platform/charts.git
    targetRevision: <=git=>
    helm:
      parameters:
        - {name: image.tag, value: 1.44.2}
        - {name: postgresql.auth.password, value: <%dull%>}
        - {name: oauth.clientSecret, value: <%base62 32%>}
      values: |
        ingress:
          host: orders.nordlicht.example
        redis:
          auth:
            password: <%base62 16%>
        extraEnv:
          - name: DHL_API_KEY
            value: <%base62 32%>
        existingSecret: orders-credentials
=== helm release
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: keycloak}
spec:
  chart: {spec: {chart: keycloak, version: 21.4.1}}
  valuesFrom: [{kind: Secret, name: keycloak-values, valuesKey: values.yaml}]
  values:
    auth: {adminUser: admin, adminPassword: <%dull%>, existingSecret: ""}
    postgresql: {auth: {postgresPassword: <%strong%>, username: keycloak}}
    image: {tag: 25.0.2-debian-12-r1}
=== k3s chart config
apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: {name: traefik}
spec:
  valuesContent: |-
    additionalArguments:
      - --certificatesresolvers.le.acme.email=ops@nordlicht.example
    env:
      - name: CF_DNS_API_TOKEN
        value: <%base62 40%>
=== workflow
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: nightly-import-x7k2p}
spec:
  arguments:
    parameters:
      - {name: date, value: "2026-03-04"}
      - {name: db-password, value: <%strong%>}
      - {name: source, value: "sftp://nordlicht:<%dull%>@sftp.partner.example/out"}
      - {name: max-tokens, value: "2048"}
  templates:
    - name: load
      container: {image: "registry.nordlicht.example/data/loader:4.2.0", args: ["--dsn={{workflow.parameters.source}}", "--api-token", "<%base62 40%>"]}
=== task run
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: build-orders-9f2kd}
spec:
  params:
    - {name: revision, value: <=git=>}
    - {name: GIT_TOKEN, value: <%github%>}
    - {name: image, value: "registry.nordlicht.example/orders/api:<=short=>"}
status:
  results: [{name: IMAGE_DIGEST, value: "sha256:<=sha256=>"}]
=== spark application
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: daily-mart}
spec:
  mainClass: com.nordlicht.dwh.Daily
  sparkConf:
    spark.hadoop.fs.s3a.secret.key: <%aws secret%>
    spark.hadoop.fs.s3a.access.key: <~aws id~>
    spark.sql.shuffle.partitions: "400"
  arguments: ["--jdbc", "jdbc:postgresql://dwh/mart?user=mart&password=<%dull%>"]
=== kafka connector
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata: {name: orders-cdc}
spec:
  class: io.debezium.connector.postgresql.PostgresConnector
  config:
    database.hostname: orders-db
    database.password: <%dull%>
    key.converter: org.apache.kafka.connect.json.JsonConverter
    slot.name: debezium_orders
=== realm import
apiVersion: k8s.keycloak.org/v2alpha1
kind: KeycloakRealmImport
metadata: {name: nordlicht}
spec:
  keycloakCRName: keycloak
  realm:
    realm: nordlicht
    accessTokenLifespan: 300
    clients:
      - {clientId: orders-backend, secret: <%base62 32%>, publicClient: false, redirectUris: ["https://orders.nordlicht.example/*"]}
    users:
      - {username: batch, credentials: [{type: password, value: <%dull%>, temporary: false}]}
    smtpServer: {host: smtp.nordlicht.example, password: <%human%>, from: noreply@nordlicht.example}
    identityProviders: [{alias: azure, config: {clientId: <=uuid=>, clientSecret: <%azure secret%>}}]
=== cron job
apiVersion: batch/v1
kind: CronJob
metadata: {name: price-sync}
spec:
  schedule: "*/15 * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: sync
              image: registry.nordlicht.example/pricing/sync:2.8.1
              command: [sh, -c, "curl -s -H 'X-Auth-Token: <%hex 40%>' https://erp.nordlicht.example/prices | psql postgres://pricing:<%dull%>@pricing-db/pricing -f -"]
              env:
                - {name: ERP_SESSION_SECRET, value: <%base62 24%>}
=== stateful set
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: solr}
spec:
  template:
    spec:
      initContainers:
        - name: acl
          image: registry.nordlicht.example/vendor/solr:9.5
          args: [auth, enable, -credentials, "solr:<%dull%>"]
      containers:
        - name: solr
          env:
            - {name: SOLR_OPTS, value: "-Dbasicauth=solr:<%dull%> -DzkACLProvider=org.apache.solr.common.cloud.VMParamsAllAndReadonlyDigestZkACLProvider -DzkDigestPassword=<%dull%>"}
          livenessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983, httpHeaders: [{name: Authorization, value: Basic <%basic%>}]}}
=== probe headers
apiVersion: apps/v1
kind: Deployment
metadata: {name: partner-api}
spec:
  template:
    spec:
      containers:
        - name: api
          readinessProbe: {httpGet: {path: "/ready?token=<%base62 24%>", port: 8080}}
          livenessProbe: {httpGet: {path: /live, port: 8080, httpHeaders: [{name: X-Health-Key, value: <%base62 20%>}, {name: Host, value: api.nordlicht.example}]}}
          lifecycle: {preStop: {exec: {command: [sh, -c, "curl -X POST -u ops:<%dull%> localhost:8080/drain"]}}}
=== inference service
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: demand-forecast}
spec:
  predictor:
    model:
      storageUri: s3://nordlicht-ml/models/demand/17
      env:
        - {name: HUGGING_FACE_HUB_TOKEN, value: <%hf%>}
        - {name: TOKENIZER_MODE, value: auto}
=== ray cluster
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: train}
spec:
  headGroupSpec:
    rayStartParams: {dashboard-host: 0.0.0.0, redis-password: <%dull%>, num-cpus: "4"}
=== grafana contact point
apiVersion: grafana.integreatly.org/v1beta1
kind: GrafanaContactPoint
metadata: {name: oncall}
spec:
  type: slack
  settings: {url: "https://hooks.slack.com/services/<%slack path%>", recipient: "#oncall"}
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
