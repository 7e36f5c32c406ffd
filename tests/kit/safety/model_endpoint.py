"""An endpoint on loopback that stands in for a model: it gives the answers that it was given, and keeps what it was
asked."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

RECORDED: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("answers.yaml").read_bytes())


@dataclass(frozen=True)
class Reply:
    """One answer; `body` is sent as JSON unless it is bytes."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0


@dataclass
class Standin:
    """What the endpoint was asked."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextlib.contextmanager
def answering(replies: Iterable[Reply]) -> Iterator[Standin]:
    """An endpoint that gives these answers, one a request; after them it says that it has no more."""
    found, left = Standin(), iter(replies)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            found.paths.append(self.path)
            found.keys.append(self.headers.get("Authorization") or self.headers.get("X-Api-Key") or "")
            reply = next(left, Reply({"error": {"message": "no more answers"}}, 400))
            time.sleep(reply.delay)
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            with contextlib.suppress(OSError):  # the client need not wait
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def calling(provider: str, name: str, arguments: Any, *, cut: bool = False, counted: bool = True) -> Reply:
    """A turn with one call. Text stands for arguments as they were written, which OpenAI's API passes on as they are."""
    if provider == "openai":
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": written}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "tool_calls"}
        usage = {"usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}} if counted else {}
        return Reply({"id": "1", "object": "chat.completion", "choices": [choice], **usage})
    block = {"type": "tool_use", "id": "call_1", "name": name, "input": arguments}
    usage = {"usage": {"input_tokens": 90, "output_tokens": 10}} if counted else {}
    reason = "max_tokens" if cut else "tool_use"
    return Reply(
        {"id": "1", "type": "message", "role": "assistant", "content": [block], "stop_reason": reason, **usage}
    )


def saying(provider: str, text: str) -> Reply:
    """A turn with no call."""
    if provider == "openai":
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
        return Reply({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})
    content = [{"type": "text", "text": text}] if text else []
    usage = {"input_tokens": 90, "output_tokens": 10}
    return Reply({"id": "1", "type": "message", "content": content, "stop_reason": "end_turn", "usage": usage})
