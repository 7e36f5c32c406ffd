"""Answers the only requests that kube-apiserver sends to kubelets for scripts: for a container's log, and for the log
of a service and the statistics of a node.

A real kubelet needs a container runtime, which these machines lack. So this module replaces every node's kubelet, with
the path, parameters and errors of the real one (pkg/kubelet/server, pkg/kubelet/kubelet_pods.go); everything in front
of it is real. The API server connects as through a konnectivity proxy, with CONNECT to the node's name. So nodes need
no real address, and one that is not ready cannot be reached. (The proxy to a node needs an address, but any will do.)
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

NODE_LOG, NODE_SUMMARY = "safety.kubescript/node-log", "safety.kubescript/node-summary"
"""Node annotations with the journal of its services, and with its statistics as JSON."""

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
    annotations = pod["metadata"].get("annotations", {})
    written = now - timedelta(minutes=1)
    return [Line(written, line) for line in annotations.get(ANNOTATION, "").splitlines()]


class Kubelets:
    """Every node's kubelet, behind one socket in `folder`, which has the certificates and receives `egress.yaml`."""

    def __init__(self, folder: Path, written: Written) -> None:
        self._folder = folder
        self._written = written
        self._server: _Server | None = None
        selection = {"name": "cluster", "connection": {
            "proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(folder / SOCKET)}},
        }}  # fmt: skip
        kind = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        (folder / SELECTION).write_bytes(orjson.dumps(kind | {"egressSelections": [selection]}))

    def start(self, kubeconfig: Path) -> None:
        """Starts serving; pods are read from the API server, as kubelets do."""
        self._server = _Server(self._folder, kubeconfig, self._written)
        thread = threading.Thread(target=self._server.serve_forever, name="kubelets", daemon=True)
        thread.start()

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
        # As with real kubelets, only the API server may send requests, with its certificate.
        self.tls.verify_mode = ssl.CERT_REQUIRED
        load: Any = config.load_kube_config  # the client does not annotate it
        settings = client.Configuration()
        load(str(kubeconfig), client_configuration=settings)
        self._api = client.CoreV1Api(client.ApiClient(settings))

    def find_node(self, host: str) -> Object | None:
        """Returns the node of a name or address; None if there is none, or if it is not ready."""
        found: Object | None
        try:
            found = self._read(self._api.read_node, host)
        # There is no node of this name.
        except client.ApiException:
            nodes = self._read(self._api.list_node)["items"]
            found = next((node for node in nodes if host in _addresses(node)), None)
        conditions = found["status"].get("conditions", ()) if found is not None else ()
        is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        return found if is_ready else None

    def log(self, namespace: str, name: str, container: str, options: dict[str, str]) -> list[bytes]:
        """Returns the requested lines. Raises LookupError with the kubelet's message."""
        pod = self._read(self._api.read_namespaced_pod, name, namespace)
        is_previous = options.get("previous") == "true"
        has_ended = _check(pod, container, previous=is_previous)
        lines = self._written(pod, container, self._started, ended=has_ended or is_previous)
        return _select(lines, options)

    @staticmethod
    def _read(method: Any, *arguments: str) -> Object:
        """Returns an answer of the API server unchanged."""
        # It is not decoded into the client's own classes, which leave out fields that they do not know.
        answer = method(*arguments, _preload_content=False)
        found: Object = orjson.loads(answer.data)
        return found


class _Tunnel(socketserver.BaseRequestHandler):
    """The API server's connection to one node."""

    server: _Server
    request: socket.socket

    def handle(self) -> None:
        """Opens a tunnel to one kubelet, as the konnectivity proxy does."""
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.request.recv(4096)
            if not piece:
                return
            head += piece
        # `CONNECT node-0:10250 HTTP/1.1`.
        host = head.split(b" ")[1].decode().partition(":")[0]
        node = self.server.find_node(host)
        # On a node that is not ready, no kubelet answers, so its logs cannot be read.
        if node is None:
            self.request.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            return
        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError), self.server.tls.wrap_socket(self.request, server_side=True) as stream:
            _Kubelet(stream, self.server, node)


class _Kubelet(BaseHTTPRequestHandler):
    """One node's answers."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def __init__(self, stream: socket.socket, server: _Server, node: Object) -> None:
        self._notes = node["metadata"].get("annotations", {})
        super().__init__(stream, ("", 0), server)

    def do_GET(self) -> None:
        """Sends the log, or the reason why there is none."""
        url = urllib.parse.urlsplit(self.path)
        options = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/logs/":
            return self._send_node_log(options)
        if url.path == "/stats/summary" and NODE_SUMMARY in self._notes:
            return self._answer(200, self._notes[NODE_SUMMARY].encode(), "application/json")
        found = _PATH.fullmatch(url.path)
        if not found:
            return self._answer(404, b"404 page not found")
        namespace, name, container = found.groups()
        try:
            lines = self.server.log(namespace, name, container, options)
        except LookupError as error:
            # The API server passes the kubelet's words on to the client.
            return self._answer(400, str(error.args[0]).encode())
        if options.get("follow") == "true":
            return self._follow(lines)
        body = b"".join(lines)
        most = int(options.get("limitBytes", len(body)))
        return self._answer(200, body[:most])

    def log_message(self, *_: object) -> None:
        """Logs nothing: the API server logs what matters."""

    def _send_node_log(self, options: dict[str, str]) -> None:
        """Sends the journal of a service, as the kubelet with enableSystemLogQuery does (kubelet_server_journal.go)."""
        # Without the setting, a kubelet lists the files below /var/log.
        if NODE_LOG not in self._notes:
            return self._answer(200, b'<!doctype html>\n<pre>\n<a href="pods/">pods/</a>\n</pre>\n', "text/html")
        if not options.get("query", "").strip():
            return self._answer(400, b'query: Invalid value: "": may not be empty')
        # An entry of several lines goes on with blanks.
        entries = re.split(r"(?<=\n)(?! )", self._notes[NODE_LOG])
        wanted = [entry for entry in entries if f" {options['query']}[" in entry]
        tail = int(options.get("tailLines", len(wanted)))
        return self._answer(200, "".join(wanted[-tail:]).encode(), "text/plain;charset=UTF-8")

    def _answer(self, status: int, body: bytes, content_type: str = "text/plain") -> None:
        """Sends a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _follow(self, lines: list[bytes]) -> None:
        """Sends the existing lines, then a new line at intervals until the API server hangs up."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        # A log that continues has no length.
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in _endless(lines):
            size = f"{len(line):x}".encode()
            self.wfile.write(size + b"\r\n" + line + b"\r\n")


def _addresses(node: Object) -> list[str]:
    return [one["address"] for one in node["status"].get("addresses", ())]


def _endless(lines: list[bytes]) -> Iterator[bytes]:
    """Yields lines for a log that is followed."""
    yield from lines
    # The number of lines is bounded, so that even a forgotten reader ends.
    for number in range(1_000_000):
        time.sleep(FOLLOW_SECONDS)
        yield f"still here {number}\n".encode()


def _select(lines: list[Line], options: dict[str, str]) -> list[bytes]:
    """Returns the lines that a request asks for, as the kubelet writes them."""
    since = _since(options)
    if since:
        lines = [line for line in lines if line.time >= since]
    tail = int(options.get("tailLines", "-1"))
    # `lines[-tail:]` would return all lines for a `tail` of 0.
    if tail >= 0:
        lines = lines[len(lines) - min(tail, len(lines)) :]
    texts = [f"{line.text}\n" for line in lines]
    if options.get("timestamps") == "true":
        texts = [f"{line.time:%Y-%m-%dT%H:%M:%S.%f}000Z {text}" for line, text in zip(lines, texts, strict=True)]
    return [text.encode() for text in texts]


def _since(options: dict[str, str]) -> datetime | None:
    """Returns the time from which on lines are requested; None for all lines."""
    seconds = options.get("sinceSeconds")
    if seconds:
        ago = timedelta(seconds=int(seconds))
        return datetime.now(UTC) - ago
    if "sinceTime" in options:
        return datetime.fromisoformat(options["sinceTime"])
    return None


def _check(pod: Object, container: str, *, previous: bool) -> bool:
    """Says whether the container that wrote the log has ended; see the real kubelet's validateContainerLogStatus."""
    where = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    status = pod.get("status", {})
    known = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
    found = next((one for one in known if one["name"] == container), None)
    if found is None:
        raise LookupError(f"{where} is not available")
    state = found["state"]
    last = found.get("lastState", {})
    if previous and "terminated" not in last:
        raise LookupError(f"previous terminated {where} not found")
    # A container that is waiting to be restarted has the log of its last run.
    if "waiting" in state and "terminated" not in last:
        reason = state["waiting"].get("reason", "")
        raise LookupError(f"{where} is waiting to start: {_WAITING.get(reason, reason)}")
    return "running" not in state
