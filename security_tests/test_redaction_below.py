"""What stands below a credential's name is secret, in whatever order and however it is written; each of these leaked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

import pytest

from security_tests.redaction import engine, floods

pytestmark = pytest.mark.repeatable

Count = Callable[..., None]
MARKED: Final = re.compile("«(.*?)»")

TEXTS: Final = (
    "- --password\n- «Zk8wQ2vT»\n- --user\n- root",
    "passwords:\n- «Zk8wQ2vT»\n- «qo7Pm2xB»\nuser: root",
    "api_keys:\n  - «Zk8wQ2vTq1»\n  - «qo7Pm2xBz8»\nregion: eu-west-1",
    "tokens:\n  ci: «Zk8wQ2vTq1»\n  deploy: «qo7Pm2xBz8»\n  kind: jwt\nname: web",
    "db_password:\n  description: of the database\n  default: «Zk8wQ2vT»\n  sensitive: true",
    "client_secret: # of the portal\n  value: '«Zk8wQ2vT'»\nport: 5432".replace("'»", "»'"),
    "auth:\n  passwords: [«Zk8wQ2vT9», «qo7Pm2xB3»]\n  users: [alice, bob]",
    "- name: DB_PASSWORD\n  description: of the shop\n  value: «Zk8wQ2vT»\n- name: DB_HOST\n  value: pg",
    'set_sensitive {\n  name  = "db.password"\n  value = "«Zk8wQ2vT»"\n}',
    "master_password = <<EOF\n«Zk8wQ2vT»\nEOF\nregion = eu",
    "<db>\n<password>\n  «Zk8wQ2vT»\n</password>\n</db>",
    '["password"]=>\n  string(8) "«Zk8wQ2vT»"\n["user"]=>\n  string(3) "app"',
    'Content-Disposition: form-data; name="password"\n\n«Zk8wQ2vT»\n--b--',
    "<keys>\n«Zk8wQ2vT5#»\n</keys>",
)
FILES: Final = ("- value: «Zk8wQ2vT»\n  name: DB_PASSWORD\n- value: pg\n  name: DB_HOST",)
"""Of a log, lines that are gone by are not masked any more."""
LINES: Final = (
    "password -> «Zk8wQ2vT9»",
    'unseal_keys_b64: ["«q8Zr3TnB5wLx7VdK2mYpRRZxLoooK3TnB5wLx7VdK2mA»"]',
    'secret = ENV.fetch("APP_SECRET") { "«Zk8wQ2vT!»" }',
    'password = os.getenv("DB_PW", default="«Zk8wQ2vT»")',
    'password = os.environ["X"] if is_live else "«Zk8wQ2vT»"',
    '$pw = $_ENV["DB_PASSWORD"] ?? "«Zk8wQ2vT»";',
    'val dbPassword: String = System.getenv("DB_PASSWORD") ?: "«Zk8wQ2vT»"',
    'password: {{ .Values.db.password | default "«Zk8wQ2vT»" }}',
    'password: {{ default "«Zk8wQ2vT»" .Values.db.password }}',
    "PASSWORD elastic = «q8Zr3TnB5wLx7VdK2mYp»",
    'config.pepper = "«q8Zr3TnB5wLx7VdK2mYp563b»"',
    '$db = new mysqli("db", "shop", "«Zk8wQ2vT»", "shop");',
    "&lt;password&gt;«Zk8wQ2vT»&lt;/password&gt;",
    '<add value="«Zk8wQ2vT»" key="DbPassword" />',
    "DB_PASS=${DB_PASS:-«Zk8wQ2vT»}",
    r'x = load("user: app\n  password: «Zk8wQ2vT»\n  host: pg")',
    "erlang.cookie: «QWERTZUIOPASDFGHJKLY»",
    "http-request set-header X-Auth-Token «q8Zr3TnB5wLx7VdK2mYp»",
    "Recovery codes: «bn4xb-stbp2», «p2sl9-47i5g»",
    "basic_auth: { username: prom, password: «notifier» }",
    '{"stripe": "«ws4b0YmV»"}',
    '{"tokenFile":"«5020278ac6409b7029dd4e947f39c368»"}',
    '{"DATADOG":"«5020278ac6409b7029dd4e947f39c368»"}',
    '{"tokenUrl":"x","STRIPE":"«5020278ac6409b7029dd4e947f39c368»"}',
)
OBJECTS: Final = (
    {"config": {"db_password": {"sensitive": True, "type": "string", "value": "«Zk8wQ2vT»"}}},
    {"config": {"db_password": {"description": "of the database", "default": "«Zk8wQ2vT»"}}},
    {"config": {"api_token": {"type": "plain", "content": "«Zk8wQ2vTq1»"}}},
    {"tokens": {"ci": "«Zk8wQ2vTq1»", "deploy": "«qo7Pm2xBz8»", "id": "3b1c7f52-94d0-4e6a-8f1b-2a6d5c9e7f10"}},
    {"password": "«48291734»"},
    {"env": [{"name": "PIN", "value": "«4829»"}, {"name": "APP_RUNTIME", "value": "«q8Zr3TnB5wLx7VdK2mYpT4c»"}]},
    {"causes": [{"message": 'Invalid value: "«Zk8wQ2vT»": too short', "field": "spec.password"}]},
    {"data": {".erlang.cookie": "«QWERTZUIOPASDFGHJKLY»"}},
    {"data": {"values.yaml": "auth:\n  passwords:\n  - «Zk8wQ2vT»\n  - «qo7Pm2xB»\n"}},
    {"args": ["--key", "«5SjgDCkp»", "--twilio", "«OlMSN5hPQWEV»"]},
    {"env": [{"name": "pat", "value": "«dwY3ytcJkF7i»"}]},
    {"key": {"value": "«U2zKQobe»"}},
    {"data": {"mailgun": "«aB3dE5fG7hJ9»", "password/db": "«aB3dE5fG»", "token ": "«aB3dE5fG»"}},
    {"spec": {"password[0]": "«aB3dE5fG»", "password!": "«aB3dE5fG»", "db password (prod)": "«aB3dE5fG»"}},
    {"seed": "«token\n7c8232e0b5c896171c5575a2448ae72e»"},
)
HARMLESS: Final = (
    "imagePullSecrets:\n- name: registry\nsecrets:\n- web-tls\n- db-credentials",
    "passwords:\n  policy: strong\n  length: 12",
    "secretKeyRef:\n  name: db\n  key: password",
    '"tokens": {"name": "ci", "type": "jwt"}',
    "'password' => ['required', 'string', 'min:12']",
    "pass=12",
    "authorization: mode=RBAC,Node",
    "password varchar(64)",
    "crypto_key=projects/p/locations/eu/keyRings/r/cryptoKeys/k",
    "API_KEY=\nWEBHOOK_URL=https://hooks.example.com/x",
    "apiKey: <your-api-key>\nwebhookSecret: REPLACE_ME",
    "if (!password || password.length < 8) throw new Error();",
    "image: registry.example.com/shop/redis-with-requirepass:a63338f",
    "secret.answer=Antwort auf die Sicherheitsfrage",
    "spring.mail.password=#{systemEnvironment['SMTP_PASSWORD']}",
    'passwd = getpass("Password: ")',
    "volumes:\n- secret:\n    secretName: web-tls\n    items: [{key: tls.key, path: tls.key}]",
)


def without_marks(text: str) -> str:
    return re.sub("[«»]", "", text)


@pytest.mark.promise("S-01")
def test_what_stands_below_a_name_is_masked(attacks: Count) -> None:
    """As a file, as a log and as an object; the rest stays."""
    masking = engine.fresh()
    attacks(2 * len(TEXTS + LINES) + len(FILES) + len(OBJECTS))
    objects = [json.dumps(each, ensure_ascii=False) for each in OBJECTS]
    for text in (*TEXTS, *LINES, *FILES, *objects):
        masked = [masking.text(without_marks(text), lambda _: None)]
        if text in TEXTS + LINES:
            masked.append(engine.masked(masking, floods.log(without_marks(text).encode() + b"\n")).decode())
        for each in masked:
            assert not [secret for secret in MARKED.findall(text) if secret in each], each
            shown = re.sub("«redacted:[^»]*»", "«»", each).rstrip("\n")
            assert shown == MARKED.sub("«»", text), each


@pytest.mark.promise("S-02")
def test_what_only_tells_of_secrets_stays() -> None:
    """Names, kinds, rules and addresses below such a name."""
    masking = engine.fresh()
    for text in HARMLESS:
        assert masking.text(text, lambda _: None) == text
        assert engine.masked(masking, floods.log(text.encode() + b"\n")).decode() == text + "\n"
