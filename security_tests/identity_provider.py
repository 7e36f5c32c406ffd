"""An identity provider on this machine, which signs whatever a test wants, and counts what it is asked."""

from __future__ import annotations

import base64
import hmac
import http.server
import json
import threading
import time
import urllib.parse
from collections import Counter
from types import TracebackType
from typing import Any, Final, Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

__all__ = ["AUDIENCE", "OCT", "Provider", "hs256", "written"]

AUDIENCE: Final = "kubescript-of-these-tests"
OCT: Final = b"a secret that everybody may read"


def written(part: Any) -> bytes:
    """A part of a token: base64url of JSON, or of bytes that are none."""
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def hs256(secret: bytes, header: dict[str, Any], claims: Any) -> str:
    """A token that is signed with a secret."""
    signed = written({"alg": "HS256", **header}) + b"." + written(claims)
    return (signed + b"." + written(hmac.digest(secret, signed, "sha256"))).decode()


class Provider:
    """The provider. `asked` counts requests by path; while `stalled` is set, it answers no question about a token or a code."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.stalled = threading.Event()
        self.active: dict[str, dict[str, Any]] = {}
        """What introspection says of opaque tokens; all others are not active."""
        self.granted: dict[str, dict[str, Any]] = {}
        """What a client gets for a code of a log-in, once."""
        self.exchanged: list[dict[str, str]] = []
        """What clients have sent with a code."""
        self.answers: list[tuple[int, Any]] = []
        """What the next exchanges of tokens are answered, each a status and a document or bytes; then good tokens."""
        self._key = rsa.generate_private_key(65_537, 2_048)
        self.stranger = rsa.generate_private_key(65_537, 2_048)
        """A key of somebody else."""
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url: Final = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stalled.clear()
        self._server.shutdown()
        self._server.server_close()

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Claims of a good token, with some changed; None leaves one out."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "iat": now, "groups": ["shop"]}
        return {name: value for name, value in (good | changed).items() if value is not None}

    def token(self, claims: Any = None, *, header: dict[str, Any] | None = None, key: Any = None) -> str:
        """A token that is signed with RS256, by this provider or with another key; a `typ` of None is left out."""
        head = {"alg": "RS256", "kid": "one", "typ": "JWT", **(header or {})}
        if head["typ"] is None:
            del head["typ"]
        signed = written(head) + b"." + written(self.claims() if claims is None else claims)
        signature = (key or self._key).sign(signed, padding.PKCS1v15(), hashes.SHA256())
        return (signed + b"." + written(signature)).decode()

    @property
    def pem(self) -> bytes:
        """The public key as everybody may have it."""
        return self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    @property
    def public(self) -> dict[str, Any]:
        """The public key as the provider publishes it."""
        return _published(self._key, "one")

    def document(self, path: str) -> dict[str, Any] | None:
        """What there is to be read."""
        documents: dict[str, dict[str, Any]] = {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            },
            "/keys": {"keys": [self.public, {"kty": "oct", "kid": "oct", "k": written(OCT).decode()}]},
            # What a token's own headers point at.
            "/stranger": {"keys": [_published(self.stranger, "stranger")]},
        }
        return documents.get(path)


def _published(key: rsa.RSAPrivateKey, name: str) -> dict[str, Any]:
    numbers = key.public_key().public_numbers()
    n, e = (written(each.to_bytes((each.bit_length() + 7) // 8, "big")).decode() for each in (numbers.n, numbers.e))
    return {"kty": "RSA", "kid": name, "use": "sig", "n": n, "e": e}


class _Handler(http.server.BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        self.provider.asked[self.path] += 1
        self._answer(self.provider.document(self.path))

    def do_POST(self) -> None:
        self.provider.asked[self.path] += 1
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(urllib.parse.parse_qsl(body))
        if self.path == "/token":
            self.provider.exchanged.append(fields)
            answers = self.provider.answers
            planned = answers.pop(0) if "code" not in fields and answers else None
            while self.provider.stalled.is_set():
                time.sleep(0.05)
            if "code" not in fields:
                self._exchange(fields, planned)
                return
            self._answer(self.provider.granted.pop(fields["code"], None), refused=400)
            return
        token = fields["token"]
        known = self.provider.active.get(token)
        while known is None and self.provider.stalled.is_set():
            time.sleep(0.05)
        self._answer({"active": True, **known} if known is not None else {"active": False})

    def _exchange(self, fields: dict[str, str], planned: tuple[int, Any] | None) -> None:
        """Answers as planned, or with a token of its subject for the audience, under the same end."""
        if planned is not None:
            status, document = planned
            self._send(status, document if isinstance(document, bytes) else json.dumps(document).encode())
            return
        _, payload, _ = fields["subject_token"].split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        claims |= {"aud": fields["audience"], "jti": len(self.provider.exchanged)}
        self._answer({"access_token": self.provider.token(claims), "token_type": "Bearer", "expires_in": 300})

    def _answer(self, document: dict[str, Any] | None, refused: int = 404) -> None:
        self._send(200 if document is not None else refused, json.dumps(document or {}).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""
