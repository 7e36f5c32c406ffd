"""Log lines, arguments and environments without any secret; each line is a look-alike of its own."""

from __future__ import annotations

from typing import Final

__all__ = ["ENVIRONMENT", "LINES"]

LINES: Final = r"""
I0304 05:06:07.123456       1 reflector.go:351] Caches populated for *v1.Secret from k8s.io/client-go/informers/factory.go:150
E0304 05:06:07.123456       1 token_manager.go:121] "Couldn't update token" err="serviceaccount \"shop\" not found" cacheKey="\"shop\"/\"prod\"/[]string(nil)/3607"
W0304 05:06:07.123456       1 secret_manager.go:88] secret "shop-db-credentials" not registered
MountVolume.SetUp failed for volume "db-password" : secret "shop-db-password" not found
Error: couldn't find key DB_PASSWORD in Secret prod/shop-env
Failed to pull image "registry.example.com/password-service@sha256:<=hex 64=>": rpc error: code = NotFound
level=info ts=2026-03-04T05:06:07Z caller=main.go:12 msg="using token file" path=/var/run/secrets/token
level=warn msg="password will expire" user=anna days=3
level=info msg="token refreshed" expires_in=3600 token_type=bearer client_id=<=uuid=>
level=info trace_id=<=hex 32=> span_id=<=hex 16=> msg="secret synced" secret=shop-db version=<=hex 8=>
{"level":"info","msg":"authenticated","token_id":"<=uuid=>","password_age_days":12,"mfa":true}
{"level":"error","error":"invalid password","user":"anna","request_id":"<=hex 32=>"}
{"auditID":"<=uuid=>","verb":"get","objectRef":{"resource":"secrets","name":"db-password"},"responseStatus":{"code":403}}
FATAL:  password authentication failed for user "shop"
FATAL:  no pg_hba.conf entry for host "10.42.0.7", user "shop", database "token", SSL off
Access denied for user 'root'@'10.42.0.7' (using password: YES)
NOAUTH Authentication required.
WRONGPASS invalid username-password pair or user is disabled.
Authentication failed: password must be at least 12 characters, contain a digit and a symbol
x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error")
Error: Request failed: token is expired by 12m3s
Bearer error="invalid_token", error_description="The access token expired"
WWW-Authenticate: Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:shop/web:pull"
WWW-Authenticate: Basic realm="Enter your password"
Set-Cookie: lang=de; Path=/; SameSite=Lax
Access-Control-Allow-Headers: Authorization, X-Api-Key, X-CSRF-Token, Content-Type
ETag: W/"<=hex 32=>"
x-amz-request-id: <=upper 16=>
x-amz-id-2: <=b64 56=>
CF-RAY: <=hex 16=>-FRA
traceparent: 00-<=hex 32=>-<=hex 16=>-01
GET /api/v1/namespaces/prod/secrets/db-password 404
GET /static/js/password-reset.<=hex 8=>.chunk.js 200
GET /login?next=/account/password HTTP/1.1" 200
POST /oauth/token HTTP/1.1" 401 - "Go-http-client/1.1"
GET /assets/key.<=hex 20=>.png?v=<=hex 10=> 304
"POST /api/auth/token HTTP/2" 200 via_upstream "<=uuid=>" "auth.example.com" "10.42.0.7:8080"
commit <=hex 40=> (HEAD -> main, tag: v1.2.3) Remove password from config
Status: Downloaded newer image for shop/token-service:1.14.2
digest: sha256:<=hex 64=> size: 1782
Step 4/9 : ENV PASSWORD_FILE=/run/secrets/password
Pulling layer <=hex 12=>: Pull complete
Generated SSH host key fingerprint SHA256:<=b62 43=>
Accepted publickey for root from 10.0.0.1 port 51820 ssh2: ED25519 SHA256:<=b62 43=>
sshd[1]: Failed password for invalid user admin from 10.0.0.9 port 4242 ssh2
pam_unix(sudo:auth): authentication failure; logname= uid=1000 tty=/dev/pts/0 ruser=ops
sudo: a password is required
com.example.TokenService - Token issued for client=web, scopes=[openid, email], ttl=PT15M
c.e.PasswordController : password changed for user id=<=uuid=>
	at com.example.auth.PasswordEncoder.matches(PasswordEncoder.java:42)
	at org.springframework.security.oauth2.jwt.JwtDecoders.fromIssuerLocation(JwtDecoders.java:88)
Caused by: java.lang.IllegalArgumentException: secret must not be null or empty
javax.crypto.BadPaddingException: Given final block not properly padded. Such issues can arise if a bad key is used during decryption.
TypeError: Cannot read properties of undefined (reading 'password')
KeyError: 'DB_PASSWORD'
ValueError: Invalid salt
django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.
  File "/app/auth/password.py", line 31, in verify_password
ActiveRecord: SELECT "users"."password_digest" FROM "users" WHERE "users"."id" = $1 LIMIT $2
UPDATE users SET password_changed_at = now() WHERE id = 7
Parameters: {"user"=>{"password"=>"[FILTERED]"}, "token"=>"[FILTERED]"}
password=<redacted> token=*** secret=<hidden> api_key=[MASKED]
sasl.jaas.config = [hidden]
ssl.key.password = null
ssl.keystore.password = [hidden]
sasl.login.callback.handler.class = null
security.protocol = SASL_SSL
Loaded plugin: password_history (3 rules), token_revocation
vault: Success! Data written to: secret/data/shop/db
vault kv get -field=password secret/shop/db
Key                  Value
token_policies       ["default" "shop"]
token_duration       768h
lease_id             database/creds/shop/<=b62 24=>
terraform: db_password = (sensitive value)
aws_secretsmanager_secret.db: Refreshing state... [id=arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-<=b62 6=>]
random_password.db: Creation complete after 0s [id=none]
Plan: 1 to add, 0 to change; + password = (known after apply)
helm.sh/release.v1 sh.helm.release.v1.token-service.v12
pod/token-refresher-<=digits 8=>-<=suffix 5=> condition met
secret/shop-db-credentials configured
serviceaccount/password-rotator unchanged
rolebinding.rbac.authorization.k8s.io/secret-reader created
Event: ExternalSecret/shop-db: SecretSyncedError could not get secret data from provider
kafka: offset commit for topic=password-events partition=3 offset=<=digits 9=>
redis: key session:<=digits 6=> not found
node ip-10-0-<=digits 2=>-<=digits 2=>.eu-central-1.compute.internal tainted
leader election: lock token-lock held by shop-<=suffix 10=>-<=suffix 5=>_<=uuid=>
container_id=containerd://<=hex 64=> exit_code=137
etcdserver: request "header:<ID:<=digits 19=> > lease_revoke:<id:<=hex 16=>>" took too long
Das Passwort wurde geändert. Bitte melden Sie sich neu an.
Kennwort falsch (Versuch 2 von 5)
Mot de passe incorrect, il reste 2 essais
La contraseña ha caducado
Senha incorreta para o usuário anna
pasuwado ga chigaimasu
Please enter your password:
Enter PEM pass phrase:
no password supplied
Password changed successfully for user anna
The token you provided is not valid
token: expected ';' but found '}' at line 12
unexpected token < in JSON at position 0
SyntaxError: Unexpected token 'export'
primary key constraint "tokens_pkey" violated: Key (token_id)=(<=digits 6=>) already exists.
Cache key: user:profile:v3:<=digits 5=> hit=true
partition key=<=uuid=> sort key=order#<=digits 6=>
key=value pairs must be separated by commas
total tokens: prompt_tokens=812 completion_tokens=96 max_tokens=4096
llm: model=gpt-4o-2024-08-06 tokens/s=88.1 request=req_<=hex 32=>
""".strip("\n").split("\n")

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
