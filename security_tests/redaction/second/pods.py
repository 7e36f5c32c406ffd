"""Environments and command lines of what runs in clusters. A line that starts with ~ sets what only looks like a secret."""

from __future__ import annotations

from typing import Final

__all__ = ["COMMANDS", "ENVIRONMENTS"]

ENVIRONMENTS: Final[dict[str, str]] = {
    "postgresql": """
BITNAMI_DEBUG=false
~POSTGRESQL_PORT_NUMBER=5432
~POSTGRESQL_VOLUME_DIR=/bitnami/postgresql
POSTGRES_PASSWORD=<%pw%>
POSTGRES_POSTGRES_PASSWORD=<%pw%>
POSTGRES_REPLICATION_PASSWORD=<%b62 10%>
~POSTGRESQL_SHARED_PRELOAD_LIBRARIES=pgaudit
~POSTGRESQL_CLIENT_MIN_MESSAGES=error
~POSTGRESQL_LDAP_BIND_PASSWORD_FILE=/opt/bitnami/postgresql/secrets/ldap-password
~POSTGRES_HOST_AUTH_METHOD=scram-sha-256
DATA_SOURCE_NAME=postgresql://exporter:<%strong%>@127.0.0.1:5432/postgres?sslmode=disable
""",
    "mysql tools": """
MYSQL_PWD=<%pw%>
MYSQL_ROOT_HOST=%
~MYSQL_AUTHENTICATION_PLUGIN=caching_sha2_password
MARIADB_GALERA_MARIABACKUP_PASSWORD=<%b62 10%>
PGPASSWORD=<%pw%>
REDISCLI_AUTH=<%b62 10%>
~PGPASSFILE=/home/postgres/.pgpass
~REDIS_TLS_KEY_FILE=/opt/bitnami/redis/certs/tls.key
~PGBOUNCER_AUTH_TYPE=scram-sha-256
~PGBOUNCER_AUTH_QUERY=SELECT usename, passwd FROM pg_shadow WHERE usename=$1
""",
    "redis mongo": """
REDIS_PASSWORD=<%dull%>
REDIS_MASTER_PASSWORD=<%dull%>
MONGODB_ROOT_PASSWORD=<%b62 10%>
MONGODB_REPLICA_SET_KEY=<%b62 10%>
MONGO_INITDB_ROOT_PASSWORD=<%dull%>
ME_CONFIG_MONGODB_ADMINPASSWORD=<%dull%>
ME_CONFIG_BASICAUTH_PASSWORD=<%dull%>
~ME_CONFIG_OPTIONS_EDITORTHEME=ambiance
~MONGODB_ADVERTISED_HOSTNAME=mongodb-0.mongodb-headless.shop.svc.cluster.local
~ALLOW_EMPTY_PASSWORD=no
~REDIS_MASTER_HOST=redis-master.cache.svc.cluster.local
""",
    "rabbitmq": """
RABBITMQ_PASSWORD=<%b62 16%>
RABBITMQ_ERL_COOKIE=<%b62 32%>
RABBITMQ_ERLANG_COOKIE=<%upper 20%>
RABBITMQ_DEFAULT_PASS=<%dull%>
~RABBITMQ_NODE_NAME=rabbit@$(MY_POD_NAME).rabbitmq-headless.$(MY_POD_NAMESPACE).svc.cluster.local
~RABBITMQ_LDAP_ENABLE=no
~RABBITMQ_MANAGEMENT_ALLOW_WEB_ACCESS=true
""",
    "kafka": """
KAFKA_CLIENT_PASSWORDS=<%b62 10%>,<%b62 10%>
KAFKA_INTER_BROKER_PASSWORD=<%b62 10%>
KAFKA_CONTROLLER_PASSWORD=<%dull%>
~KAFKA_CLIENT_USERS=user1,user2
~KAFKA_KRAFT_CLUSTER_ID=<=url64 16=>
~KAFKA_CFG_SASL_ENABLED_MECHANISMS=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO=registry:<%b62 24%>
CONNECT_SASL_JAAS_CONFIG=org.apache.kafka.common.security.plain.PlainLoginModule required username="<=upper 16=>" password="<%b64 48%>";
SASL_JAAS_CONFIG=org.apache.kafka.common.security.scram.ScramLoginModule required username='app' password='<%pw%>';
~CONNECT_KEY_CONVERTER=org.apache.kafka.connect.json.JsonConverter
~CONNECT_VALUE_CONVERTER_SCHEMA_REGISTRY_BASIC_AUTH_CREDENTIALS_SOURCE=USER_INFO
~CONNECT_INTERNAL_KEY_CONVERTER_SCHEMAS_ENABLE=false
""",
    "spring": """
SPRING_DATASOURCE_URL=jdbc:postgresql://db:5432/orders
SPRING_DATASOURCE_PASSWORD=<%pw%>
SPRING_RABBITMQ_PASSWORD=<%pw%>
SPRING_DATA_MONGODB_URI=mongodb://orders:<%strong%>@mongo-0.mongo:27017,mongo-1.mongo:27017/orders?replicaSet=rs0&authSource=admin
SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_KEYCLOAK_CLIENTSECRET=<%b62 32%>
~SPRING_SECURITY_OAUTH2_CLIENT_PROVIDER_KEYCLOAK_TOKENURI=https://sso.example.com/realms/shop/protocol/openid-connect/token
~SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_JWK_SET_URI=https://sso.example.com/realms/shop/protocol/openid-connect/certs
SPRING_APPLICATION_JSON={"spring":{"mail":{"host":"smtp.example.com","username":"shop","password":"<%strong%>"}},"management":{"server":{"port":9001}}}
SERVER_SSL_KEYSTOREPASSWORD=<%dull%>
~SERVER_SSL_KEYSTORETYPE=PKCS12
JAVA_TOOL_OPTIONS=-XX:MaxRAMPercentage=75 -Djavax.net.ssl.keyStore=/certs/ks.p12 -Djavax.net.ssl.keyStorePassword=<%dull%> -Dfile.encoding=UTF-8
JASYPT_ENCRYPTOR_PASSWORD=<%strong%>
EUREKA_CLIENT_SERVICEURL_DEFAULTZONE=http://eureka:<%dull%>@eureka-0.eureka:8761/eureka/
ENCRYPT_KEY=<%b62 40%>
""",
    "django rails laravel": """
DJANGO_SECRET_KEY=<%b62 50%>
~DJANGO_SETTINGS_MODULE=config.settings.production
EMAIL_HOST_PASSWORD=<%pw%>
EMAIL_URL=smtp+tls://postmaster%40mg.example.com:<%hex 32%>@smtp.mailgun.org:587
CELERY_BROKER_URL=redis://:<%pw%>@redis-master:6379/1
CELERY_RESULT_BACKEND=db+postgresql://celery:<%strong%>@pg/celery
RAILS_MASTER_KEY=<%hex 32%>
SECRET_KEY_BASE=<%hex 128%>
OTP_SECRET=<%hex 128%>
VAPID_PRIVATE_KEY=<%url64 32%>
~VAPID_PUBLIC_KEY=<=url64 65=>
ACTIVE_RECORD_ENCRYPTION_PRIMARY_KEY=<%b62 32%>
ACTIVE_RECORD_ENCRYPTION_KEY_DERIVATION_SALT=<%b62 32%>
DEVISE_JWT_SECRET_KEY=<%hex 128%>
APP_KEY=base64:<%b64 32%>
MAIL_PASSWORD=<%pw%>
PUSHER_APP_SECRET=<%hex 20%>
~PUSHER_APP_CLUSTER=eu
MAILER_DSN=smtp://shop:<%strong%>@smtp.example.com:587
APP_SECRET=<%hex 32%>
~SECURE_SSL_REDIRECT=True
~SESSION_COOKIE_NAME=__Host-sid
""",
    "node": """
NEXTAUTH_SECRET=<%b64 32%>
AUTH_SECRET=<%hex 64%>
JWT_SECRET=<%dull%>
JWT_REFRESH_SECRET=<%b62 32%>
COOKIE_KEY=<%b62 32%>
SESSION_KEYS=<%b62 24%>
DATABASE_URL=mysql://shop:<%pw%>@mysql:3306/shop?connection_limit=5
DIRECT_URL=postgresql://shop:<%rich%>@pg:5432/shop
~NEXTAUTH_URL=https://shop.example.com
~NEXT_PUBLIC_SENTRY_RELEASE=<=hex 40=>
~JWT_EXPIRES_IN=15m
~JWT_ALGORITHM=RS256
~JWT_PUBLIC_KEY=<=pub=>
STRIPE_SECRET_KEY=<%Stripe key%>
STRIPE_WEBHOOK_SIGNING_SECRET=<%Stripe webhook secret%>
~NEXT_PUBLIC_STRIPE_PRICE_ID=price_1<=b62 23=>
RECAPTCHA_SECRET=6L<%b62 38%>
HASURA_GRAPHQL_ADMIN_SECRET=<%dull%>
HASURA_GRAPHQL_JWT_SECRET={"type":"HS256","key":"<%b62 44%>"}
~HASURA_GRAPHQL_UNAUTHORIZED_ROLE=anonymous
MAILGUN_API_KEY=key-<%hex 32%>
ALGOLIA_ADMIN_KEY=<%hex 32%>
~ALGOLIA_APP_ID=<=upper 10=>
""",
    "airflow superset": """
AIRFLOW__CORE__FERNET_KEY=<%fernet%>
AIRFLOW__WEBSERVER__SECRET_KEY=<%hex 32%>
AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=postgresql+psycopg2://airflow:<%pw%>@airflow-postgresql:5432/airflow
AIRFLOW_CONN_WAREHOUSE=snowflake://etl:<%strong%>@acme.eu-central-1/db/schema?warehouse=etl
AIRFLOW_CONN_HTTP_API={"conn_type":"http","login":"api","password":"<%pw%>","host":"api.example.com"}
~AIRFLOW__KUBERNETES_SECRETS__POSTGRES_PASSWORD=airflow-db=postgresql-password
~AIRFLOW__SECRETS__BACKEND=airflow.providers.hashicorp.secrets.vault.VaultBackend
~AIRFLOW__API__AUTH_BACKENDS=airflow.api.auth.backend.session
SUPERSET_SECRET_KEY=<%b64 42%>
MLFLOW_TRACKING_PASSWORD=<%dull%>
~JUPYTERHUB_SERVICE_PREFIX=/user/jane/
JUPYTERHUB_API_TOKEN=<%hex 32%>
CONFIGPROXY_AUTH_TOKEN=<%hex 64%>
SNOWFLAKE_PASSWORD=<%rich%>
DBT_ENV_SECRET_GIT_CREDENTIAL=<%GitHub fine-grained token%>
WANDB_API_KEY=<%hex 40%>
HF_TOKEN=<%Hugging Face token%>
""",
    "grafana keycloak": """
GF_SECURITY_ADMIN_PASSWORD=<%pw%>
GF_SECURITY_SECRET_KEY=<%b62 20%>
GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET=<%b62 32%>
~GF_AUTH_GENERIC_OAUTH_TOKEN_URL=https://sso.example.com/oauth/token
~GF_AUTH_GENERIC_OAUTH_SCOPES=openid profile email offline_access
~GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION=true
GF_DATABASE_URL=mysql://grafana:<%pw%>@mysql:3306/grafana
KC_DB_PASSWORD=<%pw%>
KC_BOOTSTRAP_ADMIN_PASSWORD=<%dull%>
KEYCLOAK_ADMIN_PASSWORD=<%b62 10%>
KC_HTTPS_KEY_STORE_PASSWORD=<%dull%>
~KC_HTTPS_CERTIFICATE_KEY_FILE=/etc/tls/tls.key
OAUTH2_PROXY_CLIENT_SECRET=<%b62 36%>
OAUTH2_PROXY_COOKIE_SECRET=<%url64 32%>
~OAUTH2_PROXY_COOKIE_NAME=_oauth2_proxy
~OAUTH2_PROXY_PASS_ACCESS_TOKEN=true
~OAUTH2_PROXY_SET_XAUTHREQUEST=true
AUTHENTIK_SECRET_KEY=<%b64 36%>
AUTHENTIK_POSTGRESQL__PASSWORD=<%pw%>
AUTHENTIK_BOOTSTRAP_TOKEN=<%hex 64%>
LDAP_ADMIN_PASSWORD=<%dull%>
LDAP_BIND_CREDENTIALS=<%pw%>
~LDAP_USER_ATTRIBUTE=uid
~LDAP_BIND_DN=cn=readonly,dc=example,dc=com
""",
    "gitea harbor drone": """
GITEA__database__PASSWD=<%pw%>
GITEA__security__SECRET_KEY=<%b62 64%>
GITEA__oauth2__JWT_SECRET=<%url64 32%>
GITEA__mailer__PASSWD=<%pw%>
~GITEA__security__PASSWORD_HASH_ALGO=pbkdf2_v2
CORE_SECRET=<%b62 16%>
JOBSERVICE_SECRET=<%b62 16%>
CSRF_KEY=<%b62 32%>
REGISTRY_CREDENTIAL_PASSWORD=<%dull%>
HARBOR_ADMIN_PASSWORD=<%dull%>
REGISTRY_HTTP_SECRET=<%hex 32%>
~REGISTRY_AUTH_TOKEN_REALM=https://harbor.example.com/service/token
~TOKEN_PRIVATE_KEY_PATH=/etc/core/token.key
DRONE_RPC_SECRET=<%hex 32%>
DRONE_GITEA_CLIENT_SECRET=gto_<%lower 52%>
SONAR_JDBC_PASSWORD=<%pw%>
SONAR_WEB_SYSTEMPASSCODE=<%dull%>
SONAR_TOKEN=sqp_<%hex 40%>
GITLAB_ROOT_PASSWORD=<%dull%>
GITLAB_SHARED_RUNNERS_REGISTRATION_TOKEN=<%b62 20%>
RUNNER_TOKEN=<%GitLab runner token%>
ACTIONS_RUNNER_INPUT_JITCONFIG=<%b64 90%>
RENOVATE_TOKEN=<%GitHub classic token%>
""",
    "cloud agents": """
DD_API_KEY=<%hex 32%>
DD_APP_KEY=<%hex 40%>
~DD_CLUSTER_AGENT_KUBERNETES_SERVICE_NAME=datadog-cluster-agent
DD_CLUSTER_AGENT_AUTH_TOKEN=<%b62 32%>
NEW_RELIC_LICENSE_KEY=<%hex 36%>NRAL
SPLUNK_HEC_TOKEN=<%uuid%>
OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=<%b62 22%>,x-honeycomb-dataset=shop
OTEL_EXPORTER_OTLP_METRICS_HEADERS=Authorization=Basic <%basic%>
~OTEL_EXPORTER_OTLP_ENDPOINT=https://otlp.eu01.example.net:4317
SENTRY_AUTH_TOKEN=sntrys_<%b62 60%>
ELASTIC_APM_SECRET_TOKEN=<%b62 18%>
ELASTIC_PASSWORD=<%b62 24%>
LOGZIO_SHIPPING_TOKEN=<%b62 32%>
~LOGZIO_LISTENER_URL=https://listener-eu.logz.io:8071
K6_CLOUD_TOKEN=<%hex 64%>
AZURE_CLIENT_SECRET=<%Azure client secret%>
ARM_CLIENT_SECRET=<%Azure client secret%>
~ARM_CLIENT_ID=<=uuid=>
TF_VAR_db_password=<%pw%>
HCLOUD_TOKEN=<%b62 64%>
CF_API_TOKEN=<%b62 40%>
CF_API_KEY=<%hex 37%>
~CF_ACCOUNT_ID=<=hex 32=>
~CF_ZONE_ID=<=hex 32=>
TUNNEL_TOKEN=<%b64 150%>
TS_AUTHKEY=tskey-auth-k<=b62 12=>CNTRL-<%b62 32%>
NGROK_AUTHTOKEN=<=b62 27=>_<%b62 21%>
PULUMI_CONFIG_PASSPHRASE=<%dashed%>
BORG_PASSPHRASE=<%dashed%>
SSHPASS=<%pw%>
WALG_LIBSODIUM_KEY=<%hex 64%>
AWS_SECRET_ACCESS_KEY=<%b64 30%>
~AWS_STS_REGIONAL_ENDPOINTS=regional
~AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials
~AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/var/run/secrets/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token
""",
    "databases": """
NEO4J_AUTH=neo4j/<%pw%>
COUCHDB_SECRET=<%hex 32%>
COUCHDB_ERLANG_COOKIE=<%b62 20%>
MSSQL_SA_PASSWORD=<%rich%>
SA_PASSWORD=<%rich%>
ORACLE_PWD=<%dull%>
DOCKER_INFLUXDB_INIT_ADMIN_TOKEN=<%url64 64%>
INFLUX_TOKEN=<%url64 64%>==
CLICKHOUSE_PASSWORD=<%pw%>
CLICKHOUSE_URL=clickhouse://etl:<%strong%>@clickhouse:9000/shop
MINIO_ROOT_PASSWORD=<%dull%>
MC_HOST_minio=http://admin:<%b62 20%>@minio.storage:9000
~MINIO_BROWSER_REDIRECT_URL=https://minio.example.com
ETCD_ROOT_PASSWORD=<%b62 10%>
ETCDCTL_USER=root:<%b62 10%>
CASSANDRA_PASSWORD=<%b62 10%>
~CASSANDRA_KEYSPACE=shop
~CASSANDRA_PASSWORD_SEEDER=yes
MEILI_MASTER_KEY=<%b62 24%>
QDRANT__SERVICE__API_KEY=<%b62 32%>
GRAYLOG_PASSWORD_SECRET=<%b62 96%>
N8N_ENCRYPTION_KEY=<%b62 32%>
PHPMYADMIN_BLOWFISH_SECRET=<%b62 32%>
NATS_URL=nats://app:<%pw%>@nats.mq:4222
AMQP_DSN=amqps://app:<%pw%>@rabbit:5671/shop?heartbeat=30
""",
    "proxies and chat": """
HTTPS_PROXY=http://svc-proxy:<%dull%>@proxy.corp.example:3128
NO_PROXY=10.0.0.0/8,.svc,.cluster.local
GOPROXY=https://ci:<%b62 40%>@goproxy.example.com,direct
PIP_EXTRA_INDEX_URL=https://__token__:<%strong%>@pypi.example.com/simple
DOCKER_AUTH_CONFIG={"auths":{"registry.example.com":{"auth":"<%basic%>"}}}
SLACK_WEBHOOK_URL=<%Slack webhook%>
SLACK_SIGNING_SECRET=<%hex 32%>
TELEGRAM_BOT_TOKEN=<%Telegram bot token%>
~TELEGRAM_CHAT_ID=-100<=digits 10=>
DISCORD_WEBHOOK=https://discord.com/api/webhooks/<=digits 18=>/<%b62 68%>
TEAMS_WEBHOOK_URL=https://example.webhook.office.com/webhookb2/<=uuid=>@<=uuid=>/IncomingWebhook/<%hex 32%>/<=uuid=>
PAGERDUTY_INTEGRATION_KEY=<%hex 32%>
OPSGENIE_API_KEY=<%uuid%>
TWILIO_AUTH_TOKEN=<%hex 32%>
~TWILIO_VERIFY_SERVICE_SID=VA<=hex 32=>
FIREBASE_SERVER_KEY=AAAA<=b62 7=>:APA91b<%b62 134%>
GOOGLE_MAPS_API_KEY=<%GCP API key%>
OPENAI_API_KEY=<%OpenAI key%>
~OPENAI_API_BASE=https://llm.example.com/v1
""",
    "operators and sidecars": """
~WATCH_NAMESPACE=shop
~LEADER_ELECTION_ID=<=hex 8=>.acme.io
~RELATED_IMAGE_AUTH_PROXY=registry.example.com/kube-rbac-proxy@sha256:<=hex 64=>
~ISTIO_META_WORKLOAD_NAME=keycloak
~ISTIO_META_OWNER=kubernetes://apis/apps/v1/namespaces/auth/deployments/password-reset
~PROV_CERT=var/run/secrets/istio/root-cert.pem
~JWT_POLICY=third-party-jwt
~CA_ADDR=istiod.istio-system.svc:15012
~VAULT_SKIP_VERIFY=false
~VAULT_K8S_AUTH_PATH=auth/kubernetes/login
~VAULT_SECRET_ENGINE=kv-v2
~SEALED_SECRETS_UPDATE_STATUS=true
~ARGOCD_REDIS_PASSWORD_KEY=auth
~ARGOCD_SERVER_LOGLEVEL=info
~ARGO_TOKEN_SERVICE_ACCOUNT=default
~FLUX_SOURCE_SECRET=flux-system
~OPERATOR_CONDITION_NAME=keycloak-operator.v26.0.1
~ANSIBLE_VAULT_PASSWORD_FILE=/etc/ansible/vault-pass
~CREDENTIALS_MODE=Passthrough
~AUTHORIZATION_MODE=RBAC,Node
~PASSWORD_RESET_URL=https://shop.example.com/password/reset
~SECRET_REFRESH_INTERVAL=1h
~SSH_AUTH_SOCK=/ssh-agent
~XAUTHORITY=/root/.Xauthority
~DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
~GPG_KEY=<=hex 40=>
~PYTHON_SHA256=<=hex 64=>
~NODE_CHECKSUM=<=hex 64=>
~RUBY_DOWNLOAD_SHA256=<=hex 64=>
~NGINX_GPGKEY_PATH=/etc/apt/keyrings/nginx.gpg
~PHP_ASC_URL=https://www.php.net/get/php-8.3.9.tar.xz.asc/from/this/mirror
~GPG_KEYS=<=hex 40=> <=hex 40=>
~CATALINA_TRUSTSTORE=/certs/truststore.p12
~KEYCLOAK_REALM=shop
~TOKEN_REVIEW_AUDIENCES=https://kubernetes.default.svc
~REFRESH_TOKEN_ROTATION=true
~MAX_LOGIN_ATTEMPTS=5
~API_KEY_PREFIX=shp
~HEADER_API_KEY_NAME=X-Shop-Key
~COOKIE_SECURE=true
~CSRF_TRUSTED_ORIGINS=https://shop.example.com
~ENCRYPTION_ALGORITHM=aes-256-gcm
~SIGNING_KEY_ID=<=uuid=>
~KMS_KEY_ARN=arn:aws:kms:eu-central-1:<=digits 12=>:key/<=uuid=>
~S3_KEY_PREFIX=backups/postgres/<=word=>
~IDEMPOTENCY_KEY_TTL=86400
~ROUTING_KEY=orders.created
~PARTITION_KEYS=tenant_id,order_id
~HOTKEY_THRESHOLD=100
~AUTHORS_FILE=/app/AUTHORS
~PASS_THROUGH_HEADERS=x-request-id,x-b3-traceid
~COMPASS_URL=https://compass.example.com/surpass
~DATABASE_PASSWORD_VERSION=7
~DB_PASSWORD_SSM_PARAMETER=/prod/shop/db/password
~SECRETS_MANAGER_ARN=arn:aws:secretsmanager:eu-central-1:<=digits 12=>:secret:prod/shop-<=b62 6=>
~GCP_SECRET_RESOURCE=projects/<=digits 12=>/secrets/db-password/versions/latest
~AZURE_KEYVAULT_SECRET_URI=https://shop.vault.azure.net/secrets/db-password/<=hex 32=>
~DB_PASSWORD_REF=vault:secret/data/shop#password
~OP_ITEM=op://prod/postgres/password
~STRIPE_PUBLISHABLE_HINT=starts with pk
~TOKENS_PER_MINUTE=90000
~EMBEDDING_TOKENS=512
~TOKENIZERS_PARALLELISM=false
""",
}

COMMANDS: Final[dict[str, list[str]]] = {
    "redis-server --requirepass": ["redis-server", "--appendonly", "yes", "--requirepass", "<%dull%>", "--maxmemory", "256mb"],
    "redis exporter": ["--redis.addr=redis://localhost:6379", "--redis.password=<%pw%>"],
    "mysqld exporter": ["--mysqld.username=exporter:<%pw%>", "<#--collect.info_schema.tables#>"],
    "sh -c psql": ["sh", "-c", "until PGPASSWORD=<%pw%> psql -h db -U app -c 'select 1'; do sleep 1; done"],
    "sh -c mysql -p": ["/bin/sh", "-ec", "mysqladmin -uroot -p<%dull%> ping -h 127.0.0.1 && <#mysql --defaults-file=/etc/mysql/root.cnf -e 'SHOW STATUS'#>"],
    "sh -c curl -u": ["bash", "-c", "curl -sf -u elastic:<%b62 24%> -XPUT http://es:9200/_ilm/policy/logs -d @/cfg/ilm.json"],
    "sh -c mc alias": ["sh", "-c", "mc alias set store http://minio:9000 admin <%b62 20%> && mc mb -p store/backups"],
    "sh -c rabbitmqctl": ["sh", "-c", "rabbitmqctl add_user app <%pw%>; rabbitmqctl set_permissions -p / app '.*' '.*' '.*'"],
    "sh -c redis-cli -a": ["sh", "-c", "redis-cli -h redis -a <%dull%> --no-auth-warning ping"],
    "sh -c htpasswd": ["sh", "-c", "htpasswd -Bbc /auth/htpasswd ops <%pw%> && nginx -g 'daemon off;'"],
    "sh -c docker login": ["sh", "-c", "docker login -u ci -p <%strong%> registry.example.com"],
    "sh -c echo | docker login": ["sh", "-c", "echo '<%strong%>' | docker login -u ci --password-stdin registry.example.com"],
    "sh -c sshpass": ["sh", "-c", "sshpass -p '<%dull%>' rsync -az /data/ backup@nas.example.com:/vol1/shop"],
    "sh -c git clone": ["sh", "-c", "git clone --depth 1 https://oauth2:<%GitLab token%>@gitlab.example.com/shop/config.git /work"],
    "sh -c export": ["sh", "-c", "export DB_PASS='<%rich%>' && exec /app/server <#--token-ttl=3600#>"],
    "sh -c mongodump": ["sh", "-c", "mongodump --uri='mongodb://root:<%strong%>@mongo:27017/?authSource=admin' --gzip --archive=/b/d.gz"],
    "sh -c ldapadd -w": ["sh", "-c", "ldapadd -x -H ldap://ldap -D cn=admin,dc=example,dc=org -w <%dull%> -f /ldif/users.ldif"],
    "sh -c vault login": ["sh", "-c", "vault login <%Vault token%> >/dev/null && vault kv get -field=url secret/shop"],
    "sh -c smbclient": ["sh", "-c", "mount -t cifs //nas/share /mnt -o username=svc,password=<%pw%>,vers=3.0"],
    "k3s --token": ["server", "--cluster-init", "--token", "K10<=hex 64=>::server:<%hex 32%>", "--tls-san=k8s.example.com"],
    "grafana-agent remote": ["-config.expand-env", "-server.http.address=0.0.0.0:80", "-prometheus.remote-write.password=<%JWT%>"],
    "oauth2-proxy": ["<#--cookie-name=_oauth2#>", "--client-secret=<%b62 36%>", "--cookie-secret=<%b64 24%>", "<#--pass-access-token=true#>", "<#--client-id=oauth2-proxy#>"],
    "external-dns": ["<#--txt-owner-id=prod-cluster#>", "--provider=pdns", "--pdns-api-key=<%b62 32%>", "<#--txt-prefix=_extdns-%{record_type}.#>"],
    "cloudflared": ["tunnel", "--no-autoupdate", "run", "--token", "<%b64 150%>"],
    "postgres exporter": ["--extend.query-path=/etc/q.yaml", "--dsn=postgresql://exp:<%pw%>@pg:5432/postgres"],
    "minio gateway": ["gateway", "s3", "--access-key=<?upper 20?>", "--secret-key=<%b64 30%>"],
    "java -D": ["java", "-Ddb.password=<%pw%>", "<#-Djava.security.auth.login.config=/etc/kafka/jaas.conf#>", "-jar", "/app.jar"],
    "spring --": ["java", "-jar", "app.jar", "--spring.datasource.password=<%pw%>", "<#--spring.config.import=vault://#>"],
    "keycloak start": ["start", "--db-password=<%pw%>", "--https-key-store-password=<%dull%>", "<#--https-certificate-key-file=/certs/tls.key#>"],
    "etcdctl --user": ["etcdctl", "--user", "root:<%b62 10%>", "endpoint", "health"],
    "flower": ["celery", "flower", "--basic_auth=admin:<%dull%>", "--broker=redis://:<%pw%>@redis:6379/0"],
    "livenessProbe header": ["curl", "-fsS", "-H", "Authorization: Bearer <%b62 40%>", "http://localhost:8080/health"],
    "apiserver flags": ["<#--service-account-key-file=/etc/kubernetes/pki/sa.pub#>", "<#--service-account-signing-key-file=/etc/kubernetes/pki/sa.key#>", "<#--encryption-provider-config=/etc/kubernetes/enc.yaml#>", "<#--enable-bootstrap-token-auth=true#>", "<#--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256#>", "<#--requestheader-extra-headers-prefix=X-Remote-Extra-#>", "<#--token-auth-file=/etc/kubernetes/tokens.csv#>", "<#--authorization-mode=Node,RBAC#>"],
    "sidecar flags": ["<#--secure-listen-address=0.0.0.0:8443#>", "<#--tls-private-key-file=/etc/tls/private/tls.key#>", "<#--upstream=http://127.0.0.1:8080/#>", "<#--kubelet-preferred-address-types=InternalIP#>", "<#--leader-elect-resource-name=token-cleaner#>", "<#--metrics-auth=false#>", "<#--secret-namespace=shop#>", "<#--password-file=/etc/secret/password#>", "<#--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs#>", "<#--oidc-username-claim=email#>", "<#--key=/certs/tls.key#>", "<#--auth-token-ttl#>", "<#simple#>"],
    "shell without secret": ["sh", "-c", "<#DB_PASSWORD=$(cat /run/secrets/db-password) exec /app/server#>"],
    "shell with reference": ["sh", "-c", '<#mysqladmin ping -uroot -p"$MYSQL_ROOT_PASSWORD"#>', '<#redis-cli -a "${REDIS_PASSWORD}" ping#>', '<#pg_isready -U app -d "dbname=app sslmode=require"#>', '<#curl -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" https://kubernetes.default#>'],
}  # fmt: skip
