"""Secrets that come in a form of their own: credential files, headers, command lines, keys, states."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from security_tests.redaction import kinds, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import LAST_APPLIED, Document, Sheet, compact

__all__ = ["Case", "command", "configmap", "documents", "log", "spec"]

_REPEATS: Final = 3
_TOGETHER: Final = 6


@dataclass(frozen=True, slots=True)
class Case:
    """How a text with one or more secrets is written. `key` is the ConfigMap key, where it stands in one."""

    kind: str
    make: Callable[[Sheet, Callable[..., str]], Any]
    key: str = "config"

    def write(self, sheet: Sheet, spot: str) -> Any:
        """The text, its secrets labelled."""
        return self.make(sheet, lambda value, *core: sheet.secret(self.kind, spot, value, *core))


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _basic(c: Chance) -> str:
    return _b64(f"{c.word()}:{c.strong()}")


def _docker(s: Sheet, secret: Callable[..., str]) -> str:
    return json.dumps({"auths": {"registry.example.com": {"username": "robot", "auth": secret(_basic(s.chance))}}})


def _docker_password(s: Sheet, secret: Callable[..., str]) -> str:
    return json.dumps(
        {
            "auths": {
                "https://index.docker.io/v1/": {
                    "username": "robot",
                    "password": secret(s.chance.password()),
                    "email": "robot@example.com",
                }
            }
        },
        indent=2,
    )


def _kubeconfig(s: Sheet, user: str) -> str:
    authority = s.keep("certificate-authority-data", _b64("-----BEGIN CERTIFICATE-----\n" + s.chance.base64(700)))
    return f"""apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: {authority}
users:
- name: admin
  user:
{user}
current-context: prod
"""


def _gcp(s: Sheet, secret: Callable[..., str]) -> str:
    c = s.chance
    key = kinds.pem(c, "PRIVATE " + "KEY", "MIIEvQIBADANBgkqhkiG9w0B", 1190) + "\n"
    return json.dumps({
        "type": "service_account", "project_id": "shop-prod", "private_key_id": c.hex(40), "private_key": secret(key),
        "client_email": s.keep("client_email", f"{c.word()}@shop-prod.iam.gserviceaccount.com"), "client_id": c.digits(21),
        "token_uri": s.keep("token_uri", "https://oauth2.googleapis.com/token"),
    }, indent=2, ensure_ascii=False)  # fmt: skip


def _tfstate(s: Sheet, secret: Callable[..., str]) -> str:
    c = s.chance
    attributes = {
        "identifier": "shop",
        "username": "app",
        "password": secret(c.password()),
        "arn": s.keep("ARN", f"arn:aws:rds:eu-central-1:{c.digits(12)}:db:shop"),
    }
    return json.dumps(
        {
            "version": 4,
            "lineage": c.uuid(),
            "resources": [{"type": "aws_db_instance", "instances": [{"attributes": attributes}]}],
        },
        indent=2,
        ensure_ascii=False,
    )


def _cloud_init(s: Sheet, secret: Callable[..., str]) -> str:
    return f"#cloud-config\nchpasswd:\n  list: |\n    root:{secret(s.chance.strong())}\nwrite_files:\n- path: /etc/app.env\n  content: |\n    DB_PASSWORD={secret(s.chance.password())}\n"


def _jaas(s: Sheet, secret: Callable[..., str]) -> str:
    return f'sasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="app" password="{secret(s.chance.strong())}";\n'


FILES: Final = (
    Case("docker config auth", _docker, ".dockerconfigjson"),
    Case("docker config password", _docker_password, "config.json"),
    Case("kubeconfig token", lambda s, x: _kubeconfig(s, f"    token: {x(s.chance.base62(48))}"), "kubeconfig"),
    Case("kubeconfig client key", lambda s, x: _kubeconfig(s, f"    client-certificate-data: {s.chance.base64(600)}\n    client-key-data: {x(_b64(kinds.pem(s.chance, 'RSA PRIVATE ' + 'KEY', 'MIIEpAIBAAKCAQEA', 1100)))}"), "admin.conf"),
    Case("kubeconfig password", lambda s, x: _kubeconfig(s, f"    username: admin\n    password: {x(s.chance.password())}"), "kubeconfig"),
    Case("kubeconfig exec env", lambda s, x: _kubeconfig(s, f"    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: aws-iam-authenticator\n      env:\n      - name: AWS_SECRET_ACCESS_KEY\n        value: {x(s.chance.base64(30))}"), "kubeconfig"),
    Case("GCP service account", _gcp, "key.json"),
    Case("AWS credentials file", lambda s, x: f"[default]\naws_access_key_id = {x('AK' + 'IA' + s.chance.upper(16))}\naws_secret_access_key = {x(s.chance.base64(30))}\nregion = eu-central-1\n", "credentials"),
    Case(".npmrc", lambda s, x: f"registry=https://npm.example.com/\n//npm.example.com/:_authToken={x(s.chance.uuid())}\nalways-auth=true\n", ".npmrc"),
    Case(".npmrc basic", lambda s, x: f"@shop:registry=https://npm.example.com/\n//npm.example.com/:_password={x(_b64(s.chance.strong()))}\n", ".npmrc"),
    Case(".pgpass", lambda s, x: f"db.svc:5432:app:app:{x(s.chance.password())}\n*:*:*:replica:{x(s.chance.strong())}\n", ".pgpass"),
    Case(".netrc", lambda s, x: f"machine git.example.com login robot password {x(s.chance.password())}\nmachine api.example.com\n  login robot\n  password {x(s.chance.strong())}\n", ".netrc"),
    Case("htpasswd", lambda s, x: f"alice:$apr1${s.chance.base62(8)}${x(s.chance.base62(22))}\n", "htpasswd"),
    Case("htpasswd bcrypt", lambda s, x: f"bob:$2y$10${x(s.chance.base62(53))}\n", "auth"),
    Case("shadow hash", lambda s, x: f"root:$6${s.chance.base62(16)}${x(s.chance.base62(86))}:19000:0:99999:7:::\n", "shadow"),
    Case("Terraform state", _tfstate, "terraform.tfstate"),
    Case("cloud-init", _cloud_init, "user-data"),
    Case("Kafka JAAS", _jaas, "client.properties"),
    Case(".git-credentials", lambda s, x: f"https://robot:{x(s.chance.strong())}@git.example.com\n", ".git-credentials"),
    Case("phrase in YAML", lambda s, x: f'admin:\n  user: root\n  password: "{x(s.chance.phrase())}"\n  email: root@example.com\n', "values.yaml"),
    Case("phrase in .env", lambda s, x: f'PORT=80\nADMIN_PASSWORD="{x(s.chance.phrase())}"\nDEBUG=0\n', ".env"),
    Case("escaped password", lambda s, x: json.dumps({"user": "root", "password": x(s.chance.base62(5) + '"' + s.chance.base62(5) + "\\" + s.chance.base62(6)), "port": 1}), "config.json"),
    Case("YAML block", lambda s, x: f"token: |\n  {x(s.chance.base62(40))}\nport: 8080\n", "config.yaml"),
    Case("Django settings", lambda s, x: f"DEBUG = False\nSECRET_KEY = 'django-insecure-{x(s.chance.base62(50))}'\nALLOWED_HOSTS = ['*']\n", "settings.py"),
    Case("Laravel key", lambda s, x: f"APP_ENV=production\nAPP_KEY=base64:{x(s.chance.base64(32))}\n", ".env"),
    Case("WireGuard key", lambda s, x: f"[Interface]\nAddress = 10.8.0.1/24\nPrivateKey = {x(s.chance.base64(32))}\n[Peer]\nPublicKey = {s.keep('public key', s.chance.base64(32))}\n", "wg0.conf"),
    Case("encryption configuration", lambda s, x: f"kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aescbc:\n      keys:\n      - name: key1\n        secret: {x(s.chance.base64(32))}\n", "enc.yaml"),
    Case("bootstrap token", lambda s, x: f"discovery:\n  bootstrapToken:\n    token: {x(s.chance.lower(6) + '.' + s.chance.lower(16))}\n    apiServerEndpoint: 10.0.0.1:6443\n", "kubeadm.yaml"),
    Case("redis.conf", lambda s, x: f"port 6379\nrequirepass {x(s.chance.password())}\nmasterauth {x(s.chance.strong())}\nmaxmemory 1gb\n", "redis.conf"),
    Case("grafana.ini", lambda s, x: f"[security]\nadmin_user = admin\nadmin_password = {x(s.chance.dull())}\nsecret_key = {x(s.chance.base62(20))}\n", "grafana.ini"),
    Case("Prometheus basic auth", lambda s, x: f"scrape_configs:\n- job_name: shop\n  basic_auth:\n    username: scraper\n    password: {x(s.chance.dull())}\n  static_configs: []\n", "prometheus.yml"),
    Case("Alertmanager", lambda s, x: f"global:\n  smtp_auth_username: alerts@example.com\n  smtp_auth_password: {x(s.chance.strong())}\n  resolve_timeout: 5m\n", "alertmanager.yml"),
    Case("Maven settings", lambda s, x: f"<settings><servers><server><id>nexus</id><username>ci</username><password>{x(s.chance.password())}</password></server></servers></settings>\n", "settings.xml"),
)  # fmt: skip
"""Files as they lie in ConfigMaps."""

LINES: Final = (
    Case("bearer header", lambda s, x: f"> GET /api/v1/orders HTTP/2\n> Host: api.example.com\n> Authorization: Bearer {x(s.chance.base62(43))}\n> Accept: */*"),
    Case("bearer in JSON log", lambda s, x: json.dumps({"level": "debug", "headers": {"authorization": [f"Bearer {x(s.chance.base64url(40))}"], "accept": ["*/*"]}})),
    Case("basic header", lambda s, x: f"> Authorization: Basic {x(_basic(s.chance))}\n> User-Agent: curl/8.5.0"),
    Case("token header", lambda s, x: f"DEBUG request headers: Authorization: token {x(s.chance.hex(40))}, Accept: application/json"),
    Case("API key header", lambda s, x: f"> x-api-key: {x(s.chance.base62(32))}\n< HTTP/2 200"),
    Case("session cookie", lambda s, x: f"< Set-Cookie: sessionid={x(s.chance.lower(32))}; Path=/; HttpOnly; Secure"),
    Case("cookie header", lambda s, x: f"> Cookie: theme=dark; session={x(s.chance.base64url(48))}; lang=en"),
    Case("curl -u", lambda s, x: f"+ curl -fsS -u admin:{x(s.chance.strong())} https://nexus.example.com/status"),
    Case("mysql -p", lambda s, x: f"+ mysql -h db -u root -p{x(s.chance.strong())} -e 'SELECT 1'"),
    Case("PGPASSWORD", lambda s, x: f"+ PGPASSWORD={x(s.chance.dull())} psql -h db -U app -c 'select 1'"),
    Case("docker login", lambda s, x: f"+ docker login -u robot -p {x(s.chance.strong())} registry.example.com"),
    Case("redis-cli -a", lambda s, x: f"+ redis-cli -h redis -a {x(s.chance.strong())} ping"),
    Case("sshpass", lambda s, x: f"+ sshpass -p {x(s.chance.strong())} ssh root@10.0.0.9 uptime"),
    Case("access_token in URL", lambda s, x: f'10.1.2.3 - - [04/Mar/2026:05:06:07 +0000] "GET /feed?page=2&access_token={x(s.chance.base62(40))}&v=3 HTTP/1.1" 200 512'),
    Case("SQL password", lambda s, x: f"LOG:  statement: ALTER USER app WITH PASSWORD '{x(s.chance.strong())}';"),
    Case("password in prose", lambda s, x: f"2026-03-04 generated admin password: {x(s.chance.strong())}"),
    Case("OAuth answer", lambda s, x: json.dumps({"access_token": x(s.chance.base62(60)), "token_type": "Bearer", "expires_in": 3600, "refresh_token": x(s.chance.base62(60))})),
    Case("form body", lambda s, x: f"POST /token grant_type=password&username=app&password={x(s.chance.strong())}&scope=openid"),
    Case("escaped JSON in log", lambda s, x: 'level=debug body="{\\"user\\":\\"app\\",\\"password\\":\\"' + x(s.chance.password()) + '\\",\\"remember\\":true}"'),
    Case("Java toString", lambda s, x: f"DEBUG DataSourceProperties(url=jdbc:h2:mem, username=app, password={x(s.chance.strong())}, driver=org.h2.Driver)"),
)  # fmt: skip
"""Lines of logs."""

COMMANDS: Final = (
    Case("flag -pX", lambda s, x: ["mysqladmin", "ping", "-uroot", f"-p{x(s.chance.strong())}"]),
    Case("flag --password X", lambda s, x: ["migrate", "--user", "app", "--password", x(s.chance.dull()), "up"]),
    Case("flag --password=X", lambda s, x: ["migrate", f"--password={x(s.chance.dull())}", "--timeout=30s"]),
    Case("flag -u user:pass", lambda s, x: ["curl", "-u", f"probe:{x(s.chance.strong())}", "http://localhost:8080/healthz"]),
    Case("flag --user=user:pass", lambda s, x: ["curl", f"--user=probe:{x(s.chance.strong())}", "http://localhost:8080/healthz"]),
    Case("redis --requirepass", lambda s, x: ["redis-server", "--appendonly", "yes", "--requirepass", x(s.chance.dull())]),
    Case("oauth2-proxy flags", lambda s, x: ["--provider=oidc", f"--client-secret={x(s.chance.base62(40))}", f"--cookie-secret={x(s.chance.base64(16))}", "--email-domain=*"]),
    Case("header flag", lambda s, x: ["sh", "-c", f"wget -qO- --header 'Authorization: Bearer {x(s.chance.base62(40))}' http://api/health"]),
    Case("token flag in shell", lambda s, x: ["sh", "-c", f"agent register --url https://ci.example.com --token {x(s.chance.base62(30))} && agent run"]),
    Case("URL in argument", lambda s, x: ["worker", "--broker", f"amqp://app:{x(s.chance.strong())}@rabbit:5672/"]),
)  # fmt: skip
"""Arguments of containers."""

SPECS: Final = (
    Case("Kafka user spec", lambda s, x: {"authentication": {"type": "scram-sha-512", "password": {"value": x(s.chance.strong())}}}),
    Case("Postgres spec", lambda s, x: {"bootstrap": {"initdb": {"database": "app", "owner": "app", "ownerPassword": x(s.chance.dull())}}, "instances": 3}),
    Case("Secret template", lambda s, x: {"target": {"template": {"stringData": {"password": x(s.chance.password()), "username": "app"}}}}),
    Case("BasicAuth middleware", lambda s, x: {"basicAuth": {"users": [f"admin:$apr1${s.chance.base62(8)}${x(s.chance.base62(22))}"]}}),
    Case("issuer spec", lambda s, x: {"acme": {"email": "ops@example.com", "externalAccountBinding": {"keyID": "k1", "hmacKey": x(s.chance.base64url(48))}}}),
    Case("env in custom resource", lambda s, x: {"extraEnv": [{"name": "SMTP_PASSWORD", "value": x(s.chance.dull())}, {"name": "SMTP_PORT", "value": "587"}]}),
    Case("Grafana data source", lambda s, x: {"datasource": {"type": "postgres", "user": "grafana", "secureJsonData": {"password": x(s.chance.strong())}}}),
    Case("base64 TLS key", lambda s, x: {"tls": {"certificate": s.keep("certificate", _b64("-----BEGIN CERTIFICATE-----\n" + s.chance.base64(700))), "key": x(_b64(kinds.pem(s.chance, "PRIVATE " + "KEY", "MIIEvQIBADANBgkqhkiG9w0B", 1190)))}}),
    Case("credentials map", lambda s, x: {"provider": {"credentials": {"accessKey": x("AK" + "IA" + s.chance.upper(16)), "secretKey": x(s.chance.base64(30))}}}),
    Case("userinfo in spec", lambda s, x: {"source": {"repoURL": f"https://oauth2:{x(s.chance.base62(20))}@git.example.com/shop/deploy.git", "targetRevision": "main"}}),
)  # fmt: skip
"""The spec of custom resources."""


def configmap(name: str, cases: tuple[Case, ...], **how: Any) -> Document:
    """These files in one ConfigMap."""
    sheet = Sheet(Chance(name))
    data = {f"{number}-{case.key}": case.write(sheet, "ConfigMap file") for number, case in enumerate(cases)}
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/files", scenery.configmap(sheet, "files", data), **how)


def log(name: str, cases: tuple[Case, ...], **how: Any) -> Document:
    """These lines in one log."""
    sheet = Sheet(Chance(name))
    lines = [
        line
        for case in cases
        for line in (
            sheet.keep("plain log line", f"level=info seq={sheet.chance.digits(9)} msg=ok"),
            case.write(sheet, "log"),
        )
    ]
    return sheet.finish(
        name, "api/v1/namespaces/shop/pods/web-0/log", "\n".join(lines) + "\n", "text", accept="text", **how
    )


def command(name: str, cases: tuple[Case, ...], **how: Any) -> Document:
    """Pods, each with one of these commands."""
    sheet = Sheet(Chance(name))
    items = [
        scenery.pod(sheet, f"cmd{number}", {"args": case.write(sheet, "arguments")})
        for number, case in enumerate(cases)
    ]
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "api/v1/namespaces/shop/pods", body, **how)


def spec(name: str, cases: tuple[Case, ...], **how: Any) -> Document:
    """Custom resources, each with one of these specs; every second one also in last-applied."""
    sheet = Sheet(Chance(name))
    items = []
    for number, case in enumerate(cases):
        content = case.write(sheet, "custom resource spec")
        notes = {LAST_APPLIED: sheet.json({"kind": "Thing", "spec": content}, compact)} if number % 2 else {}
        items.append(
            {
                "apiVersion": "acme.io/v1",
                "kind": "Thing",
                "metadata": scenery.meta(sheet, f"thing-{number}", annotations=notes),
                "spec": content,
            }
        )
    body = {"kind": "ThingList", "apiVersion": "acme.io/v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "apis/acme.io/v1/namespaces/shop/things", body, **how)


def documents() -> Iterator[Document]:
    """Each case several times, with other values and other neighbours."""
    for repeat in range(_REPEATS):
        for write, cases in ((configmap, FILES), (log, LINES), (command, COMMANDS), (spec, SPECS)):
            turned = cases[repeat * 2 :] + cases[: repeat * 2]
            for at in range(0, len(turned), _TOGETHER):
                yield write(f"{write.__name__} files {repeat}.{at}", turned[at : at + _TOGETHER])
    yield from _keys()


def _keys() -> Iterator[Document]:
    """Private keys: in files, escaped in JSON, in base64, in logs."""
    forms: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("file", lambda key: key + "\n"),
        ("YAML block", lambda key: "tls:\n  key: |\n" + "".join(f"    {line}\n" for line in key.split("\n"))),
        ("JSON string", lambda key: json.dumps({"cert": "none", "key": key + "\n"})),
        ("base64", lambda key: _b64(key + "\n")),
        ("one line", lambda key: "key=" + key.replace("\n", "\\n")),
    )
    for kind in kinds.PEMS:
        sheet = Sheet(Chance(f"keys/{kind.name}"))
        data = {
            f"file-{number}.txt": write(sheet.secret(kind.name, f"key as {spot}", kind.make(sheet.chance)))
            for number, (spot, write) in enumerate(forms)
        }
        body = scenery.configmap(sheet, "keys", data)
        yield sheet.finish(f"keys {kind.name}", "api/v1/namespaces/shop/configmaps/keys", body)
        sheet = Sheet(Chance(f"keylog/{kind.name}"))
        lines = [
            sheet.keep("plain log line", "loading key"),
            sheet.secret(kind.name, "key in log", kind.make(sheet.chance)),
            sheet.keep("plain log line", "done, listening on :8443"),
        ]
        yield sheet.finish(
            f"key log {kind.name}",
            "api/v1/namespaces/shop/pods/web-0/log",
            "\n".join(lines) + "\n",
            "text",
            accept="text",
        )
