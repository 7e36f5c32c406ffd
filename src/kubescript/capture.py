"""Save a cluster to disk, to be looked at later through `cluster.snapshot`. Called by `kubescript snapshot OUT`.

Everything is read through the broker, like a script would: what the policy denies is never written, what RBAC refuses
is recorded as missing, and redaction applies. The folder appears at OUT whole or not at all. The format is described in
`cluster.saved`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from kubescript import broker, errors, records, tallies, types
from kubescript.cluster import saved
from kubescript.sandbox import protocol

__all__ = ["Report", "capture"]

_PAGE: Final = 500
"""Objects per page: bounds memory; the pages of one list show one moment."""
_CALL_S: Final = 120.0
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXTS: Final = msgspec.json.Decoder(dict[str, str])


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None


@dataclass(slots=True)
class Report:
    """What was saved and what is missing."""

    path: Path
    objects: int = 0
    resources: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """`secrets` → why."""
    logs: int = 0


class _Refused(Exception):
    """One call got no usable answer; its text says why."""


def capture(
    door: broker.Broker,
    out: Path,
    *,
    cluster: str = "",
    namespace: str = "default",
    namespaces: Iterable[str] | None = None,
    logs: int | None = None,
    progress: Callable[[str], None] = lambda _text: None,
    journal: records.Journal | None = None,
) -> Report:
    """Save everything that can be listed (of `namespaces`, if given) and the last `logs` lines of every container.

    Raises ConfigError when OUT exists or cannot be written (disk full included), ClusterError when the cluster cannot
    be asked at all. Nothing is left behind then.
    """
    if out.exists():
        raise errors.ConfigError(f"{out} exists already; choose another name or remove it")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise errors.ConfigError(f"cannot write in {out.parent}: {error.strerror}") from None
    try:
        report = _Capture(door, folder, namespaces, progress, journal).run(Report(out), cluster, namespace, logs)
        folder.rename(out)
    except OSError as error:
        raise errors.ConfigError(f"the snapshot could not be written: {error.strerror}; nothing was kept") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


class _Capture:
    """One run."""

    def __init__(
        self,
        door: broker.Broker,
        folder: Path,
        namespaces: Iterable[str] | None,
        progress: Callable[[str], None],
        journal: records.Journal | None,
    ) -> None:
        self._door = door
        self._journal = journal
        self._folder = folder
        self._namespaces = None if namespaces is None else sorted(set(namespaces))
        self._progress = progress
        self._pods: list[tuple[str, str, list[str]]] = []

    def run(self, report: Report, cluster: str, namespace: str, logs: int | None) -> Report:
        started = datetime.now(UTC)
        server = self._version(report)
        for group, version, entries in self._discover(report):
            for entry in entries:
                self._resource(report, group, version, entry)
        if logs is not None:
            self._logs(report, logs)
        self._describe(report, started, cluster, namespace, server)
        return report

    def _version(self, report: Report) -> object:
        try:
            return msgspec.json.decode(self._get(("version",)))
        except _Refused as error:
            report.missing["version"] = str(error)
            return None

    def _discover(self, report: Report) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
        """(group, version, listable resources); each resource once, in the preferred version when that has it.

        Raises ClusterError when there is no discovery.
        """
        self._keep(("discovery", "api.json"), self._document("api"))
        groups = self._document("apis")
        self._keep(("discovery", "apis.json"), groups)
        wanted: list[tuple[str, str, tuple[str, ...]]] = [("", "v1", ("api", "v1"))]
        for group in msgspec.json.decode(groups).get("groups") or []:
            wanted += [(group["name"], version, ("apis", group["name"], version)) for version in _versions(group)]
        seen: set[tuple[str, str]] = set()
        for name, version, path in wanted:
            try:
                document = self._get(path)
            except _Refused as error:  # an aggregated API that is down: what else there is stays readable
                report.missing[f"{name}/{version}"] = str(error)
                continue
            self._keep(("discovery", name or "core", f"{version}.json"), document)
            entries = [entry for entry in msgspec.json.decode(document).get("resources") or [] if _listable(entry)]
            yield name, version, [entry for entry in entries if (name, entry["name"]) not in seen]
            seen |= {(name, entry["name"]) for entry in entries}

    def _resource(self, report: Report, group: str, version: str, entry: dict[str, Any]) -> None:
        full = entry["name"] + (f".{group}" if group else "")
        self._progress(full)
        scopes = [None] if self._namespaces is None or not entry["namespaced"] else self._namespaces
        file = self._path("resources", group or "core", version, f"{entry['name']}.json")
        try:
            count = self._write_list(file, group, version, entry, scopes)
        except _Refused as error:
            file.unlink(missing_ok=True)
            report.missing[full] = str(error)
            return
        report.objects += count
        report.resources.append({
            "group": group, "version": version, "resource": entry["name"], "kind": entry["kind"],
            "namespaced": entry["namespaced"], "namespaces": None if scopes == [None] else scopes, "items": count,
        })  # fmt: skip

    def _write_list(
        self, file: Path, group: str, version: str, entry: dict[str, Any], scopes: Iterable[str | None]
    ) -> int:
        """Write the list in pages as it arrives.

        Raises _Refused, leaving half a file, when any page fails: no part passes for all.
        """
        count = 0
        api_version = f"{group}/{version}" if group else version
        head = msgspec.json.encode({"kind": f"{entry['kind']}List", "apiVersion": api_version, "metadata": {}})
        with _private(file) as stream:
            stream.write(head[:-1] + b',"items":[')
            for scope in scopes:
                for item in self._items(group, version, entry["name"], scope):
                    stream.write((b"," if count else b"") + item)
                    count += 1
            stream.write(b"]}")
        return count

    def _items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[bytes]:
        base = ("apis", group, version) if group else ("api", version)
        path = (*base, "namespaces", namespace, plural) if namespace is not None else (*base, plural)
        token = ""
        while True:
            query = (("limit", str(_PAGE)), *((("continue", token),) if token else ()))
            try:
                page = msgspec.json.decode(self._get(path, query), type=_Page)
                for raw in page.items or ():
                    if (group, plural) == ("", "pods"):
                        self._pods.append(_containers(raw))
                    yield _slimmed(raw)
            except msgspec.MsgspecError:
                raise _Refused("the answer was not a list") from None
            token = page.metadata.get("continue") or ""
            if not token:
                return

    def _logs(self, report: Report, lines: int) -> None:
        for namespace, pod, containers in self._pods:
            for container in containers:
                self._progress(f"log {namespace}/{pod} {container}")
                path = ("api", "v1", "namespaces", namespace, "pods", pod, "log")
                query = (("container", container), ("tailLines", str(lines)), ("timestamps", "true"))
                try:
                    text = self._get(path, query, "text")
                except _Refused as error:
                    report.missing[f"log {namespace}/{pod} {container}"] = str(error)
                    continue
                self._keep(("logs", namespace, pod, f"{container}.log"), text)
                report.logs += 1

    def _describe(self, report: Report, started: datetime, cluster: str, namespace: str, server: object) -> None:
        """Written last: a folder without it is no snapshot."""
        info = {
            "format": saved.FORMAT, "capturedAt": started.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "cluster": cluster, "namespace": namespace, "server": server, "resources": report.resources,
            "missing": [{"what": what, "why": why} for what, why in sorted(report.missing.items())],
        }  # fmt: skip
        self._keep(("snapshot.json",), json.dumps(info, indent=1).encode())

    def _document(self, *path: str) -> bytes:
        try:
            return self._get(path)
        except _Refused as error:
            raise errors.ClusterError(f"/{'/'.join(path)} cannot be read: {error}") from None

    def _get(
        self, path: tuple[str, ...], query: tuple[tuple[str, str], ...] = (), accept: protocol.Accept = "json"
    ) -> bytes:
        """The whole body of one GET. Raises _Refused."""
        call = protocol.Call("GET", path, query, accept=accept)
        reply, response = self._door.handle(call, self._tally(), _CALL_S)
        if reply.fault is not None or response is None:
            raise _Refused(reply.fault.message if reply.fault else "no answer")
        with contextlib.closing(response):
            return _read(response)

    def _tally(self) -> tallies.Tally:
        return tallies.Tally() if self._journal is None else tallies.Tally(journal=self._journal)

    def _keep(self, path: tuple[str, ...], data: bytes) -> None:
        with _private(self._path(*path)) as stream:
            stream.write(data)

    def _path(self, *parts: str) -> Path:
        """A file below the folder. Names come from the API server, which is not trusted to stay inside it."""
        if any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in parts):
            raise errors.ClusterError(f"the API server named {'/'.join(parts)[:200]!r}, which cannot be a file name")
        folder = self._folder
        for part in parts[:-1]:
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder / parts[-1]


def _read(response: types.Response) -> bytes:
    try:
        body = b"".join(response.chunks)
    except errors.KubescriptError as error:
        raise _Refused(error.message) from None
    if response.status == 200:
        return body
    message = ""
    with contextlib.suppress(msgspec.MsgspecError):
        message = str(msgspec.json.decode(body, type=dict[str, Any]).get("message", ""))[:300]
    raise _Refused(f"{response.status} {response.reason}: {message}".rstrip(": "))


def _versions(group: dict[str, Any]) -> list[str]:
    """All versions of a group, the preferred one first: a kind may be served in another one only."""
    preferred = [group["preferredVersion"]["version"]] if group.get("preferredVersion") else []
    return list(dict.fromkeys([*preferred, *(one["version"] for one in group["versions"])]))


def _listable(entry: dict[str, Any]) -> bool:
    return "/" not in entry["name"] and "list" in (entry.get("verbs") or [])


def _containers(raw: msgspec.Raw) -> tuple[str, str, list[str]]:
    pod = msgspec.json.decode(raw, type=dict[str, Any])
    names = [one["name"] for kind in ("initContainers", "containers") for one in pod.get("spec", {}).get(kind) or []]
    return pod["metadata"].get("namespace", ""), pod["metadata"]["name"], names


def _slimmed(raw: msgspec.Raw) -> bytes:
    """Without managedFields and last-applied.

    Half of every object, and a second copy of values that redaction knows in the first.
    """
    item = _FIELDS.decode(raw)
    metadata = _FIELDS.decode(item["metadata"])
    metadata.pop("managedFields", None)
    if "annotations" in metadata:
        annotations = _TEXTS.decode(metadata["annotations"])
        if annotations.pop(_LAST_APPLIED, None) is not None:
            metadata["annotations"] = msgspec.Raw(msgspec.json.encode(annotations))
    item["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(item)


def _private(file: Path) -> IO[bytes]:
    """A new file that only its owner can read; an existing one is an error, not followed."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
