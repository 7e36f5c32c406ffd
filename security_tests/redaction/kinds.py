"""Kinds of secrets: how each is called where it is set, what it looks like, and whether it can be known without its name."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from security_tests.redaction.chance import Chance

__all__ = ["KINDS", "NAMED", "PEMS", "Kind", "jwt", "pem"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of secret."""

    name: str
    field: str
    """How settings call it, in kebab-case."""
    make: Callable[[Chance], str]
    bare: bool = True
    """Whether its form alone gives it away."""
    core: Callable[[str], tuple[str, ...]] | None = None
    """What of it must not be readable, when that is not all of it."""


def jwt(chance: Chance, **claims: object) -> str:
    """A signed token with these claims."""
    head = {"alg": "RS256", "kid": chance.base64url(24), "typ": "JWT"}
    body = {"iss": "https://idp.example.com/", "sub": chance.uuid(), "iat": 1760000000, **claims}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body)]
    return ".".join((*parts, chance.base64url(256)))


def service_account(chance: Chance) -> str:
    """A bound token as the kubelet projects it."""
    account = {"namespace": "shop", "serviceaccount": {"name": chance.word(), "uid": chance.uuid()}}
    return jwt(chance, **{"aud": ["https://kubernetes.default.svc"], "kubernetes.io": account})


def pem(chance: Chance, label: str, start: str, size: int) -> str:
    """A key with body lines of 64 characters."""
    body = (start + chance.base64(size)).rstrip("=")
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    dashes = "-" * 5
    return "\n".join((f"{dashes}BEGIN {label}{dashes}", *lines, f"{dashes}END {label}{dashes}"))


def _private(label: str, start: str, size: int) -> Callable[[Chance], str]:
    return lambda chance: pem(chance, f"{label}PRIVATE KEY".strip(), start, size)


def _signature(token: str) -> tuple[str, ...]:
    sign = token.rpartition(".")[2]
    return sign[:24], sign[-24:]


def _after(prefix: str, make: Callable[[Chance], str]) -> Callable[[Chance], str]:
    """Prefixes are put together at run time: a scanner of this file finds none."""
    return lambda chance: prefix.replace("|", "") + make(chance)


def _base62(length: int) -> Callable[[Chance], str]:
    return lambda chance: chance.base62(length)


def _hex(length: int) -> Callable[[Chance], str]:
    return lambda chance: chance.hex(length)


PEMS: Final = (
    Kind("PEM RSA key", "private-key", _private("RSA ", "MIIEpAIBAAKCAQEA", 1170)),
    Kind("PEM EC key", "ec-private-key", _private("EC ", "MHcCAQEEI", 110)),
    Kind("PEM OpenSSH key", "ssh-private-key", _private("OPENSSH ", "b3BlbnNzaC1rZXktdjEA", 280)),
    Kind("PEM PKCS8 key", "tls-key", _private("", "MIIEvQIBADANBgkqhkiG9w0B", 1190)),
    Kind("PEM encrypted key", "encrypted-key", _private("ENCRYPTED ", "MIIFHDBOBgkqhkiG9w0B", 1200)),
    Kind("PGP key", "pgp-key", lambda chance: pem(chance, "PGP PRIVATE KEY " + "BLOCK", "lQOYBG", 900)),
)

KINDS: Final = (
    Kind("AWS access key id", "aws-access-key-id", _after("AK|IA", lambda c: c.upper(16))),
    Kind("AWS temporary key id", "aws-access-key-id", _after("AS|IA", lambda c: c.upper(16))),
    Kind("GCP API key", "google-api-key", _after("AI|za", lambda c: c.base62(34) + "w")),
    Kind("GCP OAuth token", "gcp-access-token", _after("ya|29.", lambda c: "a0A" + c.base62(120))),
    Kind("Google OAuth client secret", "google-client-secret", _after("GO|CSPX-", lambda c: c.base62(28))),
    Kind("Azure client secret", "azure-client-secret", lambda c: c.base62(3) + "8" + "Q~" + c.base62(34)),
    Kind("GitHub classic token", "github-token", _after("gh|p_", _base62(36))),
    Kind("GitHub fine-grained token", "github-pat", _after("github|_pat_", lambda c: c.base62(22) + "_" + c.base62(59))),
    Kind("GitHub app token", "github-app-token", _after("gh|s_", _base62(36))),
    Kind("GitHub OAuth token", "github-oauth", _after("gh|o_", _base62(36))),
    Kind("GitLab token", "gitlab-token", _after("gl|pat-", _base62(20))),
    Kind("GitLab runner token", "runner-token", _after("gl|rt-", _base62(20))),
    Kind("GitLab deploy token", "deploy-token", _after("gl|dt-", _base62(20))),
    Kind("Slack bot token", "slack-token", _after("xo|xb-", lambda c: f"{c.digits(12)}-{c.digits(13)}-{c.base62(24)}")),
    Kind("Slack user token", "slack-user-token", _after("xo|xp-", lambda c: f"{c.digits(12)}-{c.digits(12)}-{c.digits(13)}-{c.hex(32)}")),
    Kind("Slack app token", "slack-app-token", _after("xa|pp-1-", lambda c: f"A{c.upper(10)}-{c.digits(13)}-{c.hex(64)}")),
    Kind("Slack webhook", "slack-webhook-url", lambda c: f"https://hooks.slack.com/ser" f"vices/T{c.upper(9)}/B{c.upper(10)}/{c.base62(24)}", core=lambda v: (v[-20:],)),
    Kind("npm token", "npm-token", _after("np|m_", _base62(36))),
    Kind("PyPI token", "pypi-token", _after("py|pi-", lambda c: "AgEIcHlwaS5vcmcC" + c.base64url(120))),
    Kind("JWT", "id-token", lambda c: jwt(c, scope="orders:write"), core=_signature),
    Kind("service account token", "sa-token", service_account, core=_signature),
    Kind("Stripe key", "stripe-secret-key", _after("sk|_live_", _base62(24))),
    Kind("Stripe restricted key", "stripe-key", _after("rk|_live_", _base62(24))),
    Kind("Stripe webhook secret", "stripe-webhook-secret", _after("wh|sec_", _base62(32))),
    Kind("Twilio key", "twilio-api-key", _after("S|K", _hex(32))),
    Kind("SendGrid key", "sendgrid-api-key", _after("S|G.", lambda c: c.base62(22) + "." + c.base62(43))),
    Kind("OpenAI key", "openai-api-key", _after("sk|-proj-", lambda c: c.base62(74) + "T3Blbk" + "FJ" + c.base62(74))),
    Kind("Anthropic key", "anthropic-api-key", _after("sk|-ant-api03-", lambda c: c.base62(93) + "AA")),
    Kind("Vault token", "vault-token", _after("hv|s.", lambda c: "CAESI" + c.base62(90))),
    Kind("Vault batch token", "vault-token", _after("hv|b.", lambda c: "AAAAAQ" + c.base62(140))),
    Kind("Terraform Cloud token", "tfe-token", lambda c: c.base62(14) + ".atlas" + "v1." + c.base62(67)),
    Kind("Grafana token", "grafana-token", _after("gl|sa_", lambda c: c.base62(32) + "_" + c.hex(8))),
    Kind("Hugging Face token", "hf-token", _after("h|f_", lambda c: c.draw("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 34))),
    Kind("DigitalOcean token", "do-token", _after("dop|_v1_", _hex(64))),
    Kind("New Relic key", "new-relic-api-key", _after("NR|AK-", lambda c: c.upper(27))),
    Kind("Databricks token", "databricks-token", _after("da|pi", _hex(32))),
    Kind("Shopify token", "shopify-token", _after("shp|at_", _hex(32))),
    Kind("age key", "age-key", _after("AGE-SECRET|-KEY-1", lambda c: c.draw("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
    Kind("Telegram bot token", "telegram-token", lambda c: c.digits(10) + ":AA" + c.base62(33)),
    Kind("Azure storage connection string", "azure-storage-connection-string", lambda c: f"DefaultEndpointsProtocol=https;AccountName={c.word()}store;Account" f"Key={c.base64(64)};EndpointSuffix=core.windows.net", core=lambda v: (v.split("Key=")[1][:24],)),
    Kind("Azure SAS URL", "sas-url", lambda c: f"https://{c.word()}store.blob.core.windows.net/backups?sv=2023-11-03&ss=b&srt=co&sp=rl&se=2027-01-01T00:00:00Z&s" f"ig={c.base64url(32)}%3D", core=lambda v: (v.split("ig=")[1][:24],)),
    Kind("Azure service bus string", "servicebus-connection", lambda c: f"Endpoint=sb://{c.word()}.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccess" f"Key={c.base64(32)}", core=lambda v: (v.rpartition("Key=")[2][:24],)),
    Kind("URL with userinfo", "upstream-url", lambda c: f"https://{c.word()}:{c.strong()}@nexus.example.com/repository", core=lambda v: (v.split(":")[2].split("@")[0],)),
    Kind("PostgreSQL URL", "database-url", lambda c: f"postgres://app:{c.strong()}@db.{c.word()}.svc:5432/app?sslmode=require", core=lambda v: (v.split(":")[2].split("@")[0],)),
    Kind("MySQL URL", "mysql-dsn", lambda c: f"mysql://root:{c.dull()}@mysql-0.mysql:3306/{c.word()}", core=lambda v: (v.split(":")[2].split("@")[0],)),
    Kind("MongoDB URL", "mongodb-uri", lambda c: f"mongodb+srv://svc:{c.strong()}@cluster0.{c.lower(5)}.mongodb.net/?retryWrites=true&w=majority", core=lambda v: (v.split(":")[2].split("@")[0],)),
    Kind("Redis URL", "redis-url", lambda c: f"redis://:{c.password()}@redis-master:6379/0", core=lambda v: (v.split("//:")[1].split("@")[0],)),
    Kind("AMQP URL", "amqp-url", lambda c: f"amqp://guest2:{c.password()}@rabbitmq.mq:5672/%2F", core=lambda v: (v.split(":")[2].split("@")[0],)),
    Kind("PostgreSQL key=value DSN", "pg-dsn", lambda c: f"host=db.svc port=5432 user=app password={c.password()} dbname=app sslmode=disable", core=lambda v: (v.split("password=")[1].split(" ")[0],)),
    Kind("JDBC URL", "jdbc-url", lambda c: f"jdbc:mysql://db:3306/app?user=app&password={c.password()}&useSSL=true", core=lambda v: (v.split("password=")[1].split("&")[0],)),
    Kind("JDBC SQL Server URL", "jdbc-url", lambda c: f"jdbc:sqlserver://sql:1433;databaseName=app;user=sa;password={c.password()};encrypt=true", core=lambda v: (v.split("password=")[1].split(";")[0],)),
    Kind("ADO.NET connection string", "connection-string", lambda c: f"Server=sql.db,1433;Database=app;User Id=sa;Password={c.strong()};TrustServerCertificate=True", core=lambda v: (v.split("Password=")[1].split(";")[0],)),
    Kind("Go MySQL DSN", "mysql-dsn", lambda c: f"app:{c.strong()}@tcp(mysql.db:3306)/app?parseTime=true", core=lambda v: (v.split(":")[1].split("@")[0],)),
)  # fmt: skip
"""Known by their form, so also found where nothing names them."""

NAMED: Final = (
    Kind("AWS secret access key", "aws-secret-access-key", lambda c: c.base64(30), False),
    Kind("AWS session token", "aws-session-token", lambda c: "IQoJb3JpZ2luX2Vj" + c.base64(300), False),
    Kind("Azure storage key", "azure-storage-key", lambda c: c.base64(64), False),
    Kind("Datadog key", "dd-api-key", _hex(32), False),
    Kind("Twilio auth token", "twilio-auth-token", _hex(32), False),
    Kind("password", "db-password", lambda c: c.dull(), False),
    Kind("strong password", "admin-password", lambda c: c.strong(), False),
    Kind("passphrase", "passphrase", lambda c: c.strong(), False),
    Kind("API key", "payment-api-key", lambda c: c.base62(32), False),
    Kind("UUID API key", "api-key", lambda c: c.uuid(), False),
    Kind("client secret", "oauth-client-secret", lambda c: c.base62(40), False),
    Kind("signing secret", "jwt-secret", lambda c: c.base64(32), False),
    Kind("framework secret key", "secret-key-base", _hex(128), False),
    Kind("encryption key", "encryption-key", lambda c: c.base64(32), False),
    Kind("access token", "access-token", lambda c: c.base62(48), False),
    Kind("refresh token", "refresh-token", lambda c: c.base62(64), False),
    Kind("SMTP password", "smtp-password", lambda c: c.password(), False),
    Kind("LDAP bind password", "ldap-bind-password", lambda c: c.password(), False),
    Kind("MinIO password", "minio-root-password", lambda c: c.dull(), False),
    Kind("webhook secret", "webhook-secret", lambda c: c.lower(20), False),
    Kind("keystore password", "keystore-password", lambda c: c.dull(), False),
    Kind("Cloudflare token", "cloudflare-api-token", lambda c: c.base62(40), False),
)  # fmt: skip
"""Known by the name of the field they stand in."""
