"""The gate between a server under test and the API server: it checks the agent's token, delays and rejects requests as
a scenario says, and reports those that pass.

It forwards requests with the certificate of the run's user, which the server never sees.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kubescript_safety import scenario
from kubescript_safety.cluster import requests

__all__ = ["Certificates", "Gate"]

_HOP: Final = frozenset({
    "audit-id", "authorization", "connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade",
})  # fmt: skip
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_REASONS: Final = {401: "Unauthorized", 403: "Forbidden", 429: "TooManyRequests", 503: "ServiceUnavailable"}
_MESSAGES: Final = {
    401: "Unauthorized",
    429: "Too many requests, please try again later.",
    500: "etcdserver: request timed out",
    503: "the server is currently unable to handle the request",
}
_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files from the control plane's certificate authority."""

    authority: Path
    certificate: Path
    """The gate's own certificate, for 127.0.0.1."""
    key: Path


Passed = Callable[[requests.Asked], None]


@dataclass
class _Rule:
    """A scenario's rule for requests, and to how many more requests it applies."""

    says: scenario.Gate
    left: int


@dataclass
class _Door:
    """The state of the current run."""

    token: str
    client: httpx2.AsyncClient
    passed: Passed
    rules: list[_Rule] = field(default_factory=list)
    content_types: dict[str, str] = field(default_factory=dict)

    def matching(self, asked: requests.Asked | None) -> list[scenario.Gate]:
        """Returns the rules for one request, and counts the request for each of them."""
        found: list[scenario.Gate] = []
        # No rule applies to a path without objects, such as that of discovery.
        if asked is None:
            return found
        for rule in self.rules:
            target = rule.says.target
            if rule.left and (target is None or requests.covers(target, asked)):
                rule.left -= 1
                found.append(rule.says)
        return found


class Gate:
    """A gate for many runs in sequence. Between runs it rejects everything."""

    def __init__(self, upstream: str, certificates: Certificates) -> None:
        """`upstream` is the API server's URL."""
        self._upstream = upstream
        self._certificates = certificates
        self._door: _Door | None = None
        app = Starlette(routes=[Route("/{path:path}", self._answer, methods=list(_METHODS))])
        settings = uvicorn.Config(
            app,
            log_level="error",
            lifespan="off",
            ssl_certfile=certificates.certificate,
            ssl_keyfile=certificates.key,
        )
        self._server = uvicorn.Server(settings)
        self._loop = asyncio.new_event_loop()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="gate", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL for the server under test."""
        return f"https://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Stops the gate."""
        self._server.should_exit = True
        self._thread.join(_SECONDS)
        self._socket.close()

    def open(self, token: str, certificate: Path, key: Path, passed: Passed) -> None:
        """Begins a run: requests with this token pass, as the certificate's user. `passed` is called for each request
        after the API server has answered it, and before the agent gets the answer."""
        tls = ssl.create_default_context(cafile=self._certificates.authority)
        tls.load_cert_chain(certificate, key)
        # There is no timeout, since a watch may last long, and the environment's proxy must not be used for 127.0.0.1.
        client = httpx2.AsyncClient(base_url=self._upstream, verify=tls, timeout=None, trust_env=False)
        self._door = _Door(token, client, passed)

    def shut(self) -> None:
        """Ends the run, and its connections."""
        door = self._door
        self._door = None
        # The client belongs to the event loop of the gate's thread.
        if door is not None and self._thread.is_alive():
            closing = asyncio.run_coroutine_threadsafe(door.client.aclose(), self._loop)
            closing.result(_SECONDS)

    def content_type(self, audit: str) -> str:
        """Returns the content type of one of this run's requests by its audit id; empty if it did not come through the
        gate. The audit log lacks it, but patch types differ only in it."""
        if self._door is None:
            return ""
        return self._door.content_types.get(audit, "")

    def set_token(self, token: str) -> None:
        """Accepts only this token from now on."""
        if self._door is not None:
            self._door.token = token

    def add(self, rule: scenario.Gate) -> None:
        """Adds a rule, which delays or rejects as many requests as it says."""
        # Between runs there is no door.
        if self._door is not None:
            waiting = _Rule(rule, rule.requests)
            self._door.rules.append(waiting)

    def _serve(self) -> None:
        """Serves on the gate's own event loop, in its own thread."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve([self._socket]))

    async def _answer(self, request: Request) -> Response:
        """Answers one request of the server under test."""
        door = self._door
        if door is None or request.headers.get("authorization") != f"Bearer {door.token}":
            return _refusal(401)
        # The request is parsed as the API server parses it; an unknown one passes without a rule.
        asked = requests.read(request.method, request.url.path, request.query_params)
        for rule in door.matching(asked):
            # The wait is asynchronous, so other requests can pass meanwhile.
            await asyncio.sleep(rule.delay_ms / 1000)
            if rule.status:
                return _refusal(rule.status)
        try:
            audit = str(uuid.uuid4())
            door.content_types[audit] = request.headers.get("content-type", "")
            answer = await _forward(door.client, request, audit)
        except httpx2.TransportError:
            return _refusal(503)
        # A watch or a followed log ends when the client leaves, so its body is not waited for.
        if asked is None or asked.verb == "watch" or "follow" in request.query_params:
            return _stream(answer)
        content = b"".join([part async for part in answer.aiter_raw()])
        await answer.aclose()
        await asyncio.to_thread(door.passed, asked)
        return Response(content, answer.status_code, _filter(answer.headers))


async def _forward(client: httpx2.AsyncClient, request: Request, audit: str) -> httpx2.Response:
    """Forwards a request with an audit id of its own."""
    url = httpx2.URL(path=request.url.path, query=request.url.query.encode())
    # By this id, the request is found in the audit log, whatever id the server under test has sent.
    headers = {**_filter(request.headers), "audit-id": audit}
    body = await request.body()
    sent = client.build_request(request.method, url, headers=headers, content=body)
    return await client.send(sent, stream=True)


def _stream(answer: httpx2.Response) -> Response:
    """Passes on an endless answer until the server hangs up."""
    return StreamingResponse(
        answer.aiter_raw(), answer.status_code, _filter(answer.headers), background=BackgroundTask(answer.aclose)
    )


def _filter(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers that are not of one connection only."""
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}


def _refusal(status: int) -> Response:
    """Returns a refusal in the API server's format."""
    reason = _REASONS.get(status, "InternalError")
    message = _MESSAGES.get(status, reason)
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": status}
    # client-go retries by itself when it sees this header.
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return JSONResponse(body | {"message": message}, status, headers)
