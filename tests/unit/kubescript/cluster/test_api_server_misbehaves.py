"""The live cluster against a real local server that misbehaves in every way an API server and the boxes before it
do."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from kubescript import errors
from kubescript.cluster import connections, live
from kubescript.cluster.kubeconfig import contexts
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit.api_server import CHUNKED, OK, TOKEN, Server, Step, hang_up, head, kubeconfig, then, whole

PODS = ("api", "v1", "pods")
PATIENCE_S = 60.0
"""For calls that end as soon as the server has done its part."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("tls")
    pair = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api"
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-out", pair[0], "-keyout", pair[1]],
        check=True,
        capture_output=True,
    )
    return pair


@pytest.fixture
def cluster(tmp_path: Path, server: Server) -> Iterator[live.Live]:
    made = live.Live(kubeconfig(tmp_path, server.url))
    yield made
    made.close()


def call(method: exchanges.Call | str = "GET", **kwargs: object) -> request.Request:
    if isinstance(method, exchanges.Call):
        return request.parse(method)
    return request.parse(exchanges.Call(method, PODS, **kwargs))  # type: ignore[arg-type]


CREATE = request.parse(
    exchanges.Call("POST", ("apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"), body=msgspec.Raw(b"{}"))
)


def fetch(
    cluster: live.Live,
    what: request.Request | None = None,
    timeout: float = PATIENCE_S,
    cancel: cancellation.Cancellation | None = None,
) -> tuple[int, bytes]:
    response = cluster.perform(what or call(), timeout, cancel or cancellation.Cancellation())
    return response.status, b"".join(response.chunks)


def fails(cluster: live.Live, timeout: float = PATIENCE_S, what: request.Request | None = None) -> errors.ClusterError:
    with pytest.raises(errors.ClusterError) as caught:
        fetch(cluster, what, timeout)
    assert TOKEN not in caught.value.message + caught.value.remedy + str(caught.value.__cause__)
    return caught.value


def load(cluster: live.Live) -> None:
    """Reads the kubeconfig, with all that is imported for that: a call of half a second may have no time for it."""
    cluster.identify(time.monotonic() + PATIENCE_S, cancellation.Cancellation())


LATE_S = 20.0
"""What waits for a server of these tests to go on waits for 30 s."""


def stall(_sock: socket.socket) -> None:
    time.sleep(30)


def drip(sock: socket.socket) -> None:
    for _ in range(300):
        sock.sendall(b" ")
        time.sleep(0.1)


def soon(act: Callable[[], object], first: bytes, step: Step) -> Step:
    """Sends something and goes on, as `then`; `act` comes a moment later, while the client waits."""

    def run(sock: socket.socket) -> None:
        sock.sendall(first)
        threading.Timer(0.2, act).start()
        step(sock)

    return run


def test_request_as_sent(cluster: live.Live, server: Server) -> None:
    """Path, query, Accept and credentials go out as parsed, no compression is asked for, and keep-alive saves
    connections."""
    what = call(
        exchanges.Call(
            "GET", ("api", "v1", "namespaces", "a", "pods", "x:y"), (("fieldSelector", "a=b&c"),), accept="table"
        )
    )
    for _ in range(3):
        assert fetch(cluster, what) == (200, OK)
    lines = server.requests[0].split("\r\n")
    assert lines[0] == "GET /api/v1/namespaces/a/pods/x:y?fieldSelector=a%3Db%26c HTTP/1.1"
    headers = {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in lines[1:] if line}
    assert headers["accept"].startswith("application/json;as=Table") and headers["accept-encoding"] == "identity"
    assert headers["authorization"] == f"Bearer {TOKEN}" and headers["user-agent"].startswith("kubescript/")
    assert server.connections == 1
    assert (cluster.name, cluster.namespace) == ("test", "shop")


def test_body_is_sent_with_its_type(cluster: live.Live, server: Server) -> None:
    """A body carries the Content-Type its call named, and statuses of every kind are answers."""
    server.steps = [whole(b"{}", "201 Created"), whole(b"{}", "302 Found", "Location: http://169.254.169.254/")]
    assert fetch(cluster, CREATE) == (201, b"{}")
    assert "Content-Type: application/json" in server.requests[0] and "Content-Length: 2" in server.requests[0]
    assert fetch(cluster)[0] == 302
    assert len(server.requests) == 2  # the redirect was not followed, least of all with the token


FAULTS: list[tuple[str, Step | bytes, str]] = [
    ("stall before the head", stall, "cluster.timeout"),
    ("stall inside the head", then(b"HTTP/1.1 200 OK\r\nX: ", stall), "cluster.timeout"),
    ("drip inside the head", then(b"HTTP/1.1 200 OK\r\nX: ", drip), "cluster.timeout"),
    ("stall inside the body", then(head(length=100) + b"{", stall), "cluster.timeout"),
    ("drip inside the body", then(head(length=1000) + b"{", drip), "cluster.timeout"),
    ("drip inside a chunked body", then(CHUNKED + b"fff\r\n{", drip), "cluster.timeout"),
    ("cut before the head", hang_up, "cluster.broken"),
    ("cut inside the head", then(b"HTTP/1.1 200 OK\r\nCont", hang_up), "cluster.broken"),
    ("cut inside the body", then(head(length=100) + b"{}", hang_up), "cluster.broken"),
    ("cut before the body", then(head(length=100), hang_up), "cluster.broken"),
    ("cut inside a chunk", then(CHUNKED + b"a\r\n{}", hang_up), "cluster.broken"),
    ("cut after a chunk", then(CHUNKED + b"2\r\n{}\r\n", hang_up), "cluster.broken"),
    ("cut inside a chunk's length", then(CHUNKED + b"2\r\n{}\r\n1", hang_up), "cluster.broken"),
    ("cut before the first chunk", then(CHUNKED, hang_up), "cluster.broken"),
    ("no length at all", then(head("200 OK", "Connection: close") + b"{}", hang_up), "cluster.broken"),
    ("an encoding nobody asked for", head("200 OK", "Content-Encoding: gzip", length=2) + b"{}", "cluster.broken"),
    ("not HTTP", b"SSH-2.0-OpenSSH_9\r\n\r\n", "cluster.broken"),
]


@pytest.mark.parametrize(("name", "step", "code"), FAULTS, ids=[fault[0] for fault in FAULTS])
@pytest.mark.parametrize("warm", [False, True], ids=["new", "kept-alive"])
def test_faults(cluster: live.Live, server: Server, name: str, step: Step | bytes, code: str, warm: bool) -> None:
    """Every way an answer can fail ends in time with its code, never as a short success, and the next call works."""
    load(cluster)
    if warm:
        fetch(cluster)
        if code == "cluster.broken":
            server.steps = [step]  # a repeated GET meets it again
    server.steps = [step, step]
    started = time.monotonic()
    assert fails(cluster, 0.6 if code == "cluster.timeout" else PATIENCE_S).code == code
    assert time.monotonic() - started < LATE_S
    server.steps = []
    assert fetch(cluster) == (200, OK)


def test_stale_connection(cluster: live.Live, server: Server) -> None:
    """A GET that meets a connection the server has just closed is sent again once; a POST never is."""
    fetch(cluster)
    server.steps = [hang_up]
    assert fetch(cluster) == (200, OK)
    fetch(cluster)
    server.steps = [hang_up]
    count = len(server.requests)
    assert fails(cluster, what=CREATE).code == "cluster.broken"
    assert len(server.requests) == count + 1
    assert fetch(cluster) == (200, OK)


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    cluster: live.Live, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies between may have forgotten it, as after a night's sleep: the call would wait for nothing."""
    for _ in range(2):
        fetch(cluster)
    assert server.connections == 1
    monkeypatch.setattr(connections, "MAX_IDLE_S", 0.01)
    time.sleep(0.02)
    assert fetch(cluster, CREATE)[0] == 200
    assert server.connections == 2
    monkeypatch.undo()
    assert fetch(cluster) == (200, OK) and server.connections == 2


@pytest.mark.parametrize(
    ("first", "step"), [(b"", stall), (b"", drip), (head(length=100) + b"{", stall)], ids=["no head", "drip", "body"]
)
@pytest.mark.parametrize("by", ["cancel", "close"])
def test_cancel(cluster: live.Live, server: Server, first: bytes, step: Step, by: str) -> None:
    """Cancelling a call, or closing the cluster, ends its wait at once, before the head or inside the body."""
    fetch(cluster)
    cancel = cancellation.Cancellation()
    server.steps = [soon(cancel.cancel if by == "cancel" else cluster.close, first, step)]
    started = time.monotonic()
    with pytest.raises(errors.ClusterError) as caught:
        fetch(cluster, cancel=cancel)
    assert time.monotonic() - started < LATE_S
    assert caught.value.code == ("cluster.cancelled" if by == "cancel" else "cluster.broken")
    assert fetch(cluster) == (200, OK)


def test_cancelled_beforehand(cluster: live.Live, server: Server) -> None:
    """A call whose script was cancelled already fails instead of waiting."""
    cancel = cancellation.Cancellation()
    cancel.cancel()
    with pytest.raises(errors.ClusterError, match="cancelled"):
        fetch(cluster, cancel=cancel)
    assert fetch(cluster) == (200, OK)


def test_response_close(cluster: live.Live, server: Server) -> None:
    """`Response.close` from another thread ends a pending read; a body closed early is not taken for complete."""
    server.steps = [then(head(length=10**6) + b"x" * 1000, stall)]
    response = cluster.perform(call(), 20, cancellation.Cancellation())
    threading.Timer(0.2, response.close).start()
    started = time.monotonic()
    with pytest.raises(errors.ClusterError):
        b"".join(response.chunks)
    assert time.monotonic() - started < LATE_S
    response.close()
    assert fetch(cluster) == (200, OK)


def test_connecting_can_be_cancelled(tmp_path: Path) -> None:
    """A server that never accepts is waited for no longer than the call has, and cancelling ends even that wait."""
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    fillers = []
    for _ in range(4):  # the queue of a listener that never accepts fills up, then SYNs stay unanswered
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(full.getsockname())
        fillers.append(filler)
    cluster = live.Live(kubeconfig(tmp_path, f"http://127.0.0.1:{full.getsockname()[1]}"))
    load(cluster)
    started = time.monotonic()
    assert fails(cluster, 0.5).code in {"cluster.timeout", "cluster.unreachable"}
    assert time.monotonic() - started < LATE_S
    cancel = cancellation.Cancellation()
    threading.Timer(0.2, cancel.cancel).start()
    started = time.monotonic()
    with pytest.raises(errors.ClusterError, match="cancelled"):
        fetch(cluster, timeout=60, cancel=cancel)
    assert time.monotonic() - started < LATE_S


def test_patience(cluster: live.Live, server: Server) -> None:
    """429 and 503 with Retry-After are waited out for a GET, at most three times and never beyond the deadline; a POST
    is not repeated."""
    busy = whole(b"{}", "429 Too Many Requests", "Retry-After: 0")
    server.steps = [busy, whole(b"{}", "503 Unavailable", "Retry-After: 0")]
    assert fetch(cluster) == (200, OK)
    server.steps = [busy] * 5
    assert fetch(cluster)[0] == 429
    assert len(server.steps) == 1
    server.steps = [whole(b"{}", "429 Too Many Requests", "Retry-After: 60")]
    assert fetch(cluster, timeout=20)[0] == 429
    server.steps = [busy]
    assert fetch(cluster, CREATE)[0] == 429
    cancel = cancellation.Cancellation()
    patient = whole(b"{}", "429 Too Many Requests", "Retry-After: 30")
    server.steps = [soon(cancel.cancel, patient, lambda _sock: None)]
    started = time.monotonic()
    with pytest.raises(errors.ClusterError, match="cancelled"):
        fetch(cluster, timeout=60, cancel=cancel)
    assert time.monotonic() - started < LATE_S


def test_token_rotation(cluster: live.Live, server: Server, tmp_path: Path) -> None:
    """After a 401 the kubeconfig is read anew and a GET sent once more; a second 401 is the answer."""
    fetch(cluster)
    kubeconfig(tmp_path, server.url, user={"token": "rotated"})
    server.steps = [whole(b"{}", "401 Unauthorized")]
    assert fetch(cluster) == (200, OK)
    assert "Bearer rotated" in server.requests[-1]
    server.steps = [whole(b"{}", "401 Unauthorized")] * 2
    assert fetch(cluster)[0] == 401
    assert fetch(cluster) == (200, OK)


def plugin(folder: Path, body: str) -> dict[str, object]:
    script = folder / "plugin"
    script.write_text(f"#!{sys.executable}\n{body}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script), "interactiveMode": "Never"}
    }


GIVES = """
import json, pathlib
import os
count = pathlib.Path(__file__).with_name("count")
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
status = {"token": f"token-{number}", "expirationTimestamp": "2020-01-01T00:00:00Z"}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


def test_plugin(tmp_path: Path, server: Server) -> None:
    """Credentials of an exec plugin are fetched anew once they have expired."""
    cluster = live.Live(kubeconfig(tmp_path, server.url, user=plugin(tmp_path, GIVES)))
    tokens = []
    for _ in range(2):
        assert fetch(cluster) == (200, OK)
        tokens.append(next(line for line in server.requests[-1].split("\r\n") if line.startswith("Authorization")))
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize(
    ("body", "timeout"), [("raise SystemExit(1)", 30), ("print('hm')", 30), ("import time; time.sleep(60)", 0.6)]
)
def test_plugin_fails(tmp_path: Path, server: Server, body: str, timeout: float) -> None:
    """A plugin that fails or hangs is a fault of its own in time; nothing is sent as anonymous."""
    cluster = live.Live(kubeconfig(tmp_path, server.url, user=plugin(tmp_path, body)))
    started = time.monotonic()
    assert fails(cluster, timeout).code == "cluster.auth"
    assert time.monotonic() - started < LATE_S
    assert not server.requests


def test_tls(tmp_path: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubeconfig's CA alone decides whom to trust; the environment's bundle does not; keys leave no file behind."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.load_verify_locations(certificate[0])
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server(context)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    identity = {"client-certificate": str(certificate[0]), "client-key": str(certificate[1])}
    wrong = live.Live(kubeconfig(tmp_path, server.url, user=identity))
    error = fails(wrong)
    assert error.code == "cluster.tls" and "self-signed" in error.message
    trusted = {"certificate-authority": str(certificate[0])}
    assert fetch(live.Live(kubeconfig(tmp_path, server.url, cluster=trusted, user=identity))) == (200, OK)
    named = live.Live(
        kubeconfig(tmp_path, server.url, cluster={**trusted, "tls-server-name": "other.example"}, user=identity)
    )
    assert fails(named).code == "cluster.tls"
    blind = live.Live(kubeconfig(tmp_path, server.url, cluster={"insecure-skip-tls-verify": True}, user=identity))
    assert fetch(blind) == (200, OK)
    anonymous = live.Live(kubeconfig(tmp_path, server.url, cluster=trusted, user={}))
    assert fails(anonymous).code in {"cluster.tls", "cluster.broken"}
    cluster = live.Live(kubeconfig(tmp_path, server.url, cluster=trusted, user=identity))
    load(cluster)
    server.steps = [stall]
    assert fails(cluster, 0.5).code == "cluster.timeout"
    server.steps = [then(CHUNKED + b"5\r\nhello\r\n", hang_up)] * 2  # one may be read for the call that was given up
    assert fails(cluster).code == "cluster.broken"
    server.steps = []
    assert fetch(cluster) == (200, OK)
    assert not list(tmp_path.glob("kubescript-*"))
    server.close()


def test_unreachable(tmp_path: Path) -> None:
    """A refused connection, an unknown host and a proxy of an unknown kind each say so."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    error = fails(live.Live(kubeconfig(tmp_path, url)))
    assert error.code == "cluster.unreachable" and "refused" in error.message
    assert fails(live.Live(kubeconfig(tmp_path, "http://no-such-host.invalid"))).code == "cluster.unreachable"
    assert (
        fails(live.Live(kubeconfig(tmp_path, url, cluster={"proxy-url": "socks5://127.0.0.1:1"}))).code
        == "cluster.config"
    )
    assert (
        fails(live.Live(kubeconfig(tmp_path, url, cluster={"proxy-url": "http://u:p@127.0.0.1:1"}))).code
        == "cluster.unreachable"
    )


CONFIGS = [
    ("", "empty"),
    ("a: [", "not valid YAML, line 2"),
    (f"users: [{{name: u, user: {{token: {TOKEN}", "not valid YAML"),
    ("contexts: 3", "not a list"),
    ("contexts: [{name: prod, context: {cluster: c}}]", "no current context"),
    ("contexts: [{name: prod, context: {cluster: c}}]\ncurrent-context: prd", "no current context"),
]


@pytest.mark.parametrize(("text", "message"), CONFIGS)
def test_bad_kubeconfig(tmp_path: Path, text: str, message: str) -> None:
    """A broken kubeconfig is explained at the first call without quoting it."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(errors.ClusterError, match=message) as caught:
        _ = live.Live(path).name
    assert caught.value.code == "cluster.config" and TOKEN not in str(caught.value)


def test_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts are listed across the files of $KUBECONFIG; a wrong name names the nearest; a missing file is said to be
    missing."""
    one = kubeconfig(tmp_path, "http://127.0.0.1:1")
    two = tmp_path / "two"
    two.write_text("contexts: [{name: production, context: {cluster: c, namespace: web}}]\ncurrent-context: production")
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}:{tmp_path / 'none'}")
    assert [(c.name, c.namespace, c.current) for c in contexts()] == [
        ("test", "shop", True),
        ("production", "web", False),
    ]
    with pytest.raises(errors.ClusterError, match="did you mean production"):
        _ = live.Live(context="prodution").name
    with pytest.raises(errors.ClusterError, match="no such kubeconfig"):
        _ = live.Live(tmp_path / "none").name


def test_broken_credentials_are_not_quoted(tmp_path: Path, server: Server) -> None:
    """A kubeconfig the official client trips over never shows its entries, although that client's own message would."""
    path = kubeconfig(tmp_path, server.url, user={"token": TOKEN, "client-certificate": "/nonexistent"})
    data = json.loads(path.read_text())
    data["clusters"] = [
        {
            "name": "c",
            "cluster": {"server": server.url.replace("http", "https"), "certificate-authority": "/nonexistent"},
        }
    ]
    path.write_text(json.dumps(data))
    assert fails(live.Live(path)).code == "cluster.config"


def test_an_encrypted_key_asks_for_no_pass_phrase(
    tmp_path: Path, server: Server, certificate: tuple[Path, Path]
) -> None:
    """The standard input, where an MCP client's messages may wait, is left alone; other clusters are asked as ever."""
    key = tmp_path / "key.pem"
    command = ["openssl", "ec", "-aes128", "-passout", "pass:phrase"]
    subprocess.run([*command, "-in", certificate[1], "-out", key], check=True, capture_output=True)
    user = {"client-certificate": str(certificate[0]), "client-key": str(key)}
    encrypted = live.Live(kubeconfig(tmp_path, server.url.replace("http", "https"), user=user))
    reader, writer = os.pipe()
    os.write(writer, b"phrase\n")
    os.close(writer)
    before = os.dup(0)
    os.dup2(reader, 0)
    try:
        assert "client-key(-data) of the kubeconfig cannot be used" in fails(encrypted).message
        assert os.read(reader, 100) == b"phrase\n"
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reader)
    assert fetch(live.Live(kubeconfig(tmp_path, server.url))) == (200, OK)


def test_nothing_secret_is_logged(cluster: live.Live, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """The log of a call at the most talkative level does not hold the token."""
    with caplog.at_level(logging.DEBUG):
        server.steps = [hang_up]
        fails(cluster)
        fetch(cluster)
    assert TOKEN not in caplog.text


def test_import_is_lazy() -> None:
    """Neither `kubernetes` nor `urllib3` is imported before the first call."""
    code = "import sys, kubescript.cluster.live; sys.exit('kubernetes' in sys.modules or 'urllib3' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_many_at_once(cluster: live.Live, server: Server) -> None:
    """Sixteen threads share the pool; each gets its own whole answer."""
    body = b'{"x":"' + b"y" * 300_000 + b'"}'
    server.steps = [whole(body)] * 64
    results: list[object] = []

    def work() -> None:
        for _ in range(4):
            try:
                results.append(fetch(cluster, timeout=30))
            except errors.ClusterError as error:
                results.append((error.code, error.message))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result for result in results if result != (200, body)] == []
    assert len(results) == 64
