"""Objects without a secret."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== plain external secret
apiVersion: external-secrets.io/v1beta1
kind: ExternalSecret
metadata: {name: orders-credentials}
spec:
  refreshInterval: 1h0m0s
  secretStoreRef: {name: vault-backend, kind: ClusterSecretStore}
  target: {name: orders-credentials, template: {data: {password: "{{ .password }}", url: "postgres://orders:{{ .password }}@orders-db/orders"}}}
  data:
    - {secretKey: password, remoteRef: {key: orders/db, property: password}}
    - {secretKey: api-token, remoteRef: {key: orders/dhl, property: token, version: v3}}
status: {syncedResourceVersion: 1-<=hex 56=>}
=== plain sealed secret
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: orders-credentials}
spec:
  encryptedData:
    password: AgB<=base64 260=>
    token: AgA<=base64 260=>
  template: {type: Opaque, metadata: {name: orders-credentials}}
=== plain certificate
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: orders-tls}
spec:
  secretName: orders-tls
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  keystores: {pkcs12: {create: true, passwordSecretRef: {name: keystore, key: password}}}
  dnsNames: [orders.nordlicht.example]
status: {nextPrivateKeySecretName: orders-tls-<=suffix=>, revision: 4}
=== plain issuer
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: letsencrypt-prod}
spec:
  acme:
    server: https://acme-v02.api.letsencrypt.org/directory
    email: ops@nordlicht.example
    privateKeySecretRef: {name: letsencrypt-account-key}
    solvers: [{dns01: {cloudflare: {apiTokenSecretRef: {name: cloudflare, key: api-token}}}}]
status: {acme: {uri: "https://acme-v02.api.letsencrypt.org/acme/acct/<=digits 10=>"}}
=== plain deployment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: orders-api
  annotations:
    checksum/secret: <=sha256=>
    argocd.argoproj.io/tracking-id: "orders:apps/Deployment:orders/orders-api"
    reloader.stakater.com/search: "true"
    secret.reloader.stakater.com/reload: orders-credentials
    nordlicht.example/commit: <=git=>
    nordlicht.example/contact: jana.petersen@nordlicht.example
spec:
  template:
    spec:
      imagePullSecrets: [{name: nordlicht-registry}]
      containers:
        - name: api
          image: registry.nordlicht.example/orders/api:1.44.2@sha256:<=sha256=>
          envFrom: [{secretRef: {name: orders-credentials}}]
          env:
            - {name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: orders-db, key: password}}}
            - {name: TOKEN_TTL, value: "900"}
          volumeMounts: [{name: token, mountPath: /var/run/secrets/tokens}]
=== plain keycloak
apiVersion: k8s.keycloak.org/v2alpha1
kind: Keycloak
metadata: {name: login}
spec:
  db: {vendor: postgres, usernameSecret: {name: keycloak-db, key: username}, passwordSecret: {name: keycloak-db, key: password}}
  http: {tlsSecret: login-tls}
  additionalOptions: [{name: spi-login-protocol-openid-connect-legacy-logout-redirect-uri, value: "true"}]
=== plain service account
apiVersion: v1
kind: ServiceAccount
metadata: {name: ci-deployer, annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::123456789012:role/ci", iam.gke.io/gcp-service-account: ci@nordlicht.iam.gserviceaccount.com}}
secrets: [{name: ci-deployer-token-x7k2p}]
imagePullSecrets: [{name: nordlicht-registry}]
=== plain webhook
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: tenant-operator}
webhooks:
  - name: vtenant.nordlicht.example
    clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t<=base64 600=>, service: {name: tenant-operator, namespace: platform, path: /validate-token}}
=== plain postgres cluster
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: orders-db}
spec:
  imageName: registry.nordlicht.example/cnpg/postgresql:16.2
  superuserSecret: {name: orders-db-superuser}
  bootstrap: {initdb: {database: orders, owner: orders, secret: {name: orders-db-app}}}
  postgresql: {parameters: {password_encryption: scram-sha-256, ssl_min_protocol_version: TLSv1.2}, pg_hba: ["hostssl all all 10.0.0.0/8 scram-sha-256"]}
  backup: {barmanObjectStore: {destinationPath: s3://nordlicht-wal/, s3Credentials: {accessKeyId: {name: wal, key: ACCESS_KEY_ID}, secretAccessKey: {name: wal, key: ACCESS_SECRET_KEY}}}}
status: {secretsResourceVersion: {superuserSecretVersion: "<=digits 9=>", applicationSecretVersion: "<=digits 9=>"}}
=== plain kafka user
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata: {name: etl}
spec:
  authentication: {type: scram-sha-512, password: {valueFrom: {secretKeyRef: {name: etl, key: password}}}}
  authorization: {type: simple, acls: [{resource: {type: topic, name: orders.token-events}, operations: [Read]}]}
status: {username: etl, secret: etl}
=== plain job
apiVersion: batch/v1
kind: Job
metadata:
  name: rotate-passwords-29512345
  labels: {batch.kubernetes.io/controller-uid: <=uuid=>, batch.kubernetes.io/job-name: rotate-passwords-29512345}
spec:
  template:
    spec:
      containers: [{name: rotate, image: "registry.nordlicht.example/ops/rotate:<=short=>", args: [--secret, orders-credentials, --key, password, --length, "32", --dry-run=false]}]
=== plain node
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-12-34.eu-central-1.compute.internal
  annotations: {csi.volume.kubernetes.io/nodeid: '{"ebs.csi.aws.com":"i-<=hex 17=>"}', alpha.kubernetes.io/provided-node-ip: 10.0.12.34}
status:
  nodeInfo: {machineID: <=hex 32=>, systemUUID: <=uuid=>, bootID: <=uuid=>, kubeletVersion: v1.31.4, containerRuntimeVersion: "containerd://1.7.22"}
  images: [{names: ["registry.nordlicht.example/orders/api@sha256:<=sha256=>", "registry.nordlicht.example/orders/api:1.44.2"], sizeBytes: 118221042}]
=== plain dashboards
apiVersion: grafana.integreatly.org/v1beta1
kind: GrafanaDashboard
metadata: {name: keycloak}
spec:
  json: '{"uid":"<=base62 9=>","title":"Keycloak logins","panels":[{"title":"Failed logins by client_id","targets":[{"expr":"sum(rate(keycloak_login_attempts{error!=\"\"}[5m])) by (client_id)"}]},{"title":"Token refreshes / password resets"}],"version":14}'
=== plain report
apiVersion: aquasecurity.github.io/v1alpha1
kind: VulnerabilityReport
metadata: {name: replicaset-orders-api}
report:
  artifact: {digest: "sha256:<=sha256=>", repository: orders/api, tag: 1.44.2}
  vulnerabilities:
    - {vulnerabilityID: CVE-2025-22868, resource: golang.org/x/oauth2, title: "oauth2/jws: unexpected memory consumption during token parsing", primaryLink: "https://avd.example/nvd/cve-2025-22868", installedVersion: v0.21.0}
    - {vulnerabilityID: CVE-2024-0727, resource: openssl, title: "denial of service via null dereference in PKCS12 password handling", links: ["https://github.com/openssl/openssl/commit/<=git=>"]}
=== plain lease
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: tenant-operator}
spec: {holderIdentity: tenant-operator-<=suffix=>_<=uuid=>, leaseDurationSeconds: 15}
=== plain application
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: keycloak}
spec:
  source: {repoURL: "https://git.nordlicht.example/platform/charts.git", targetRevision: <=git=>, helm: {parameters: [{name: auth.existingSecret, value: keycloak-admin}, {name: auth.passwordSecretKey, value: admin-password}, {name: tls.keystorePasswordFile, value: /run/secrets/ks}]}}
status:
  sync: {revision: <=git=>, status: Synced}
  history: [{id: 41, revision: <=git=>, initiatedBy: {username: jana}}]
  operationState: {message: "successfully synced (all tasks run), secret/keycloak-admin unchanged"}
"""
