"""Environments of products. A line that starts with ~ sets what only looks like a secret."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["ENVIRONMENTS"]

ENVIRONMENTS: Final = markup.sections(
    r"""
=== keycloak
KEYCLOAK_ADMIN=admin
KEYCLOAK_ADMIN_PASSWORD=<%weak de%>
KC_DB_URL=jdbc:postgresql://kc-pg:5432/keycloak
KC_DB_PASSWORD=<%strong%>
KC_SPI_TRUSTSTORE_FILE_PASSWORD=<%dull%>
KC_HTTPS_KEY_STORE_PASSWORD=<%dull%>
~KC_HTTPS_CERTIFICATE_KEY_FILE=/opt/keycloak/conf/tls/tls.key
~KC_SPI_PASSWORD_HASHING_PBKDF2_ITERATIONS=27500
~KC_SPI_LOGIN_PROTOCOL_OPENID_CONNECT_LEGACY_LOGOUT_REDIRECT_URI=true
~KC_FEATURES=token-exchange,admin-fine-grained-authz,passkeys
=== mattermost
MM_SQLSETTINGS_DATASOURCE=postgres://mmuser:<%odd|url%>@mm-db:5432/mattermost?sslmode=disable&connect_timeout=10
MM_FILESETTINGS_AMAZONS3SECRETACCESSKEY=<%b64 30%>
MM_EMAILSETTINGS_SMTPPASSWORD=<%weak en%>
MM_SQLSETTINGS_ATRESTENCRYPTKEY=<%lower 32%>
MM_FILESETTINGS_PUBLICLINKSALT=<%lower 32%>
~MM_PASSWORDSETTINGS_MINIMUMLENGTH=12
~MM_EMAILSETTINGS_ENABLESMTPAUTH=true
~MM_SERVICESETTINGS_ENABLEUSERACCESSTOKENS=false
=== airflow
AIRFLOW__CORE__FERNET_KEY=<%url64 32%>=
AIRFLOW__WEBSERVER__SECRET_KEY=<%hex 32%>
AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=postgresql+psycopg2://airflow:<%weak es|url%>@airflow-pg/airflow
AIRFLOW__CELERY__BROKER_URL=redis://:<%b62 10%>@airflow-redis:6379/0
AIRFLOW_CONN_SNOWFLAKE=snowflake://etl:<%strong%>@acme-eu1/dwh?warehouse=ETL&role=LOADER
AIRFLOW_CONN_HTTP_CRM={"conn_type": "http", "host": "crm.example.com", "login": "etl", "password": "<%weak fr%>"}
AIRFLOW_VAR_SLACK_WEBHOOK=https://hooks.slack.com/services/T<=upper 9=>/B<=upper 9=>/<%b62 24%>
~AIRFLOW__CORE__HIDE_SENSITIVE_VAR_CONN_FIELDS=True
~AIRFLOW__API__AUTH_BACKENDS=airflow.api.auth.backend.basic_auth
~AIRFLOW__SECRETS__BACKEND=airflow.providers.hashicorp.secrets.vault.VaultBackend
~AIRFLOW__SECRETS__BACKEND_KWARGS={"connections_path": "connections", "mount_point": "airflow", "url": "http://vault:8200"}
=== temporal
SQL_PASSWORD=<%dull%>
POSTGRES_PWD=<%weak pt%>
TEMPORAL_AUTH_CLIENT_SECRET=<%b62 40%>
TEMPORAL_CLOUD_API_KEY=<%jwt%>
~TEMPORAL_TLS_REQUIRE_CLIENT_AUTH=true
~TEMPORAL_CLI_ADDRESS=temporal-frontend.temporal.svc:7233
=== gitlab
GITLAB_OMNIBUS_CONFIG=external_url 'https://git.example.com'; gitlab_rails['initial_root_password'] = '<%weak de%>'; gitlab_rails['smtp_password'] = "<%strong%>"; gitlab_rails['smtp_enable'] = true
GITLAB_ROOT_PASSWORD=<%odd%>
GITLAB_SHARED_RUNNERS_REGISTRATION_TOKEN=<%b62 20 GR1348941%>
CI_SERVER_TOKEN=<%b62 20 glrt-%>
CI_JOB_TOKEN=<%b62 20 glcbt-64_%>
~CI_COMMIT_SHA=<=hex 40=>
~CI_JOB_JWT_VERSION=v2
~GITLAB_SECRETS_DB_KEY_BASE_FILE=/etc/gitlab/secrets/db_key_base
=== harbor
HARBOR_ADMIN_PASSWORD=<%weak en%>
CORE_SECRET=<%b62 16%>
JOBSERVICE_SECRET=<%b62 16%>
CSRF_KEY=<%b62 32%>
REGISTRY_CREDENTIAL_USERNAME=harbor_registry_user
REGISTRY_CREDENTIAL_PASSWORD=<%b62 14%>
_REDIS_URL_CORE=redis://:<%weak ja%>@harbor-redis:6379/0?idle_timeout_seconds=30
~TOKEN_SERVICE_URL=http://harbor-core:80/service/token
~TOKEN_PRIVATE_KEY_PATH=/etc/core/private_key.pem
~KEY_PATH=/etc/core/key
=== nexus jenkins sonar
NEXUS_SECURITY_INITIAL_PASSWORD=<%weak fr%>
JENKINS_PASS=<%dull%>
JENKINS_API_TOKEN=<%hex 32 11%>
JENKINS_AGENT_SECRET=<%hex 64%>
JNLP_PROTOCOL_OPTS=-Dorg.jenkinsci.remoting.engine.JnlpProtocol3.disabled=false
SONAR_TOKEN=<%hex 40 squ_%>
SONAR_WEB_SYSTEMPASSCODE=<%weak en%>
CASC_JENKINS_CONFIG=/var/jenkins_home/casc
~NEXUS_SECURITY_RANDOMPASSWORD=false
~SECRETS=/run/secrets/jenkins
~JENKINS_CREDENTIALS_ID=git-deploy-ssh-key
=== minio
MINIO_ROOT_USER=minio
MINIO_ROOT_PASSWORD=<%weak ja%>
MINIO_IDENTITY_OPENID_CLIENT_SECRET=<%uuid%>
MINIO_KMS_SECRET_KEY=minio-default-key:<%b64 32%>
MC_HOST_backup=https://backup:<%b62 40%>@s3.example.com
MINIO_AUDIT_WEBHOOK_AUTH_TOKEN_splunk=<%uuid%>
MINIO_NOTIFY_POSTGRES_CONNECTION_STRING_main=host=pg port=5432 dbname=minio user=minio password=<%dull%> sslmode=disable
~MINIO_PROMETHEUS_AUTH_TYPE=public
~MINIO_KMS_KES_KEY_NAME=minio-key-2026
~MINIO_API_SECRET_EXPIRY=720h
=== rabbit kafka
RABBITMQ_DEFAULT_PASS=<%strong%>
RABBITMQ_ERLANG_COOKIE=<%upper 20%>
KAFKA_CLIENT_PASSWORDS=<%b62 10%>,<%b62 11%>
KAFKA_OPTS=-Djava.security.auth.login.config=/opt/jaas.conf -Djavax.net.ssl.trustStorePassword=<%dull%> -Xmx2g
KAFKA_SASL_JAAS_CONFIG=org.apache.kafka.common.security.scram.ScramLoginModule required username="shop" password="<%odd%>";
CONNECT_SASL_OAUTHBEARER_CLIENT_SECRET=<%b62 32%>
SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO=sr:<%strong%>
~KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CLIENT:SASL_SSL,INTERNAL:PLAINTEXT
~KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL=SCRAM-SHA-512
~KAFKA_CFG_SSL_KEYSTORE_LOCATION=/certs/kafka.keystore.jks
~KAFKA_KRAFT_CLUSTER_ID=<=url64 16=>
=== clickhouse elastic mongo
CLICKHOUSE_PASSWORD=<%pin%>
CLICKHOUSE_ADMIN_PASSWORD=<%quote%>
ELASTIC_PASSWORD=<%b62 20%>
KIBANA_SYSTEM_PASS=<%weak es%>
XPACK_ENCRYPTEDSAVEDOBJECTS_ENCRYPTIONKEY=<%hex 32%>
ES_JAVA_OPTS=-Xms1g -Des.keystore.passphrase=<%dull%>
OPENSEARCH_INITIAL_ADMIN_PASSWORD=<%odd%>
MONGO_URI=mongodb+srv://app:<%strong%>@cluster0.ab1cd.mongodb.net/shop?retryWrites=true&w=majority
MONGODB_EXTRA_PASSWORDS=<%dull%>;<%dull%>
~ELASTICSEARCH_HOSTS=["https://es-0:9200"]
~XPACK_SECURITY_HTTP_SSL_KEY=/usr/share/elasticsearch/config/certs/tls.key
~CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT=1
=== superset n8n supabase
SUPERSET_SECRET_KEY=<%b64 42%>
SUPERSET_ADMIN_PW=<%weak en%>
N8N_ENCRYPTION_KEY=<%b62 32%>
N8N_BASIC_AUTH_PASSWORD=<%phrase%>
DB_POSTGRESDB_PASSWORD=<%dull%>
GOTRUE_JWT_SECRET=<%b62 40%>
SUPABASE_SERVICE_KEY=<%jwt%>
PGRST_DB_URI=postgres://authenticator:<%dull%>@db:5432/postgres
LOGFLARE_API_KEY=<%b62 28%>
DASHBOARD_PASSWORD=<%sentence%>
GOTRUE_EXTERNAL_GITHUB_SECRET=<%hex 40%>
~N8N_USER_MANAGEMENT_JWT_DURATION_HOURS=168
~GOTRUE_PASSWORD_MIN_LENGTH=8
~GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED=true
=== frameworks
DJANGO_SECRET_KEY=django-insecure-<%draw%>
DATABASE_URL=mysql://django:<%odd|url%>@mysql/app
EMAIL_HOST_PASSWORD=<%lower 16%>
SECRET_KEY_BASE=<%hex 128%>
RAILS_MASTER_KEY=<%hex 32%>
DEVISE_PEPPER=<%hex 64%>
APP_KEY=base64:<%b64 32%>
SPRING_DATASOURCE_PASSWORD=<%odd%>
SPRING_APPLICATION_JSON={"spring":{"datasource":{"url":"jdbc:mysql://m/app","username":"app","password":"<%weak de%>"}}}
JASYPT_ENCRYPTOR_PASSWORD=<%phrase%>
ConnectionStrings__Default=Server=sql,1433;Database=Shop;User Id=sa;Password=<%strong%>;TrustServerCertificate=True
Authentication__Google__ClientSecret=<%b62 28 GOCSPX-%>
NEXTAUTH_SECRET=<%b64 32%>
AUTH0_CLIENT_SECRET=<%url64 48%>
PHX_SECRET=<%b64 48%>
~SPRING_PROFILES_ACTIVE=prod,vault,password-reset-v2
~ASPNETCORE_Kestrel__Certificates__Default__KeyPath=/certs/tls.key
~DJANGO_AUTH_PASSWORD_VALIDATORS=django.contrib.auth.password_validation.MinimumLengthValidator
=== cloud
AWS_ACCESS_KEY_ID=<~upper 16 AKIA~>
AWS_SECRET_ACCESS_KEY=<%b64 30%>
AWS_SESSION_TOKEN=<%b64 180 IQoJb3JpZ2luX2Vj%>
AZURE_CLIENT_SECRET=<%b62 31 abc8Q~%>
AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=https;AccountName=shopblobs;AccountKey=<%b64 64%>;EndpointSuffix=core.windows.net
SERVICEBUS_CONNECTION=Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=<%b64 32%>
BLOB_SAS_URL=https://shop.blob.core.windows.net/in?sv=2022-11-02&ss=b&se=2027-01-01T00:00:00Z&sig=<%b64 32|url%>
DIGITALOCEAN_ACCESS_TOKEN=<%hex 64 dop_v1_%>
HCLOUD_TOKEN=<%b62 64%>
CLOUDFLARE_API_TOKEN=<%b62 40%>
OVH_CONSUMER_KEY=<%hex 32%>
SCW_SECRET_KEY=<%uuid%>
TF_VAR_db_password=<%weak pt%>
ARM_ACCESS_KEY=<%b64 64%>
B2_APPLICATION_KEY=<%b62 28 K005%>
~AWS_ROLE_ARN=arn:aws:iam::123456789012:role/secret-reader-<=suffix 6=>
~AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks.amazonaws.com/serviceaccount/token
~AZURE_CLIENT_ID=<=uuid=>
~AZURE_TENANT_ID=<=uuid=>
~GOOGLE_APPLICATION_CREDENTIALS=/var/secrets/google/key.json
~KMS_KEY_ARN=arn:aws:kms:eu-central-1:123456789012:key/<=uuid=>
""".replace("<%draw%>", "<%b62 50%>")
)
