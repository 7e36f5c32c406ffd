"""An API server that lets everybody do everything and writes down what reached it; and what kube-apiserver would read
from that.

A real HTTP server on a socket of its own. It shares no code with the product's request parser: `read` is written from
k8s.io/apiserver/pkg/endpoints/request/requestinfo.go and starts from the bytes of the request line.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import urllib.parse
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kubescript.kube import kinds
from tests.kit import listener

TOKEN = "recorder-token-5e1f"
CANARY = "c4n4ry-value-of-a-secret"
"""In every Secret this server hands out."""
KEY_CANARY = "c4n4ry-key"
"""A key of its data, also where other fields of it repeat it."""
IMITATIONS = {
    "imitation.example": {"secrets": "Secret", "pods": "Secret", "vaults": "Secret"},
    "core.example": {"things": "Pod"},
}
"""Custom resources that call themselves what they are not: group → plural → kind."""
DEAF = "deaf.example"
"""A group whose server does not say that it knows dry runs."""
UID = "6b0b1a1e-0000-4000-8000-00000000c0de"
VERSION = "1"
"""Of every object that is there: its uid and its resourceVersion."""


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def query(self) -> list[tuple[str, str]]:
        """The query's pairs, decoded."""
        return urllib.parse.parse_qsl(self.line.split(" ")[1].partition("?")[2], keep_blank_values=True)

    @property
    def document(self) -> dict[str, Any]:
        """The body when it is a JSON object; else an empty one."""
        found = json.loads(self.body or b"{}")
        return found if isinstance(found, dict) else {}

    @property
    def is_dry_run(self) -> bool:
        """Whether kube-apiserver would store nothing: of a deletion with a body it does not read the query, and of an
        eviction it reads both."""
        if self.line.startswith("DELETE ") and self.body:
            return self.document.get("dryRun") == ["All"]
        options = self.document.get("deleteOptions")
        if "/eviction" in self.line and isinstance(options, dict) and options.get("dryRun") == ["All"]:
            return True
        return [value for key, value in self.query if key == "dryRun"] == ["All"]

    def header(self, name: str) -> list[str]:
        """All values of one header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(frozen=True)
class Info:
    """What kube-apiserver calls RequestInfo."""

    method: str
    path: str
    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def read(line: str) -> Info:
    """The request line as kube-apiserver understands it. Fails on one that it, or a proxy before it, might understand
    otherwise."""
    match = re.fullmatch(r"([A-Z]+) (/[!-~]*) HTTP/1\.1", line)
    assert match, f"not a request line in origin form: {line!r}"
    method, target = match.groups()
    raw, _, query = target.partition("?")
    assert "#" not in target and "//" not in raw, line
    path = urllib.parse.unquote(raw, errors="strict")
    assert path.count("/") == raw.count("/") and path.isprintable() and "%" not in path and "\\" not in path, line
    assert not {".", ".."} & set(path.split("/")), line
    options = dict(urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    parts = path.strip("/").split("/")
    plain = Info(method, path, method.lower())
    if parts[0] not in {"api", "apis"} or len(parts) < (3 if parts[0] == "api" else 4):
        return plain
    group = "" if parts.pop(0) == "api" else parts.pop(0)
    version = parts.pop(0)
    verb = VERBS.get(method, "")
    if parts[0] in {"proxy", "watch"}:
        assert len(parts) > 1, line
        verb = parts.pop(0)
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in {"status", "finalize"}:
            parts = parts[2:]
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    name = parts[1] if len(parts) > 1 else ""
    if not name and verb == "get":
        verb = "watch" if options.get("watch", "false").lower() not in {"", "false", "0"} else "list"
    if not name and verb == "delete":
        verb = "deletecollection"
    return Info(method, path, verb, True, group, version, parts[0], subresource, namespace, name)


def kubeconfig(port: int, folder: Path) -> Path:
    """How to reach the server at a port of this machine, as a user with a token."""
    path = folder / "recorder.kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "recorder",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "recorder", "context": {"cluster": "c", "user": "u", "namespace": "home"}}],
    }))  # fmt: skip
    return path


class Recorder:
    """The server. `seen` is everything that reached it, in order."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.location = ""
        """When set, every answer is a redirect to this URL."""
        self.faults: list[tuple[str, int]] = []
        """Each is the answer, by its status, to one request whose line has a text in it."""
        self.described: set[tuple[str, str]] = set()
        """Groups and versions of which somebody was told that they know dry runs; kept by whoever judges."""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = listener.Listener(self._serve)
        self.port = self._listener.port

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def take(self) -> list[Seen]:
        """What was seen since the last time."""
        with self._lock:
            seen, self.seen = self.seen, []
        return seen

    def kubeconfig(self, folder: Path) -> Path:
        """How to reach this server, as a user with a token."""
        return kubeconfig(self.port, folder)

    def _serve(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.add(sock)
        with contextlib.suppress(OSError), sock, sock.makefile("rb") as stream:
            while line := stream.readline():
                seen = _request(line, stream)
                with self._lock:
                    self.seen.append(seen)
                sock.sendall(self._reply(seen))
        with self._lock:
            self._open.discard(sock)

    def _reply(self, seen: Seen) -> bytes:
        if self.location:
            return _redirect(self.location)
        with self._lock:
            fault = next((fault for fault in self.faults if fault[0] in seen.line), None)
            if fault is None:
                return _answer(seen)
            self.faults.remove(fault)
        return f"HTTP/1.1 {fault[1]} Fault\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".encode()


def _request(line: bytes, stream: Any) -> Seen:
    headers = []
    while (text := stream.readline().decode("latin-1").rstrip("\r\n")) != "":
        key, _, value = text.partition(":")
        headers.append((key, value.strip()))
    length = next((int(value) for key, value in headers if key.lower() == "content-length"), 0)
    return Seen(line.decode("latin-1").rstrip("\r\n"), tuple(headers), stream.read(length))


def _answer(seen: Seen) -> bytes:
    kind, text = _content(seen)
    data = text.encode()
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def _redirect(location: str) -> bytes:
    return f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


def _content(seen: Seen) -> tuple[str, str]:
    try:
        info = read(seen.line)
    except AssertionError:
        return "text/plain", "unreadable"  # the test fails on it later
    if not info.is_resource:
        return "application/json", json.dumps(_document(info.path.strip("/").split("/")))
    if info.subresource == "log":
        return "text/plain", "a line\n"
    if info.verb == "watch":
        return "application/json", json.dumps({"type": "ADDED", "object": _object(info)}) + "\n"
    if info.verb == "create" and not info.name:
        return "application/json", json.dumps(_made(info, seen))
    return "application/json", json.dumps(_listing(info) if info.verb == "list" else _object(info))


def _kind(info: Info) -> str:
    return (
        IMITATIONS.get(info.group, {}).get(info.resource)
        or kinds.kind_of(info.group, info.resource)
        or info.resource.capitalize()
    )


def _object(info: Info) -> dict[str, Any]:
    version = f"{info.group}/{info.version}" if info.group else info.version
    metadata = {
        "name": info.name or "one",
        "namespace": info.namespace or "home",
        "uid": UID,
        "resourceVersion": VERSION,
    }
    secret = _secret(metadata) if (info.group, info.resource) == ("", "secrets") else {}
    return {"apiVersion": version, "kind": _kind(info), "metadata": metadata, "spec": {}, "status": {}, **secret}


def _made(info: Info, seen: Seen) -> dict[str, Any]:
    """What a POST creates; what it only tries has no version, since it is not stored."""
    made = _object(replace(info, name=seen.document.get("metadata", {}).get("name", "")))
    if seen.is_dry_run:
        del made["metadata"]["resourceVersion"]
    return made


def _secret(metadata: dict[str, Any]) -> dict[str, Any]:
    """The content of a Secret; its metadata gets everything that repeats a part of the content."""
    content = {"data": {KEY_CANARY: CANARY}, "stringData": {KEY_CANARY: CANARY}, "type": CANARY}
    metadata["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:data": {f"f:{KEY_CANARY}": {}}}}]
    metadata["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(content),
        "kapp.k14s.io/original": json.dumps(content),
        "tool.example/copy": json.dumps({"kind": "Secret", **content}),
        "plain": "stays",
    }
    metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "u", "extra": CANARY}]
    metadata[KEY_CANARY] = CANARY
    return {**content, "immutable": True}


def _listing(info: Info) -> dict[str, Any]:
    one = _object(info)
    return {**one, "kind": one["kind"] + "List", "metadata": {"resourceVersion": "1"}, "items": [one]}


def _document(parts: list[str]) -> dict[str, Any]:
    groups = {name: dict(known) for name, known in (*kinds.BUILT_IN.items(), *IMITATIONS.items())}
    if parts[:3] == ["openapi", "v3", "apis"] and len(parts) == 5:
        return _description(parts[3])
    if parts == ["version"]:
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts == ["apis"]:
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups if name]}
    if parts[0] == "apis" and len(parts) == 2:
        return _group(parts[1])
    if parts == ["api", "v1"] or (parts[0] == "apis" and len(parts) == 3):
        name = "" if parts[0] == "api" else parts[1]
        return {"kind": "APIResourceList", "groupVersion": "/".join(parts[1:]), "resources": [
            _entry(name, plural, kind) for plural, kind in groups.get(name, {}).items()
        ]}  # fmt: skip
    return {}


def _description(group: str) -> dict[str, Any]:
    """The OpenAPI document of a group, with what matters here: the parameters of a write."""
    names = ["fieldManager"] if group == DEAF else ["dryRun", "fieldManager"]
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    return {"openapi": "3.0.0", "paths": {f"/apis/{group}/v1/things/{{name}}": {"patch": {"parameters": parameters}}}}


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _entry(group: str, plural: str, kind: str) -> dict[str, Any]:
    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    short = {"secrets": ["sec"], "pods": ["po"], "configmaps": ["cm"]}.get(plural, [])
    namespaced = (group, plural) in kinds.NAMESPACED or group in IMITATIONS
    return {
        "name": plural, "kind": kind, "singularName": kind.lower(), "namespaced": namespaced, "verbs": verbs, "shortNames": short,
    }  # fmt: skip
