"""ConfigMaps without a secret: schemas, programs, pipelines."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== plain schema
file: openapi.json
{"openapi": "3.0.3", "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
 "schemas": {"Login": {"type": "object", "required": ["username", "password"], "properties": {"username": {"type": "string", "example": "jana"}, "password": {"type": "string", "format": "password", "minLength": 12}}},
 "Token": {"properties": {"access_token": {"type": "string"}, "expires_in": {"type": "integer", "example": 300}, "token_type": {"type": "string", "enum": ["Bearer"]}}}}}}
=== plain code
file: auth.py
import os
import secrets

API_KEY_HEADER = "X-Api-Key"
TOKEN_URL = "https://login.nordlicht.example/token"
PASSWORD_FIELDS = ("password", "passwd", "secret", "token")


def token() -> str:
    password = os.environ["DB_PASSWORD"]
    api_key = config.get("api_key")
    secret = secrets.token_urlsafe(32)
    if not password or password == api_key:
        raise ValueError("password must not be empty")
    return hash_password(password, salt=os.urandom(16), key=secret)
=== plain sql
file: schema.sql
CREATE TABLE api_keys (id uuid primary key, key_hash char(64) not null, user_id bigint references users(id), expires_at timestamptz);
CREATE INDEX api_keys_hash_idx ON api_keys (key_hash);
ALTER TABLE users ADD COLUMN password_changed_at timestamptz;
SELECT token_id, count(*) FROM sessions WHERE secret_version = 3 GROUP BY token_id;
CREATE USER reporting IDENTIFIED BY :reporting_password;
COMMENT ON COLUMN users.password_hash IS 'bcrypt, cost 12';
=== plain javascript
file: login.js
const token = localStorage.getItem("token");
const password = document.querySelector("#password").value;
const headers = { Authorization: `Bearer ${token}`, "X-CSRF-Token": csrf };
export const PASSWORD_PATTERN = /^(?=.*[A-Z])(?=.*\d).{12,}$/;
fetch("/api/login", { method: "POST", body: JSON.stringify({ user, password }) });
const API_KEY = process.env.API_KEY;
=== plain compose
file: values.yaml
image:
  repository: registry.nordlicht.example/orders/api
  tag: "1.44.2"
  digest: sha256:<=sha256=>
  pullSecrets: [nordlicht-registry]
auth:
  enabled: true
  existingSecret: orders-credentials
  existingSecretPasswordKey: postgres-password
  username: orders
  password: ""
  usePasswordFiles: false
secretKeyRef: {name: orders-credentials, key: api-token}
externalSecrets:
  refreshInterval: 1h
  secretStoreRef: vault-backend
serviceAccount: {create: true, automountServiceAccountToken: false}
podAnnotations: {checksum/config: <=sha256=>}
=== plain vault policy
file: policy.hcl
path "secret/data/orders/*" { capabilities = ["read"] }
path "auth/token/renew-self" { capabilities = ["update"] }
path "transit/keys/orders" { capabilities = ["read"] }
token_ttl = "1h"
bound_service_account_names = ["orders"]
=== plain gitlab ci
file: .gitlab-ci.yml
variables:
  DOCKER_TLS_CERTDIR: "/certs"
  SECURE_LOG_LEVEL: info
  SONAR_USER_HOME: "${CI_PROJECT_DIR}/.sonar"
deploy:
  image: registry.nordlicht.example/ci/helm:3.14.2
  secrets:
    DATABASE_PASSWORD:
      vault: production/db/password@ops
  script:
    - docker login -u "$CI_REGISTRY_USER" -p "$CI_REGISTRY_PASSWORD" "$CI_REGISTRY"
    - helm upgrade orders ./chart --set auth.existingSecret=orders-credentials --set image.tag=$CI_COMMIT_SHA
    - 'curl --header "PRIVATE-TOKEN: $API_TOKEN" "$CI_API_V4_URL/projects"'
=== plain kafka
file: server.properties
ssl.keystore.location=/etc/kafka/keystore.p12
ssl.keystore.type=PKCS12
ssl.client.auth=required
sasl.enabled.mechanisms=SCRAM-SHA-512
delegation.token.expiry.time.ms=86400000
delegation.token.max.lifetime.ms=604800000
config.providers=directory
config.providers.directory.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider
ssl.keystore.password=${directory:/run/secrets/kafka:keystore-password}
listener.name.internal.sasl.jaas.config=${file:/etc/kafka/jaas.properties:internal}
key.deserializer=org.apache.kafka.common.serialization.StringDeserializer
cluster.id=<=base64url 16=>
=== plain php
file: auth.php
<?php
$password = getenv('DB_PASSWORD');
$token = bin2hex(random_bytes(32));
if (!password_verify($password, $hash)) { throw new AuthenticationException('Invalid credentials.'); }
define('PASSWORD_MIN_LENGTH', 12);
'password' => env('DB_PASSWORD', ''),
'api_key' => env('DHL_API_KEY'),
'key' => 'id', 'token_table' => 'personal_access_tokens',
=== plain dotnet
file: appsettings.Production.json
{"ConnectionStrings": {"Default": "Server=sql-prod;Database=Billing;Integrated Security=true;Encrypt=True"},
 "AzureAd": {"Instance": "https://login.microsoftonline.com/", "TenantId": "<=uuid=>", "ClientId": "<=uuid=>", "CallbackPath": "/signin-oidc"},
 "KeyVault": {"Uri": "https://nordlicht-kv.vault.azure.net/", "SecretName": "billing-sql-password", "SecretVersion": "<=hex 32=>"},
 "PasswordOptions": {"RequiredLength": 12, "RequireNonAlphanumeric": true}, "Jwt": {"KeyId": "<=hex 16=>", "ExpiryMinutes": 15}}
=== plain cookies
file: consent.json
{"cookies": [{"name": "session_token", "purpose": "Anmeldung", "duration": "Sitzung"}, {"name": "_ga", "duration": "2 Jahre"}, {"name": "XSRF-TOKEN", "purpose": "Schutz vor CSRF"}],
 "version": "3.1.0", "hash": "<=sha256=>", "policyUrl": "https://www.nordlicht.example/datenschutz"}
=== plain cron
file: crontab
0 3 * * * /scripts/rotate-passwords.sh --secret orders-credentials --key password
15 4 * * 0 /scripts/expire-tokens.sh --older-than 30d
*/5 * * * * curl -fsS https://hc.nordlicht.example/ping/<=uuid=>
=== plain ids
file: migrations.json
{"applied": ["<=ulid=>", "<=ulid=>", "<=ulid=>"], "etag": "\"<=md5=>\"", "cursor": "<=base64 24=>", "traceparent": "00-<=trace=>-<=span=>-01", "build": "20260304.<=short=>", "nextPageToken": ""}
=== plain emoji
file: status.txt
🔑 Schlüsselübergabe um 8 Uhr am Tor 3
🔒 Lager gesperrt bis auf Weiteres
パスワードを変更してください
Пароль должен содержать не менее 12 символов
Le mot de passe doit contenir au moins 12 caractères
Hasło wygasa za 30 dni
"""
