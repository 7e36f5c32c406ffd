"""Every way in which an operator connects a source by its URL is tried against real servers, and every way in which one
fails says what to fix, to the model and to the operator."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from kubescript_safety.controlplane import pki
from tests.kit import api_server, clients, haproxy
from tests.kit.engines import loki as loki_kit
from tests.kit.engines import prometheus

ANSWERED: Final = '"value":7'
QUEUE: Final = 'k8s.source("{}").query("queue")'

Ask = Callable[[str], str]


def write(folder: Path, sources: Mapping[str, Mapping[str, object]], rest: str = "") -> tuple[str, ...]:
    """The flags of a server with these sources and no cluster that answers."""
    tables = [rest]
    for name, own in sources.items():
        tables.append(f"[sources.{name}]")
        tables += [f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in own.items()]
    file = folder / "server.toml"
    file.write_text("\n".join(tables) + "\n")
    return "--config", str(file), "--kubeconfig", str(api_server.kubeconfig(folder, "http://127.0.0.1:9"))


def test_tls_certificates_and_passwords_let_in_and_each_mistake_says_which_setting_it_is(
    prometheus3: Callable[..., prometheus.Prometheus], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A source with its own CA, a client certificate and a password answers; without one of them the model reads why, and
    the log names the setting. The next call works."""
    web = prometheus.Web(pki.Authority(), certificates=True, password=True)
    server = prometheus3(openmetrics=prometheus.gauge("queue", {'pod="a"': 7}), web=web)
    web.authority.client("reader").write(tmp_path, "client")
    (tmp_path / "ca.crt").write_bytes(web.authority.certificate)
    (tmp_path / "other.crt").write_bytes(pki.Authority().certificate)
    (tmp_path / "password").write_text(f"{prometheus.USER}:{prometheus.PASSWORD}\n")
    (tmp_path / "wrong").write_text(f"{prometheus.USER}:guess\n")
    right = {
        "kind": "prometheus",
        "url": server.url,
        "ca_file": tmp_path / "ca.crt",
        "cert_file": tmp_path / "client.crt",
        "key_file": tmp_path / "client.key",
        "basic_auth_file": tmp_path / "password",
    }
    no_certificate = {key: value for key, value in right.items() if key not in {"cert_file", "key_file"}}
    flags = write(tmp_path, {
        "right": right,
        "stranger": right | {"ca_file": tmp_path / "other.crt"},
        "nobody": no_certificate,
        "guess": right | {"basic_auth_file": tmp_path / "wrong"},
        "plain": right | {"url": server.url.replace("https", "http")},
        "unreadable": right | {"basic_auth_file": tmp_path / "gone"},
        "broken": right | {"ca_file": tmp_path / "password"},
    })  # fmt: skip
    mistakes = {
        "stranger": ("cluster.tls", "unable to get local issuer certificate", "`ca_file`"),
        "nobody": ("cluster.tls", "CERTIFICATE_REQUIRED", "`cert_file`"),
        "guess": ("401", "Unauthorized", "basic_auth_file"),
        "plain": ("cluster.tls", "most likely speaks https", "`url`"),
        "unreadable": ("cluster.auth", "cannot be read", str(tmp_path / "gone")),
        "broken": ("cluster.config", "`ca_file` of the source", "readable PEM"),
    }
    with clients.asking(*flags) as ask:
        assert ANSWERED in clients.text(ask(QUEUE.format("right")))
        for name, (code, said, remedy) in mistakes.items():
            caplog.clear()
            answer = clients.text(ask(QUEUE.format(name)))
            assert code in answer and said in answer, answer
            assert remedy in caplog.text and prometheus.PASSWORD not in answer + caplog.text, caplog.text
            assert ANSWERED in clients.text(ask(QUEUE.format("right")))


def test_a_token_is_read_again_for_each_call_and_a_prefix_and_a_tenant_are_sent(
    prometheus3: Callable[..., prometheus.Prometheus], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A proxy that demands a token, a tenant and a path prefix lets the calls through as soon as the file has the token."""
    server = prometheus3(openmetrics=prometheus.gauge("queue", {'pod="a"': 7}))
    port = clients.free_port()
    demanded = {"Authorization": "Bearer second-token", "X-Scope-OrgID": "team-a|team-b"}
    file = tmp_path / "token"
    url = f"http://127.0.0.1:{port}/api/prom/"
    own = {"kind": "prometheus", "url": url, "token_file": file, "tenant": "team-a|team-b"}
    flags = write(tmp_path, {"guarded": own, "outside": own | {"url": f"http://127.0.0.1:{port}"}})
    with haproxy.Guard(tmp_path, port, server.address, demanded, "/api/prom"), clients.asking(*flags) as ask:
        file.write_text("first-token\n")
        assert "401 Unauthorized" in clients.text(ask(QUEUE.format("guarded")))
        assert "token_file" in caplog.text and "first-token" not in caplog.text
        file.write_text("second-token\n")
        assert ANSWERED in clients.text(ask(QUEUE.format("guarded")))
        assert "404 Not Found" in clients.text(ask(QUEUE.format("outside")))
        assert ANSWERED in clients.text(ask(QUEUE.format("guarded")))


def test_a_tenant_of_loki_has_its_own_lines_only(tmp_path: Path) -> None:
    """Each source sends the tenant of its settings; a source without one is refused by Loki, and the next call works."""
    folder = tmp_path / "loki"
    folder.mkdir()
    with loki_kit.Loki(folder, tenants=True) as server:
        for tenant in ("team-a", "team-b"):
            server.push({"app": "web"}, [(time.time() - 60, f"a line of {tenant}")], tenant)
        own = {"kind": "loki", "url": server.url}
        tenants = {"a": own | {"tenant": "team-a"}, "b": own | {"tenant": "team-b"}, "nobody": own}
        lines = '[s.lines for s in k8s.source("{}").query_range(\'{{app="web"}}\')]'
        with clients.asking(*write(tmp_path, tenants)) as ask:
            for name in ("a", "b"):
                answer = clients.text(ask(lines.format(name)))
                assert answer.count("a line of") == 1 and f"a line of team-{name}" in answer
            assert "401" in clients.text(ask(lines.format("nobody")))
            assert "team-a" in clients.text(ask(lines.format("a")))


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[api_server.Server]:
    """A server that answers what a test says; of one with TLS, answers may be compressed."""
    authority = pki.Authority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    authority.serving(["localhost"], ["127.0.0.1"]).write(tmp_path, "stranger")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")
    server = api_server.Server(tls)
    yield server
    server.close()


def page(status: str, body: bytes, *extra: str) -> bytes:
    """A web page."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body)}", *extra]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


CUT: Final = api_server.then(api_server.head(length=100) + b'{"status":"success"', api_server.hang_up)
RIGHT: Final = api_server.whole(prometheus.vector("7", __name__="queue"))
BOMB: Final = gzip.compress(b'{"status":"success","data":"' + b"0" * (64 << 20) + b'"}')
"""64 KiB that become 64 MiB."""
FAULTS: Final[list[tuple[api_server.Step | bytes, str, str]]] = [
    (page("302 Found", b"", "Location: /elsewhere"), "302, which is not an answer", "not to a login page"),
    (page("200 OK", b"<html>log in</html>"), "text/html instead of JSON", "not to a login page"),
    (page("503 Service Unavailable", b"<html>down</html>"), "503 Service Unavailable", ""),
    (api_server.whole(b""), "or is none", ""),
    (CUT, "broke off", ""),
    (api_server.whole(BOMB, "200 OK", "Content-Encoding: gzip"), "limit.bytes", ""),
]
"""What is answered, what the model reads, and what the operator reads."""


def test_a_range_of_victoriametrics_is_an_answer(stranger: api_server.Server, tmp_path: Path) -> None:
    """VictoriaMetrics calls its answer to `mem[5m]`, one document as from Prometheus, a stream of JSON; a real stream of
    two documents is refused, and the next call works."""
    flags = write(tmp_path, {"queues": {"kind": "prometheus", "url": stranger.url, "ca_file": tmp_path / "ca.crt"}})
    document = {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "7"]]}]}}
    text = json.dumps(document).encode()
    lines = b"\n".join([text] * 2)
    right, wrong = (
        api_server.whole(each).replace(b"application/json", b"application/stream+json; charset=utf-8")
        for each in (text, lines)
    )
    stranger.steps = [right, wrong, RIGHT]
    with clients.asking(*flags) as ask:
        assert clients.text(ask('k8s.source("queues").query("mem[5m]")[0].values')) == "[7]"
        assert "is none" in clients.text(ask(QUEUE.format("queues")))
        assert ANSWERED in clients.text(ask(QUEUE.format("queues")))


def test_what_no_source_would_answer_never_looks_like_an_empty_answer(
    stranger: api_server.Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Redirects (which are not followed), login pages, empty and cut answers and a bomb of zeros are errors, and the next
    call works; no error and no line of the log has the token."""
    (tmp_path / "token").write_text("s3cret-of-queues")
    own = {"kind": "prometheus", "url": stranger.url, "ca_file": tmp_path / "ca.crt", "token_file": tmp_path / "token"}
    flags = write(tmp_path, {"queues": own}, "[limits]\nresponse_mib = 8\n")
    with clients.asking(*flags) as ask:
        for step, said, remedy in FAULTS:
            caplog.clear()
            stranger.steps = [step, RIGHT]
            answer = clients.text(ask(QUEUE.format("queues")))
            assert said in answer and remedy in caplog.text, (answer, caplog.text)
            assert "s3cret" not in answer + caplog.text
            assert ANSWERED in clients.text(ask(QUEUE.format("queues"))), said
        assert all("Bearer s3cret-of-queues" in request for request in stranger.requests)
        assert not any("/elsewhere" in request for request in stranger.requests)


@pytest.mark.anyio
async def test_a_dead_and_a_slow_source_cost_one_script_its_time_at_most(
    stranger: api_server.Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer names the source, the log what to look at; a script that waits is ended at its deadline, and the next
    one is answered."""
    own = {"kind": "prometheus", "url": stranger.url, "ca_file": tmp_path / "ca.crt"}
    dead = f"http://127.0.0.1:{clients.free_port()}"
    flags = write(tmp_path, {"queues": own, "dead": own | {"url": dead}})
    ended = threading.Event()

    def wait(_sock: object) -> None:
        ended.wait(60)

    stranger.steps = [wait, RIGHT]
    async with clients.connect("memory", flags) as client:
        answer = clients.text(await clients.evaluate(client, QUEUE.format("dead")))
        assert "dead, the source at 127.0.0.1" in answer and "cannot be reached" in answer
        assert "[sources.dead]: host and port in `url`" in caplog.text
        answer = clients.text(await clients.evaluate(client, QUEUE.format("queues"), timeout=5_000))
        assert "limit.time" in answer and "/kubescript/sources/queues/query" in answer
        ended.set()
        assert ANSWERED in clients.text(await clients.evaluate(client, QUEUE.format("queues")))
