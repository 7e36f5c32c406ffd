"""Environments without any secret; each value is a look-alike of its own."""

from __future__ import annotations

from typing import Final

__all__ = ["ENVIRONMENT"]

ENVIRONMENT: Final = r"""
PASSWORD_FILE=/run/secrets/db/password
DB_PASSWORD_KEY=password
DB_SECRET_NAME=shop-db-credentials
DATABASE_PASSWORD=$(PGPASSWORD)
API_TOKEN=${API_TOKEN}
JWT_PUBLIC_KEY=/keys/jwt.pub
JWT_EXPIRES_IN=15m
JWT_ALGORITHM=RS256
TOKEN_ISSUER=https://sso.example.com/realms/shop
TOKEN_AUDIENCE=shop-api
TOKEN_REFRESH_INTERVAL=5m
ACCESS_TOKEN_LIFETIME=900
ENABLE_PASSWORD_LOGIN=false
REQUIRE_PASSWORD=true
PASSWORD_HASHER=argon2
PASSWORD_POLICY=length(12) and upperCase(1) and specialChars(1)
PASSWORD_REGEX=^(?=.*\d).{12,}$
SECRETS_DIR=/mnt/secrets-store
SECRETS_PROVIDER=vault
SECRET_STORE_KIND=ClusterSecretStore
VAULT_SECRET_PATH=secret/data/shop/prod
VAULT_ADDR=https://vault.vault.svc:8200
VAULT_K8S_ROLE=shop-secret-reader
VAULT_SKIP_VERIFY=false
AWS_SECRET_ARN=arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/shop-<=b62 6=>
AWS_REGION=eu-central-1
KMS_KEY_ID=<=uuid=>
S3_KEY_PREFIX=backups/passwords/
REDIS_KEY_PREFIX=session:
CACHE_KEY_VERSION=v12
PRIMARY_KEY=order_id
SSH_KEY_TYPE=ed25519
SSH_AUTH_SOCK=/run/ssh-agent.sock
SSL_KEY_FILE=/etc/tls/tls.key
TLS_CERT_PATH=/etc/tls/tls.crt
AUTH_TYPE=basic
AUTH_URL=https://sso.example.com/auth
AUTH_MODE=scram-sha-512
OAUTH_TOKEN_URL=https://sso.example.com/token
OAUTH_CLIENT_ID=shop-web-<=lower 8=>
OIDC_SCOPES=openid profile email offline_access
COOKIE_NAME=shop_session
COOKIE_DOMAIN=.example.com
SESSION_STORE=redis
SESSION_TIMEOUT=1800
CSRF_HEADER_NAME=X-CSRF-Token
CREDENTIALS_FILE=/etc/creds.json
CREDENTIAL_HELPER=ecr-login
GIT_SHA=<=hex 40=>
BUILD_ID=<=digits 7=>
IMAGE_DIGEST=sha256:<=hex 64=>
RELEASE=v2026.03.04-<=hex 8=>
TRACE_ID=<=hex 32=>
CLUSTER_ID=<=uuid=>
INSTANCE_ID=i-0<=hex 16=>
HOST_KEY_FINGERPRINT=SHA256:<=b62 43=>
PUBLIC_KEY=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<=b64 30=>
SUPABASE_URL=https://<=lower 20=>.supabase.co
FEATURE_FLAGS=new-login,password-less,token-v2
LOG_REDACT_FIELDS=password,token,secret
PASSTHROUGH=true
COMPASS_MODE=north
KEYCLOAK_REALM=shop
KEYDB_HOST=keydb.cache.svc
MONKEY_MODE=off
TOKENIZER_MODEL=bert-base-german-cased
MAX_TOKENS_PER_MINUTE=60000
SECRET_SANTA_ENABLED=true
PASSAGE_ID=north-gate
BYPASS_LIST=10.0.0.0/8,.svc,.cluster.local
DB_DSN=postgres://db:5432/shop?sslmode=require
AMQP_URL=amqp://rabbit.mq.svc:5672/shop
REDIS_URL=redis://redis-master:6379/0
MONGO_URL=mongodb://mongo-0,mongo-1/shop?replicaSet=rs0
HTTP_PROXY=http://proxy.example.com:3128
DATABASE_URL=postgres://$(DB_USER):$(DB_PASSWORD)@db:5432/shop
CONNECTION_STRING=Server=sql;Database=Shop;Integrated Security=true
GRAFANA_URL=https://grafana.example.com/d/<=lower 9=>/tokens?orgId=1
LICENSE_FILE=/etc/license.key
PIN_THREADS=true
OTP_ISSUER=Shop
HMAC_ALGORITHM=sha256
ENCRYPTION_ALGORITHM=aes-256-gcm
SALT_ROUNDS=12
SIGNATURE_VERSION=v4
WEBHOOK_PATH=/hooks/github
DIGEST_ALGORITHM=SHA-256
KENNWORT_DATEI=/run/secrets/kennwort
MOT_DE_PASSE_FICHIER=/run/secrets/mdp
SENHA_ARQUIVO=/run/secrets/senha
DB_PASSWORD=
API_KEY=REPLACE_ME
CLIENT_SECRET=<client-secret>
SMTP_PASS=********
REDIS_PASSWORD={{ .Values.redis.password }}
ADMIN_PASSWORD=vault:secret/data/shop#password
DB_PASS=ref+awssecrets://shop/db#/password
APP_SECRET=op://prod/shop/secret
ENCRYPTED_PASSWORD=ENC[AES256_GCM,data:<=b64 12=>,iv:<=b64 32=>,tag:<=b64 16=>,type:str]
""".strip("\n").split("\n")
