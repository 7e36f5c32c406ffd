"""The saved objects of one resource: raw JSON items, indexed by namespace and name. `saved_cluster` and
`manifest_files` make them, and `snapshot` reads them.

An item is decoded only as far as a request needs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.kube import kinds, selectors
from kubescript_sandbox.host import cancellation

__all__ = [
    "MAX_BYTES", "Check", "Collection", "Deadline", "Item", "Resource", "as_list_item", "as_object", "check_json",
    "split_list",
]  # fmt: skip

Check = Callable[[], None]
"""A function that is called repeatedly while a request is answered; raises ClusterError once the answer is no longer
needed."""

MAX_BYTES: Final = 512 * 1024**2
"""The maximum size of one JSON file of objects in bytes."""
_MAX_VALUES: Final = 32_000_000
_CHECK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Deadline:
    """The check of one request."""

    at: float
    """When the answer is no longer needed, on the `time.monotonic` clock."""
    cancel: cancellation.Cancellation

    def __call__(self) -> None:
        """Raises ClusterError when the answer is no longer needed."""
        if self.cancel.cancelled:
            raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")
        if time.monotonic() > self.at:
            raise errors.ClusterError(
                "the snapshot could not be read within the call's time; what was read so far is kept: ask again, with "
                "fewer terms in the selectors if there are many",
                code="cluster.timeout",
            )


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource type, as in discovery."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The apiVersion, as in manifests: `v1`, `apps/v1`."""
        return kinds.api_version(self.group, self.version)


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class Item(msgspec.Struct):
    """One object: its namespace, name and labels, and the whole object as JSON text."""

    namespace: str
    name: str
    labels: dict[str, str] | None
    raw: msgspec.Raw

    def view(self, *, deep: bool) -> Mapping[str, Any]:
        """Returns the fields that selectors read, or with `deep` the whole object."""
        if deep:
            return msgspec.json.decode(self.raw, type=dict[str, Any])
        return {"metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels}}


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


_OBJECT: Final = msgspec.json.Decoder(_Object)
_LIST: Final = msgspec.json.Decoder(_List)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass
class Collection:
    """All saved objects of one resource. `scope` contains the captured namespaces; None means all of them."""

    resource: Resource
    raws: Callable[[], Iterable[msgspec.Raw]]
    """A function that reads the items. It is called once, and again only after a failure."""
    scope: frozenset[str] | None = None
    metadata_only: bool = False
    """Whether only the objects' metadata was saved."""
    is_selection: bool = False
    """Whether objects were saved one by one, so that others may have existed."""
    _items: list[Item] | None = None
    _index: dict[tuple[str, str], Item] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: futures.Future[None] | None = None
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, check: Check) -> None:
        """Waits until the items are read. Raises ClusterError when they are damaged, and what `check` raises."""
        # Two GiB of YAML take half an hour. A separate thread reads them, so that no script waits beyond its time, and
        # later scripts find them read.
        with self._starting:
            if self._items is not None:
                return
            if self._reading is None or self._reading.done():
                self._reading = _in_thread(lambda: self.items)
            reading = self._reading
        while not futures.wait((reading,), _CHECK_S).done:
            check()
        reading.result()

    @property
    def items(self) -> list[Item]:
        """The items in the API server's order: by namespace, then by name. The first thread to use them reads them."""
        with self._lock:
            if self._items is None:
                items = self._read()
                items.sort(key=lambda item: (item.namespace, item.name))
                self._index = {(item.namespace, item.name): item for item in items}
                self._items = items
            return self._items

    def _read(self) -> list[Item]:
        try:
            return [_item(raw) for raw in self.raws()]
        except (msgspec.MsgspecError, RecursionError):
            raise errors.ClusterError(
                f"{self.resource.plural} of the snapshot are damaged: one of them has no readable metadata",
                code="cluster.broken",
            ) from None

    def get(self, namespace: str, name: str) -> Item | None:
        """Returns the object of that name; None if it does not exist."""
        self.items  # noqa: B018 - fills the index
        if not self.resource.namespaced:
            namespace = ""
        return self._index.get((namespace, name))

    def select(self, namespace: str, label_selector: str, field_selector: str, check: Check) -> Iterator[Item]:
        """Returns the objects of one namespace (of all when empty) that match both selectors. Raises SelectorError; the
        iterator raises what `check` raises."""
        by_label = selectors.labels(label_selector)
        known = selectors.list_indexed(self.resource.group, self.resource.plural)
        by_field, deep = selectors.fields(field_selector, known)
        # A generator expression instead of `yield`, so that errors in the selectors are raised now, not at the first
        # item.
        return (
            item for item in _check_each(self.items, check)
            if (not namespace or item.namespace == namespace)
            and (by_label is None or by_label(item.view(deep=False)))
            and (by_field is None or by_field(item.view(deep=deep)))
        )  # fmt: skip

    def covers(self, namespace: str) -> bool:
        """Says whether the namespace (all of them when empty) was captured."""
        if self.scope is None or not self.resource.namespaced:
            return True
        return bool(namespace) and namespace in self.scope


def _in_thread(work: Callable[[], object]) -> futures.Future[None]:
    """Does `work` in a separate thread, which continues even if its result is no longer needed."""
    future: futures.Future[None] = futures.Future()

    def run() -> None:
        try:
            work()
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="kubescript-snapshot", daemon=True).start()
    return future


def _check_each(items: Iterable[Item], check: Check) -> Iterator[Item]:
    # Attack: a selector of eight thousand terms matches no object of a large snapshot.
    for item in items:
        check()
        yield item


def split_list(data: bytes) -> list[msgspec.Raw]:
    """Returns the undecoded items of a list document. Raises MsgspecError or RecursionError when it is not a list."""
    check_json(data)
    return _LIST.decode(data).items


def check_json(data: bytes) -> None:
    """Raises msgspec.ValidationError for JSON with too many values to decode."""
    # Attack: each value of `[[],[],[],…` takes 3 bytes in the file and 80 in memory.
    if data.count(b",") + data.count(b"[") + data.count(b"{") > _MAX_VALUES:
        raise msgspec.ValidationError(f"more than {_MAX_VALUES} values")


def as_list_item(raw: msgspec.Raw | bytes, resource: Resource) -> msgspec.Raw:
    """Returns the object as an item of the API server's list."""
    # Items of built-in kinds have neither kind nor apiVersion in a list.
    if resource.group not in kinds.BUILT_IN:
        return as_object(raw, resource)
    fields = _FIELDS.decode(raw)
    if "kind" not in fields and "apiVersion" not in fields:
        return msgspec.Raw(bytes(raw))
    fields.pop("kind", None)
    fields.pop("apiVersion", None)
    return msgspec.Raw(msgspec.json.encode(fields))


def as_object(raw: msgspec.Raw | bytes, resource: Resource) -> msgspec.Raw:
    """Returns the object as in the API server's answer to a GET: with kind and apiVersion first."""
    text = bytes(raw).lstrip()
    fields = _FIELDS.decode(text)
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    if "kind" in fields and "apiVersion" in fields:
        return msgspec.Raw(text)
    return msgspec.Raw(msgspec.json.encode({**head, **fields}))


def _item(raw: msgspec.Raw) -> Item:
    """Decodes only an object's metadata."""
    metadata = _OBJECT.decode(raw).metadata
    return Item(metadata.namespace, metadata.name, metadata.labels, raw)
