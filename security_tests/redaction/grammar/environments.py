"""Environments of charts that are widely used. A line that starts with ~ sets what only looks like a secret."""

from __future__ import annotations

from typing import Final

__all__ = ["ENVIRONMENTS"]

ENVIRONMENTS: Final[dict[str, str]] = {
    "content": """
WORDPRESS_AUTH_KEY=<%rich%>
WORDPRESS_SECURE_AUTH_KEY=<%b62 24%>
WORDPRESS_LOGGED_IN_KEY=<%b62 64%>
WORDPRESS_NONCE_KEY=<%b62 24%>
WORDPRESS_AUTH_SALT=<%b62 24%>
WORDPRESS_NONCE_SALT=<%rich%>
APP_KEY=base64:<%b64 32%>
APP_KEYS=<%b64 16%>,<%b64 16%>
API_TOKEN_SALT=<%b64 16%>
TRANSFER_TOKEN_SALT=<%b64 16%>
DEVISE_PEPPER=<%hex 64%>
PASSWORD_PEPPER=<%b62 20%>
PEPPER=<%b62 16%>
SALT=<%b62 32%>
HASH_SALT=<%b62 24%>
HASHIDS_SALT=<%b62 12%>
SESSION_SEED=<%b62 32%>
RELEASE_COOKIE=<%b62 32%>
COOKIE=<%b62 20%>
AUTH=<%b62 24%>
LIVE_VIEW_SIGNING_SALT=<%b62 8%>
database__connection__password=<%pw%>
mail__options__auth__pass=<%dull%>
OTP_SECRET=<%hex 64%>
VAPID_PRIVATE_KEY=<%url64 32%>
~VAPID_PUBLIC_KEY=<=url64 65=>
NC_DB=pg://pg:5432?u=noco&p=<%strong%>&d=noco
NODE_RED_CREDENTIAL_SECRET=<%b62 20%>
STATIC_CRON_TOKEN=<%b62 32%>
_APP_OPENSSL_KEY_V1=<%b62 32%>
LOCKBOX_MASTER_KEY=<%hex 64%>
CALENDSO_ENCRYPTION_KEY=<%b62 24%>
TOTP_VAULT_KEY=<%b64 32%>
~APP_KEY_FILE=/run/secrets/app_key
~COOKIE_DOMAIN=.shop.example.com
~COOKIE_SAMESITE=Lax
~AUTH_PROVIDER=keycloak-oidc-2
~SEED_DATABASE=true
~AUTHOR_EMAIL=jane.doe@example.com
~SALT_MASTER=salt-master-0.infra
~SESSION_DRIVER=redis
""",
    "data": """
MONGODB_REPLICA_SET_KEY=<%b62 10%>
REDISCLI_AUTH=<%b62 10%>
ETCDCTL_USER=root:<%b62 10%>
NEO4J_AUTH=neo4j/<%pw%>
CONSUL_HTTP_AUTH=ops:<%pw%>
CONSUL_GOSSIP_KEY=<%b64 32%>
CONSUL_ENCRYPT=<%b64 16%>
NOMAD_GOSSIP_ENCRYPTION_KEY=<%b64 32%>
SURREAL_PASS=<%dull%>
ORACLE_PWD=<%pw%>
SA_PASSWORD=<%rich%>
MEILI_MASTER_KEY=<%b62 32%>
AUTHENTICATION_APIKEY_ALLOWED_KEYS=<%b62 32%>,<%b62 32%>
MC_HOST_local=http://minio:<%strong%>@minio:9000
B2_ACCOUNT_KEY=<%b62 31%>
RCLONE_CONFIG_S3_SECRET_ACCESS_KEY=<%b64 30%>
RCLONE_CONFIG_PASS=<%dashed%>
SPACES_SECRET=<%b62 43%>
KAFKA_SASL_JAAS=org.apache.kafka.common.security.scram.ScramLoginModule required username=app password=<%dull%>;
GITLAB_SECRETS_DB_KEY_BASE=<%hex 64%>
GITLAB_OMNIBUS_CONFIG=gitlab_rails['initial_root_password'] = '<%pw%>'; external_url 'https://git.example.com'
HASURA_GRAPHQL_JWT_SECRET={"type":"HS256","key":"<%b62 48%>"}
COUCHDB_SECRET=<%b62 20%>
ARTIFACTORY_JOIN_KEY=<%hex 32%>
JF_SHARED_SECURITY_JOINKEY=<%hex 32%>
JF_SHARED_SECURITY_MASTERKEY=<%hex 32%>
CSRF_KEY=<%b62 32%>
DB_KEY=<%b62 32%>
SQLCIPHER_KEY=<%b62 20%>
LUKS_KEY=<%b62 24%>
~KAFKA_KRAFT_CLUSTER_ID=<=url64 16=>
~MONGODB_REPLICA_SET_NAME=rs0
~KAFKA_SSL_KEY_CREDENTIALS=key_creds
~PARTITION_KEY=tenantId2024
~PRIMARY_KEY=order_id
~REDIS_KEY_PREFIX=shop:v2:
~CACHE_KEY=catalog-v17
~DISTRIBUTION_KEY=orders2024ByRegion
""",
    "clouds": """
TF_TOKEN_app_terraform_io=<%b62 14%>.atlasv1.<%b62 60%>
PROXMOX_VE_API_TOKEN=root@pam!tf=<%uuid%>
OVH_CONSUMER_KEY=<%b62 32%>
TWITTER_CONSUMER_KEY=<%b62 25%>
AZURE_OPENAI_KEY=<%hex 32%>
AZURE_SEARCH_KEY=<%b62 52%>
COSMOS_KEY=<%b64 64%>
KAGGLE_KEY=<%hex 32%>
GOOGLE_MAPS_KEY=<%GCP API key%>
LD_SDK_KEY=sdk-<%uuid%>
INSTANA_AGENT_KEY=<%b62 22%>
NB_SETUP_KEY=<%uuid%>
TUNNEL_TOKEN=<%b62 90%>
TS_AUTHKEY=tskey-auth-<%b62 17%>-<%b62 32%>
PLEX_CLAIM=claim-<%b62 20%>
AIRBRAKE_PROJECT_KEY=<%hex 32%>
PAGERDUTY_KEY=<%hex 32%>
VICTOROPS_ROUTING_KEY=<%b62 24%>
FCM_KEY=<%b62 40%>
ADYEN_HMAC_KEY=<%hex 64%>
CRYPTO_KEY=<%b62 32%>
ENC_KEY=<%b62 32%>
DATA_KEY=<%b64 32%>
AES_IV=<%hex 32%>
JWT_KEY=<%b62 48%>
WG_PRIVATE_KEY=<%b64 32%>
OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=<%b62 22%>
OTEL_EXPORTER_OTLP_TRACES_HEADERS=api-key=<%b62 40%>,x-scope-orgid=shop
APPLICATIONINSIGHTS_CONNECTION_STRING=InstrumentationKey=<%uuid%>;IngestionEndpoint=https://westeurope-5.in.applicationinsights.azure.com/
AIRFLOW_CONN_WAREHOUSE=postgres://etl:<%strong%>@wh:5432/dw
AIRFLOW_CONN_HTTP={"conn_type":"http","login":"api","password":"<%dull%>"}
LIVEKIT_KEYS=APIshop: <%b62 40%>
SMTP_AUTH=alerts:<%pw%>
SMTP_LOGIN=alerts@example.com:<%pw%>
REGISTRY_AUTH=<%basic%>
MAILER_DSN=smtp://alerts:<%strong%>@smtp.example.com:587
WEBHOOK=https://discord.com/api/webhooks/<=digits 18=>/<%b62 68%>
HOOK=https://hooks.slack.com/services/T<=upper 8=>/B<=upper 10=>/<%b62 24%>
ADMIN_CREDENTIALS=admin:<%pw%>
MOT_DE_PASSE=<%dull%>
CONTRASENA_BD=<%dull%>
DB_SENHA=<%dull%>
DB_KENNWORT=<%dull%>
DB_HASLO=<%dull%>
DB_HESLO=<%dull%>
DB_PAROLA=<%dull%>
DB_SIFRE=<%dull%>
DB_CLAVE=<%dull%>
MDP_ADMIN=<%dull%>
DB_LOSENORD=<%dull%>
DB_SALASANA=<%dull%>
DB_PASSORD=<%dull%>
DB_ADGANGSKODE=<%dull%>
DB_PAROL=<%dull%>
VNC_PW=<%dull%>
LDAP_BINDPW=<%pw%>
ROOTPW=<%pw%>
SNMP_COMMUNITY=<%b62 14%>
SNMP_AUTH_PASS=<%dull%>
BIND_CREDENTIALS=<%pw%>
DBPASSWD=<%dull%>
dbPwd=<%dull%>
ADMINPASS=<%dull%>
POSTGRESPASS=<%dull%>
PASS=<%dull%>
PW=<%dull%>
LUKS_PASSPHRASE=<%phrase%>
SUDO_PASS=<%dull%>
MASTER_PWD=<%dull%>
KEYSTORE_PW=<%dull%>
SIGNING_SEED=<%hex 64%>
WALLET_MNEMONIC=<%words%>
RECOVERY_PHRASE=<%words%>
SEED_PHRASE=<%words%>
BACKUP_CODES=<%digits 8%> <%digits 8%> <%digits 8%>
~PASS_THROUGH=true
~PWD=/app
~HOST_KEY_CHECKING=accept-new
~SSH_KEY_TYPE=ed25519
~AZURE_KEYVAULT_NAME=kv-shop-prod-2
~GCP_KMS_KEY=projects/shop/locations/eu/keyRings/r/cryptoKeys/k
~AWS_KMS_KEY=arn:aws:kms:eu-central-1:<=digits 12=>:key/<=uuid=>
~SNMP_VERSION=3
~TRACE_KEY=<=hex 32=>
~BUILD_KEY=<=hex 40=>
~INSTRUMENTATION_NAME=opentelemetry
~OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4317
~OTEL_RESOURCE_ATTRIBUTES=service.name=web,service.version=1.2.3
~RANDOM_SEED=42
~LOGIN_URL=https://sso.example.com/login
~USER_AGENT=Mozilla/5.0
""",
}
