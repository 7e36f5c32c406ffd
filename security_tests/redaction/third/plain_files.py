"""Files without any secret; every line is a look-alike of its own. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
=== external values | values.yaml
auth:
  existingSecret: keycloak-admin-credentials
  existingSecretPasswordKey: admin-password
  passwordSecretRef: {name: shop-db, key: password}
  password: ""
  rootPassword: null
  replicationPassword: ~
  usePasswordFiles: true
  passwordUpdateJob: {enabled: false}
  token: "{{ .Values.global.token }}"
  secretKey: ${SECRET_KEY}
  clientSecret: $(CLIENT_SECRET)
  apiKey: <your-api-key>
  webhookSecret: REPLACE_ME
  adminPassword: "********"
  encryptionKey: "[REDACTED]"
  jwtSecretFrom: {secretKeyRef: {name: jwt, key: signing-key}}
  tokenExpirationSeconds: 3600
  passwordMinLength: 14
  passwordHashAlgorithm: argon2id
  tokenAudience: https://kubernetes.default.svc
  credentialsFile: /var/run/secrets/db/credentials.json
image: {repository: registry.example.com/token-service, tag: 1.14.2-<=hex 7=>, digest: "sha256:<=hex 64=>"}
podAnnotations:
  checksum/secret: <=hex 64=>
  checksum/config: <=hex 64=>
  rollme: <=b62 5=>
=== spring references | application.yml
spring:
  datasource:
    password: ${DB_PASSWORD}
    url: jdbc:postgresql://db:5432/shop?currentSchema=token&sslmode=require
  cloud.vault: {authentication: KUBERNETES, kubernetes: {role: shop, service-account-token-file: /var/run/secrets/token}}
  config.import: vault://secret/shop/credentials
  jackson.property-naming-strategy: SNAKE_CASE
jasypt.encryptor.password: ${JASYPT_PASSWORD:}
jwt.public-key: classpath:keys/public.pem
security.filter.order: 5
login.password-reset.url: https://app.example.com/password/reset
logging.level.org.springframework.security.authentication: DEBUG
cipher.password: '{cipher}<=hex 96=>'
=== sops | secrets.enc.yaml
db:
    password: ENC[AES256_GCM,data:<=b64 12=>,iv:<=b64 32=>,tag:<=b64 16=>,type:str]
    user: app
sops:
    kms: []
    age:
        - recipient: age1<=lower 58=>
    lastmodified: "2026-03-04T05:06:07Z"
    mac: ENC[AES256_GCM,data:<=b64 64=>,iv:<=b64 32=>,tag:<=b64 16=>,type:str]
    pgp: []
    unencrypted_suffix: _unencrypted
    version: 3.8.1
=== sealed | sealed.yaml
kind: SealedSecret
spec:
  encryptedData:
    password: AgB<=b64 240=>
    api-token: AgA<=b64 240=>
  template: {metadata: {name: shop-db-credentials}, type: Opaque}
=== login.ts | login.ts
export interface Credentials { username: string; password: string; otp?: string }
const token = await this.tokenService.refreshToken(refreshToken);
if (!password || password.length < 8) throw new Error('Password too short');
const secret = await secretsManager.getSecretValue({ SecretId: 'prod/shop/db' }).promise();
const apiKey = process.env.API_KEY ?? '';
headers.set('Authorization', `Bearer ${accessToken}`);
password: Joi.string().min(8).max(72).required(),
const { password: _omit, ...safeUser } = user;
localStorage.removeItem('access_token');
=== handler.go | handler.go
password := os.Getenv("DB_PASSWORD")
token, err := jwt.Parse(raw, keyFunc)
secret, err := client.CoreV1().Secrets(ns).Get(ctx, "shop-db", metav1.GetOptions{})
dsn := fmt.Sprintf("%s:%s@tcp(%s:3306)/%s", user, password, host, name)
return nil, errors.New("token: signature is invalid")
req.Header.Set("Authorization", "Bearer "+token)
if subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
flag.StringVar(&opts.Password, "password", "", "password of the database")
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount/token"
=== views.py | views.py
password = forms.CharField(widget=forms.PasswordInput, max_length=128)
token = secrets.token_urlsafe(32)
user.set_password(form.cleaned_data["password"])
api_key = config.get("api_key")
SECRET_KEY = os.environ["SECRET_KEY"]
conn = psycopg.connect(host=host, user=user, password=password)
raise PermissionDenied("invalid token for user %s" % user.pk)
assert hashlib.sha256(data).hexdigest() == "<=hex 64=>"
password: str | None = Field(default=None, repr=False)
API_TOKEN: SecretStr = SecretStr("")
=== Login.java | Login.java
private final PasswordEncoder passwordEncoder;
String token = request.getHeader("X-Auth-Token");
.password(env.getProperty("db.password"))
public static final String PASSWORD_PARAMETER = "password";
public static final String TOKEN_HEADER = "X-CSRF-TOKEN";
if (credentials.getPassword() == null) throw new BadCredentialsException("Empty password");
@Schema(description = "The password of the user", example = "********")
=== deploy.sh | deploy.sh
DB_PASSWORD=$(kubectl get secret shop-db -o jsonpath='{.data.password}' | base64 -d)
export VAULT_TOKEN="$(vault print token)"
: "${API_TOKEN:?API_TOKEN must be set}"
psql "postgres://$DB_USER:$DB_PASSWORD@db/shop" -f schema.sql
curl -H "Authorization: Bearer ${TOKEN}" "$API/v1/jobs"
mysql -u root -p"$MYSQL_ROOT_PASSWORD" -e 'show databases'
docker login -u "$CI_REGISTRY_USER" --password-stdin "$CI_REGISTRY" <<< "$CI_REGISTRY_PASSWORD"
read -rsp 'Password: ' PW
openssl rand -hex 32 > /run/secrets/key
echo "usage: $0 --user USER --password-file FILE"
sha256sum -c <<< "<=hex 64=>  tool.tar.gz"
=== main.tf | main.tf
resource "random_password" "db" { length = 24 special = true }
password = random_password.db.result
password = var.db_password
secret_id = aws_secretsmanager_secret.db.id
variable "db_password" { type = string sensitive = true }
kms_key_id = "arn:aws:kms:eu-central-1:123456789012:key/<=uuid=>"
ami = "ami-0<=hex 16=>"
vault_path = "secret/data/shop/prod"
token = data.google_client_config.default.access_token
manage_master_user_password = true
key_name = "ops-2026-ed25519"
=== messages de | messages_de.properties
login.passwort=Passwort
login.passwort.vergessen=Passwort vergessen?
fehler.passwort.zukurz=Das Passwort muss mindestens 12 Zeichen haben
fehler.token=Das Zugriffstoken ist abgelaufen, bitte erneut anmelden
kennwort.aendern=Kennwort ändern
api.schluessel=API-Schlüssel erzeugen
geheimnis.hinweis=Geben Sie Ihr Geheimnis niemals weiter
=== messages fr es pt ja | messages.json
{"motDePasse": "Mot de passe", "motDePasseOublie": "Mot de passe oublié ?",
"contrasena": "Contraseña", "olvidoContrasena": "¿Olvidó su contraseña?",
"senha": "Senha", "esqueciSenha": "Esqueci minha senha",
"pasuwado": "パスワード", "pasuwadoWasure": "パスワードをお忘れですか",
"token": "Jeton d'accès", "clave": "Clave de acceso", "chave": "Chave de acesso"}
=== openapi | openapi.yaml
securitySchemes: {bearerAuth: {type: http, scheme: bearer, bearerFormat: JWT}}
password: {type: string, format: password, minLength: 8}
client_secret: {type: string, description: The secret of the client, writeOnly: true}
tokenUrl: https://sso.example.com/realms/shop/protocol/openid-connect/token
- {name: X-API-Key, in: header, required: true, schema: {type: string}}
required: [username, password, otp_secret]
example: {password: string, token: string}
pattern: '^(?=.*[A-Z])(?=.*\d)[A-Za-z\d@$!%*?&]{8,}$'
=== nginx plain | nginx.conf
auth_basic "Restricted: password required";
auth_basic_user_file /etc/nginx/secrets/.htpasswd;
proxy_set_header Authorization $http_authorization;
add_header Content-Security-Policy "script-src 'nonce-<=b62 22=>' 'sha256-<=b64 32=>'";
ssl_certificate /etc/nginx/ssl/tls.crt;
ssl_session_tickets off;
log_format main '$remote_addr "$request" token=$cookie_token';
proxy_cookie_path / "/; HttpOnly; Secure";
limit_req_zone $http_x_api_key zone=keys:10m rate=5r/s;
=== locks | package-lock.json
"integrity": "sha512-<=b64 64=>",
"resolved": "https://registry.example.com/jsonwebtoken/-/jsonwebtoken-9.0.2.tgz",
"node_modules/passport-local": {"version": "1.0.0"},
"shasum": "<=hex 40=>"
github.com/golang-jwt/jwt/v5 v5.2.1 h1:<=b64 32=>
github.com/hashicorp/vault/api/auth/token v0.5.0/go.mod h1:<=b64 32=>
cryptography==42.0.5 --hash=sha256:<=hex 64=>
checksum = "<=hex 64=>"
=== certs | ca-bundle.crt
subject=CN = Password Vault Issuing CA, O = ACME
Serial Number: <=hex 32=>
SHA256 Fingerprint=<=hex 64=>
X509v3 Subject Key Identifier: <=hex 40=>
-----BEGIN CERTIFICATE-----
MII<=b64 45=>
<=b64 48=>
<=b64 48=>
-----END CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<=b64 30=> anna@laptop
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAI<=b64 60=> root@node
=== alert rules | rules.yaml
- alert: ServiceAccountTokenStale
  expr: sum(rate(serviceaccount_stale_tokens_total[1h])) by (secret, key) > 0
  annotations: {summary: "Token {{ $labels.token_id }} of {{ $labels.namespace }} is stale"}
- alert: PasswordSprayDetected
  expr: rate(login_failures_total{reason="wrong_password"}[5m]) > 10
- alert: SecretRotationOverdue
  expr: time() - secret_last_rotation_timestamp{secret_name="shop-db"} > 7776000
  labels: {severity: page, runbook: secret-rotation}
=== dashboard | dashboard.json
{"uid": "<=lower 14=>", "title": "Auth tokens and passwords",
"expr": "histogram_quantile(0.99, sum(rate(token_issue_seconds_bucket{realm=\"$realm\"}[5m])) by (le))",
"legendFormat": "{{token_type}} {{client_id}}", "datasource": {"uid": "P<=upper 16=>"},
"description": "Failed logins by password policy; key: realm", "gnetId": 12345}
=== opa and kyverno | policy.rego
deny[msg] { input.spec.containers[_].env[_].name == "DB_PASSWORD"; msg := "use a secretKeyRef for passwords" }
is_secret(name) { contains(lower(name), "password") }
regex.match("(?i)(password|token|api[_-]?key)\\s*[:=]\\s*\\S+", line)
message: "Passwords must not be literal: {{ request.object.metadata.name }}"
allowed := {"kube-root-ca.crt", "default-token"}
=== fluent filters | filters.conf
Regex password (?<key>password|passwd|token)=(?<value>[^&\s]+)
Replace /password=\S+/password=***/
Parser_Secret_Key_Name log
Mask_Fields password,token,authorization
Buffer_Chunk_Size 1M
=== systemd and sshd | sshd_config
PasswordAuthentication no
PermitRootLogin prohibit-password
AuthorizedKeysFile .ssh/authorized_keys
HostKey /etc/ssh/ssh_host_ed25519_key
KbdInteractiveAuthentication no
HostKeyAlgorithms ssh-ed25519,rsa-sha2-512
LoadCredential=db-password:/etc/credstore/db
SetCredentialEncrypted=
=== postgresql.conf | postgresql.conf
password_encryption = scram-sha-256
ssl_key_file = '/etc/ssl/private/server.key'
ssl_passphrase_command = ''
primary_slot_name = 'token_slot'
shared_preload_libraries = 'passwordcheck,pg_stat_statements'
hostssl all all 10.0.0.0/8 scram-sha-256
krb_server_keyfile = '/etc/krb5.keytab'
=== placeholders | .env.example
DB_PASSWORD=
API_KEY=your-api-key-here
SECRET_KEY=<insert secret>
TOKEN=xxxxxxxxxxxxxxxx
JWT_SECRET=${JWT_SECRET}
SMTP_PASSWORD=****
STRIPE_KEY=sk_test_...
AWS_SECRET_ACCESS_KEY=REPLACE_WITH_YOUR_KEY
PRIVATE_KEY_PATH=./certs/key.pem
PASSWORD_RESET_TTL=30m
ENABLE_TOKEN_AUTH=false
=== runbook | runbook.md
If the password of the database was rotated, restart the pods: the token in memory is stale.
Secrets live in Vault under `secret/shop/<env>/db`; ask for access, never paste a password into a ticket.
Tokens: at most 15 minutes. Passwords: at least 14 characters. Keys: ed25519.
1. `kubectl get secret shop-db -o jsonpath='{.data.password}'`
2. Check that `authorization: Bearer …` is sent.
Password policy: uppercase, lowercase, digit; token: opaque; secret: never logged.
The key is to keep calm. A pass: Brenner. The token ring is history.
Commit <=hex 40=> removed the password; trace <=hex 32=>, span <=hex 16=>.
""")
