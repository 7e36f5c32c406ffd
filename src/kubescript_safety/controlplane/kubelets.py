"""The only requests that kube-apiserver sends to kubelets for scripts: those for a container's log.

A real kubelet needs a container runtime, which these machines lack. So this replaces every node's kubelet, with the
path, parameters and errors of the real one (pkg/kubelet/server, pkg/kubelet/kubelet_pods.go); everything before it is
real. The API server connects as through a konnectivity proxy, by CONNECT to the node's name: so nodes need no real
address, and one that is not ready cannot be reached.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
from kubernetes import client, config

__all__ = ["SELECTION", "Kubelets", "Line", "Written", "read_annotation"]

Object = dict[str, Any]

ANNOTATION = "safety.kubescript/log"
"""A pod annotation with its containers' output."""

FOLLOW_SECONDS = 0.2
"""The interval between two lines of a followed log."""
SOCKET, SELECTION = "kubelets.sock", "egress.yaml"
_PATH = re.compile(r"/containerLogs/([^/]+)/([^/]+)/([^/]+)")
_WAITING = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


class Line(NamedTuple):
    """One line of a log and when it was written."""

    time: datetime
    text: str


class Written(Protocol):
    """A function that returns a container's output up to a moment, oldest first."""

    def __call__(self, pod: Object, container: str, now: datetime, *, ended: bool) -> list[Line]:
        """Returns the lines; for a container that has `ended`, including its last output."""
        ...


def read_annotation(pod: Object, container: str, now: datetime, *, ended: bool) -> list[Line]:
    """Returns the lines of the pod's annotation; `now` is when the kubelets started."""
    text = pod["metadata"].get("annotations", {}).get(ANNOTATION, "")
    return [Line(now - timedelta(minutes=1), line) for line in text.splitlines()]


class Kubelets:
    """Every node's kubelet, behind one socket in `folder`, which has the certificates and receives `egress.yaml`."""

    def __init__(self, folder: Path, written: Written) -> None:
        self._folder, self._written = folder, written
        self._server: _Server | None = None
        selection = {"name": "cluster", "connection": {
            "proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(folder / SOCKET)}},
        }}  # fmt: skip
        kind = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        (folder / SELECTION).write_bytes(orjson.dumps(kind | {"egressSelections": [selection]}))

    def start(self, kubeconfig: Path) -> None:
        """Starts serving; pods are read from the API server, as kubelets do."""
        self._server = _Server(self._folder, kubeconfig, self._written)
        threading.Thread(target=self._server.serve_forever, name="kubelets", daemon=True).start()

    def close(self) -> None:
        """Stops serving; followed logs break off."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path, kubeconfig: Path, written: Written) -> None:
        super().__init__(str(folder / SOCKET), _Tunnel)
        self._written = written
        self._started = datetime.now(UTC)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "kubelet.crt", folder / "kubelet.key")
        self.tls.load_verify_locations(folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_REQUIRED
        load: Any = config.load_kube_config  # the client does not annotate it
        settings = client.Configuration()
        load(str(kubeconfig), client_configuration=settings)
        self._api = client.CoreV1Api(client.ApiClient(settings))

    def reachable(self, name: str) -> bool:
        """Says whether the node exists and is ready."""
        with contextlib.suppress(client.ApiException):
            node = self._read(self._api.read_node, name)
            return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])
        return False

    def log(self, namespace: str, name: str, container: str, options: dict[str, str]) -> list[bytes]:
        """Returns the requested lines. Raises LookupError with the kubelet's message."""
        pod = self._read(self._api.read_namespaced_pod, name, namespace)
        previous = options.get("previous") == "true"
        ended = _check(pod, container, previous=previous)
        return _select(self._written(pod, container, self._started, ended=ended or previous), options)

    @staticmethod
    def _read(method: Any, *arguments: str) -> Object:
        found: Object = orjson.loads(method(*arguments, _preload_content=False).data)
        return found


class _Tunnel(socketserver.BaseRequestHandler):
    """The API server's connection to one node."""

    server: _Server
    request: socket.socket

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := self.request.recv(4096)):
                return
            head += piece
        node = head.split(b" ")[1].decode().partition(":")[0]
        if not self.server.reachable(node):
            self.request.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            return
        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError), self.server.tls.wrap_socket(self.request, server_side=True) as stream:
            _Kubelet(stream, ("", 0), self.server)


class _Kubelet(BaseHTTPRequestHandler):
    """One node's answers."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Sends the log, or the reason why there is none."""
        url = urllib.parse.urlsplit(self.path)
        if not (found := _PATH.fullmatch(url.path)):
            return self._answer(404, b"404 page not found")
        options = dict(urllib.parse.parse_qsl(url.query))
        namespace, name, container = found.groups()
        try:
            lines = self.server.log(namespace, name, container, options)
        except LookupError as error:
            return self._answer(400, str(error.args[0]).encode())
        if options.get("follow") == "true":
            return self._follow(lines)
        body = b"".join(lines)
        return self._answer(200, body[: int(options.get("limitBytes", len(body)))])

    def log_message(self, *_: object) -> None:
        """Logs nothing: the API server logs what matters."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _follow(self, lines: list[bytes]) -> None:
        """Sends the existing lines, then a new line at intervals until the API server hangs up."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in _endless(lines):
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")


def _endless(lines: list[bytes]) -> Iterator[bytes]:
    yield from lines
    for number in range(1_000_000):
        time.sleep(FOLLOW_SECONDS)
        yield f"still here {number}\n".encode()


def _select(lines: list[Line], options: dict[str, str]) -> list[bytes]:
    if since := _since(options):
        lines = [line for line in lines if line.time >= since]
    if (tail := int(options.get("tailLines", "-1"))) >= 0:
        lines = lines[len(lines) - min(tail, len(lines)) :]
    stamped = options.get("timestamps") == "true"
    return [(f"{line.time:%Y-%m-%dT%H:%M:%S.%f}000Z " * stamped + line.text + "\n").encode() for line in lines]


def _since(options: dict[str, str]) -> datetime | None:
    if seconds := options.get("sinceSeconds"):
        return datetime.now(UTC) - timedelta(seconds=int(seconds))
    return datetime.fromisoformat(options["sinceTime"]) if "sinceTime" in options else None


def _check(pod: Object, container: str, *, previous: bool) -> bool:
    """Says whether the container that wrote the log has ended; see the real kubelet's validateContainerLogStatus."""
    status = pod.get("status", {})
    known = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
    found = next((one for one in known if one["name"] == container), None)
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if found is None:
        raise LookupError(f"{where} is not available")
    state, last = found["state"], found.get("lastState", {})
    if previous and "terminated" not in last:
        raise LookupError(f"previous terminated {where} not found")
    if "waiting" in state and "terminated" not in last:
        reason = state["waiting"].get("reason", "")
        raise LookupError(f"{where} is waiting to start: {_WAITING.get(reason, reason)}")
    return "running" not in state
