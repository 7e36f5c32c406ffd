"""Where secrets stand in real clusters. Each spot writes one value under its field's name, or without any name."""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Callable
from typing import Any, Final

from security_tests.redaction.kinds import Kind

__all__ = ["BARE", "CONFIG", "LOGS", "POD", "camel", "env", "snake"]


def env(kind: Kind) -> str:
    """GITHUB_TOKEN."""
    return kind.field.upper().replace("-", "_")


def snake(kind: Kind) -> str:
    """github_token."""
    return kind.field.replace("-", "_")


def camel(kind: Kind) -> str:
    """githubToken."""
    head, *rest = kind.field.split("-")
    return head + "".join(part.capitalize() for part in rest)


def dotted(kind: Kind) -> str:
    """github.token."""
    return kind.field.replace("-", ".")


def _nested(kind: Kind, value: str) -> str:
    head, _, rest = kind.field.rpartition("-")
    body = f"{rest}: {json.dumps(value)}" if rest and head else f"{snake(kind)}: {json.dumps(value)}"
    return f"server:\n  port: 8080\n{head or 'auth'}:\n  enabled: true\n  {body}\n"


def _json(kind: Kind, value: str) -> str:
    return json.dumps({"port": 8080, "auth": {"enabled": True, camel(kind): value, "retries": 3}}, indent=2)


def _encoded(kind: Kind, value: str) -> str:
    return base64.b64encode(f"PORT=8080\n{env(kind)}={value}\nDEBUG=false\n".encode()).decode()


CONFIG: Final[dict[str, Callable[[Kind, str], tuple[str, str]]]] = {
    ".env file": lambda k, v: (".env", f"PORT=8080\n{env(k)}={v}\nDEBUG=false\n"),
    "quoted .env file": lambda k, v: ("prod.env", f'# settings\n{env(k)}="{v}"\nPORT=8080\n'),
    "YAML file": lambda k, v: ("config.yaml", _nested(k, v)),
    "plain YAML": lambda k, v: ("values.yaml", f"replicas: 2\n{camel(k)}: '{v}'\nimage:\n  tag: v1.2.3\n"),
    "JSON file": lambda k, v: ("config.json", _json(k, v)),
    "properties file": lambda k, v: ("application.properties", f"server.port=8080\napp.{dotted(k)}={v}\nspring.profiles.active=prod\n"),
    "TOML file": lambda k, v: ("config.toml", f'[server]\nport = 8080\n[auth]\n{snake(k)} = "{v}"\n'),
    "INI file": lambda k, v: ("app.ini", f"[auth]\nenabled = true\n{snake(k)} = {v}\n[log]\nlevel = info\n"),
    "XML attribute": lambda k, v: ("context.xml", f'<Context>\n  <Parameter name="{dotted(k)}" value="{html.escape(v)}"/>\n</Context>\n'),
    "XML element": lambda k, v: ("settings.xml", f"<settings>\n  <{camel(k)}>{html.escape(v)}</{camel(k)}>\n  <offline>false</offline>\n</settings>\n"),
    "shell script": lambda k, v: ("start.sh", f"#!/bin/sh\nset -eu\nexport {env(k)}='{v}'\nexec /app/server --port 8080\n"),
    "ConfigMap key": lambda k, v: (k.field, v),
    "env list in YAML": lambda k, v: ("patch.yaml", f'env:\n- name: PORT\n  value: "8080"\n- name: {env(k)}\n  value: {json.dumps(v)}\n'),
    "base64 of .env": lambda k, v: ("env.b64", _encoded(k, v)),
}  # fmt: skip
"""A key of a ConfigMap and its text."""

LOGS: Final[dict[str, Callable[[Kind, str], str]]] = {
    "logfmt": lambda k, v: f'time=2026-03-04T05:06:07Z level=debug msg="client configured" {snake(k)}={json.dumps(v) if set(v) & set(" =") else v} retries=3',
    "JSON log": lambda k, v: json.dumps({"level": "info", "ts": 1760000000.5, "msg": "config loaded", camel(k): v, "pid": 7}),
    "Spring log": lambda k, v: f"2026-03-04 05:06:07.123  INFO 1 --- [           main] c.example.shop.Config : app.{dotted(k)}={v}",
    "printenv": lambda k, v: f"{env(k)}={v}",
    "header dump": lambda k, v: f"> X-{k.field.title()}: {v}",
    "Python dict": lambda k, v: f"DEBUG:shop.settings:{{'debug': False, '{snake(k)}': '{v}', 'workers': 4}}",
    "access log": lambda k, v: f'10.42.0.7 - - [04/Mar/2026:05:06:07 +0000] "GET /callback?{snake(k)}={urllib.parse.quote(v, safe="")}&state=ok HTTP/1.1" 302 0',
    "YAML in log": lambda k, v: f'I0304 05:06:07.000000       1 flags.go:64] FLAG: --{k.field}="{v}"',
}  # fmt: skip

POD: Final[dict[str, Callable[[Kind, str], dict[str, Any]]]] = {
    "env": lambda k, v: {"env": [{"name": env(k), "value": v}]},
    "flag": lambda k, v: {"args": ["serve", f"--{k.field}={v}", "--verbose"]},
    "flag and value": lambda k, v: {"args": ["serve", f"--{k.field}", v, "--port", "8080"]},
    "shell command": lambda k, v: {"command": ["sh", "-c", f"exec /app/server --{k.field} '{v}' --port 8080"]},
    "export in command": lambda k, v: {"command": ["/bin/bash", "-ec", f'export {env(k)}="{v}"; exec app']},
    "probe header": lambda k, v: {"livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "httpHeaders": [{"name": f"X-{k.field.title()}", "value": v}]}}},
    "lifecycle hook": lambda k, v: {"lifecycle": {"preStop": {"exec": {"command": ["curl", "-H", f"X-{k.field.title()}: {v}", "http://localhost/drain"]}}}},
    "JSON in env": lambda k, v: {"env": [{"name": "APP_CONFIG", "value": json.dumps({"debug": False, camel(k): v})}]},
}  # fmt: skip

BARE: Final[dict[str, Callable[[str], Any]]] = {
    "env of another name": lambda v: {"env": [{"name": "EXTRA_SETTING", "value": v}]},
    "argument": lambda v: {"args": ["sync", v, "/data"]},
    "prose in log": lambda v: f"2026-03-04T05:06:07Z retrying with {v} after 401",
    "stack trace": lambda v: f"java.lang.IllegalStateException: cannot use '{v}'\n\tat com.example.shop.Client.connect(Client.java:42)\n\tat com.example.shop.Main.main(Main.java:7)",
    "middle of a long line": lambda v: "x" * 300 + f" | {v} | " + "y" * 300,
    "YAML value of another name": lambda v: ("notes.yaml", f"first: 1\nsecond: {json.dumps(v)}\nthird: 3\n"),
    "list in JSON": lambda v: ("list.json", json.dumps({"items": ["a", v, "b"]})),
}  # fmt: skip
"""Only for kinds that their form gives away."""
