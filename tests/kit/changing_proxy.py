"""A proxy before an API server that tests steer: it repeats requests, changes them, or leads to another cluster."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubernetes import client, config

from tests.kit import api_server

__all__ = ["Answer", "Asked", "Hook", "Proxy", "opened"]

_PASSED: Final = frozenset({"content-type", "warning", "audit-id"})


@dataclass(frozen=True)
class Asked:
    """A request to the proxy."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET" and b"dryRun" not in self.path.encode() + self.body


@dataclass(frozen=True)
class Answer:
    """What the API server answers."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Hook = Callable[[Asked, Callable[[Asked], Answer]], Answer]
"""Answers a request; the second argument forwards one."""


def _pass(asked: Asked, forward: Callable[[Asked], Answer]) -> Answer:
    return forward(asked)


class Proxy:
    """Forwards to an API server with the credentials of its kubeconfig."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._hook: Hook = _pass
        self.lead(kubeconfig)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.kubeconfig = api_server.kubeconfig(folder, f"http://127.0.0.1:{self.server.server_port}", user={})

    def lead(self, kubeconfig: Path) -> None:
        """Leads to this cluster from now on."""
        settings = client.Configuration()
        load: Any = config.load_kube_config  # the client leaves it untyped
        load(str(kubeconfig), client_configuration=settings)
        self._host = settings.host.removeprefix("https://")
        self._tls = ssl.create_default_context(cafile=settings.ssl_ca_cert)
        if settings.cert_file:
            self._tls.load_cert_chain(settings.cert_file, settings.key_file)
        self._authorization: str | None = settings.get_api_key_with_prefix("authorization")

    @contextlib.contextmanager
    def hooked(self, hook: Hook) -> Iterator[None]:
        """Lets a hook answer."""
        self._hook = hook
        try:
            yield
        finally:
            self._hook = _pass

    def answer(self, asked: Asked) -> Answer:
        """The answer to a request."""
        return self._hook(asked, self._forward)

    def _forward(self, asked: Asked) -> Answer:
        connection = http.client.HTTPSConnection(self._host, context=self._tls, timeout=60)
        headers = asked.headers | {"Content-Length": str(len(asked.body))}
        if self._authorization:
            headers["Authorization"] = self._authorization
        with contextlib.closing(connection):
            connection.request(asked.method, asked.path, asked.body, headers)
            got = connection.getresponse()
            return Answer(got.status, got.getheaders(), got.read())

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_arguments: object) -> None:
                """Says nothing."""

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {key: self.headers[key] for key in ("Content-Type", "Accept") if key in self.headers}
                answer = proxy.answer(Asked(self.command, self.path, body, headers))
                self.send_response(answer.status)
                for key, value in answer.headers:
                    if key.lower() in _PASSED:
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler._answer)
        return Handler


@contextlib.contextmanager
def opened(kubeconfig: Path, folder: Path) -> Iterator[Proxy]:
    """A proxy before the API server of a kubeconfig; its own one is put into the folder."""
    proxy = Proxy(kubeconfig, folder)
    thread = threading.Thread(target=proxy.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
        thread.join()
