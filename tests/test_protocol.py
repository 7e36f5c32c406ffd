"""The protocol beyond tools: what cannot be read is answered, and the next call works."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from kubescript.cli import demo
from tests import clients

pytestmark = pytest.mark.slow

SAVED = ["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT)]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}
BOTH = "application/json, text/event-stream"


def message(method: str, params: dict[str, Any] | None = None, request_id: int = 7) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})


def called(script: str) -> str:
    return message("tools/call", {"name": "evaluate_script", "arguments": {"script": script}, "_meta": MODERN})


DEEP = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + "[" * 5_000 + "]" * 5_000 + "}"
DEEPER = DEEP.replace("[" * 5_000, "[" * 100_000).replace("]" * 5_000, "]" * 100_000)
UNREADABLE = {
    "half of a surrogate pair": (called("'\ud800'"), -32700, 7),
    "a depth of 5,000": (DEEP, -32700, None),
    "a number of 5,000 digits": (message("ping").replace("{}", '{"a":%s}' % ("9" * 5_000)), -32700, 7),
    "no JSON": ("garbage", -32700, None),
}
"""Each with the code of the error and the id that it names."""


class Raw:
    """A client over stdio that sends any line."""

    def __init__(self, *flags: str) -> None:
        command = [clients.KUBESCRIPT, *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        received: dict[str, Any] = json.loads(self.process.stdout.readline())
        return received

    def ask(self, line: str) -> dict[str, Any]:
        self.send(line)
        return self.receive()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture
def raw() -> Iterator[Raw]:
    client = Raw(*SAVED)
    yield client
    client.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with clients.serving(SAVED) as port:
        yield port


def test_what_cannot_be_read_is_answered_over_stdio(raw: Raw) -> None:
    raw.ask(message("initialize", HELLO))
    wrong = {
        "a depth of 100,000": (DEEPER, -32700, None),
        "a batch": ("[]", -32600, None),
        "another version": (message("ping").replace("2.0", "1.0"), -32600, 7),
    }
    for name, (line, code, request_id) in (UNREADABLE | wrong).items():
        answer = raw.ask(line)
        assert (answer["error"]["code"], answer["id"]) == (code, request_id), name
        assert raw.ask(message("ping", request_id=8)) == {"jsonrpc": "2.0", "id": 8, "result": {}}
    # The answer to a question that nobody asked is no request.
    raw.send('{"jsonrpc":"2.0","id":1,"result":5}')
    assert raw.ask(message("nope"))["error"]["code"] == -32601


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_what_cannot_be_read_is_answered_over_http(port: int, version: str) -> None:
    headers = {"accept": BOTH, "content-type": "application/json", "mcp-protocol-version": version}
    for name, (line, code, request_id) in UNREADABLE.items():
        answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", content=line, headers=headers)
        assert answer.status_code == 400, name
        assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, request_id), name
    assert httpx2.post(f"http://127.0.0.1:{port}/mcp", content=DEEPER, headers=headers).status_code == 413
    headers |= {"mcp-method": "tools/call", "mcp-name": "evaluate_script", "mcp-protocol-version": "2026-07-28"}
    answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", content=called("1 + 1"), headers=headers)
    assert answer.json()["result"]["content"][0]["text"] == "2"


def test_what_cannot_be_read_is_answered_in_the_stream_of_sse(port: int) -> None:
    base = f"http://127.0.0.1:{port}"
    with httpx2.stream("GET", f"{base}/sse", timeout=30) as stream:
        lines = stream.iter_lines()
        path = next(line.removeprefix("data: ") for line in lines if "/messages?" in line and "{" not in line)
        headers = {"content-type": "application/json"}
        httpx2.post(base + path, content=message("initialize", HELLO), headers=headers)
        for name, (line, code, request_id) in UNREADABLE.items():
            answer = httpx2.post(base + path, content=line, headers=headers)
            assert answer.status_code == 400, name
            found = next(json.loads(line[6:]) for line in lines if line.startswith("data: ") and '"error"' in line)
            assert (found["error"]["code"], found["id"]) == (code, request_id), name
        httpx2.post(base + path, content=message("ping", request_id=9), headers=headers)
        assert any('"id":9' in line for line in lines)
