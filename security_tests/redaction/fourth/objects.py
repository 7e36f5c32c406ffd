"""Custom resources and workloads."""

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
"""
