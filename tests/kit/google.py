"""A stand-in for Google's token endpoint, and an account that logs in there."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

__all__ = ["Google", "account"]


class Google(http.server.ThreadingHTTPServer):
    """A token endpoint, which gives one token after the other, and then the last one."""

    daemon_threads = True

    def __init__(self, *tokens: str) -> None:
        super().__init__(("127.0.0.1", 0), _Endpoint)
        self.asked = 0
        self.lives_s = 3600
        self.answers = list(tokens)
        """An empty one is a refusal."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}/token"

    def close(self) -> None:
        """Answers no more."""
        self.shutdown()
        self.server_close()


class _Endpoint(http.server.BaseHTTPRequestHandler):
    server: Google

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        token = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        answer: dict[str, Any] = {"access_token": token, "expires_in": self.server.lives_s, "token_type": "Bearer"}
        if not token:
            answer = {"error": "invalid_grant", "error_description": "quotes an assertion: eyJhbGciOi"}
        data = json.dumps(answer).encode()
        self.send_response(200 if token else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def account(google: Google, folder: Path) -> Path:
    """A service account's key file whose token endpoint is the stand-in."""
    path = folder / "account.json"
    path.write_text(json.dumps({
        "type": "service_account", "project_id": "shop-prod", "private_key_id": "k", "private_key": _key(),
        "client_email": "reader@shop-prod.iam.gserviceaccount.com", "client_id": "1", "token_uri": google.url,
    }))  # fmt: skip
    return path


@functools.cache
def _key() -> str:
    private = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode()
