"""Save a cluster to disk, to be looked at later through `cluster.snapshot`. Called by `kubescript snapshot OUT`.

Everything is read through the broker, like a script would: what the policy denies is never written, what RBAC refuses
is recorded as missing, and redaction applies. The folder appears at OUT whole or not at all. The format is described in
`cluster.store`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.broker import broker, records
from kubescript.capture import client, directory, logs
from kubescript.cluster import store

__all__ = ["Report", "capture"]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXTS: Final = msgspec.json.Decoder(dict[str, str])


@dataclass(slots=True)
class Report:
    """What was saved and what is missing."""

    path: Path
    objects: int = 0
    resources: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """`secrets` → why."""
    logs: logs.PodLogs = field(default_factory=logs.PodLogs)

    def lines(self) -> Iterator[str]:
        """What is missing and why, logs of the same fate in one line."""
        yield from (f"{what}: {why}" for what, why in sorted(self.missing.items()))
        yield from self.logs.summary()


def capture(
    broker_: broker.Broker,
    out: Path,
    *,
    cluster: str = "",
    namespace: str = "default",
    namespaces: Iterable[str] | None = None,
    logs: int | None = None,
    journal: records.Journal | None = None,
) -> Report:
    """Save everything that can be listed (of `namespaces`, if given) and the last `logs` lines of every container.

    Raises ConfigError when OUT exists or cannot be written (disk full included), ClusterError when the cluster cannot
    be asked at all. Nothing is left behind then.
    """
    with directory.atomic(out) as folder:
        source = client.Client(broker_, journal)
        return _Capture(source, folder, namespaces).run(Report(out), cluster, namespace, logs)


class _Capture:
    """One run."""

    def __init__(self, source: client.Client, folder: directory.Directory, namespaces: Iterable[str] | None) -> None:
        self._source = source
        self._folder = folder
        self._namespaces = None if namespaces is None else sorted(set(namespaces))
        self._logs = logs.PodLogs()

    def run(self, report: Report, cluster: str, namespace: str, logs: int | None) -> Report:
        started = datetime.now(UTC)
        for name in self._namespaces or ():
            if self._source.is_missing_namespace(name):  # a slip must not pass for an empty namespace
                raise errors.ConfigError(f"there is no namespace {name!r}", remedy="check --namespaces")
        server = self._version(report)
        for group, version, entries in self._discover(report):
            for entry in entries:
                self._resource(report, group, version, entry)
        if logs is not None:
            self._logs.save(self._source, self._folder, logs)
            report.logs = self._logs
        self._describe(report, started, cluster, namespace, server)
        return report

    def _version(self, report: Report) -> object:
        try:
            return client.fields(self._source.get(("version",), timeout_s=client.SMALL_S))
        except client.ReadFailed as error:
            report.missing["version"] = str(error)
            return None

    def _discover(self, report: Report) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
        """(group, version, listable resources); each resource once, in the preferred version when that has it.

        Raises ClusterError when there is no discovery.
        """
        self._folder.write(("discovery", "api.json"), self._document("api"))
        groups = self._document("apis")
        self._folder.write(("discovery", "apis.json"), groups)
        wanted: list[tuple[str, str, tuple[str, ...]]] = [("", "v1", ("api", "v1"))]
        for group in client.fields(groups).get("groups") or []:
            wanted += [(group["name"], version, ("apis", group["name"], version)) for version in _versions(group)]
        listed: set[tuple[str, str]] = set()
        for name, version, path in wanted:
            try:
                document = self._source.get(path, timeout_s=client.SMALL_S)
                resources = client.fields(document).get("resources") or []
            except client.ReadFailed as error:  # an aggregated API that is down: what else there is stays readable
                report.missing[f"{name}/{version}"] = str(error)
                continue
            self._folder.write(("discovery", name or "core", f"{version}.json"), document)
            entries = [entry for entry in resources if _listable(entry)]
            yield name, version, [entry for entry in entries if (name, entry["name"]) not in listed]
            listed |= {(name, entry["name"]) for entry in entries}

    def _resource(self, report: Report, group: str, version: str, entry: dict[str, Any]) -> None:
        full = entry["name"] + (f".{group}" if group else "")
        scopes = [None] if self._namespaces is None or not entry["namespaced"] else self._namespaces
        file = self._folder.file("resources", group or "core", version, f"{entry['name']}.json")
        try:
            count = self._write_list(file, group, version, entry, scopes)
        except client.ReadFailed as error:
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

        Raises client.ReadFailed, leaving half a file, when any page fails: no part passes for all.
        """
        count = 0
        api_version = f"{group}/{version}" if group else version
        head = msgspec.json.encode({"kind": f"{entry['kind']}List", "apiVersion": api_version, "metadata": {}})
        with directory.open_private(file) as stream:
            stream.write(head[:-1] + b',"items":[')
            for scope in scopes:
                for item in self._items(group, version, entry["name"], scope):
                    stream.write((b"," if count else b"") + item)
                    count += 1
            stream.write(b"]}")
        return count

    def _items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[bytes]:
        for raw in self._source.items(group, version, plural, namespace):
            try:
                if (group, plural) == ("", "pods"):
                    self._logs.add(raw)
                item = _without_copies(raw)
            except (msgspec.MsgspecError, KeyError):  # an item without metadata is no object
                raise client.ReadFailed(client.NO_LIST) from None
            yield item

    def _describe(self, report: Report, started: datetime, cluster: str, namespace: str, server: object) -> None:
        """Written last: a folder without it is no snapshot."""
        missing = report.missing | {f"log {log}": why for log, why in report.logs.missing.items()}
        info = {
            "format": store.FORMAT, "capturedAt": started.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "cluster": cluster, "namespace": namespace, "server": server, "resources": report.resources,
            "missing": [{"what": what, "why": why} for what, why in sorted(missing.items())],
        }  # fmt: skip
        self._folder.write(("snapshot.json",), json.dumps(info, indent=1).encode())

    def _document(self, *path: str) -> bytes:
        try:
            document = self._source.get(path, timeout_s=client.SMALL_S)
            client.fields(document)
        except client.ReadFailed as error:
            raise errors.ClusterError(f"/{'/'.join(path)} cannot be read: {error}") from None
        return document


def _versions(group: dict[str, Any]) -> list[str]:
    """All versions of a group, the preferred one first: a kind may be served in another one only."""
    preferred = [group["preferredVersion"]["version"]] if group.get("preferredVersion") else []
    return list(dict.fromkeys([*preferred, *(one["version"] for one in group["versions"])]))


def _listable(entry: dict[str, Any]) -> bool:
    return "/" not in entry["name"] and "list" in (entry.get("verbs") or [])


def _without_copies(raw: msgspec.Raw) -> bytes:
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
