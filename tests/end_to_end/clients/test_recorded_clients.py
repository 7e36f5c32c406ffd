"""What clients of two products send, replayed byte by byte: n8n's stream (recorded from the TypeScript SDK's SSE client,
which n8n uses), and a plain POST such as Dify's HTTP node sends, without a handshake and without an Accept header."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.cli import demo
from tests.kit import clients

RECORDINGS: Final = Path(__file__).parent / "recordings"
END: Final = b"\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with clients.serving(["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT)]) as port:
        yield port


def recorded(name: str) -> list[str]:
    """What a client has sent, one request after the other."""
    return [json.loads(line)["sent"] for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines()]


def opened(port: int, request: str) -> socket.socket:
    """A connection on which a request was sent."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=60)
    sock.sendall(request.replace("{host}", f"127.0.0.1:{port}").encode())
    return sock


def until(sock: socket.socket, wanted: bytes) -> bytes:
    """What arrives, up to these bytes."""
    seen = b""
    while wanted not in seen:
        got = sock.recv(1 << 16)
        assert got, seen
        seen += got
    return seen


def events(stream: bytes) -> list[tuple[str, Any]]:
    """The events of a stream, without the lengths of its chunks."""
    found = re.findall(rb"event: (\w+)\r\ndata: ([^\r]*)\r\n", stream)
    return [(name.decode(), json.loads(data) if data[:1] == b"{" else data.decode()) for name, data in found]


def test_n8n_gets_the_events_of_the_contract(port: int) -> None:
    """A stream that says where to post, then one message for each request that was posted there."""
    opening, *posts = recorded("n8n")
    with opened(port, opening) as stream:
        seen = until(stream, b"event: connected")
        session = re.search(rb"sessionId=([0-9a-f]{32})", seen)
        assert session is not None
        for post in posts:
            with opened(port, post.replace("{session}", session[1].decode())) as posted:
                assert until(posted, b"Accepted").startswith(b"HTTP/1.1 202 ")
        seen += until(stream, b'"id":3')
    names = [name for name, _ in events(seen)]
    assert names == ["endpoint", "connected", "message", "message", "message", "message"]
    (_, endpoint), (_, connected), *messages = events(seen)
    assert endpoint == connected["messageEndpoint"] == f"/messages?sessionId={session[1].decode()}"
    assert [message["id"] for _, message in messages] == [0, 1, 2, 3]
    assert messages[-1][1]["result"]["content"] == [{"text": "6", "type": "text"}]


def test_a_message_for_a_stream_that_is_none_says_so(port: int) -> None:
    _, post, *_ = recorded("n8n")
    with opened(port, post.replace("{session}", "0" * 32)) as posted:
        answer = until(posted, b"}}")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert json.loads(answer.partition(END)[2])["error"] == {"code": -32000, "message": "Invalid session"}


def test_dify_gets_json(port: int) -> None:
    (request,) = recorded("dify")
    with opened(port, request) as sock:
        answer = until(sock, b"}}")
    head, _, body = answer.partition(END)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"content-type: application/json" in head
    assert json.loads(body)["result"] == {"content": [{"text": "6", "type": "text"}], "isError": False}
