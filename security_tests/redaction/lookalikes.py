"""What looks like a secret and is none: references, switches, hashes, public keys, prose. All of it must survive."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from security_tests.redaction import kinds, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents", "entries", "lines", "settings"]

Make = Callable[[Chance], str]
_REPEATS: Final = 4


def _certificate(c: Chance) -> str:
    return kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 640)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENV: Final[dict[str, Make]] = {
    "TOKEN_TTL": lambda c: str(c.number(60, 99999)), "PASSWORD_MIN_LENGTH": lambda c: str(c.number(8, 32)),
    "AUTH_ENABLED": lambda c: c.of(("true", "false")), "KEY_PREFIX": lambda c: f"{c.word()}:cache:",
    "TOKEN_URL": lambda c: f"https://idp.example.com/realms/{c.word()}/protocol/openid-connect/token",
    "SECRET_NAME": lambda c: f"{c.word()}-db-credentials", "PASSWORD_FILE": lambda c: f"/run/secrets/{c.word()}-password",
    "DB_PASSWORD_FILE": lambda c: f"/etc/{c.word()}/db-password", "DATABASE_PASSWORD": lambda c: "$(POSTGRES_PASSWORD)",
    "API_TOKEN_PATH": lambda c: "/var/run/secrets/tokens/api-token", "AWS_WEB_IDENTITY_TOKEN_FILE": lambda c: "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
    "AWS_ROLE_ARN": lambda c: f"arn:aws:iam::{c.digits(12)}:role/{c.word()}-irsa", "AWS_REGION": lambda c: "eu-central-1",
    "GOOGLE_APPLICATION_CREDENTIALS": lambda c: "/var/secrets/google/key.json", "TENANT_ID": lambda c: c.uuid(), "CLIENT_ID": lambda c: c.uuid(),
    "CLUSTER_ID": lambda c: c.uuid(), "AZURE_SUBSCRIPTION_ID": lambda c: c.uuid(), "SSH_KEY_TYPE": lambda c: "ed25519", "TOKENIZER": lambda c: "cl100k_base",
    "MAX_TOKENS": lambda c: str(c.number(256, 128000)), "MONKEY": lambda c: "banana", "KEYBOARD_LAYOUT": lambda c: "de-latin1", "AUTHOR": lambda c: "jane.doe@example.com",
    "PUBLIC_KEY": lambda c: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{c.base62(44)} {c.word()}@example.com", "PASSENGER_MAX_POOL_SIZE": lambda c: str(c.number(2, 9)),
    "COMPASS_REGION": lambda c: "europe-west3", "BYPASS_AUTH": lambda c: "false", "USE_SECRETS_MANAGER": lambda c: "true", "API_KEY_HEADER": lambda c: "X-Api-Key",
    "SECRET_ROTATION_DAYS": lambda c: str(c.number(7, 365)), "TOKEN_ISSUER": lambda c: "https://kubernetes.default.svc.cluster.local", "TOKEN_AUDIENCE": lambda c: "vault",
    "VAULT_SECRET_PATH": lambda c: f"secret/data/{c.word()}/config", "VAULT_ADDR": lambda c: "https://vault.vault:8200", "VAULT_ROLE": lambda c: c.word(),
    "CREDENTIALS_PROVIDER": lambda c: "irsa", "PASSWORD_POLICY": lambda c: "strong", "PASSWORD_HASH_ALGORITHM": lambda c: "argon2id", "AUTH_MODE": lambda c: "oidc",
    "KAFKA_SECURITY_PROTOCOL": lambda c: "SASL_SSL", "SASL_MECHANISM": lambda c: "SCRAM-SHA-512", "DATABASE_URL": lambda c: f"postgres://db.{c.word()}.svc:5432/app?sslmode=require",
    "REDIS_URL": lambda c: "redis://redis-master:6379/0", "PROXY_URL": lambda c: "http://proxy.example.com:3128", "GIT_COMMIT": lambda c: c.hex(40), "BUILD_ID": lambda c: c.digits(9),
    "IMAGE_DIGEST": lambda c: f"sha256:{c.hex(64)}", "SENTRY_RELEASE": lambda c: f"{c.word()}@{c.hex(12)}", "POD_TEMPLATE": lambda c: f"{c.word()}-{c.suffix(10)}-{c.suffix()}",
    "FEATURE_GATES": lambda c: "ServiceAccountTokenNodeBinding=true,KubeletTracing=false", "OTEL_RESOURCE_ATTRIBUTES": lambda c: f"service.name={c.word()},k8s.pod.uid={c.uuid()}",
    "JAVA_OPTS": lambda c: f"-Xmx{c.number(1, 8)}g -XX:+UseG1GC -Djavax.net.ssl.trustStore=/etc/ssl/truststore.jks", "SESSION_TIMEOUT": lambda c: "30m", "CSRF_COOKIE_NAME": lambda c: "csrftoken",
    "DEFAULT_CONFIG": lambda c: _b64(json.dumps({"name": c.word(), "replicas": c.number(1, 9), "region": "eu-central-1"})), "KUBERNETES_SERVICE_HOST": lambda c: "10.96.0.1",
    "UPSTREAM_HOST": lambda c: f"{c.word()}-{c.hex(10)}.elb.eu-central-1.amazonaws.com", "SERVICE_ACCOUNT": lambda c: f"{c.word()}@shop-prod.iam.gserviceaccount.com", "PASSWORD": lambda c: "",
    "PASSWORDLESS_LOGIN": lambda c: "true", "ACCESS_LOG": lambda c: "/dev/stdout", "PRIVATE_KEY_PATH": lambda c: "/etc/tls/tls.key", "TLS_CERT": lambda c: "/etc/tls/tls.crt",
    "PARTITION_KEY": lambda c: "customer_id", "SORT_KEY": lambda c: "created_at", "CACHE_KEY_VERSION": lambda c: "v3", "LICENSE": lambda c: "Apache-2.0", "HASH_SALT_ROUNDS": lambda c: "12",
}  # fmt: skip
"""Environment variables."""

LINES: Final[dict[str, Make]] = {
    "password failed": lambda c: f'FATAL:  password authentication failed for user "{c.word()}"', "wrong password": lambda c: f"login of user {c.word()} failed: invalid username or password",
    "token expired": lambda c: "Unauthorized: token expired at 2026-03-04T05:06:07Z", "no bearer": lambda c: "missing Authorization: Bearer header in request from 10.0.0.7",
    "secret not found": lambda c: f'MountVolume.SetUp failed for volume "tls" : secret "{c.word()}-tls" not found', "secretKeyRef": lambda c: f"couldn't find key password in Secret shop/{c.word()}-credentials",
    "rotated": lambda c: f"rotated key {c.uuid()} of keyring {c.word()}", "etag": lambda c: f'ETag: "{c.hex(32)}"', "trace": lambda c: f"traceparent=00-{c.hex(32)}-{c.hex(16)}-01",
    "fingerprint": lambda c: f"Server host key: ssh-ed25519 SHA256:{c.base64(32).rstrip('=')}", "md5": lambda c: f"RSA key fingerprint is MD5:{':'.join(c.hex(2) for _ in range(16))}",
    "checksum": lambda c: f"{c.hex(64)}  /var/lib/{c.word()}/data.tar.gz", "commit": lambda c: f"HEAD is now at {c.hex(7)} fix password reset form", "oom": lambda c: f"Memory cgroup out of memory: Killed process {c.digits(6)} (java) total-vm:{c.digits(7)}kB",
    "kubelet": lambda c: f'"Failed to get pod from checkpoint" podUID="{c.uuid()}" containerID="containerd://{c.hex(64)}"', "csr": lambda c: f"certificatesigningrequest csr-{c.suffix()} approved for system:node:ip-10-0-0-{c.number(1, 254)}",
    "goroutine": lambda c: f"main.(*TokenSource).Refresh(0xc000{c.hex(6)}, {{0x{c.hex(6)}, 0x{c.hex(2)}}})", "java": lambda c: f"\tat org.springframework.security.authentication.UsernamePasswordAuthenticationFilter.attempt(UsernamePasswordAuthenticationFilter.java:{c.number(10, 99)})",
    "python": lambda c: f'  File "/usr/lib/python3.12/site-packages/{c.word()}/password_policy.py", line {c.number(1, 900)}, in check_token', "S3": lambda c: f"GET s3://backups-{c.digits(12)}/{c.word()}/2026/03/04/{c.hex(32)}.gz",
    "ARN": lambda c: f"assumed role arn:aws:sts::{c.digits(12)}:assumed-role/{c.word()}/{c.word()}-{c.digits(19)}", "request id": lambda c: f"x-amzn-RequestId: {c.uuid()}", "amz id": lambda c: f"x-amz-id-2: {c.base64(56)}",
    "jwks": lambda c: f"fetched 2 keys from https://idp.example.com/.well-known/jwks.json, kid={c.base64url(20)}", "lease": lambda c: f"became leader {c.word()}-{c.suffix(10)}-{c.suffix()}_{c.uuid()}",
    "pulled": lambda c: f'Successfully pulled image "ghcr.io/shop/{c.word()}:{c.hex(40)}" in 1.2s', "email": lambda c: f"mail to {c.word()}.team+alerts@example.com queued as {c.upper(10)}", "url": lambda c: f"dial tcp: lookup {c.word()}.shop.svc.cluster.local on 10.96.0.10:53: no such host",
    "pass": lambda c: f"PASS: Test{c.word().title()}Password (0.{c.number(10, 99)}s)", "auth config": lambda c: f"auth: using provider=oidc client_id={c.uuid()} scopes=openid,email", "metrics": lambda c: f'apiserver_client_certificate_expiration_seconds_bucket{{le="{c.digits(5)}"}} {c.digits(4)}',
    "tokens used": lambda c: f"completion finished: prompt_tokens={c.number(10, 9999)} total_tokens={c.number(10, 9999)}", "key rejected": lambda c: f"key=user:{c.digits(8)} op=GET hit=false shard={c.number(0, 31)}",
    "sha512": lambda c: f"integrity sha512-{c.base64(64)} ok", "uuid path": lambda c: f"DELETE /api/v1/sessions/{c.uuid()} 204", "git log": lambda c: f"commit {c.hex(40)} (tag: v{c.number(1, 9)}.{c.number(0, 20)}.0)", "secret listed": lambda c: f"reconciled secret shop/{c.word()}-credentials resourceVersion={c.digits(9)}",
    "no password": lambda c: "WARNING: no password set for the default user; requirepass is empty", "help text": lambda c: "      --password string   password for basic authentication to the API server", "usage": lambda c: "usage: app --token TOKEN [--token-file FILE]",
    "password changed": lambda c: f"password for user {c.word()} changed by admin", "null": lambda c: json.dumps({"user": c.word(), "password": None, "token": "", "ok": True}), "stars": lambda c: f"spring.datasource.password=****** (user {c.word()})",
    "query": lambda c: f'"GET /search?q=password+reset&page={c.number(1, 99)} HTTP/1.1" 200', "kv counters": lambda c: f"tokens_in={c.number(1, 99)} tokens_out={c.number(1, 99)} keys_total={c.number(1, 999)}", "ssl": lambda c: "SSL_connect: certificate verify failed (self-signed certificate in certificate chain)",
}  # fmt: skip
"""Lines of logs and messages of events."""

FILES: Final[dict[str, Make]] = {
    "yaml references": lambda c: f"auth:\n  existingSecret: {c.word()}-auth\n  passwordKey: password\n  secretName: {c.word()}-tls\n  tokenSecretRef:\n    name: {c.word()}-token\n    key: token",
    "file paths": lambda c: f"passwordFile: /run/secrets/{c.word()}\ntokenPath: /var/run/secrets/{c.word()}/token\nkeyFile: /etc/tls/tls.key", "templates": lambda c: "password: {{ .Values.auth.password }}\ntoken: ${API_TOKEN}\nsecret: $(cat /run/secrets/app)",
    "prometheus rule": lambda c: f'- alert: TokenRejected{c.word().title()}\n  expr: sum(rate(auth_token_rejected_total{{job="{c.word()}"}}[5m])) > 0.{c.number(1, 9)}\n  annotations:\n    summary: password logins fail',
    "public certificate": _certificate, "public key": lambda c: kinds.pem(c, "PUBLIC KEY", "MIIBIjANBgkqhkiG9w0B", 270), "authorized_keys": lambda c: f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB{c.base62(340)} {c.word()}@example.com",
    "known_hosts": lambda c: f"github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{c.base62(44)}", "nginx": lambda c: f'location /{c.word()} {{\n  auth_basic "closed";\n  auth_basic_user_file /etc/nginx/htpasswd;\n  proxy_pass http://{c.word()}:8080;\n}}',
    "switches": lambda c: f"passwordAuthentication: false\ntokenExpiry: {c.number(1, 48)}h\nrequireToken: true\nmaxPasswordAge: {c.number(30, 365)}", "jwks": lambda c: json.dumps({"keys": [{"kty": "RSA", "kid": c.base64url(20), "use": "sig", "e": "AQAB", "n": c.base64url(256)}]}),
    "json schema": lambda c: json.dumps({"type": "object", "properties": {"password": {"type": "string", "minLength": c.number(8, 16)}, "token": {"type": "string"}}, "required": ["password"]}),
    "lock file": lambda c: f'{c.word()}@^1.0.0:\n  version "1.{c.number(0, 9)}.{c.number(0, 9)}"\n  integrity sha512-{c.base64(64)}', "go.sum": lambda c: f"github.com/{c.word()}/{c.word()} v1.{c.number(0, 20)}.0 h1:{c.base64(32)}",
    "sql": lambda c: f"CREATE TABLE {c.word()}_users (id uuid, password_hash text NOT NULL, token_count int);", "properties": lambda c: f"spring.datasource.username={c.word()}\nspring.datasource.password=${{DB_PASSWORD}}\nserver.ssl.key-store=/etc/keystore.p12",
    "html": lambda c: '<label for="password">Password</label><input type="password" name="password" autocomplete="current-password">', "markdown": lambda c: f"# {c.word()}\nSet the password with `--password-file`; the token is read from the environment.", "base64 text": lambda c: _b64(f"replicas: {c.number(1, 9)}\nimage: {c.word()}:1.2.3\nregion: eu-central-1\n"),
    "cron": lambda c: f"0 3 * * {c.number(0, 6)} /usr/bin/backup --bucket s3://{c.word()}-backups --key-prefix daily/", "java imports": lambda c: "import javax.crypto.SecretKey;\nimport org.example.PasswordEncoder;", "robots": lambda c: f"User-agent: *\nDisallow: /{c.word()}/password-reset", "argo": lambda c: f"url: https://argocd.example.com/{c.word()}\ndex.config: |\n  clientID: shop\n  clientSecret: $dex.github.clientSecret",
    "empty": lambda c: f'password: ""\ntoken: null\nsecret: ~\nname: {c.word()}',
}  # fmt: skip
"""Texts in ConfigMaps."""


def documents() -> Iterator[Document]:
    """Pods, logs, events, ConfigMaps and the other objects of a cluster."""
    for number in range(_REPEATS):
        yield settings(f"settings {number}", ENV)
        yield lines(f"plain log {number}", LINES)
        yield messages(f"plain events {number}", LINES)
        yield entries(f"plain files {number}", FILES)
        yield _objects(f"plain objects {number}")
        yield _nodes(f"nodes {number}")


def settings(name: str, env: dict[str, Make], **how: Any) -> Document:
    """Pods with these variables."""
    sheet = Sheet(Chance(name))
    variables = [{"name": key, "value": sheet.keep(f"env {key}", make(sheet.chance))} for key, make in env.items()]
    items = [scenery.pod(sheet, f"plain{at}", {"env": variables[at : at + 8]}) for at in range(0, len(variables), 8)]
    return sheet.finish(name, "api/v1/namespaces/shop/pods", _list("PodList", items), **how)


def lines(name: str, texts: dict[str, Make], **how: Any) -> Document:
    """A log of these lines."""
    sheet = Sheet(Chance(name))
    body = "\n".join(sheet.keep(f"log: {key}", make(sheet.chance)) for key, make in texts.items()) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text", **how)


def messages(name: str, texts: dict[str, Make], **how: Any) -> Document:
    """Events with these messages."""
    sheet = Sheet(Chance(name))
    items = [
        {
            "metadata": scenery.meta(sheet, f"web-0.{sheet.chance.hex(16)}"),
            "message": sheet.keep(f"event: {key}", make(sheet.chance)),
            "reason": "Failed",
        }
        for key, make in texts.items()
    ]
    return sheet.finish(name, "api/v1/namespaces/shop/events", _list("EventList", items), **how)


def entries(name: str, files: dict[str, Make], **how: Any) -> Document:
    """A ConfigMap of these texts."""
    sheet = Sheet(Chance(name))
    data = {key.replace(" ", "-"): sheet.keep(f"file: {key}", make(sheet.chance)) for key, make in files.items()}
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/plain", scenery.configmap(sheet, "plain", data), **how)


def _list(kind: str, items: list[Any]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}


def _objects(name: str) -> Document:
    """References, rules, certificates and reviews, as the custom and built-in kinds hold them."""
    sheet = Sheet(Chance(name))
    c, keep = sheet.chance, sheet.keep
    bodies: list[dict[str, Any]] = [
        {"rules": [{"apiGroups": [""], "resources": [keep("RBAC resource", "secrets")], "verbs": ["get"], "resourceNames": [keep("RBAC name", f"{c.word()}-token")]}]},
        {"rules": [{"apiGroups": ["authentication.k8s.io"], "resources": [keep("RBAC resource", "tokenreviews")], "verbs": ["create"]}]},
        {"webhooks": [{"name": f"{c.word()}.example.com", "clientConfig": {"caBundle": keep("caBundle", _b64(_certificate(c))), "service": {"name": "webhook", "namespace": "shop"}}}]},
        {"spec": {"caBundle": keep("caBundle", _b64(_certificate(c))), "group": "metrics.k8s.io"}},
        {"secrets": [{"name": keep("service account secret", f"{c.word()}-token-{c.suffix()}")}], "imagePullSecrets": [{"name": keep("pull secret", f"{c.word()}-dockercfg-{c.suffix()}")}]},
        {"spec": {"secretStoreRef": {"name": "vault", "kind": "SecretStore"}, "data": [{"secretKey": keep("ExternalSecret key", "password"), "remoteRef": {"key": keep("ExternalSecret remote key", f"secret/data/{c.word()}"), "property": "password"}}]}},
        {"spec": {"secretName": keep("secretName", f"{c.word()}-tls"), "privateKey": {"algorithm": "ECDSA", "rotationPolicy": keep("rotationPolicy", "Always")}, "issuerRef": {"name": "letsencrypt"}}},
        {"spec": {"tls": [{"hosts": ["shop.example.com"], "secretName": keep("ingress secretName", f"{c.word()}-ingress-tls")}]}},
        {"spec": {"privateKeySecretRef": {"name": keep("privateKeySecretRef", f"{c.word()}-account-key")}, "passwordSecretRef": {"name": keep("passwordSecretRef", f"{c.word()}-keystore"), "key": "password"}}},
        {"spec": {"tokenSecretRef": {"name": keep("tokenSecretRef", f"{c.word()}-cloudflare"), "key": "api-token"}}},
        {"spec": {"request": keep("CSR request", _b64(kinds.pem(c, "CERTIFICATE REQUEST", "MIICVjCCAT4CAQAw", 500))), "signerName": "kubernetes.io/kube-apiserver-client-kubelet"}, "status": {"certificate": keep("CSR certificate", _b64(_certificate(c)))}},
        {"spec": {"user": f"system:serviceaccount:shop:{c.word()}", "uid": keep("review uid", c.uuid())}, "status": {"user": {"extra": {"authentication.kubernetes.io/credential-id": [keep("credential id", f"JTI={c.uuid()}")]}}}},
        {"spec": {"volumeHandle": keep("volume handle", f"vol-{c.hex(17)}"), "nodeStageSecretRef": {"name": keep("nodeStageSecretRef", f"{c.word()}-csi"), "namespace": "shop"}}},
        {"spec": {"holderIdentity": keep("lease holder", f"{c.word()}-{c.suffix(10)}-{c.suffix()}_{c.uuid()}"), "leaseDurationSeconds": 15}},
        {"data": {"ca.crt": keep("root CA", _certificate(c))}},
        {"spec": {"groups": [{"name": "auth", "rules": [{"alert": keep("alert name", "PasswordResetStorm"), "expr": keep("PromQL", f'rate(password_reset_total{{service="{c.word()}"}}[5m]) > {c.number(1, 9)}')}]}]}},
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"password": {"type": keep("schema type", "string"), "description": keep("schema description", "The password. If unset, one is generated and stored in a Secret.")}}}}}]}},
        {"status": {"observedGeneration": 3, "secretVersion": keep("secret version", c.digits(8)), "configHash": keep("config hash", c.hex(64)), "lastSyncedSha": keep("synced SHA", c.hex(40))}},
        {"spec": {"endpoints": [{"port": "web", "bearerTokenSecret": {"key": keep("bearerTokenSecret", "token"), "name": keep("bearerTokenSecret", f"{c.word()}-scrape")}, "basicAuth": {"password": {"name": keep("basicAuth reference", f"{c.word()}-basic"), "key": keep("basicAuth reference", "password")}}}]}},
        {"spec": {"addresses": [keep("IPv6 address", f"fd00:{c.hex(4)}:{c.hex(4)}::{c.hex(4)}")], "hostname": keep("long host name", f"{c.word()}-{c.hex(32)}.{c.hex(10)}.yl4.eu-central-1.eks.amazonaws.com")}},
        {"spec": {"ports": [{"name": "https"}], "selector": {"controller-revision-hash": keep("controller-revision-hash", f"{c.word()}-{c.suffix(9)}")}}},
    ]  # fmt: skip
    items = [{"metadata": scenery.meta(sheet, f"{c.word()}-{c.suffix()}"), **body} for body in bodies]
    return sheet.finish(name, "apis/acme.io/v1/namespaces/shop/things", _list("ThingList", items))


def _nodes(name: str) -> Document:
    sheet = Sheet(Chance(name))
    c, keep = sheet.chance, sheet.keep
    items = []
    for _ in range(3):
        info = {
            "machineID": keep("machine id", c.hex(32)),
            "systemUUID": keep("system UUID", c.uuid()),
            "bootID": keep("boot id", c.uuid()),
        }
        images = [
            {
                "names": [keep("node image", f"registry.example.com/shop/{c.word()}@sha256:{c.hex(64)}")],
                "sizeBytes": c.number(10**6, 10**9),
            }
            for _ in range(6)
        ]
        items.append({
            "metadata": scenery.meta(sheet, f"gke-prod-pool-{c.hex(8)}-{c.suffix(4)}", annotations={"csi.volume.kubernetes.io/nodeid": keep("CSI node id", json.dumps({"ebs.csi.aws.com": f"i-{c.hex(17)}"}))}),
            "spec": {"providerID": keep("provider id", f"aws:///eu-central-1a/i-{c.hex(17)}")}, "status": {"nodeInfo": info, "images": images},
        })  # fmt: skip
    return sheet.finish(name, "api/v1/nodes", _list("NodeList", items))
