"""A chat's webhook on this machine, which keeps what it is sent."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Webhook", "opened"]


@dataclass
class Webhook:
    """A chat's address, and what it was sent."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    """Its next answers; afterwards 200."""
    answers: threading.Event = field(default_factory=threading.Event)
    """Set while it answers what it gets."""
    sent: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def documents(self) -> list[Any]:
        """The notices."""
        return [json.loads(body) for _, body in self.sent]


@contextlib.contextmanager
def opened() -> Iterator[Webhook]:
    """A webhook that listens."""
    found = Webhook()
    found.answers.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.sent.append((dict(self.headers.items()), body))
            found.answers.wait()
            self.send_response(found.statuses.pop(0) if found.statuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found.url = f"http://127.0.0.1:{server.server_port}/services/secret-of-the-url"
        yield found
        found.answers.set()
        server.shutdown()
