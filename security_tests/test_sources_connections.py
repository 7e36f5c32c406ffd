"""What a source, or a script that asks many, can do to the server's connections and credentials: nothing that lasts."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import app, config, contexts, programs
from kubescript.auth import user
from kubescript.broker import operation
from kubescript.cluster import sockets
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from tests.kit import api_server
from tests.kit.engines import prometheus

QUERY: Final = (*exchanges.SOURCES, "prom", "query")
PODS: Final = ("api", "v1", "pods")
MOST: Final = 8
CLOSED: Final = "the answer was closed before its end"
PLUGIN: Final = """#!/bin/sh
echo run >> {log}
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"t"}}}}'
"""
SERVICE: Final = {"kind": "prometheus", "service": "monitoring/prom:9090"}
OWN: Final = SERVICE | {"auth": "server"}
CAROL: Final = user.User("carol", "tokens", "carol")


@pytest.fixture
def server() -> Iterator[api_server.Server]:
    """A source and an API server in one."""
    with contextlib.closing(api_server.Server()) as made:
        yield made


def ask(application: app.Application, path: tuple[str, ...], context: str = "") -> str | int:
    """The fault's code, or the answer's status."""
    reply = ask_in(application.operator.contexts, path, context)
    return reply.status if reply.fault is None else reply.fault.code


def ask_in(own: contexts.Contexts, path: tuple[str, ...], context: str = "") -> exchanges.Reply:
    """The head of an answer, which is read to its end."""
    query = (("query", "up"),) if path[-1] == "query" else ()
    call = exchanges.Call("GET", path, query, context=context)
    reply, response = own.handle(call, operation.Operation(), 60)
    for _ in () if response is None else response.chunks:
        pass
    return reply


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


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("own", ["url", "service"])
def test_what_a_caller_s_sources_use_ends_with_the_caller(
    own: str, server: api_server.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its seat is closed, a call that waits ends, also one with the server's own token, and no connection stays. The
    next caller is answered."""
    monkeypatch.setattr(sockets, "OPEN", sockets.Sockets())
    sources = {"prom": {"kind": "prometheus", "url": server.url} if own == "url" else OWN}
    file = api_server.kubeconfig(tmp_path, server.url)
    server.answer = answer = api_server.whole(prometheus.vector("7", __name__="queue"))
    asked, ended = threading.Event(), threading.Event()

    def wait(_: socket.socket) -> None:
        asked.set()
        ended.wait()

    with opened(file, acts_as="impersonate", sources=sources) as application:
        seat = application.tenant(CAROL, application.settings, application.operator)
        assert ask_in(seat.contexts, QUERY).status == 200
        server.answer = wait
        with futures.ThreadPoolExecutor() as threads:
            waiting = threads.submit(ask_in, seat.contexts, QUERY)
            asked.wait()
            seat.close()
            fault = waiting.result().fault
        assert fault is not None and (fault.code, fault.message) == ("cluster.broken", CLOSED)
        assert sockets.OPEN.count == 0
        ended.set()
        server.answer = answer
        with contextlib.closing(application.tenant(CAROL, application.settings, application.operator)) as again:
            assert ask_in(again.contexts, QUERY).status == 200


@pytest.mark.promise("F-09")
def test_a_silent_source_leaves_time_for_those_of_other_clusters(server: api_server.Server, tmp_path: Path) -> None:
    """It has `patience_ms` to begin its answer, at a URL or behind a silent API server, and is named; the other cluster's
    are asked, and answer."""
    server.answer = api_server.whole(prometheus.vector("7", __name__="queue"))
    ended = threading.Event()

    def wait(_: socket.socket) -> None:
        ended.wait()

    with contextlib.closing(api_server.Server()) as silent:
        silent.answer = wait
        file = api_server.kubeconfig(tmp_path, server.url)
        known = json.loads(file.read_text())
        known["clusters"].append({"name": "silent", "cluster": {"server": silent.url}})
        known["contexts"] = [
            {"name": name, "context": {"cluster": cluster, "user": "u"}}
            for name, cluster in (("silent", "silent"), ("well", "c"))
        ]
        file.write_text(json.dumps(known | {"current-context": "well"}))
        each = {
            name: {"sources": {"prom": {"kind": "prometheus", "url": url}, "own": OWN}}
            for name, url in (("silent", silent.url), ("well", server.url))
        }
        with opened(file, acts_as="impersonate", contexts=each, limits={"patience_ms": 3_000}) as application:
            seat = application.tenant(CAROL, application.settings, application.operator)
            for path in (QUERY, (*exchanges.SOURCES, "own", "query")):
                fault = ask_in(seat.contexts, path, "silent").fault
                assert fault is not None and "did not begin to answer in time" in fault.message
                assert ask_in(seat.contexts, path, "well").status == 200
            seat.close()
        ended.set()


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
