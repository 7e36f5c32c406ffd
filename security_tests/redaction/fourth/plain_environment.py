"""Pods without a secret: names, switches, references, ids."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== plain orders
PASSWORD_POLICY=length(12) and digits(1)
PASSWORD_MIN_LENGTH=12
PASSWORD_ENCODER=bcrypt
TOKEN_ISSUER=https://login.nordlicht.example/realms/nordlicht
TOKEN_AUDIENCE=orders
ACCESS_TOKEN_LIFETIME=PT15M
REFRESH_TOKEN_ROTATION=enabled
SECRET_NAME=orders-credentials
SECRETS_PROVIDER=vault-kv2
DB_PASSWORD_FILE=/run/secrets/db_password
DB_SECRET_ARN=arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/orders/db-AbCdEf
KMS_KEY_ID=arn:aws:kms:eu-central-1:123456789012:key/<=uuid=>
AWS_ROLE_ARN=arn:aws:iam::123456789012:role/orders-irsa
AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks.amazonaws.com/serviceaccount/token
IMAGE=registry.nordlicht.example/orders/api:1.44.2@sha256:<=sha256=>
GIT_COMMIT=<=git=>
BUILD_ID=<=uuid=>
CACHE_KEY_PREFIX=orders:v3:
SIGNING_ALGORITHM=RS256
JWKS_URI=https://login.nordlicht.example/realms/nordlicht/protocol/openid-connect/certs
PUBLIC_KEY_PATH=/etc/keys/jwt.pub
CREDENTIALS_MODE=external
=== plain references
DATABASE_URL=postgres://$(DB_USER):$(DB_PASSWORD)@orders-db:5432/orders
REDIS_URL=redis://:${REDIS_PASSWORD}@redis-master:6379/0
SPRING_DATASOURCE_PASSWORD=${vault.orders.db.password}
API_KEY={{ .Values.apiKey }}
CLIENT_SECRET=vault:secret/data/orders#client_secret
SMTP_PASSWORD=ref+awsssm://prod/smtp/password
ADMIN_PASSWORD=__ADMIN_PASSWORD__
DB_PASS=
AUTH_TOKEN=none
GITHUB_TOKEN=REPLACE_ME
JWT_SECRET=file:///run/secrets/jwt
LDAP_PASSWORD=********
SERVICE_URL=http://user-service.users.svc.cluster.local:8080/api/users
SAML_METADATA=https://adfs.nordlicht.example/FederationMetadata/2007-06/FederationMetadata.xml
ZIPKIN_URL=http://zipkin.monitoring:9411/api/v2/spans
=== plain tracking ids
GA_MEASUREMENT_ID=G-<=upper 10=>
GTM_ID=GTM-<=upper 7=>
GOOGLE_CLIENT_ID=471102118221-<=lower 32=>.apps.googleusercontent.com
AZURE_TENANT_ID=<=uuid=>
AZURE_CLIENT_ID=<=uuid=>
FACEBOOK_PIXEL_ID=<=digits 15=>
AUTH0_DOMAIN=nordlicht.eu.auth0.com
MATOMO_SITE_ID=4
CLOUDFLARE_ZONE_ID=<=hex 32=>
HOSTED_ZONE_ID=Z<=upper 13=>
COGNITO_USER_POOL_ID=eu-central-1_<=base62 9=>
SNAPSHOT_ID=snap-<=hex 17=>
SUBNET_IDS=subnet-<=hex 17=>,subnet-<=hex 17=>
CORRELATION_ID_HEADER=X-Correlation-ID
ACCOUNT_KEY_COLUMN=account_key
PRIMARY_KEY=id
PARTITION_KEY=tenant_id
SORT_KEYS=created_at,order_id
HOTKEY=ctrl+shift+k
KEYBOARD_LAYOUT=de-latin1-nodeadkeys
KEYSPACE=iot_prod
MONKEY_TEST=off
=== plain ml
MAX_TOKENS=4096
TOKEN_LIMIT_PER_MINUTE=90000
TOKENIZER=bert-base-german-cased
PAD_TOKEN=[PAD]
EOS_TOKEN=</s>
BOS_TOKEN=<s>
MODEL_ID=mistralai/Mistral-7B-Instruct-v0.3
MODEL_SHA256=<=sha256=>
REVISION=<=git=>
NUM_ATTENTION_KEYS=32
KEY_VALUE_CACHE_DTYPE=fp8
SEED=1337133713371337
CHECKPOINT=s3://nordlicht-ml/runs/<=hex 32=>/artifacts/model.safetensors
MLFLOW_RUN_ID=<=hex 32=>
EXPERIMENT_HASH=<=md5=>
PYTHONHASHSEED=0
NCCL_SOCKET_IFNAME=eth0
=== plain jvm
> --spring.config.import=optional:configtree:/run/secrets/
> --spring.security.oauth2.resourceserver.jwt.jwk-set-uri=https://login.nordlicht.example/certs
> --token.header=Authorization
> --auth-mode=ldap
> --password-file=/etc/app/passwd
> --tls-private-key-file=/tls/tls.key
> --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
> --secret-name=webhook-certs
> --leader-election-id=<=hex 8=>.nordlicht.example
> --image=registry.nordlicht.example/tools/sidecar@sha256:<=sha256=>
> --requestheader-username-headers=X-Remote-User
> --service-account-key-file=/etc/kubernetes/pki/sa.pub
> --service-account-issuer=https://kubernetes.default.svc.cluster.local
> --token-ttl=24h
> --authentication-token-webhook-cache-ttl=2m0s
> --max-token-size=16384
> --password-stdin
> --no-password
JAVA_OPTS=-XX:+UseG1GC -Djavax.net.ssl.trustStore=/etc/ssl/truststore.p12 -Djavax.net.ssl.trustStorePassword=${TRUSTSTORE_PASSWORD}
@ checksum/secret: <=sha256=>
@ sidecar.istio.io/status: {"initContainers":["istio-init"],"containers":["istio-proxy"],"imagePullSecrets":null,"revision":"default"}
@ vault.hashicorp.com/agent-inject-secret-db: secret/data/orders/db
@ vault.hashicorp.com/role: orders
@ cni.projectcalico.org/podIP: 10.42.0.17/32
@ eks.amazonaws.com/token-expiration: 86400
=== plain commands
$ PGPASSWORD=$(cat /run/secrets/pg) psql -h orders-db -U backup -c 'select 1' && curl -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" https://kubernetes.default.svc/version
? curl -sf http://localhost:8080/actuator/health -H "X-Api-Key: $API_KEY"
=== plain shell
$ mysqldump -u"$DB_USER" -p"$DB_PASSWORD" --all-databases | gpg --encrypt -r backup@nordlicht.example > /backup/all.gpg; sha256sum /backup/all.gpg; docker login -u "$CI_USER" --password-stdin < /run/secrets/registry
? redis-cli -a "$REDIS_PASSWORD" ping
=== plain words
DISPLAY_NAME=Auftragsverwaltung – Schlüsselübergabe & Passwortänderung
GREETING=Bitte geben Sie Ihr Kennwort ein 🔑
SLOGAN=Nos clés, votre liberté
PASSWORD_HINT_TEXT=Mindestens 12 Zeichen, eine Zahl und ein Sonderzeichen
HELP_URL=https://help.nordlicht.example/de/passwort-vergessen
SUPPORT_MAIL=support+token@nordlicht.example
LOGIN_TITLE=Anmelden
SECRET_SANTA_ENABLED=false
TOKEN_NAME=csrf_token
COMPASS_MODULE=on
PASSENGER_MAX_POOL_SIZE=6
BYPASS_CACHE=1
AUTHOR=Jana Petersen <jana.petersen@nordlicht.example>
KEY_FIGURES=umsatz,marge,retouren
PWD=/app
OLDPWD=/
SHLVL=1
"""
