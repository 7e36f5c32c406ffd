"""`kubescript doctor` finds what keeps scripts from an operator's sources, before a script does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubescript_safety.controlplane import pki
from tests.kit import api_server, clients, commands
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines import alertmanager as alertmanager_kit
from tests.kit.engines import prometheus
from tests.kit.engines import prometheus3 as prometheus3_kit
from tests.kit.engines.loki import Loki
from tests.kit.engines.prom_label_proxy import LabelProxy
from tests.kit.source_tables import table


def doctor(folder: Path, *flags: str) -> tuple[int, Any]:
    """Exit code and findings."""
    bare = {**commands.BARE, "HOME": str(folder), "XDG_CACHE_HOME": clients.CACHE}
    done = commands.run("doctor", "--json", "--config", str(folder / "server.toml"), *flags, environment=bare)
    return done.returncode, json.loads(done.stdout)


def test_each_source_is_asked_for_its_version_or_what_to_fix_is_said(
    prometheus3: Callable[..., prometheus.Prometheus],
    alertmanager: alertmanager_kit.Alertmanager,
    loki: Loki,
    scratch: ControlPlane,
    tmp_path: Path,
) -> None:
    """With exit code 1 if one refuses or is none, and 0 once all are right; no finding has a token."""
    web = prometheus.Web(pki.Authority(), password=True)
    safe = prometheus3(web=web)
    (tmp_path / "ca.crt").write_bytes(web.authority.certificate)
    (tmp_path / "password").write_text(f"{prometheus.USER}:{prometheus.PASSWORD}")
    (tmp_path / "wrong").write_text(f"{prometheus.USER}:guess-of-a-password")
    ca = f'ca_file = "{tmp_path / "ca.crt"}"\n'
    stranger = api_server.Server()
    stranger.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nlogin"
    right = {
        "metrics": table("metrics", "prometheus", safe.url, f'{ca}basic_auth_file = "{tmp_path / "password"}"'),
        "old": table("old", "prometheus", prometheus3(old=True).url),
        "alerts": table("alerts", "alertmanager", alertmanager.url),
        "logs": table("logs", "loki", loki.url),
        "theirs": table("theirs", "prometheus", stranger.url, 'auth = "caller"\naudience = "x"'),
    }
    wrong = {
        "unknown": table("unknown", "prometheus", safe.url),
        "guess": table("guess", "prometheus", safe.url, f'{ca}basic_auth_file = "{tmp_path / "wrong"}"'),
        "page": table("page", "tempo", stranger.url),
        "dead": table("dead", "loki", f"http://127.0.0.1:{clients.free_port()}"),
        "prefix": table("prefix", "loki", f"{loki.url}/loki"),
        "kind": table("kind", "prometheus", alertmanager.url),
        "service": '[sources.service]\nkind = "loki"\nservice = "default/nothing:80"\nauth = "server"\n',
    }
    (tmp_path / "server.toml").write_text("".join((*right.values(), *wrong.values())))
    cluster = ("--kubeconfig", str(scratch.kubeconfig))
    code, report = doctor(tmp_path, *cluster)
    (found,) = report["contexts"]
    texts = {each["topic"].removeprefix("source "): (each["mark"], each["text"]) for each in found["sources"]}
    said = {
        "metrics": ("ok", f"prometheus at {safe.url}: version {prometheus3_kit.VERSION}"),
        "old": ("ok", ": version 2.42."),
        "alerts": ("ok", f": version {alertmanager_kit.VERSION}"),
        "logs": ("ok", "it answers, and tells no version, as old ones do"),
        "theirs": ("ok", "not asked: it is asked as the caller"),
        "unknown": ("FAILED", "`ca_file`"),
        "guess": ("FAILED", "it refuses us (401): check auth, token_file, basic_auth_file"),
        "page": ("FAILED", "not to a login page"),
        "dead": ("FAILED", "cannot be reached"),
        "prefix": ("FAILED", "no loki answers there (404): check `kind`, and `url` and its prefix"),
        "kind": ("FAILED", "no prometheus answers there (404): check `kind`, and `url` and its prefix"),
        "service": ("FAILED", "no loki answers there (404): check `kind`, and `service`: namespace, name and port"),
    }
    assert code == 1 and texts.keys() == said.keys()
    for name, (mark, text) in said.items():
        assert texts[name][0] == mark and text in texts[name][1], texts[name]
    assert prometheus.PASSWORD not in str(report) and "guess-of" not in str(report)
    assert not stranger.tokens
    (tmp_path / "server.toml").write_text("".join(right.values()))
    code, report = doctor(tmp_path, *cluster)
    assert code == 0 and len(report["contexts"][0]["sources"]) == len(right)
    stranger.close()


def test_a_source_that_is_said_to_keep_namespaces_apart_is_tried(
    prometheus3: Callable[..., prometheus.Prometheus],
    alertmanager: alertmanager_kit.Alertmanager,
    scratch: ControlPlane,
    tmp_path: Path,
) -> None:
    """It fails if it answers without a namespace, since it shows all to whoever is limited to one; and a source with
    garbled answers ends no examination."""
    old, apart = prometheus3(old=True), 'tenancy = "namespace"'
    with LabelProxy(tmp_path, old.url) as proxy, contextlib.closing(api_server.Server()) as garbled:
        garbled.answer = api_server.whole(b'{"version":"\xff"}')
        tables = [
            table("garbled", "loki", garbled.url),
            table("metrics", "prometheus", old.url, apart),
            table("alerts", "alertmanager", alertmanager.url, apart),
            table("proxy", "prometheus", proxy.url, apart),
            table("open", "prometheus", old.url, 'tenancy = "source"'),
        ]
        (tmp_path / "server.toml").write_text("".join(tables))
        code, report = doctor(tmp_path, "--kubeconfig", str(scratch.kubeconfig))
    said = [
        ("WARNING", "it answers, but tells no version"),
        *[("FAILED", "it answers without a namespace, so it shows all")] * 2,
        ("ok", "it answers (400), and is asked about one namespace at a time"),
        ("ok", "version 2.42"),
        ("WARNING", "no token and no tenant is sent: every limited caller sees all of it"),
    ]
    assert code == 1
    for found, (mark, text) in zip(report["contexts"][0]["sources"], said, strict=True):
        assert found["mark"] == mark and text in found["text"], found
