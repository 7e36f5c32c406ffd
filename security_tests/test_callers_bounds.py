"""Strangers and callers who send too much, too slowly or in halves to a server with TLS and tokens, over real sockets:
each is refused or bounded, and the next caller is served."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from kubescript.transports import http_connections
from kubescript_safety.controlplane import pki
from security_tests import sockets
from security_tests.sockets import MANY, ended
from tests.kit import clients, patience, trails

TOKENS: Final = {"bob": "token-of-bob-0123456789", "mallory": "token-of-mallory-0123456789"}
STREAMS: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
STREAM: Final = b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n"


@pytest.fixture(scope="module", autouse=True)
def _descriptors() -> Iterator[None]:
    with sockets.room(4 * MANY):
        yield


@dataclass
class Served:
    """A server with TLS, whose process may open as many files as is usual and no more."""

    port: int
    tls: ssl.SSLContext
    log: Path
    http: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx2.Client(verify=self.tls, timeout=60, base_url=f"https://127.0.0.1:{self.port}")

    def headers(self, name: str = "bob") -> dict[str, str]:
        """What a caller's requests have."""
        return STREAMS | {"Authorization": f"Bearer {TOKENS[name]}"}

    def is_well(self) -> bool:
        """Whether a probe on a connection of its own is answered."""
        with contextlib.suppress(httpx2.HTTPError), httpx2.Client(verify=self.tls, timeout=60) as probe:
            return probe.get(f"https://127.0.0.1:{self.port}/health").status_code == 200
        return False

    def serves(self, name: str = "mallory") -> bool:
        """Whether a caller who comes now gets a script's answer."""
        return anyio.run(self._answered, name) == "1"

    async def _answered(self, name: str) -> str:
        async with httpx2.AsyncClient(verify=self.tls, headers=self.headers(name), timeout=60) as http:
            through = streamable_http_client(f"https://127.0.0.1:{self.port}/mcp", http_client=http)
            async with Client(through, mode="legacy") as client:
                return clients.text(await clients.evaluate(client, trails.COUNT))

    def plain(self) -> socket.socket:
        """A TCP connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def secure(self) -> ssl.SSLSocket:
        """A connection in TLS."""
        return self.tls.wrap_socket(self.plain(), server_hostname="127.0.0.1")

    def answer(self, request: bytes) -> bytes:
        """The answer to some bytes."""
        with self.secure() as client:
            with contextlib.suppress(OSError):  # it may refuse before it has read all
                client.sendall(request)
            answer = b""
            with contextlib.suppress(OSError):
                while piece := client.recv(65_536):
                    answer += piece
            return answer


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("bounds")
    authority = pki.Authority()
    authority.serving(["localhost"], ["127.0.0.1"]).write(folder, "server")
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "tokens").write_text("".join(f"{token},{name}\n" for name, token in TOKENS.items()))
    (folder / "tokens").chmod(0o600)
    (folder / "settings.toml").write_text(
        f'[tls]\ncert_file = "{folder}/server.crt"\nkey_file = "{folder}/server.key"\nclient_ca_file = "{folder}/ca.crt"\n'
        f'[auth]\ntokens_file = "{folder}/tokens"\n[http]\nrequests_per_minute = 100000\n'
    )
    port = clients.free_port()
    command = [
        "prlimit", "--nofile=1024:1024", clients.INSTALLED, "--toolsets", "code", "--snapshot", str(trails.snapshot(folder)),
        "--transport", "http", "--port", str(port), "--log-level", "error", "--config", str(folder / "settings.toml"),
    ]  # fmt: skip
    authority.client("carol").write(folder, "carol")
    pki.Authority().client("carol").write(folder, "forged")
    made = Served(port, ssl.create_default_context(cafile=str(folder / "ca.crt")), folder / "log")
    with made.log.open("w") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        patience.until(made.is_well, 120)
        yield made
    finally:
        process.terminate()
        process.wait(timeout=60)
    assert "Traceback" not in made.log.read_text()


def hello() -> bytes:
    """The first message of a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(arriving, leaving, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return leaving.read()


HANDSHAKES: Final[Mapping[str, bytes]] = {
    "no byte": b"",
    "one byte": hello()[:1],
    "half of a hello": hello()[:100],
    "a hello, and no more": hello(),
    "a record that does not end": b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03",
}


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", HANDSHAKES)
def test_handshakes_that_do_not_end_keep_nobody_out(name: str, served: Served) -> None:
    """More of them than the process may have files: a probe and a caller are answered, and the oldest end."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(served.plain()) for _ in range(MANY)]
        for sock in held:
            with contextlib.suppress(OSError):
                sock.sendall(HANDSHAKES[name])
        assert served.is_well()
        assert served.serves()
        assert ended(held) >= MANY - 1_024
    assert served.serves("bob")


@pytest.mark.promise("H-05")
def test_a_handshake_of_single_bytes_ends_in_time(served: Served) -> None:
    """A byte each second, in the hello and in the requests after a whole handshake: the time counts from the beginning."""
    began = time.monotonic()
    slow = [served.plain() for _ in HANDSHAKES]
    secure = [served.secure(), served.secure()]
    with contextlib.ExitStack() as stack:
        for sock in (*slow, *secure):
            stack.callback(sock.close)
        secure[1].sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        message = hello()
        sent = 0
        while ended([*slow, secure[0]]) + is_ended(secure[1]) < len(slow) + 2:
            assert time.monotonic() < began + 4 * http_connections.WAIT_S
            time.sleep(1)
            for number, sock in enumerate(slow):
                with contextlib.suppress(OSError):
                    sock.setblocking(False)
                    sock.send(message[sent : sent + 1] if number else b"")
            with contextlib.suppress(OSError):
                secure[1].send(b"x")
            sent += 1
        assert time.monotonic() > began + http_connections.WAIT_S / 2
    assert served.serves()


def is_ended(sock: ssl.SSLSocket) -> bool:
    """Whether the server has ended a connection on which it says nothing."""
    sock.settimeout(0.01)
    try:
        return sock.recv(1) == b""
    except (TimeoutError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


@pytest.mark.promise("H-05")
def test_what_is_no_tls_is_no_connection(served: Served) -> None:
    """Requests in plain text, an old version and other bytes end at once, without a word about whom they reached."""
    for data in (
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x80\x2e\x01\x00\x02" * 1_000,
        b"\0" * 4_096,
        b"\xff" * 4_096,
    ):
        with served.plain() as sock:
            sock.sendall(data)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while piece := sock.recv(4_096):
                    answer += piece
            assert len(answer) < 10 and b"HTTP" not in answer
    assert served.serves()


@pytest.mark.promise("H-01")
def test_a_certificate_of_another_authority_is_nobodys(served: Served) -> None:
    """Nor is one for servers; one of the callers' authority is who it names, and a token beside it counts alone."""
    folder = served.log.parent
    statuses = {}
    for name in ("carol", "forged", "server"):
        tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        tls.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
        with contextlib.suppress(httpx2.HTTPError), httpx2.Client(verify=tls, timeout=60) as client:
            url = f"https://127.0.0.1:{served.port}/info"
            statuses[name] = client.get(url).status_code
            assert client.get(url, headers={"Authorization": "Bearer x"}).status_code == 401
            assert client.get(url, headers=served.headers("bob")).status_code == 200
    assert statuses == {"carol": 200}
    assert served.http.get("/info").status_code == 401
    assert served.serves("bob")


@pytest.mark.promise("H-01")
def test_an_authority_that_is_taken_away_vouches_for_nobody(served: Served) -> None:
    """Its file changes while the server runs: callers of the new authority are served, and those of the old one are not;
    half of a new pair of certificate and key does not keep it."""
    folder = served.log.parent
    new = pki.Authority()
    new.client("dora").write(folder, "dora")
    before = (folder / "ca.crt").read_bytes(), (folder / "server.key").read_bytes()

    def who(name: str) -> int:
        tls = ssl.create_default_context(cadata=before[0].decode())
        tls.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
        with contextlib.suppress(httpx2.HTTPError), httpx2.Client(verify=tls, timeout=60) as client:
            return client.get(f"https://127.0.0.1:{served.port}/info").status_code
        return 0

    assert (who("carol"), who("dora")) == (200, 0)
    with opened(served, "carol") as kept, opened(served, "carol") as stream, opened(served, "") as bob:
        stream.sendall(b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        bob.sendall(STREAM % TOKENS["bob"].encode())
        assert stream.recv(15) == bob.recv(15) == b"HTTP/1.1 200 OK"

        def is_changed() -> bool:
            is_answered(kept)  # a connection that is used does not end by itself
            return (who("carol"), who("dora")) == (0, 200)

        assert is_answered(kept)
        (folder / "ca.crt").write_bytes(new.certificate)
        patience.until(is_changed)
        # Attack: what was opened under the old authority goes on for ever.
        assert not is_answered(kept)
        assert ended_in(stream)
        assert not ended_in(bob, 1.0)
    # The new authority goes while half of a new pair is there: it counts no more, and the old certificate is served.
    (folder / "server.key").write_bytes(new.client("dora").key)
    (folder / "ca.crt").write_bytes(before[0])
    # No certificate is asked for, so that all are strangers who have shown no token.
    patience.until(lambda: (who("carol"), who("dora")) == (401, 401))
    assert served.is_well() and served.serves("bob")
    (folder / "server.key").write_bytes(before[1])
    patience.until(lambda: (who("carol"), who("dora")) == (200, 0))
    assert served.serves("bob")


def opened(served: Served, name: str) -> ssl.SSLSocket:
    """A connection with a caller's certificate, or with none."""
    folder = served.log.parent
    tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    if name:
        tls.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    return tls.wrap_socket(served.plain(), server_hostname="127.0.0.1")


def is_answered(sock: ssl.SSLSocket) -> bool:
    """Whether one more request is answered on a connection that is kept."""
    try:
        sock.sendall(b"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        answer.read()
    except (OSError, http.client.HTTPException):
        return False
    return answer.status == 200


# --- heads ---

GET: Final = b"GET /info HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + TOKENS["bob"].encode() + b"\r\n"
HEADS: Final = {
    "10,000 headers": GET + b"".join(b"x-%d: y\r\n" % number for number in range(10_000)) + b"\r\n",
    "200 headers": GET + b"".join(b"x-%d: y\r\n" % number for number in range(200)) + b"\r\n",
    "10,000 empty headers": GET + b"a:\r\n" * 10_000 + b"\r\n",
    "a megabyte of headers": GET + b"a: " + b"b" * 1_000_000 + b"\r\n\r\n",
    "a megabyte of a name": GET + b"a" * 1_000_000 + b": b\r\n\r\n",
    "a megabyte of a path": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "headers without end": GET + b"a: b\r\n" * 40_000,
}


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_is_too_long_is_refused(name: str, served: Served) -> None:
    """By 431, whether its headers are many or long, with a token and before anybody looks at it."""
    assert served.answer(HEADS[name]).startswith(b"HTTP/1.1 431 ")
    assert served.answer(HEADS[name].replace(TOKENS["bob"].encode(), b"x")).startswith(b"HTTP/1.1 431 ")
    assert served.answer(GET + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")


@pytest.mark.promise("H-05")
def test_long_heads_behind_a_request_that_is_answered_are_not_kept(served: Served) -> None:
    """Pipelined behind another one, where they would be parsed later and at once: the connection ends."""
    with served.secure() as client:
        with contextlib.suppress(OSError):
            for _ in range(200):
                client.sendall(STREAM % TOKENS["bob"].encode() + b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 10_000)
        assert ended_in(client)
    assert served.serves()


def ended_in(sock: ssl.SSLSocket, seconds: float = 60.0) -> bool:
    """Whether the server ends a connection in time, whatever it says before."""
    sock.settimeout(seconds)
    end = time.monotonic() + seconds  # a stream that goes on is pinged
    try:
        while sock.recv(65_536):
            if time.monotonic() > end:
                return False
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


SMUGGLED: Final = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a length that is none": b"Content-Length: +5\r\n\r\nhello",
    "a coding that nobody reads": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a header folded": b"X: a\r\n b: c\r\n\r\n",
    "a blank before the colon": b"Content-Length : 5\r\n\r\nhello",
    "a bare CR": b"X: a\rb\r\n\r\n",
    "a nul": b"X: a\0b\r\n\r\n",
}


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", SMUGGLED)
def test_a_request_that_proxies_read_differently_is_answered_once(name: str, served: Served) -> None:
    """At most one answer comes, and none to what hides in a body."""
    answer = served.answer(b"POST /info HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + SMUGGLED[name])
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.split(b" ")[1] in {b"400", b"401", b"501"}
    assert served.serves()


@pytest.mark.promise("H-05")
def test_garbage_after_an_answer_leaves_no_stack_trace(served: Served) -> None:
    """A refusal that comes before the body, and then a body that is none: the connection ends, and the log is silent."""
    for _ in range(50):
        with served.secure() as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert client.recv(65_536).startswith(b"HTTP/1.1 401 ")
            with contextlib.suppress(OSError):
                client.sendall(b"ZZZ\r\n" * 10)
            assert ended_in(client)
    assert served.serves()
    assert served.log.read_text() == ""


@pytest.mark.promise("H-05")
def test_messages_of_a_wrong_shape_leave_no_stack_trace(served: Served) -> None:
    """Of the older SSE, whose messages the SDK logs: a line each, without what the client sent."""
    base = f"https://127.0.0.1:{served.port}"
    http = httpx2.Client(verify=served.tls, headers=served.headers("mallory"), timeout=60)
    with http, http.stream("GET", f"{base}/sse") as stream:
        lines = stream.iter_lines()
        path = next(line[6:] for line in lines if line.startswith("data: /messages"))
        for body in ("{", "[]", '{"jsonrpc": "2.0", "shape": "wrong"}'):
            assert http.post(base + path, content=body).status_code == 400
    assert served.serves()
    assert not re.search("Traceback|shape", served.log.read_text())


# --- bodies ---


CHUNKED: Final = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\n\r\n"
)


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("token", [TOKENS["mallory"], "of-nobody"])
def test_chunks_of_one_byte_end_the_connection(token: str, served: Served) -> None:
    """Each is an event, and 5 MB of them kept all others waiting: few are read. Chunks of a usual size are."""
    with served.secure() as client:
        sent = 0
        with contextlib.suppress(OSError):
            client.sendall(CHUNKED % token.encode())
            for _ in range(200):
                client.sendall(b"1\r\na\r\n" * 10_000)
                sent += 60_000
        assert sent < 6_000_000
        assert ended_in(client)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 1_000_000}}).encode()
    pieces = (body[start : start + 2_000] for start in range(0, len(body), 2_000))
    own = served.headers() | {"Content-Type": "application/json", "Accept": "application/json"}
    assert served.http.post("/mcp", content=pieces, headers=own).status_code == 200


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("path", ["/mcp", "/messages?sessionId=" + "0" * 32])
def test_fifty_megabytes_are_refused(path: str, served: Served) -> None:
    """By 413 with a token, by 401 without one, with a length and in chunks; in the end little is held."""

    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * (1 << 20)

    for headers, status in ((served.headers(), 413), (STREAMS, 401)):
        for body in (b"x" * (50 << 20), chunks()):
            assert served.http.post(path, content=body, headers=headers).status_code == status
    assert served.serves()


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", ["", "mallory"])
def test_uploads_of_others_end_no_callers_slow_one(name: str, served: Served) -> None:
    """Of strangers, who are refused before their bodies come, and of a caller who has more of them under way than all
    others: bob's, which began first, ends well."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 1_000_000}}).encode()
    with contextlib.ExitStack() as stack:
        slow = stack.enter_context(served.secure())
        slow.sendall(head(served.headers() | {"Accept": "application/json"}, len(body)) + body[:600_000])
        others = served.headers(name) if name else STREAMS
        for _ in range(40):
            upload = stack.enter_context(served.secure())
            with contextlib.suppress(OSError):
                upload.sendall(head(others, 2_000_000) + b" " * 1_900_000)
        slow.sendall(body[600_000:])
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200 ")
    assert served.serves("bob")


def head(headers: Mapping[str, str], length: int) -> bytes:
    """What comes before a body."""
    every = {**headers, "Host": "127.0.0.1", "Content-Length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode()


DIGITS: Final = {
    "one long number": b"9" * 1_900_000,
    "a number as long as it may be, 400 times": b"[" + b",".join([b"9" * 4_300] * 400) + b"]",
}


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", DIGITS)
def test_long_numbers_are_refused_before_they_are_read(name: str, served: Served) -> None:
    """The time of reading them grows with the square of their length: 413, whatever is around them."""
    call = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":%s}}' % DIGITS[name]
    opened = served.http.post("/mcp", json=clients.INITIALIZE, headers=served.headers())
    session = served.headers() | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for body in (DIGITS[name], call):
        for headers in (session, served.headers() | {"Accept": "application/json"}):
            assert served.http.post("/mcp", content=body, headers=headers).status_code == 413
    assert served.serves("bob")


@pytest.mark.promise("H-05")
def test_what_takes_no_large_body_refuses_one(served: Served) -> None:
    """A message to an older stream, and what is read with GET; a call at /mcp may have one."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 600_000}}).encode()
    plain = served.headers() | {"Accept": "application/json"}
    paths = {"/messages?sessionId=" + "0" * 32: "POST", "/info": "GET", "/health": "GET", "/sse": "GET", "/mcp": "GET"}
    for path, method in paths.items():
        assert served.http.request(method, path, content=body, headers=plain).status_code == 413
    assert served.http.post("/mcp", content=body, headers=plain).status_code == 200


UNICODE: Final = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig")


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("encoding", UNICODE)
def test_a_body_that_is_not_utf_8_is_refused(encoding: str, served: Served) -> None:
    """Python's decoder would read it, and what counts values and digits would not: nothing of it is looked at but that
    it is no JSON, and the next call is answered."""
    params = {"name": "evaluate_script", "arguments": {"script": "1"}}
    call = {"jsonrpc": "2.0", "id": "\u00e4" * 20, "method": "tools/call", "params": params}
    opened = served.http.post("/mcp", json=clients.INITIALIZE, headers=served.headers())
    session = served.headers() | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for headers in (session, served.headers() | {"Accept": "application/json"}):
        body = json.dumps(call, ensure_ascii=False).encode(encoding)
        answer = served.http.post("/mcp", content=body, headers=headers)
        assert answer.status_code == 400 and "Parse error" in answer.text, answer.text
        assert served.http.post("/mcp", json=call, headers=headers).status_code == 200


DEEP: Final = {
    "lists": b"[" * 100_000 + b"]" * 100_000,
    "lists without end": b"[" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "lists less deep": b"[" * 4_000 + b"]" * 4_000,
    "a number without end": b"9" * 1_000_000,
    "an exponent": b"1e99999999",
}


@pytest.mark.promise("H-05")
@pytest.mark.parametrize("name", DEEP)
def test_deep_json_is_refused(name: str, served: Served) -> None:
    """As the whole body, and as an argument, in a session and without: 4xx, or an error that is one call's."""
    opened = served.http.post("/mcp", json=clients.INITIALIZE, headers=served.headers())
    session = served.headers() | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    plain = served.headers() | {"Accept": "application/json"}
    call = (
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"evaluate_script","arguments":{"script":%s}}}'
    )
    for body in (DEEP[name], call % DEEP[name]):
        for headers in (session, plain):
            answer = served.http.post("/mcp", content=body, headers=headers)
            is_error = answer.status_code == 200 and ('"error"' in answer.text or '"isError":true' in answer.text)
            assert is_error or 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])
    assert (
        served.http.post("/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "ping"}, headers=session).status_code == 200
    )
    assert served.serves()


@pytest.mark.promise("H-05")
def test_a_lone_surrogate_in_a_script_is_answered(served: Served) -> None:
    """JSON may have half of a character: its call gets an answer with its own id, and the next one too."""
    opened = served.http.post("/mcp", json=clients.INITIALIZE, headers=served.headers())
    session = served.headers() | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for script in (b"\"'\\ud800'\"", b"\"'\\udfff \\ud83d'\"", b'"1 # \\ud800"'):
        call = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"evaluate_script","arguments":{"script":%s}}}'
        for headers in (session, served.headers() | {"Accept": "application/json"}):
            answer = served.http.post("/mcp", content=call % script, headers=headers)
            assert answer.status_code in {200, 400}
            assert '"result"' in answer.text or '"error"' in answer.text, answer.text[:300]
    assert served.serves()


# --- connections and sessions ---


@pytest.mark.promise("H-05")
def test_half_closed_streams_end(served: Served) -> None:
    """Clients that end their side, in the middle of a request and of a stream: no connection stays."""
    with contextlib.ExitStack() as stack:
        held = []
        for request in (
            b"GET /health HTTP",
            STREAM % TOKENS["bob"].encode(),
            b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n",
        ):
            for _ in range(40):
                sock = stack.enter_context(served.plain())
                tls = served.tls.wrap_bio(
                    arriving := ssl.MemoryBIO(), leaving := ssl.MemoryBIO(), server_hostname="127.0.0.1"
                )
                shake(tls, arriving, leaving, sock)
                tls.write(request)
                sock.sendall(leaving.read())
                sock.shutdown(socket.SHUT_WR)
                held.append(sock)
        patience.until(lambda: ended(held) == len(held), 4 * http_connections.WAIT_S)
    assert served.serves()


def shake(tls: ssl.SSLObject, arriving: ssl.MemoryBIO, leaving: ssl.MemoryBIO, sock: socket.socket) -> None:
    """A whole handshake, on a socket that stays in hand."""
    is_done = False
    while not is_done:
        try:
            tls.do_handshake()
            is_done = True
        except ssl.SSLWantReadError:
            sock.sendall(leaving.read())
            arriving.write(sock.recv(65_536))
    sock.sendall(leaving.read())


@pytest.mark.promise("H-05")
def test_a_thousand_idle_sessions_of_one_caller_are_his_own_matter(served: Served) -> None:
    """He gets as many as one may have, and then 503; another one begins his first."""

    def begin(_: int) -> int:
        return served.http.post("/mcp", json=clients.INITIALIZE, headers=served.headers("bob")).status_code

    with futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(begin, range(1_000)))
    assert set(statuses) == {200, 503}
    assert statuses.count(200) <= 512
    assert served.serves("mallory")


@pytest.mark.promise("H-05")
def test_streams_on_every_connection_leave_room_for_others(served: Served) -> None:
    """One caller who opens a stream on each connection there may be takes half of them; a probe and another caller are
    answered."""
    with contextlib.ExitStack() as stack:
        refused = 0
        for _ in range(600):
            try:
                sock = stack.enter_context(served.secure())
                sock.sendall(STREAM % TOKENS["bob"].encode())
                refused += not sock.recv(65_536).startswith(b"HTTP/1.1 200 ")
            except OSError:
                refused += 1
        assert refused >= 200
        assert served.is_well()
        assert served.serves("mallory")
    patience.until(lambda: served.serves("mallory"))
