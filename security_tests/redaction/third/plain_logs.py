"""Log lines without any secret; each line is a look-alike of its own."""

from __future__ import annotations

from typing import Final

__all__ = ["LINES"]

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
