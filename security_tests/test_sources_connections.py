"""What a source, or a script that asks many, can do to the server's connections and credentials: nothing that lasts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import app, config, programs
from kubescript.broker import operation
from kubescript.cluster import sockets
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from tests.kit import api_server
from tests.kit.engines import prometheus

QUERY: Final = (*exchanges.SOURCES, "prom", "query")
PODS: Final = ("api", "v1", "pods")
MOST: Final = 8
PLUGIN: Final = """#!/bin/sh
echo run >> {log}
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"t"}}}}'
"""
SERVICE: Final = {"kind": "prometheus", "service": "monitoring/prom:9090"}


@pytest.fixture
def server() -> Iterator[api_server.Server]:
    """A source and an API server in one."""
    with contextlib.closing(api_server.Server()) as made:
        yield made


def ask(application: app.Application, path: tuple[str, ...], context: str = "") -> str | int:
    """The fault's code, or the answer's status."""
    query = (("query", "up"),) if path == QUERY else ()
    call = exchanges.Call("GET", path, query, context=context)
    reply, response = application.operator.contexts.handle(call, operation.Operation(), 20)
    for _ in () if response is None else response.chunks:
        pass
    return reply.status if reply.fault is None else reply.fault.code


@contextlib.contextmanager
def opened(kubeconfig: Path, **more: Any) -> Iterator[app.Application]:
    settings = config.Settings(kubeconfig=kubeconfig, **more)
    with app.opened(settings, spawner.Spawner(programs.WORKER)) as application:
        yield application


@pytest.mark.promise("D-03")
def test_sources_of_many_clusters_share_the_bound_of_open_connections(
    server: api_server.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cluster has a connection of its own to the same source; the ones used longest ago are closed, and every call is
    answered, the first cluster's again."""
    names = [f"cluster-{number}" for number in range(3 * MOST)]
    file = api_server.kubeconfig(tmp_path, server.url)
    known = json.loads(file.read_text())
    known["contexts"] = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names]
    file.write_text(json.dumps(known | {"current-context": names[0]}))
    server.answer = api_server.whole(prometheus.vector("7", __name__="queue"))
    monkeypatch.setattr(sockets, "OPEN", sockets.Sockets(MOST))
    sources = {"prom": {"kind": "prometheus", "url": server.url}}
    with opened(file, contexts=names, sources=sources) as application:
        for name in [*names, names[0]]:
            assert ask(application, QUERY, name) == 200
            assert sockets.OPEN.count <= MOST


@pytest.mark.promise("D-01")
def test_a_service_that_refuses_its_callers_costs_no_credentials(
    server: api_server.Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its 401 and its Retry-After come through the API server's proxy, and are not the API server's: the plugin runs no
    second time, nothing is asked twice, the log blames no kubeconfig, and the next call for pods uses the same
    connection."""
    log, plugin = tmp_path / "runs", tmp_path / "plugin"
    plugin.write_text(PLUGIN.format(log=log))
    plugin.chmod(0o700)
    own = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin),
        "interactiveMode": "Never",
    }
    file = api_server.kubeconfig(tmp_path, server.url, user={"exec": own})
    with opened(file, sources={"prom": SERVICE}) as application:
        assert ask(application, PODS) == 200
        for status in ("401 Unauthorized", "503 Service Unavailable"):
            server.requests.clear()
            plain, server.answer = server.answer, api_server.whole(b"{}", status, "Retry-After: 0")
            assert ask(application, QUERY) == int(status[:3])
            server.answer = plain
            assert len(server.requests) == 1
            assert ask(application, PODS) == 200
    assert log.read_text().splitlines() == ["run"]
    assert server.connections == 1
    assert "our credentials" not in caplog.text


@pytest.mark.promise("D-05")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sources": {"prom": SERVICE | {"auth": "caller"}}}, "`acts_as`"),
        ({"contexts": {"a": {"sources": {"prom": SERVICE | {"auth": "caller"}}}}}, "`acts_as`"),
        *(
            ({"fleet": {"settings": [{"label_selector": "", "sources": {"prom": own}}]}}, "table of one context")
            for own in (
                {"kind": "prometheus", "url": "http://prom:9090", "auth": "server"},
                {"kind": "loki", "url": "http://loki:3100", "auth": "caller", "audience": "of-lines"},
            )
        ),
    ],
)
def test_settings_that_would_send_a_token_to_another_place_end_the_start(
    settings: Mapping[str, Any], said: str
) -> None:
    """A Service that a caller is to ask is not asked by the server, and no URL gets the tokens of many clusters."""
    fleet = {"source": "kubeconfig-dir", "folder": "/fleet"} | settings.get("fleet", {})
    given = {**settings, "fleet": fleet} if "fleet" in settings else settings
    with pytest.raises(ValueError, match=said):
        config.Settings(**given)
    own = config.Source.model_validate(SERVICE | {"auth": "caller"})
    assert config.Settings(acts_as="caller", sources={"prom": own}).sources
