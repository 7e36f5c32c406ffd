"""Saves a cluster to disk, so that `snapshot.snapshot` can serve it later. Called by `kubescript snapshot OUT`.

Everything is read through the broker, as a script reads it: objects that the policy denies are never written, those
that it serves as metadata are saved as metadata, objects that RBAC refuses are recorded as missing, and redaction
applies. The folder appears at OUT complete or not at all.

`snapshot.saved_cluster` describes the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.broker import broker, records
from kubescript.capture import cluster_client, container_logs, directory, sources
from kubescript.kube import kinds
from kubescript.snapshot import saved_cluster
from kubescript.sources import door

__all__ = ["Report", "capture"]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_LINES: Final = 100
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXTS: Final = msgspec.json.Decoder(dict[str, str])


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version | None = None


# Attack: a server sends `{}` or a Status with the status 200, which would pass for a cluster or a group without
# resources.
class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Versions(msgspec.Struct):
    versions: list[str]


class _Entry(msgspec.Struct):
    """A resource, or a subresource."""

    name: str
    kind: str
    namespaced: bool
    verbs: list[str] | None = None

    @property
    def can_be_listed(self) -> bool:
        """Whether the entry is a resource that can be listed; the name of a subresource has a slash."""
        if "/" in self.name or self.verbs is None:
            return False
        return "list" in self.verbs


class _Entries(msgspec.Struct):
    resources: list[_Entry]


@dataclass(slots=True)
class Report:
    """A summary of what was saved, and what is missing."""

    path: Path
    objects: int = 0
    resources: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Why each resource, such as `secrets`, is missing."""
    logs: container_logs.PodLogs = field(default_factory=container_logs.PodLogs)
    sources: list[str] = field(default_factory=list)
    """The names of the saved sources."""

    def lines(self) -> Iterator[str]:
        """Yields each missing part and the reason; logs that are missing for the same reason share a line."""
        shown = sorted(self.missing.items())
        for what, why in shown[:_MAX_LINES]:
            yield f"{what}: {why}"
        if len(shown) > _MAX_LINES:
            yield f"{len(shown) - _MAX_LINES} more, see snapshot.json"
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
    sources_: door.Door | None = None,
    series: Iterable[str] = (),
) -> Report:
    """Saves everything that can be listed (in `namespaces`, if given), the last `logs` lines of every container, and
    what `sources_` know, with further `series` by their selectors.

    Raises ConfigError when OUT exists or cannot be written (disk full included), and ClusterError when the cluster
    cannot be reached at all. In both cases nothing is left behind.
    """
    with directory.atomic(out) as folder:
        source = cluster_client.Client(broker_.handle, journal)
        started = datetime.now(UTC)
        report = Report(out)
        if sources_ is not None:  # first, because their "now" is that of the capture
            beside = sources.Sources(sources_, folder, journal, int(started.timestamp()))
            beside.save(series)
            report.sources, report.missing = beside.saved, beside.missing
        return _Capture(source, folder, namespaces).run(report, started, cluster, namespace, logs)


class _Capture:
    """One run of a capture."""

    def __init__(
        self, source: cluster_client.Client, folder: directory.Directory, namespaces: Iterable[str] | None
    ) -> None:
        self._source = source
        self._folder = folder
        self._namespaces = None
        if namespaces is not None:
            self._namespaces = sorted(set(namespaces))
        self._logs = container_logs.PodLogs()

    def run(self, report: Report, started: datetime, cluster: str, namespace: str, logs: int | None) -> Report:
        """Saves everything of the cluster, and fills in `report`."""
        for name in self._namespaces or ():
            # A misspelt name must not pass for an empty namespace.
            if self._source.is_missing_namespace(name):
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
        """Returns the server's version; when it cannot be read, records that in the report and returns None."""
        path = ("version",)
        try:
            document = self._source.get(path, timeout_s=cluster_client.SMALL_S)
            return cluster_client.decode(document, dict[str, msgspec.Raw])
        except cluster_client.ReadFailed as error:
            report.missing["version"] = str(error)
            return None

    def _discover(self, report: Report) -> Iterator[tuple[str, str, list[_Entry]]]:
        """Yields (group, version, listable resources); each resource once, in the preferred version if that has it.

        Raises ClusterError when discovery fails.
        """
        versions = self._document("api", _Versions)
        self._folder.write(("discovery", "api.json"), versions)
        groups = self._document("apis", _Groups)
        self._folder.write(("discovery", "apis.json"), groups)
        listed: set[tuple[str, str]] = set()
        for group, version, path in dict.fromkeys(_group_versions(groups)):
            try:
                document = self._source.get(path, timeout_s=cluster_client.SMALL_S)
                resources = cluster_client.decode(document, _Entries).resources
            except cluster_client.ReadFailed as error:
                # An aggregated API is down. All others can still be saved.
                report.missing[f"{group}/{version}"] = str(error)
                continue
            self._folder.write(("discovery", group or "core", f"{version}.json"), document)
            # Two entries with the same name would be written to the same file.
            entries = {entry.name: entry for entry in resources if entry.can_be_listed}
            fresh = [entry for name, entry in entries.items() if (group, name) not in listed]
            yield group, version, fresh
            listed.update((group, name) for name in entries)

    def _resource(self, report: Report, group: str, version: str, entry: _Entry) -> None:
        """Saves all objects of one resource, or records in the report why they cannot be saved."""
        name = entry.name
        namespaces = self._namespaces if entry.namespaced else None
        file = self._folder.file("resources", group or "core", version, f"{name}.json")
        try:
            count = self._write_list(file, group, version, entry, namespaces)
        except cluster_client.ReadFailed as error:
            file.unlink(missing_ok=True)
            report.missing[kinds.full_name(group, name)] = str(error)
            return
        report.objects += count
        saved = {
            "group": group,
            "version": version,
            "resource": name,
            "kind": entry.kind,
            "namespaced": entry.namespaced,
            "namespaces": namespaces,
            "items": count,
        }
        if self._source.metadata_rule:
            saved["metadataOnly"] = True
        report.resources.append(saved)

    def _write_list(self, file: Path, group: str, version: str, entry: _Entry, namespaces: Iterable[str] | None) -> int:
        """Writes the list page by page, as it arrives.

        Raises cluster_client.ReadFailed when any page fails, and leaves an incomplete file.
        """
        # The caller deletes the incomplete file: a part of a list must not pass for the whole.
        count = 0
        api_version = kinds.api_version(group, version)
        empty = {"kind": f"{entry.kind}List", "apiVersion": api_version, "metadata": {}}
        head = msgspec.json.encode(empty).removesuffix(b"}")
        scopes: Iterable[str | None] = (None,) if namespaces is None else namespaces
        with directory.open_private(file) as stream:
            stream.write(head + b',"items":[')
            for scope in scopes:
                for item in self._items(group, version, entry.name, scope):
                    if count:
                        stream.write(b",")
                    stream.write(item)
                    count += 1
            stream.write(b"]}")
        return count

    def _items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[bytes]:
        """Yields the objects of one list in their saved form; notes the pods, whose logs are saved later."""
        is_pods = group == "" and plural == "pods"
        for raw in self._source.items(group, version, plural, namespace):
            try:
                if is_pods:
                    self._logs.add(raw)
                item = _without_copies(raw)
            except (msgspec.MsgspecError, KeyError, RecursionError):
                # An item without metadata is not an object.
                raise cluster_client.ReadFailed(cluster_client.NO_LIST) from None
            yield item

    def _describe(self, report: Report, started: datetime, cluster: str, namespace: str, server: object) -> None:
        """Writes snapshot.json."""
        # This file is written last: a folder without it is not a snapshot.
        reasons = dict(report.missing)
        for log, why in report.logs.missing.items():
            reasons[f"log {log}"] = why
        missing = [{"what": what, "why": why} for what, why in sorted(reasons.items())]
        captured_at = started.isoformat(timespec="seconds").replace("+00:00", "Z")
        info = {
            "format": saved_cluster.FORMAT,
            "capturedAt": captured_at,
            "cluster": cluster,
            "namespace": namespace,
            "server": server,
            "resources": report.resources,
            "missing": missing,
            "sources": report.sources,
        }
        document = msgspec.json.encode(info)
        text = msgspec.json.format(document, indent=1)
        self._folder.write(("snapshot.json",), text)

    def _document(self, name: str, shape: type[msgspec.Struct]) -> bytes:
        """Reads a discovery document that a capture cannot do without. Raises ClusterError."""
        path = (name,)
        try:
            document = self._source.get(path, timeout_s=cluster_client.SMALL_S)
            cluster_client.decode(document, shape)
        except cluster_client.ReadFailed as error:
            raise errors.ClusterError(f"/{name} cannot be read: {error}") from None
        return document


def _group_versions(groups: bytes) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yields group, version and path of each discovery document, the core group first."""
    yield "", "v1", ("api", "v1")
    found = cluster_client.decode(groups, _Groups)
    for group in found.groups:
        name = group.name
        for version in _versions(group):
            path = ("apis", name, version)
            yield name, version, path


def _versions(group: _Group) -> list[str]:
    """Returns all versions of a group, the preferred one first."""
    # The other versions are needed too: some kinds are served only in one of them.
    versions = [one.version for one in group.versions]
    preferred = group.preferred_version
    if preferred is not None:
        versions.insert(0, preferred.version)
    return list(dict.fromkeys(versions))


def _without_copies(raw: msgspec.Raw) -> bytes:
    """Returns the object without managedFields and last-applied-configuration."""
    # These fields are half of every object; last-applied-configuration copies values that redaction recognizes in the
    # original.
    item = _FIELDS.decode(raw)
    metadata = _FIELDS.decode(item["metadata"])
    metadata.pop("managedFields", None)
    if "annotations" in metadata:
        annotations = _TEXTS.decode(metadata["annotations"])
        if annotations.pop(_LAST_APPLIED, None) is not None:
            encoded = msgspec.json.encode(annotations)
            metadata["annotations"] = msgspec.Raw(encoded)
    encoded = msgspec.json.encode(metadata)
    item["metadata"] = msgspec.Raw(encoded)
    return msgspec.json.encode(item)
