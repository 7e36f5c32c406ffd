"""More ConfigMaps without a secret: settings, dictionaries, locks; written after the first measurement, to have more to harm."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== estate bootstrap
file: bootstrap.yml
spring.application.name: shipping
spring.cloud.config.uri: http://config-server.platform.svc:8888
spring.cloud.config.username: ${CONFIG_USER}
spring.cloud.config.password: ${CONFIG_PASSWORD}
spring.cloud.kubernetes.secrets.name: shipping-credentials
spring.cloud.kubernetes.secrets.enabled: true
spring.session.store-type: redis
server.servlet.session.cookie.name: SHIPPING_SESSION
server.servlet.session.cookie.same-site: lax
spring.kafka.consumer.key-deserializer: org.apache.kafka.common.serialization.StringDeserializer
spring.jpa.properties.hibernate.id.new_generator_mappings: true
resilience4j.ratelimiter.instances.dhl.limit-for-period: 50
=== estate keycloak theme
file: messages_en.properties
doLogIn=Sign In
passwordConfirm=Confirm password
passwordNew=New Password
loginTotpOneTime=One-time code
invalidPasswordMinLengthMessage=Invalid password: minimum length {0}.
invalidPasswordHistoryMessage=Invalid password: must not be equal to any of last {0} passwords.
emailForgotTitle=Forgot Your Password?
accessTokenLifespan=Access Token Lifespan
webauthn-login-title=Security Key login
missingTotpMessage=Please specify authenticator code.
updatePasswordMessage=You need to change your password to activate your account.
clientSecretRotated=The client secret was rotated.
=== estate otel
file: otel-collector.yaml
processors:
  attributes/scrub:
    actions:
      - {key: http.request.header.authorization, action: delete}
      - {key: db.statement.password, action: delete}
      - {key: enduser.id, action: hash}
      - {key: token.hash, action: extract, pattern: "^(?P<kid>[a-z0-9]+)"}
exporters:
  otlphttp/tempo: {endpoint: "http://tempo.monitoring:4318", headers: {X-Scope-OrgID: nordlicht}}
  otlp/vendor: {endpoint: "https://otlp.eu01.example:4317", headers: {api-key: "${env:VENDOR_API_KEY}"}}
extensions:
  bearertokenauth: {scheme: Bearer, filename: /var/run/secrets/otel/token}
=== estate go mod
file: go.sum
github.com/golang-jwt/jwt/v5 v5.2.1 h1:<=base64 32=>
github.com/hashicorp/vault/api v1.14.0 h1:<=base64 32=>
github.com/zalando/go-keyring v0.2.5 h1:<=base64 32=>
golang.org/x/crypto v0.31.0 h1:<=base64 32=>
golang.org/x/crypto v0.31.0/go.mod h1:<=base64 32=>
golang.org/x/oauth2 v0.24.0 h1:<=base64 32=>
k8s.io/kube-openapi v0.0.0-20241105132330-32ad38e42d3f h1:<=base64 32=>
=== estate poetry
file: poetry.lock
name = "cryptography"
version = "43.0.3"
files = [
    {file = "cryptography-43.0.3-cp39-abi3-manylinux_2_28_x86_64.whl", hash = "sha256:<=sha256=>"},
    {file = "cryptography-43.0.3.tar.gz", hash = "sha256:<=sha256=>"},
]
name = "python-jose"
name = "tokenizers"
content-hash = "<=sha256=>"
=== estate requirements
file: requirements.txt
PyJWT==2.9.0 --hash=sha256:<=sha256=>
passlib==1.7.4 --hash=sha256:<=sha256=>
keyring==25.5.0 --hash=sha256:<=sha256=>
tiktoken==0.8.0 --hash=sha256:<=sha256=>
django-rest-passwordreset==1.4.2 --hash=sha256:<=sha256=>
=== estate dockerfile
file: Dockerfile
FROM registry.nordlicht.example/base/java:21.0.5@sha256:<=sha256=>
ARG NEXUS_USER
ARG NEXUS_PASSWORD
LABEL org.opencontainers.image.revision=<=git=>
RUN --mount=type=secret,id=maven,target=/root/.m2/settings.xml mvn -B package
ENV KEYSTORE_PATH=/etc/app/keystore.p12 TOKEN_FILE=/run/secrets/token
HEALTHCHECK CMD curl -fs http://localhost:8080/actuator/health || exit 1
USER 10001:10001
=== estate feature list
file: permissions.yaml
roles:
  clerk: [order.read, order.write, password.change-own]
  lead: [order.*, user.password.reset, token.revoke]
  api: [token.issue, api-key.list, api-key.rotate]
  auditor: [secret.list-names, login.history]
default-role: clerk
session-idle-minutes: 30
require-second-factor-for: [user.password.reset, api-key.rotate]
=== estate sql views
file: report.sql
-- passwords older than 90 days
SELECT u.login, u.password_changed_at FROM users u WHERE u.password_changed_at < now() - interval '90 days';
SELECT k.key_id, k.label, k.last_used FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.revoked IS NULL;
UPDATE sessions SET token = NULL WHERE expires_at < now();
DELETE FROM password_reset_tokens WHERE created_at < now() - interval '1 day';
SELECT md5(order_no || salt_version) AS order_key FROM orders;
INSERT INTO audit (actor, action, target) VALUES ('jana', 'password.reset', 'ole');
CREATE TRIGGER hash_password BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION hash_password();
GRANT USAGE ON SCHEMA auth TO token_service;
"""
