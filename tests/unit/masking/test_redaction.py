"""The redaction engine: what it masks, what it leaves, and that neither depends on how the bytes arrive."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import gzip
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from kubescript import errors, redaction
from kubescript.request import request
from kubescript_masking.engine import completeness, pieces
from kubescript_masking.text import placeholders
from kubescript_masking.wire import masking
from tests.kit import cases, costs, reading

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
GITHUB = "ghp_Ab3dEf9hIj1kLm2nOp4qRs5tUv6wXy7zA8b9"
LAST_LINE = "qX3fR7aZ2w=="
KEY_LINE = "MIIEpAIBAAKCAQEA3v1q8Zr3TnB5wLxF7cY2pQ9sDgHjKlMnBvCxZaSdFgHjKlQw"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA3v1\n" * 4 + "-----END RSA PRIVATE KEY-----\n"
PEM_LINES = PEM.splitlines()
CERTIFICATE = (
    "-----BEGIN CERTIFICATE-----\n"
    + "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n" * 6
    + "-----END CERTIFICATE-----\n"
)
DIGEST = "3f9a12cd7be0415a9c8d2e6f01b34a5768c9d0e1f2a3b4c5d6e7f8091a2b3c4d"


@pytest.fixture(scope="module")
def engine() -> redaction.Engine:
    return redaction.Engine(redaction.Settings(), b"a key")


def call(resource: str = "pods", verb: str = "list", subresource: str = "") -> request.Request:
    form: masking.Form = "watch" if verb == "watch" else "log" if subresource == "log" else "text"
    return request.Request(
        "GET", "/", (), verb, True, version="v1", resource=resource, subresource=subresource, form=form
    )


def masked(engine: redaction.Engine, body: bytes | list[bytes], what: request.Request | None = None) -> bytes:
    chunks = iter(body if isinstance(body, list) else [body])
    return b"".join(engine.body(what or call(), chunks, reading.Report()))


def dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


SECRETS = {
    "a shared secret": ("UPSTREAM_SHARED=q8Zr3TnB5wLx7VdK2m", "q8Zr3TnB5wLx7VdK2m"),
    "users with passwords": ("BASIC_AUTH_USERS=ann:Hunter22,bob:Tr0ub4dor", "Tr0ub4dor"),
    "a one-time password": ("login with otp=482913", "482913"),
    "what they are made of": ("totp seed: JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP"),
    "a URL's password": ("postgres://app:Tr0ub4dor@db:5432/app", "Tr0ub4dor"),
    "one with an @": ("amqp://guest:gu@est9@rabbit:5672", "gu@est9"),
    "a token in a URL": ("https://0123abcd4567efgh89ijklmn@github.com/o/r.git", "0123abcd4567efgh89ijklmn"),
    "a Go DSN": ("app:S3cretPw@tcp(mysql:3306)/db", "S3cretPw"),
    "an Oracle DSN": ("jdbc:oracle:thin:scott/tiger99@//db:1521/x", "tiger99"),
    "an ADO string": ("Server=db;User Id=sa;Password=Pa55w0rd!;Encrypt=true", "Pa55w0rd!"),
    "a query": ("jdbc:mysql://h/db?user=root&password=hunter2&x=1", "hunter2"),
    "a shared access signature": ("https://x/c?sv=1&sig=aB3dE5fG7hI9jK1lM3nO5pQ7%3D", "aB3dE5fG7hI9jK1lM3nO5pQ7"),
    "a bearer": (f'curl -H "Authorization: Bearer {JWT}" https://x', JWT),
    "basic": ("Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"),
    "a flag": ("--db-password hunter2 --verbose", "hunter2"),
    "a flag with =": ("--api-token=s3cr3t-t0ken --verbose", "s3cr3t-t0ken"),
    "mysql's": ("mysql -h db -uroot -pS3cr3tX app", "S3cr3tX"),
    "curl's": ("curl -u admin:s3cr3t! https://x", "s3cr3t!"),
    "a setting": ("spring.datasource.password=hunter2", "hunter2"),
    "JSON in a log": ('2026-01-01 {"level":"info","apiKey":"aB3dE5fG7hI9"}', "aB3dE5fG7hI9"),
    "YAML": ("db:\n  user: x\n  password: hunter2\n", "hunter2"),
    "a YAML block": ("api:\n  token: |\n    aB3dE5fG7hI9jK1l\n  x: y\n", "aB3dE5fG7hI9jK1l"),
    "a YAML variable": ("env:\n- name: DB_PASSWORD\n  value: hunter2\n", "hunter2"),
    "SQL": ("ALTER USER x IDENTIFIED BY 'hunter2';", "hunter2"),
    "a cookie": ("Cookie: session=abcdef0123456789; theme=dark", "abcdef0123456789"),
    "a header": ("X-Vault-Token: aB3dE5fG7hI9jK1l", "aB3dE5fG7hI9jK1l"),
    "a sentence": ("the password is hunter2.", "hunter2"),
    "a GitHub token": (f"cloning with {GITHUB} now", GITHUB),
    "an AWS key": ("AKIAIOSFODNN7EXAMPLQ", "AKIAIOSFODNN7EXAMPLQ"),
    "a private key": (PEM, "MIIEpAIBAAKCAQEA3v1"),
    "one in a line": (PEM.replace("\n", "\\n"), "MIIEpAIBAAKCAQEA3v1"),
    "one that is cut, behind prefixes": (f"app | {PEM.splitlines()[0]}\n" + f"app | {KEY_LINE}\n" * 4, KEY_LINE),
    "the end of one, behind prefixes": (
        "".join(f"app | {line}\n" for line in (PEM_LINES[0], KEY_LINE, LAST_LINE, PEM_LINES[-1])), LAST_LINE
    ),
    "one around code": (f"{PEM_LINES[0]}\n{KEY_LINE}\ncurl -s http://a.example | sh\n{PEM_LINES[-1]}", KEY_LINE),
    "one behind a first line of a key": (f"found {PEM_LINES[0]} in a.pem: a.b\n{PEM}", "MIIEpAIBAAKCAQEA3v1"),
    "a password hash": ("$2b$12$" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3hI5jK", "aB3dE5fG7hI9jK1l"),
    "base64": (f"data: {b64('password=hunter2!')}", b64("password=hunter2!")),
    "base64 without padding": (f"data: {b64('x password=hunter2')}", b64("x password=hunter2")),
    "UTF-16 in base64": (f"-enc {b64('password=hunter2'.encode('utf-16-le'))}", b64("password=hunter2".encode("utf-16-le"))),
}  # fmt: skip


@cases.each("text, secret", SECRETS.values(), ids=SECRETS)
def test_found_everywhere(engine: redaction.Engine, text: str, secret: str) -> None:
    """A secret in text is masked wherever the text stands: a variable, a ConfigMap, an annotation, an argument, a
    message, JSON within JSON, or text that leaves."""
    inner = json.dumps({"spec": [{"note": text}]})
    places: list[Any] = [
        {"items": [{"spec": {"env": [{"name": "X", "value": text}]}}]},
        {"kind": "ConfigMap", "data": {"app.conf": text}},
        {"metadata": {"annotations": {"example.com/note": inner}}},
        {"args": ["sh", "-c", text]},
        {"kind": "Event", "message": f"failed: {text}"},
        {"spec": {"nested": json.dumps({"again": inner})}},
    ]
    for place in places:
        out = masked(engine, dumped(place))
        assert json.loads(out) != place and secret not in out.decode(), out
    assert secret not in engine.text(text, lambda _: None)


@cases.each("name", ["DB_PASSWORD", "apiToken", "client-secret", "SLACK_API_KEY", "dbPassword2", "PGPASSWORD"])
def test_names(engine: redaction.Engine, name: str) -> None:
    """The value of a credential's name is masked, in whatever order its object has its fields, and as a flag."""
    for value in ({"name": name, "value": "x1y2z3"}, {"value": "x1y2z3", "name": name}, {name: "x1y2z3"},
                  {"name": name, "optional": True, "value": "x1y2z3"}, ["--" + name, "x1y2z3"], [f"--{name}=x1y2z3"]):  # fmt: skip
        for spaced in (dumped({"env": value}), json.dumps({"env": value}, indent=2).encode()):
            out = masked(engine, spaced)
            assert b"x1y2z3" not in out and b"redacted:" in out and json.loads(out), out


LOOKALIKES: dict[str, Any] = {
    "a digest": f"reg.io/a/b@sha256:{DIGEST}",
    "an image id": f"docker-pullable://reg.io/a/b@sha256:{DIGEST}",
    "a container id": f"containerd://{DIGEST}",
    "a uid": {"uid": "9a1b2c3d-aaaa-4bbb-8ccc-1234567890ab", "resourceVersion": "81230"},
    "labels": {"pod-template-hash": "7d9c5b8f6d", "controller-revision-hash": "web-5f6d7c8b9"},
    "checksums": {"checksum/secret": DIGEST, "checksum/config": DIGEST},
    "a certificate": {"caBundle": b64(CERTIFICATE), "tls.crt": CERTIFICATE},
    "references": {"secretKeyRef": {"name": "db", "key": "password"}, "secretName": "db-credentials",
                   "tokenSecretRef": {"name": "x"}, "passwordFile": "/run/secrets/db"},
    "variables": [{"name": "DB_PASSWORD", "value": "$(OTHER)"}, {"name": "TOKEN", "value": "${TOKEN}"},
                  {"name": "PASSWORD", "value": ""}, {"name": "AUTH_TOKEN_ENABLED", "value": "true"},
                  {"name": "TOKEN_TTL", "value": "3600"}, {"name": "MAX_TOKENS", "value": "4096"},
                  {"name": "DATABASE_URL", "value": "postgres://$(U):$(P)@db/x"}],
    "arguments": ["--token-auth-file=/etc/x", "--tls-private-key-file", "/etc/x.key", "--token-ttl=24h"],
    "a projected token": {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    "templates": "password: {{ .Values.password }}\ntoken: <your-token>\n",
    "messages": ["invalid token: expired", 'secrets "db" not found', "password authentication failed for user x",
                 "Bearer token is required for this request", "Secret default/db created"],
    "code between a key's lines": f"{PEM_LINES[0]}\n/usr/bin/curl http://a.example/x | sh\nsudo reboot\n{PEM_LINES[-1]}",
    "a commit": "built from 356a192b7913b04c54574d18c28d46e6395428ab",
    "a public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq8s9kP2mZxVw3Yt5Rb7Nc1Lf0Hj4Dg6Sa8Qe2Uo9Ti me@host",
    "a node": {"nodeName": "ip-10-0-1-23.eu-west-1.compute.internal"},
    "a trace": "trace_id=4bf92f3577b34da6a3ce929d0e0e4736",
    "numbers": {"big": 12345678901234567890123, "float": 1.10, "tokens": 12},
    "a URL": "https://example.com/path@v1.2.3?x=1#y",
}  # fmt: skip


def test_lookalikes_survive(engine: redaction.Engine) -> None:
    """What only looks like a secret reaches the script byte for byte."""
    for what, lookalike in LOOKALIKES.items():
        body = dumped({"items": [{"spec": lookalike}]})
        assert masked(engine, body) == body, what


def test_secret_objects(engine: redaction.Engine) -> None:
    """Of a Secret keys and sizes stay and values go: in its own list, in a List of anything, in a custom resource, in an
    annotation."""
    secret = {"apiVersion": "v1", "data": {"user": b64("admin"), "odd": b64(b"\x00\xff" * 7), "none": ""}, "kind": "Secret",
              "metadata": {"name": "x"}, "stringData": {"note": "just words"}, "type": "Opaque"}  # fmt: skip
    typed = {name: secret[name] for name in ("metadata", "data", "type")}
    for body, what in (
        ({"kind": "SecretList", "items": [typed, typed]}, call("secrets")),
        ({"type": "ADDED", "object": secret}, call("secrets", "watch")),
        ({"kind": "List", "items": [{"kind": "ConfigMap", "data": {"a": "b"}}, secret]}, call("configmaps")),
        ({"kind": "Object", "spec": {"manifest": secret}}, call("objects")),
        ({"metadata": {"annotations": {"x": json.dumps(secret)}}}, call()),
    ):
        out = masked(engine, dumped(body), what).decode()
        assert b64("admin") not in out and b64(b"\x00\xff" * 7) not in out, out
        assert out.count("user") and ":5B»" in out and ":14B»" in out, out
    assert masked(engine, dumped({"kind": "ConfigMap", "data": {"user": "admin"}})).count(b"redacted") == 0


def test_last_applied(engine: redaction.Engine) -> None:
    """What `kubectl apply` left on a Secret goes as a whole; elsewhere only the secrets in it."""
    note = "kubectl.kubernetes.io/last-applied-configuration"
    body = {"items": [{"metadata": {"annotations": {note: json.dumps({"data": {"a": b64("thing")}})}}}]}
    assert b64("thing").encode() not in masked(engine, dumped(body), call("secrets"))
    pod = {"metadata": {"annotations": {note: json.dumps({"env": [{"name": "TOKEN", "value": "x1y2"}], "image": "a"})}}}
    inner = json.loads(json.loads(masked(engine, dumped(pod)))["metadata"]["annotations"][note])
    assert inner["image"] == "a" and inner["env"][0]["value"].startswith("«redacted:token:")


def test_helm_release(engine: redaction.Engine) -> None:
    """A release that Helm keeps in a ConfigMap can still be unpacked; the secrets in it are masked."""
    release = {
        "name": "web",
        "config": {"auth": {"rootPassword": "hunter2"}},
        "manifest": "kind: Secret\ndata:\n  a: eHl6\n",
    }
    packed = b64(gzip.compress(dumped(release)))
    out = json.loads(masked(engine, dumped({"data": {"release": packed}}), call("configmaps", "get")))
    opened = json.loads(gzip.decompress(base64.b64decode(out["data"]["release"])))
    assert opened["name"] == "web" and "hunter2" not in str(opened) and "eHl6" not in str(opened)
    assert opened["config"]["auth"]["rootPassword"].startswith("«redacted:password:")


def test_bombs(engine: redaction.Engine) -> None:
    """A gzip that unfolds without end is masked unopened, and what is nested too deeply goes as a whole."""
    bomb = b64(gzip.compress(b"password=hunter2 " * 4_000_000))
    started = time.monotonic()
    assert b"redacted:oversized" in masked(engine, dumped({"data": {"x": bomb}}))
    text = "password=hunter2"
    for _ in range(20):
        text = json.dumps({"x": text})
        if len(text) > 100_000:
            break
    out = masked(engine, text.encode())
    assert b"hunter2" not in out and json.loads(out) and time.monotonic() - started < 60


def test_masks(engine: redaction.Engine) -> None:
    """Equal values have equal masks within a server, in whatever form they come, and other masks in another server."""
    pod = {"env": [{"name": "A_PASSWORD", "value": "hunter2"}, {"name": "B_PASSWORD", "value": "hunter2"},
                   {"name": "C_PASSWORD", "value": "hunter3"}]}  # fmt: skip
    first, second, third = (each["value"] for each in json.loads(masked(engine, dumped(pod)))["env"])
    assert first == second != third
    secret = json.loads(masked(engine, dumped({"data": {"p": b64("hunter2")}}), call("secrets", "get")))
    assert secret["data"]["p"].split(":")[2] == first.split(":")[2].rstrip("»")
    other = redaction.Engine(redaction.Settings())
    assert json.loads(masked(other, dumped(pod)))["env"][0]["value"] != first


def test_reported(engine: redaction.Engine) -> None:
    """Each masked value is reported by its kind, once."""
    found: list[str] = []
    body = dumped({"env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "X", "value": JWT}]})
    b"".join(engine.body(call(), iter([body]), reading.Report(found.append)))
    assert Counter(found) == {"env-password": 1, "jwt": 1}


MIXED = dumped({
    "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [
        {"metadata": {"name": f"pod-{number}", "annotations": {"a": json.dumps({"password": "hunter2", "n": number})}},
         "spec": {"env": [{"name": "DB_PASSWORD", "value": 'hünter\u20ac\\"2'}, {"name": "URL", "value": "redis://:pw123@r/0"}],
                  "args": ["--token", "s3cr3tt0ken", "\u0000\u001f<&>"], "image": f"x@sha256:{DIGEST}"},
         "status": {"message": PEM, "b": b64("password=hunter2!"), "certificate": CERTIFICATE}} for number in range(3)],
})  # fmt: skip
LOG = (
    f"2026-01-01T00:00:00Z start\n2026-01-01T00:00:01Z password=hunter2 x=1\n{PEM}after\r\n- name: DB_PASSWORD\n"
    f'  value: hunter2\n{{"password":"hunter2"}}\n  token: |\n    hunter2\n    more\nend {GITHUB}'
).encode()


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(edges)]


@cases.each("what", [call(), call(verb="watch"), call(subresource="log", verb="get"), call("secrets")])
@hypothesis.given(places=strategies.lists(strategies.integers(0, 1 << 30), max_size=12))
@hypothesis.settings(max_examples=60, deadline=None)
def test_any_split(engine: redaction.Engine, what: request.Request, places: list[int]) -> None:
    """However a body is cut into chunks, the output is the same: no cut hides a secret."""
    event = b'{"type":"ADDED","object":' + MIXED + b"}\n"
    body = LOG if what.subresource == "log" else event + event if what.verb == "watch" else MIXED
    whole = masked(engine, body, what)
    assert masked(engine, cut(body, places), what) == whole
    assert b"hunter2" not in whole and b"MIIEpAIBAAKCAQEA" not in whole


@hypothesis.given(places=strategies.lists(strategies.integers(0, 1 << 30), max_size=20))
@hypothesis.settings(max_examples=15, deadline=None)
def test_any_split_of_many_pieces(engine: redaction.Engine, places: list[int]) -> None:
    """The same for a list that is passed on in pieces."""
    items = ",".join(json.dumps({"metadata": {"name": f"p{number}"}, "env": [{"name": "X_TOKEN", "value": f"s3cr3t{number}"}],
                                 "pad": "x" * 900}, separators=(",", ":")) for number in range(700))  # fmt: skip
    body = ('{"kind":"PodList","items":[' + items + "]}").encode()
    assert len(parts(body)) > 2
    whole = masked(engine, body)
    assert masked(engine, cut(body, places)) == whole
    assert b"s3cr3t" not in whole and len(json.loads(whole)["items"]) == 700


def parts(body: bytes) -> list[bytes]:
    """The list as it is masked, part by part."""
    check = completeness.Check("list")
    return list(pieces.documents(check.watch(iter([body])), check.ends))


def test_byte_by_byte(engine: redaction.Engine) -> None:
    """A body that arrives a byte at a time comes out as one that arrives whole."""
    for body, what in ((MIXED, call()), (LOG, call(subresource="log", verb="get"))):
        assert masked(engine, [bytes([byte]) for byte in body], what) == masked(engine, body, what)


texts = strategies.text(max_size=40)
values = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | texts
    | strategies.sampled_from([each[0] for each in SECRETS.values()] + ["password", "token", "value", "name", "Secret"]),
    lambda inner: strategies.lists(inner, max_size=4)
    | strategies.dictionaries(texts | strategies.sampled_from(["password", "kind", "data", "name", "value"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@hypothesis.given(value=values, ascii_only=strategies.booleans(), resource=strategies.sampled_from(["pods", "secrets"]))
@hypothesis.settings(max_examples=300, deadline=None)
def test_json_stays_json(engine: redaction.Engine, value: Any, ascii_only: bool, resource: str) -> None:
    """Any JSON stays JSON of the same shape, and masking what is masked changes nothing."""
    body = json.dumps({"items": [value]}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    once = masked(engine, body, call(resource))
    assert shape(json.loads(once)) == shape(json.loads(body))
    assert masked(engine, once, call(resource)) == once


def test_a_number_of_a_passwords_name_becomes_a_string(engine: redaction.Engine) -> None:
    """Its mask is none; any other number stays one."""
    once = json.loads(masked(engine, b'{"password": 48291734, "passwordLength": 1234, "token": 5321}', call()))
    assert once["password"].startswith("«redacted:password:")
    assert (once["passwordLength"], once["token"]) == (1234, 5321)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(each) for each in value.values()]
    if isinstance(value, list):
        return [shape(each) for each in value]
    return str if isinstance(value, int) and value > 999 else type(value)  # which is a string when it is masked


def test_idempotent(engine: redaction.Engine) -> None:
    """Masking masked text changes nothing."""
    for what, (text, _) in SECRETS.items():
        once = engine.text(text, lambda _: None)
        found: list[str] = []
        assert engine.text(once, found.append) == once and not found, what


@cases.each("odd", [b'{"a":"\xff\xfepassword=hunter2"}', b'{"a":"password=hunter2\\ud800"}', b'{"a":"\\u0070assword=hunter2"}',
                                 b'{"a":"postgres:\\/\\/u:hunter2@h\\/d"}', b'{"\\u0070assword":"hunter2"}', b'{"a":"password=hunter2',
                                 b'{"a":"\\x password=hunter2"}', b'\xef\xbb\xbf{"password":"hunter2"}', b"password=hunter2\x00\xff"])  # fmt: skip
def test_odd_bytes(engine: redaction.Engine, odd: bytes) -> None:
    """Bytes that are no UTF-8, escapes that hide letters, and JSON that is none do not hide a secret."""
    assert b"hunter2" not in masked(engine, odd)


def test_watch_and_log_flow(engine: redaction.Engine) -> None:
    """An event or a line is passed on as soon as it is complete, not when the next one comes."""
    given: list[bytes] = []

    def source(parts: list[bytes]) -> Iterator[bytes]:
        for part in parts:
            given.append(part)
            yield part

    event = dumped({"type": "ADDED", "object": {"password": "hunter2"}}) + b"\n"
    log = dataclasses.replace(call(subresource="log", verb="get"), query=(("follow", "true"),))
    for what, part in ((call(verb="watch"), event), (log, b"password=hunter2\n")):
        given.clear()
        stream = engine.body(what, source([part, part]), reading.Report())
        assert b"redacted" in next(stream) and len(given) == 1


def test_bounded(engine: redaction.Engine) -> None:
    """A long list is held a piece at a time; what cannot be cut is refused, never passed on unjudged."""
    item = dumped({"metadata": {"name": "x", "pad": "y" * 10_000}})
    body = b'{"kind":"PodList","items":[' + b",".join([item] * 500) + b"]}"
    assert max(map(len, parts(body))) < 2 * pieces.SOFT
    with pytest.raises(errors.RedactionError, match="cannot be redacted"):
        masked(engine, [b'{"a":"', *[b"x" * 1_000_000] * 40])


HOSTILE = {
    "pairs": b"password=abc1 ", "quotes": b'password="', "escaped quotes": b'password=\\"', "jwt": b"eyJ", "pem": b"-----BEGIN RSA PRIVATE KEY",
    "urls": b"://a:b@", "one url": b"a:", "base64": b"QUJD", "dollars": b"$6$", "flags": b"--password ", "names": b"token-", "objects": b'{"a":',
    "lists": b"[", "pairs of JSON": b'{"password":"', "backslashes": b"\\", "spaces": b"password ", "secrets": b'"kind":"Secret",',
    "manifests": b"kind: Secret\\ndata:\\n a: b\\n", "placeholders": "«redacted:a:00000000»".encode(), "commands": b"mysql -p",
}  # fmt: skip


@pytest.mark.timeout(900)
@cases.each("what", HOSTILE)
def test_hostile_lines_take_linear_time(engine: redaction.Engine, what: str) -> None:
    """A pod may log what it likes: twice as long a line takes about twice as long, and a megabyte no second or two."""
    engine.prepare()
    seconds = []
    for size in (500_000, 1_000_000):
        line = HOSTILE[what] * (size // len(HOSTILE[what])) + b" end\n"
        before = spent(engine)
        masked(engine, line, call(subresource="log", verb="get"))
        masked(engine, dumped({"data": {"x": line.decode()}}))
        seconds.append(spent(engine) - before)
    assert seconds[1] < 5 and seconds[1] < 4 * seconds[0] + 0.3, seconds


def spent(engine: redaction.Engine) -> float:
    """Processor seconds of the masking processes, whatever else the machine does."""
    return sum(map(costs.spent_by, engine._pool.pids))


def test_settings() -> None:
    """Rules can be added, switched off and given exceptions; a rule nobody knows is an error that names the nearest."""
    settings = redaction.Settings.model_validate({
        "rules": [{"id": "acme-token", "regex": "acme_[a-z0-9]{8}"}], "disable": ["jwt"], "allow": ["^fixture-"], "allow_names": ["APP_TOKEN"]
    })  # fmt: skip
    engine = redaction.Engine(settings)
    out = engine.text(f"acme_ab12cd34 {JWT} password=fixture-1 password=other1", lambda _: None)
    assert "acme-token" in out and JWT in out and "fixture-1" in out and "other1" not in out
    assert b"s3cr3t1" in masked(engine, dumped({"env": [{"name": "APP_TOKEN", "value": "s3cr3t1"}]}))
    for wrong, said in (({"disable": ["jtw"]}, "did you mean `jwt`"), ({"rules": [{"id": "jwt", "regex": "abc"}]}, "id of a built-in rule"),
                        ({"rules": [{"id": "x", "regex": "abc("}]}, "`x`"), ({"allow": ["("]}, "regular expression")):  # fmt: skip
        with pytest.raises(errors.ConfigError, match=said):
            redaction.Engine(redaction.Settings.model_validate(wrong)).prepare()


DEAD = {
    "another word": ("acme-", "acme_[a-z0-9]{8}", "acme_0123abcd"),
    "letters that are swapped": ("amce_", "acme_[a-z0-9]{8}", "acme_0123abcd"),
    "the other case": ("ACME_", "acme_[a-z0-9]{8}", "acme_0123abcd"),
    "a class of others": ("acme_[A-F]", "acme_[0-9]{8}", "acme_01234567"),
    "the second of two": ("(?:foo|bar)_x", "(?:foo|bar)_[0-9]+", "foo_1 bar_2"),
    "another example": ("acme_", "acme_[a-z0-9]{8}", "acme_0"),
    "no example": ("acme_", "acme_[a-z0-9]{8}", ""),
    "no probe": (None, "acme_[a-z0-9]{8}", "acme_0"),
}
ALIVE = {
    "the other case, said so": ("BETA_", "(?i)beta_[a-z0-9]{8}", "BETA_0123abcd"),
    "with what stands before": ("mark=", "mark=([a-z0-9]{8})", "mark=a123abcd"),
    "a class": (r"[a-z]{4}_\w", "acme_[a-z0-9]{8}", "key: acme_0123abcd"),
    "an end of it": ("_[0-9]", "(?:foo|bar)(?:_[0-9]+)?", "foo_1"),
    "hyperscan's own": (r"\x{64}elt_", "delt_[a-z0-9]{8}", "delt_0123abcd"),
    "no probe": (None, "epsi_[a-z0-9]{8}", "epsi_0123abcd"),
}  # fmt: skip


def ruled(probe: str | None, regex: str, example: str) -> redaction.Settings:
    rule = {"id": "acme", "regex": regex, "probe": probe, "example": example}
    return redaction.Settings.model_validate({"rules": [rule]})


@cases.each("case", DEAD)
def test_a_rule_that_finds_nothing_in_its_example_is_an_error(case: str) -> None:
    """It would be dead, and nobody would notice."""
    with pytest.raises(errors.ConfigError, match=r"`acme` finds nothing in its example"):
        redaction.Engine(ruled(*DEAD[case]))


@cases.each("regex", ["(?<=token=)[a-z]{8}", "acme_(?!test)[a-z]{8}", r"(a|b)_\1", "[a-z"])
def test_a_rule_that_re2_cannot_run_is_an_error(regex: str) -> None:
    """The error names the rule, what is wrong and, of a look-around, what to write."""
    rule = {"id": "acme", "regex": regex}
    said = "include the text around" if "(?" in regex else "not an RE2 regular expression"
    with pytest.raises(errors.ConfigError, match=rf"redaction rule `acme`.*{said}"):
        redaction.Engine(redaction.Settings.model_validate({"rules": [rule]}))


def test_a_rule_that_finds_its_example_is_none() -> None:
    """It masks it, too."""
    rules = [
        {"id": f"rule{at}", "regex": regex, "probe": probe, "example": example}
        for at, (probe, regex, example) in enumerate(ALIVE.values())
    ]
    with contextlib.closing(redaction.Engine(redaction.Settings.model_validate({"rules": rules}))) as engine:
        for at, (name, (_, _, example)) in enumerate(ALIVE.items()):
            assert f"«redacted:rule{at}:" in engine.text(example, lambda _: None), name


@cases.each("pattern", ["", "x*", ".", ".+", r"\S", "a|", "[^ ]{3}", "(?i)fixture|"])
def test_an_exception_for_everything_is_an_error(pattern: str) -> None:
    """It would switch redaction off in silence; the error says what to write."""
    with pytest.raises(errors.ConfigError, match=r"redaction.allow.*every value.*\^fixture-"):
        redaction.Engine(redaction.Settings(allow=(pattern,)))


def test_an_exception_for_some_values_is_none() -> None:
    """Also one of a character, where that is not every value."""
    redaction.Engine(redaction.Settings(allow=("^fixture-", "[0-9]", r"\Aa+\z")))


def test_two_rules_with_one_id_are_an_error() -> None:
    """Nobody could tell them apart in a placeholder, or switch one off."""
    rules = [{"id": "acme", "regex": "acme_[a-z]{8}"}, {"id": "acme", "regex": "acme-[a-z]{8}"}]
    with pytest.raises(errors.ConfigError, match="two rules have the id `acme`"):
        redaction.Engine(redaction.Settings.model_validate({"rules": rules}))


NAMED = {
    "an assignment": "APP_TOKEN={}",
    "a shell's": "export APP_TOKEN='{}'",
    "YAML": "kind: X\nAPP_TOKEN: {}\nb: c",
    "JSON in a string": '{{"APP_TOKEN": "{}"}}',
    "JSON in a log": 'level=info {{"APP_TOKEN":"{}"}}',
    "an environment in YAML": "env:\n- name: APP_TOKEN\n  value: {}\n",
    "a flag": "run --APP_TOKEN {}",
    "a flag with a sign": "run --APP_TOKEN={}",
    "a list of arguments": '["run", "--APP_TOKEN", "{}"]',
}


@pytest.fixture(scope="module")
def allowing() -> redaction.Engine:
    return redaction.Engine(redaction.Settings(allow_names=("APP_TOKEN",)))


@cases.each("where", NAMED)
def test_allowed_names_hold_in_text(where: str, allowing: redaction.Engine) -> None:
    """Their values are shown in whatever notation, unless a shape gives them away; other names' are masked as ever."""
    plain = NAMED[where].format("q8Zr3TnB5wLx7VdK2m")
    document = dumped({"kind": "ConfigMap", "data": {"file": plain}})
    assert allowing.text(plain, lambda _: None) == plain
    assert masked(allowing, document) == document
    for secret in (NAMED[where].format(GITHUB), plain.replace("APP_", "OTHER_"), plain.replace("APP_", "MY_APP_")):
        assert "«redacted:" in allowing.text(secret, lambda _: None), secret
        assert "«redacted:".encode() in masked(allowing, dumped({"data": {"file": secret}})), secret


def test_switched_off() -> None:
    """Off is off: bodies and texts are passed on as they are."""
    engine = redaction.Engine(redaction.Settings(enabled=False))
    assert masked(engine, MIXED) == MIXED and engine.text("password=hunter2", lambda _: None) == "password=hunter2"


@cases.each("form", ["plain", "escaped", "base64", "base64 within"])
def test_carried(form: str) -> None:
    """A mask in a body that is to be written is recognized, plain, escaped or in base64."""
    mask = placeholders.Masks(b"key")("token", b"value").decode()
    forms = {"plain": mask, "base64": b64(mask), "base64 within": b64(f"xy{mask}")}
    body = json.dumps({"data": {"a": forms.get(form, mask)}}, ensure_ascii=form == "escaped").encode()
    assert redaction.has_placeholder(body) and not redaction.has_placeholder(b'{"data":{"a":"redacted:b"}}')


def test_tables(engine: redaction.Engine) -> None:
    """A printed column whose name promises a credential is masked, in every row and event after its head."""
    head = {
        "columnDefinitions": [
            {"name": "Name", "type": "string"},
            {"name": "Password", "type": "string"},
            {"name": "N", "type": "integer"},
        ]
    }
    rows = [
        {"cells": [f"a{number}", "hunter2", number], "object": {"metadata": {"name": "hunter2-not"}}}
        for number in range(3)
    ]
    what = dataclasses.replace(call(), accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    out = json.loads(masked(engine, dumped({"kind": "Table", **head, "rows": rows}), what))
    assert [row["cells"][0] for row in out["rows"]] == ["a0", "a1", "a2"] and [
        row["cells"][2] for row in out["rows"]
    ] == [0, 1, 2]
    assert all(row["cells"][1].startswith("«redacted:password:") for row in out["rows"])
    events = b"\n".join(
        dumped({"type": "ADDED", "object": {"kind": "Table", **(head if not number else {}), "rows": [row]}})
        for number, row in enumerate(rows)
    )
    assert b'"hunter2"' not in masked(engine, [events + b"\n"], dataclasses.replace(what, verb="watch", form="watch"))
