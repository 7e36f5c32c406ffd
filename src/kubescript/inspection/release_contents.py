"""The permitted part of one revision of a Helm release, which Helm stores as gzip in base64 in a Secret or ConfigMap.

A release contains every rendered manifest, including Secrets, and every template and file of its chart. None of this
passes. The rest is rewritten, field by field, and masked like any body. `inspector` calls this module. A stranger may
have written the release, so each step is bounded and takes time linear in its bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from kubescript_masking.engine import gzipped, program

__all__ = ["ReleaseError", "write"]

# API servers accept objects of 1.5 MiB, which base64 enlarges.
_MAX_HELD: Final = 4 * 1024 * 1024
"""The maximum size in bytes of the object that stores a release."""
# Attack: a Secret of 1 MiB decompresses to 600 MiB. The largest charts have releases of 5 MiB.
_MAX_RELEASE: Final = 16 * 1024 * 1024
"""The maximum size of a release's JSON in bytes."""
_MAX_OBJECTS: Final = 2_000
"""How many objects of a manifest are named at most."""
_GZIP: Final = b"\x1f\x8b\x08"
_OWNER: Final = "helm"
_KIND: Final = "Release"
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class ReleaseError(program.WithheldError):
    """The body is not a release in Helm's format, or is too large."""

    def __init__(self) -> None:
        super().__init__("release")


class _Labels(msgspec.Struct):
    owner: str


class _Metadata(msgspec.Struct):
    labels: _Labels


class _Data(msgspec.Struct):
    release: str


class _Holder(msgspec.Struct):
    """A Secret or ConfigMap that Helm wrote."""

    kind: str
    metadata: _Metadata
    data: _Data


class _Info(msgspec.Struct, omit_defaults=True):
    first_deployed: str = ""
    last_deployed: str = ""
    deleted: str = ""
    description: str = ""
    status: str = ""
    notes: str = ""


class _Dependency(msgspec.Struct, omit_defaults=True):
    name: str = ""
    version: str = ""
    repository: str = ""


class _ChartMetadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str = ""
    version: str = ""
    app_version: str = ""
    kube_version: str = ""
    type: str = ""
    description: str = ""
    home: str = ""
    deprecated: bool = False
    dependencies: list[_Dependency] | None = None


class _Chart(msgspec.Struct, omit_defaults=True):
    metadata: _ChartMetadata | None = None
    values: dict[str, Any] | None = None


class _Run(msgspec.Struct, omit_defaults=True):
    started_at: str = ""
    completed_at: str = ""
    phase: str = ""


class _Hook(msgspec.Struct, omit_defaults=True):
    name: str = ""
    kind: str = ""
    path: str = ""
    events: list[str] | None = None
    last_run: _Run | None = None
    weight: int = 0
    delete_policies: list[str] | None = None


class _Name(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Object(msgspec.Struct, rename="camel"):
    """An object in a manifest written as JSON."""

    api_version: str = ""
    kind: str = ""
    metadata: _Name = msgspec.field(default_factory=_Name)


class _Reference(msgspec.Struct, omit_defaults=True, rename="camel"):
    """The fields of an object in a manifest that are shown."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Release(msgspec.Struct, omit_defaults=True):
    """A release in Helm's format."""

    name: str
    info: _Info
    version: int
    namespace: str = ""
    chart: _Chart | None = None
    config: dict[str, Any] | None = None
    hooks: list[_Hook] | None = None
    manifest: str = ""


class _Brief(msgspec.Struct, omit_defaults=True):
    """A release in a list."""

    kind: str
    name: str
    namespace: str
    version: int
    info: _Info
    chart: _Chart | None


class _Written(msgspec.Struct, omit_defaults=True):
    """The permitted part of a release."""

    kind: str
    name: str
    namespace: str
    version: int
    info: _Info
    chart: _Chart | None
    config: dict[str, Any] | None
    hooks: list[_Hook] | None
    resources: list[_Reference]


def write(chunks: Iterable[bytes], *, brief: bool) -> Iterator[bytes]:
    """Yields one revision of a release as JSON. Raises ReleaseError."""
    body = _join(chunks, _MAX_HELD)
    content = _unpack(_unwrap(body))
    found = _decode(content, _Release)
    written = _brief(found) if brief else _whole(found)
    yield msgspec.json.encode(written)


def _brief(found: _Release) -> _Brief:
    """Returns a release without its notes and values, which lists do not need."""
    found.info.notes = ""
    if found.chart is not None:
        found.chart.values = None
    return _Brief(_KIND, found.name, found.namespace, found.version, found.info, found.chart)


def _whole(found: _Release) -> _Written:
    return _Written(
        kind=_KIND,
        name=found.name,
        namespace=found.namespace,
        version=found.version,
        info=found.info,
        chart=found.chart,
        config=found.config,
        hooks=found.hooks,
        resources=list(_references(found.manifest)),
    )


def _unwrap(body: bytes) -> bytes:
    """Returns the bytes that Helm stored."""
    holder = _decode(body, _Holder)
    # Attack: a Secret that Helm did not write is read as a release.
    if holder.metadata.labels.owner != _OWNER:
        raise ReleaseError
    packed = _from_base64(holder.data.release.encode())
    # The API encodes the data of a Secret in base64 once more.
    if holder.kind == "Secret":
        packed = _from_base64(packed)
    return packed


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ReleaseError from None


def _unpack(packed: bytes) -> bytes:
    """Returns the JSON of a release."""
    # The first versions of Helm did not compress releases.
    if not packed.startswith(_GZIP):
        return packed
    chunks = gzipped.decompress(iter((packed,)))
    try:
        return _join(chunks, _MAX_RELEASE)
    except gzipped.BrokenError:
        raise ReleaseError from None


def _join(chunks: Iterable[bytes], most: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > most:
            raise ReleaseError
    return bytes(body)


def _decode(raw: bytes, shape: type[_Shape]) -> _Shape:
    """Returns the fields of a shape; all others are left out. Raises ReleaseError."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ReleaseError from None


def _references(manifest: str) -> Iterator[_Reference]:
    """Yields references to the objects in a manifest."""
    documents = f"\n{manifest}".split("\n---")
    for document in documents[: _MAX_OBJECTS + 1]:
        is_json = document.lstrip().startswith("{")
        found = _of_json(document) if is_json else _of_yaml(document)
        if found.kind:
            yield found


def _of_json(document: str) -> _Reference:
    """Reads the fields that name an object; they are empty if the document is not JSON."""
    try:
        found = msgspec.json.decode(document, type=_Object)
    except (msgspec.MsgspecError, RecursionError):
        return _Reference()
    return _Reference(
        api_version=found.api_version,
        kind=found.kind,
        namespace=found.metadata.namespace,
        name=found.metadata.name,
    )


def _of_yaml(document: str) -> _Reference:
    """Reads the fields that name an object, if they are written as is usual in templates: one field per line."""
    # No available YAML parser limits the time that it takes, so only block-style fields in the usual position are read.
    found = _Reference()
    section, indent = "", 0
    for line in document.split("\n"):
        text = line.lstrip(" ")
        key, _, value = text.partition(":")
        depth = len(line) - len(text)
        if depth == 0 and text and not text.startswith(("#", "-")):
            section, indent = key, 0
            if key == "apiVersion":
                found.api_version = _scalar(value)
            elif key == "kind":
                found.kind = _scalar(value)
        elif section == "metadata" and depth and depth == (indent or depth) and not text.startswith("#"):
            indent = depth
            if key == "name":
                found.name = _scalar(value)
            elif key == "namespace":
                found.namespace = _scalar(value)
    return found


def _scalar(text: str) -> str:
    """Returns a value without quotes or a trailing comment."""
    value, _, _ = text.partition(" #")
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value
