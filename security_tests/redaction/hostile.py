"""Bodies made to hurt whoever searches them: floods of half a secret, bombs, depth, broken encodings."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Final

from security_tests.redaction.sheet import Document

__all__ = ["FLOODS", "benign", "bomb", "deep", "flood", "in_configmap", "log"]

_DASHES: Final = "-" * 5
FLOODS: Final[dict[str, str]] = {
    "one letter": "a", "digits": "1", "hex": "0123456789abcdef", "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo", "spaces": " ",
    "newlines": "\n", "NULs": "\0", "quotes": '"', "backslashes": "\\", "escaped quotes": '\\"', "dashes": "-", "equals": "=", "dots": ".",
    "password=": "password=", "password: ": "password: ", "password and spaces": "password" + " " * 200, "open JSON password": '"password":"',
    "open escaped password": '\\"password\\":\\"', "--password ": "--password ", "-p": " -p", "bearer": "Bearer ", "basic": "Authorization: Basic ",
    "JWT heads": "eyJ", "JWT parts": "eyJhbGciOi.", "dotted": "abc.def.", "URL heads": "https://", "URL user": "https://a:", "URL ats": "https://a:b@",
    "schemes": "a://", "colons": ":", "ats": "@", "user pairs": "user:pass@", "PEM heads": f"{_DASHES}BEGIN RSA " + f"PRIVATE KEY{_DASHES}",
    "PEM heads in JSON": f"{_DASHES}BEGIN " + f"PRIVATE KEY{_DASHES}\\n", "PEM first lines": f"{_DASHES}BEGIN " + f"PRIVATE KEY{_DASHES}\n", "gzip heads": "H4sIAAAA", "AWS heads": "AKIA", "GitHub heads": "ghp_", "Stripe heads": "sk_live_",
    "masks": "«redacted:jwt:3f9a0b1c»", "open masks": "«redacted:", "braces": "{", "brackets": "[", "open objects": '{"a":', "JSON strings": '{"a":"b"}',
    "tags": "<password>", "assignments": "a=b;", "KEY=": "API_KEY=x ", "hash heads": "$2y$10$", "commas": ",", "entities": "&quot;", "percent": "%70",
    "unicode escapes": "\\u0070", "cookies": "Cookie: a=b; ", "YAML keys": "password:\n  ", "Slack": "xoxb-1-", "key words": "secret token password key credential ", "accents": "ä€😀",
    "commands": "mysql -u root -p", "command words": "mysql a b c d e f g h i j k l m n ", "quoted commands": "sh -c 'mysql -p \"redis-cli -a x\"' ", "open quotes": "mysql '", "identified": "identified by x ",
    "statements": "where name = 'password' ", "assigned": " k='password', v='", "login calls": 'auth("a", "b", ', "signers": "fernet('", "tokens maps": "tokens { a = b ", "tokens blocks": "keys:\n  a: b\n",
    "defaults": 'variable "password" { default = "', "arrows": 'token = "a" -> "b" ', "rows of one": "password | x ", "bracketed": "password=[", "pipes": "echo x | kinit ", "accounts": "a:b1@c.d:5432/", "sentences": "password for a has been ",
    "settings": "PASSWORD=\n", "plain words": "password=anchor falcon meadow ", "quotes inside": 'password=a"b', "said for": "password for a of b ", "values for": 'value "a" for ', "decoded": "key = a.decode(b",
    "webhooks": "/hooks/abcdefgh12345678", "key lists": "hmac_keys = [", "vendors": "ALGOLIA_ADMIN=a", "PINs": "pin for the ", "multipart": 'form-data; name="password"\n', "SMTP": "334 UGFzc3dvcmQ6\n",
    "keys in JSON": '{"log":"' + f"{_DASHES}BEGIN " + f"PRIVATE KEY{_DASHES}" + '\\n"}\n', "stamps": "[a] [b] [c] ", "token members": '"tokens":{"a":"b",', "Markdown": "**Password:** ", "as string": 'x token as string = "',
    "tuples": "{password,a", "arrows in JSON": '"pw": "a" -> "', "abroad": "clave_api: x ", "challenges": '"token":"abcdefgh12345678","type":"',
    "sign in": "log in with a / b ", "DSN ends": "@tcp(", "Oracle": "jdbc:oracle:thin:u/x@", "foreign": "密码:", "weak": "api_salt=abcdefgh ",
}  # fmt: skip


def flood(name: str, size: int) -> str:
    """That text again and again."""
    text = FLOODS[name]
    return (text * (size // len(text) + 1))[:size]


def benign(size: int) -> str:
    """A log as applications write it, as a measure."""
    line = 'time=2026-03-04T05:06:07Z level=info msg="request served" path=/api/v1/orders/{} status=200 took=12ms\n'
    lines: Iterator[str] = (line.format(number) for number in range(size // 90))
    return "".join(lines)


def log(text: str | bytes) -> Document:
    """As the log of a container."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return Document(
        "hostile log",
        ("api", "v1", "namespaces", "shop", "pods", "web-0", "log"),
        body,
        (),
        (),
        accept="text",
        form="text",
    )


def in_configmap(text: str) -> Document:
    """As the value of a ConfigMap."""
    body = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "x", "namespace": "shop"},
        "data": {"text": text},
    }
    return Document(
        "hostile configmap", ("api", "v1", "namespaces", "shop", "configmaps", "x"), json.dumps(body).encode(), (), ()
    )


def bomb(size: int, layers: int = 1) -> str:
    """So many zeros, compressed, in base64; the same again around it."""
    data = gzip.compress(bytes(size), mtime=0)
    for _ in range(layers - 1):
        data = gzip.compress(base64.b64encode(data), mtime=0)
    return base64.b64encode(data).decode()


def deep(levels: int, inside: str, open_: str = "[", close: str = "]") -> str:
    """JSON of that depth around a text."""
    return open_ * levels + json.dumps(inside) + close * levels
