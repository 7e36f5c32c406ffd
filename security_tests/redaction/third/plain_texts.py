"""More files without any secret: translations, policies, locks, prose. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
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
