"""The gate between a server under test and the API server: knows the agent's token, slows down and refuses what a
scenario says, and tells what passes.

It sends requests on with the certificate of the run's user, which the server never sees.
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
    """Files of the control plane's authority."""

    authority: Path
    certificate: Path
    """Of the gate itself, which is called 127.0.0.1."""
    key: Path


Passed = Callable[[requests.Asked], None]


@dataclass
class _Rule:
    """What a scenario says of some requests, and how many of them are still to come."""

    says: scenario.Gate
    left: int


@dataclass
class _Door:
    """What holds for the run that goes on."""

    token: str
    client: httpx2.AsyncClient
    passed: Passed
    rules: list[_Rule] = field(default_factory=list)
    content_types: dict[str, str] = field(default_factory=dict)

    def matching(self, asked: requests.Asked | None) -> list[scenario.Gate]:
        """Returns the rules for one request, which then have it behind them."""
        found = []
        for rule in self.rules:
            is_meant = asked is not None and (rule.says.target is None or requests.covers(rule.says.target, asked))
            if rule.left and is_meant:
                rule.left -= 1
                found.append(rule.says)
        return found


class Gate:
    """One gate for many runs, one after the other. While none goes on it refuses everything."""

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
        """Where the server under test finds it."""
        return f"https://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Ends it."""
        self._server.should_exit = True
        self._thread.join(_SECONDS)
        self._socket.close()

    def open(self, token: str, certificate: Path, key: Path, passed: Passed) -> None:
        """Begins a run: lets requests with this token through, in the name of the user of the certificate. `passed` is
        called with each of them after the API server has answered it, and before the agent hears of it."""
        tls = ssl.create_default_context(cafile=self._certificates.authority)
        tls.load_cert_chain(certificate, key)
        client = httpx2.AsyncClient(base_url=self._upstream, verify=tls, timeout=None, trust_env=False)
        self._door = _Door(token, client, passed)

    def shut(self) -> None:
        """Ends the run, and the connections that were made for it."""
        door, self._door = self._door, None
        if door is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(door.client.aclose(), self._loop).result(_SECONDS)

    def content_type(self, audit: str) -> str:
        """Returns the content type of a request of this run, by its audit id: the audit log does not have it, and it
        tells the kinds of patches apart. Empty for requests that did not come through the gate."""
        return self._door.content_types.get(audit, "") if self._door is not None else ""

    def set_token(self, token: str) -> None:
        """From now on only this token counts."""
        if self._door is not None:
            self._door.token = token

    def add(self, rule: scenario.Gate) -> None:
        """Slows down or refuses requests from now on, as many as the rule says."""
        if self._door is not None:
            self._door.rules.append(_Rule(rule, rule.requests))

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve([self._socket]))

    async def _answer(self, request: Request) -> Response:
        door = self._door
        if door is None or request.headers.get("authorization") != f"Bearer {door.token}":
            return _refusal(401)
        asked = requests.read(request.method, request.url.path, request.query_params)
        for rule in door.matching(asked):
            await asyncio.sleep(rule.delay_ms / 1000)
            if rule.status:
                return _refusal(rule.status)
        try:
            audit = str(uuid.uuid4())
            door.content_types[audit] = request.headers.get("content-type", "")
            answer = await _forward(door.client, request, audit)
        except httpx2.TransportError:
            return _refusal(503)
        if asked is None or asked.verb == "watch" or "follow" in request.query_params:
            return _stream(answer)
        content = b"".join([part async for part in answer.aiter_raw()])
        await answer.aclose()
        await asyncio.to_thread(door.passed, asked)
        return Response(content, answer.status_code, _filter(answer.headers))


async def _forward(client: httpx2.AsyncClient, request: Request, audit: str) -> httpx2.Response:
    sent = client.build_request(
        request.method,
        httpx2.URL(path=request.url.path, query=request.url.query.encode()),
        headers={**_filter(request.headers), "audit-id": audit},
        content=await request.body(),
    )
    return await client.send(sent, stream=True)


def _stream(answer: httpx2.Response) -> Response:
    """Passes on what has no end until the server hangs up."""
    return StreamingResponse(
        answer.aiter_raw(), answer.status_code, _filter(answer.headers), background=BackgroundTask(answer.aclose)
    )


def _filter(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}


def _refusal(status: int) -> Response:
    """A refusal in the API server's own shape."""
    reason = _REASONS.get(status, "InternalError")
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": status}
    headers = {"Retry-After": "1"} if status in {429, 503} else {}
    return JSONResponse(body | {"message": _MESSAGES.get(status, reason)}, status, headers)
