"""ConfigMaps without a secret: settings, documents, lists."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== plain application.yml
file: application.yml
spring:
  datasource:
    password: ${DB_PASSWORD}
    username: ${DB_USER:orders}
  cloud:
    vault:
      authentication: KUBERNETES
      kubernetes: {role: orders, service-account-token-file: /var/run/secrets/kubernetes.io/serviceaccount/token}
  security:
    oauth2:
      client:
        registration:
          keycloak: {client-id: orders-backend, client-secret: "${KEYCLOAK_SECRET}", scope: "openid,profile"}
password:
  min-length: 12
  history: 5
  reset-token-validity: 24h
  special-characters: "!@#$%^&*"
jwt:
  public-key-location: classpath:jwt.pub
  token-prefix: Bearer
  clock-skew-seconds: 30
cors.allowed-headers: Authorization,X-Csrf-Token,X-Requested-With
=== plain policy docs
file: README.md
# Passwords and tokens

* Never write a password into a values file; use `existingSecret: orders-credentials`.
* The key in the Secret must be called `password` (or `postgres-password` for the superuser).
* Tokens: `kubectl create token ci --duration 1h`, then `export TOKEN=...`.
* API key: ask #team-platform. Example: `curl -H "Authorization: Bearer <your-token>" https://api.nordlicht.example/v1/orders`
* Basic auth: `curl -u user:password https://localhost:8080` works in development only.
* Passwort vergessen? https://help.nordlicht.example/passwort
* Image digests are pinned, e.g. `registry.nordlicht.example/orders/api@sha256:<=sha256=>`
* Last rotated in commit <=git=>
* The password: at least 12 characters. The secret: none of ours.
=== plain lock
file: package-lock.json
{"name": "storefront", "lockfileVersion": 3, "packages": {
 "node_modules/jsonwebtoken": {"version": "9.0.2", "integrity": "sha512-<=base64 64=>", "license": "MIT"},
 "node_modules/password-validator": {"version": "5.3.0", "integrity": "sha512-<=base64 64=>"},
 "node_modules/js-tokens": {"version": "4.0.0", "integrity": "sha512-<=base64 64=>"},
 "node_modules/keyv": {"version": "4.5.4", "integrity": "sha512-<=base64 64=>"}}}
=== plain sums
file: SHA256SUMS
<=sha256=>  orders-api-1.44.2.tar.gz
<=sha256=>  orders-api-1.44.2-secrets-migration.sql
<=sha256=>  tokens.json
<=md5=>  keystore.jks
<=git=>  refs/heads/main
=== plain prometheus rules
file: rules.yml
groups:
  - name: auth
    rules:
      - alert: VaultTokenExpiring
        expr: vault_token_ttl_seconds{namespace="iam"} < 86400
        annotations: {summary: "Token of {{ $labels.pod }} expires", runbook_url: "https://wiki.nordlicht.example/OPS/vault-token"}
      - alert: TooManyFailedLogins
        expr: sum(rate(keycloak_failed_login_attempts{realm="nordlicht"}[5m])) > 10
      - alert: CertificateExpiry
        expr: certmanager_certificate_expiration_timestamp_seconds - time() < 604800
      - record: job:password_resets:rate5m
        expr: sum by (job) (rate(password_reset_total[5m]))
      - record: api_key_requests:sum
        expr: sum(api_key_requests_total{key_id!=""}) by (key_id)
=== plain nginx
file: nginx.conf
http {
  log_format main '$remote_addr - $remote_user [$time_local] "$request" $status $http_authorization_hash';
  proxy_set_header Authorization $http_authorization;
  proxy_pass_header X-Auth-Token;
  ssl_certificate /etc/tls/tls.crt;
  ssl_certificate_key /etc/tls/tls.key;
  ssl_session_cache shared:SSL:10m;
  ssl_session_tickets off;
  auth_basic_user_file /etc/nginx/htpasswd;
  limit_req_zone $binary_remote_addr zone=login:10m rate=5r/m;
  location = /reset-password { proxy_pass http://users.users.svc:8080; }
  add_header Content-Security-Policy "script-src 'sha256-<=base64 32=>' 'nonce-$request_id'";
}
=== plain certificates
file: ca.crt
<=certificate=>
=== plain known hosts
file: ssh_known_hosts
git.nordlicht.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA<=base62 43=>
git.nordlicht.example ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ<=base62 120=>
sftp.partner.example ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY<=base62 80=>
=== plain aws auth
file: mapRoles
- rolearn: arn:aws:iam::123456789012:role/nordlicht-prod-node
  username: system:node:{{EC2PrivateDNSName}}
  groups: [system:bootstrappers, system:nodes]
- rolearn: arn:aws:iam::123456789012:role/ops-admin
  username: ops:{{SessionName}}
=== plain logback
file: logback-spring.xml
<configuration>
  <property name="PASSWORD_MASK" value="(password|token|secret)=([^&amp;\s]+)"/>
  <conversionRule conversionWord="masked" converterClass="com.nordlicht.logging.SecretMaskingConverter"/>
  <logger name="org.springframework.security.oauth2.core.OAuth2AccessToken" level="WARN"/>
  <logger name="com.nordlicht.auth.PasswordResetTokenRepository" level="INFO"/>
  <include resource="org/springframework/boot/logging/logback/defaults.xml"/>
</configuration>
=== plain i18n
file: messages_de.properties
login.title=Anmelden
login.password=Passwort
login.password.placeholder=Ihr Passwort
login.error.password=Das Passwort ist falsch.
login.token.expired=Der Token ist abgelaufen, bitte neu anmelden.
password.reset.subject=Ihr neues Passwort 🔐
password.rule=Mindestens 12 Zeichen
password.strength.weak=schwach
api.key.label=API-Schlüssel
api.key.hint=Den Schlüssel finden Sie unter Einstellungen > Schnittstellen
secret.question=Wie hieß Ihr erstes Haustier?
contact.mail=kontakt@nordlicht.example
"""
