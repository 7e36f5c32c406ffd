"""Pods as vendors' charts make them."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== postgresql
BITNAMI_DEBUG=false
POSTGRESQL_PORT_NUMBER=5432
POSTGRES_USER=orders_app
POSTGRES_PASSWORD=<%strong%>
POSTGRES_POSTGRES_PASSWORD=<%base62 10%>
POSTGRES_REPLICATION_PASSWORD=<%base62 10%>
POSTGRESQL_SHARED_PRELOAD_LIBRARIES=pgaudit
POSTGRESQL_CLIENT_MIN_MESSAGES=error
=== postgres exporter
DATA_SOURCE_NAME=postgresql://exporter:<%base62 16%>@127.0.0.1:5432/postgres?sslmode=disable
PG_EXPORTER_DISABLE_SETTINGS_METRICS=true
=== mysql exporter
DATA_SOURCE_NAME=exporter:<%dull%>@(mysql-primary:3306)/
=== redis
REDIS_PASSWORD=<%base62 10%>
REDIS_MASTER_PASSWORD=<%base62 10%>
REDIS_TLS_ENABLED=no
ALLOW_EMPTY_PASSWORD=no
=== mongodb
MONGODB_ROOT_USER=root
MONGODB_ROOT_PASSWORD=<%base62 10%>
MONGODB_REPLICA_SET_KEY=<%base62 10%>
MONGODB_EXTRA_PASSWORDS=<%dull%>
MONGODB_URI=mongodb://root:<%base62 12%>@mongo-0.mongo:27017,mongo-1.mongo:27017/admin?replicaSet=rs0&authSource=admin
=== rabbitmq
RABBITMQ_USERNAME=user
RABBITMQ_PASSWORD=<%base62 16%>
RABBITMQ_ERL_COOKIE=<%base62 32%>
RABBITMQ_DEFAULT_PASS=<~guest~>
RABBITMQ_USE_LONGNAME=true
=== keycloak
KC_HOSTNAME=login.nordlicht.example
KC_DB_URL=jdbc:postgresql://keycloak-db/keycloak
KC_DB_PASSWORD=<%strong%>
KEYCLOAK_ADMIN=admin
KEYCLOAK_ADMIN_PASSWORD=<%dull%>
KC_PROXY=edge
=== grafana
GF_SECURITY_ADMIN_USER=admin
GF_SECURITY_ADMIN_PASSWORD=<%dull%>
GF_SECURITY_SECRET_KEY=<%base62 20%>
GF_DATABASE_URL=mysql://grafana:<%base62 14%>@mysql-primary:3306/grafana
GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET=<%base62 32%>
GF_AUTH_GENERIC_OAUTH_TOKEN_URL=https://login.nordlicht.example/realms/ops/protocol/openid-connect/token
GF_SMTP_PASSWORD=<%dull%>
GF_AUTH_DISABLE_LOGIN_FORM=true
=== airflow
AIRFLOW__CORE__FERNET_KEY=<%fernet%>
AIRFLOW__CORE__EXECUTOR=KubernetesExecutor
AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=postgresql+psycopg2://airflow:<%base62 16%>@airflow-postgresql.data:5432/airflow
AIRFLOW__WEBSERVER__SECRET_KEY=<%hex 32%>
AIRFLOW_CONN_DWH=snowflake://LOADER:<%strong%>@/PUBLIC?account=ab12345&warehouse=LOAD_WH
AIRFLOW_CONN_S3={"conn_type": "aws", "login": "<~aws id~>", "password": "<%aws secret%>", "extra": {"region_name": "eu-central-1"}}
AIRFLOW__API__AUTH_BACKENDS=airflow.api.auth.backend.session
=== metabase
MB_DB_TYPE=postgres
MB_DB_PASS=<%strong%>
MB_ENCRYPTION_SECRET_KEY=<%base64 32%>
MB_PASSWORD_COMPLEXITY=strong
=== superset
SUPERSET_SECRET_KEY=<%base64 42%>
DB_PASS=<%dull%>
REDIS_URL=redis://:<%base62 16%>@superset-redis:6379/1
=== n8n
N8N_ENCRYPTION_KEY=<%base62 32%>
DB_POSTGRESDB_PASSWORD=<%base62 16%>
N8N_BASIC_AUTH_ACTIVE=true
N8N_BASIC_AUTH_PASSWORD=<%dull%>
WEBHOOK_URL=https://n8n.nordlicht.example/
=== gitlab runner
CI_SERVER_URL=https://git.nordlicht.example/
CI_SERVER_TOKEN=<%runner%>
REGISTRATION_TOKEN=GR1348941<%base62 20%>
CACHE_S3_ACCESS_KEY=<~aws id~>
CACHE_S3_SECRET_KEY=<%aws secret%>
KUBERNETES_IMAGE_PULL_SECRETS=gitlab-registry
RUNNER_TAG_LIST=k8s,docker,large
=== actions runner
GITHUB_URL=https://github.com/nordlicht
ACCESS_TOKEN=<%github%>
RUNNER_TOKEN=<%upper 29%>
RUNNER_GROUP=default
NPM_TOKEN=<%npm%>
SONAR_TOKEN=<%sonar%>
=== drone
DRONE_RPC_SECRET=<%hex 32%>
DRONE_GITEA_CLIENT_ID=<=uuid=>
DRONE_GITEA_CLIENT_SECRET=gto_<%lower 52%>
DRONE_DATABASE_DATASOURCE=root:<%dull%>@tcp(mysql:3306)/drone?parseTime=true
DRONE_DATABASE_SECRET=<%hex 32%>
DRONE_USER_CREATE=username:octo,machine:false,admin:true,token:<%hex 32%>
=== minio
MINIO_ROOT_USER=minio-admin
MINIO_ROOT_PASSWORD=<%base62 20%>
MINIO_PROMETHEUS_AUTH_TYPE=public
MC_HOST_backup=https://backup:<%base62 20%>@minio.backup.example:9000
=== oauth2 proxy
OAUTH2_PROXY_CLIENT_ID=ops-tools
OAUTH2_PROXY_CLIENT_SECRET=<%base62 32%>
OAUTH2_PROXY_COOKIE_SECRET=<%base64 24%>
OAUTH2_PROXY_COOKIE_NAME=_oauth2_proxy
OAUTH2_PROXY_COOKIE_EXPIRE=168h0m0s
OAUTH2_PROXY_REDIS_CONNECTION_URL=redis://:<%base62 18%>@redis-master:6379
=== datadog agent
DD_API_KEY=<%hex 32%>
DD_APP_KEY=<%hex 40%>
DD_SITE=datadoghq.eu
DD_CLUSTER_AGENT_AUTH_TOKEN=<%base62 32%>
DD_CONTAINER_EXCLUDE=image:registry.example.com/eks/pause
=== new relic
NEW_RELIC_LICENSE_KEY=<%newrelic%>
NRIA_LICENSE_KEY=<%newrelic%>
NEW_RELIC_APP_NAME=Nordlicht Orders (prod)
=== influxdb
DOCKER_INFLUXDB_INIT_ADMIN_TOKEN=<%base64 64%>
DOCKER_INFLUXDB_INIT_PASSWORD=<%dull%>
DOCKER_INFLUXDB_INIT_RETENTION=30d
=== wordpress
WORDPRESS_DB_USER=wp
WORDPRESS_DB_PASSWORD=<%base62 10%>
WORDPRESS_PASSWORD=<%dull%>
WORDPRESS_AUTH_KEY=<%base62 64%>
WORDPRESS_NONCE_SALT=<%base62 64%>
WORDPRESS_TABLE_PREFIX=wp_
=== nextcloud
NEXTCLOUD_ADMIN_PASSWORD=<%human%>
NEXTCLOUD_TRUSTED_DOMAINS=cloud.nordlicht.example
OBJECTSTORE_S3_KEY=<~aws id~>
OBJECTSTORE_S3_SECRET=<%aws secret%>
=== strapi
APP_KEYS=<%base64 16%>,<%base64 16%>
API_TOKEN_SALT=<%base64 16%>
ADMIN_JWT_SECRET=<%base64 16%>
TRANSFER_TOKEN_SALT=<%base64 16%>
=== harbor core
CORE_SECRET=<%base62 16%>
JOBSERVICE_SECRET=<%base62 16%>
HARBOR_ADMIN_PASSWORD=<%dull%>
REGISTRY_CREDENTIAL_PASSWORD=<%base62 16%>
_REDIS_URL_CORE=redis://harbor-redis:6379/0?idle_timeout_seconds=30
CSRF_KEY=<%base62 32%>
=== external dns
CF_API_TOKEN=<%base62 40%>
DO_TOKEN=<%digitalocean%>
AZURE_CLIENT_SECRET=<%azure secret%>
AZURE_SUBSCRIPTION_ID=<=uuid=>
=== kafka connect | unusual
CONNECT_SASL_JAAS_CONFIG=org.apache.kafka.common.security.scram.ScramLoginModule required username="connect" password="<%base62 24%>";
CONNECT_BOOTSTRAP_SERVERS=kafka-0.kafka:9093,kafka-1.kafka:9093
CONNECT_SSL_KEYSTORE_PASSWORD=<%dull%>
KAFKA_CLIENT_PASSWORDS=<%dull%>,<%dull%>
KAFKA_CLIENT_USERS=connect,debezium
CONNECT_KEY_CONVERTER=org.apache.kafka.connect.storage.StringConverter
=== vault unsealer | unusual
VAULT_ADDR=https://vault.iam.svc:8200
VAULT_TOKEN=<%vault%>
VAULT_UNSEAL_KEY_1=<%base64 33%>
VAULT_UNSEAL_KEY_2=<%base64 33%>
VAULT_SKIP_VERIFY=true
=== ci job | unusual
DOCKER_AUTH_CONFIG={"auths":{"registry.nordlicht.example":{"auth":"<%basic%>"}}}
CI_JOB_JWT=<%jwt%>
KUBECONFIG_DATA=<b64{apiVersion: v1
kind: Config
users:
- name: deployer
  user:
    token: <%jwt%>
}b64>
MAVEN_CLI_OPTS=-s .m2/settings.xml --batch-mode -Dnexus.user=ci -Dnexus.pass=<%dull%>
GIT_CREDENTIALS=https://oauth2:<%gitlab%>@git.nordlicht.example
CI_COMMIT_SHA=<=git=>
CI_REGISTRY_IMAGE=registry.nordlicht.example/orders/api
SOPS_AGE_KEY=<%age%>
"""
