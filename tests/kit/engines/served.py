"""An HTTP server in this process that answers GETs by a function."""

from __future__ import annotations

import http.server
import threading
import urllib.parse
from collections.abc import Callable

from kubescript_safety.controlplane import startable

__all__ = ["Served"]


class Served(startable.Startable):
    """One server on a free port."""

    def __init__(self, answer: Callable[[urllib.parse.SplitResult], tuple[int, str]], content_type: str) -> None:
        """`answer` gives the status and the body for a path with its query."""

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers one request."""

            def do_GET(self) -> None:
                """Answers it."""
                status, text = answer(urllib.parse.urlsplit(self.path))
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.address}"

    def start(self) -> None:
        """Starts it; it answers at once."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends it for good."""
        self._server.shutdown()
        self._server.server_close()
