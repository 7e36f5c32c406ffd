"""Provides `Overlay`, the objects of one cluster as a script's plan would leave them. session.py records each planned
write in it, and takes the answers to later reads from it.

In plan mode the host only tries a write (dryRun=All), so the cluster does not change. Each dry run begins with the live
object, so changes of two writes to one object are combined here. Only the script's own view depends on this; after an
approval, the host sends its own plan.

Watches, logs, tables and lists as raw text show the cluster without the plan.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.calls import rebasing, transport
from kubescript.guest.sdk.values import lazy_json
from kubescript.kube import kinds, paths, selectors
from kubescript.wire import exchanges
from kubescript.wire.exchanges import Call

__all__ = ["METADATA", "Overlay"]

Object = dict[str, Any]
METADATA: Final = frozenset({"metadata", "names"})
"""Representations of an object that leave its content out."""
_OBJECTS: Final = METADATA | {"json"}


@dataclass(slots=True)
class _Planned:
    """One object as the plan would leave it."""

    version: str = ""
    body: bytes | None = None
    """The whole object as JSON; None when the plan changes only its `replicas`."""
    rule: str = ""
    """The rule that hides all of the object but its metadata; empty if the object is whole."""
    live: bytes | None = None
    """The object with which the dry runs began; it is read when it is first needed."""
    replicas: int | None = None
    created: bool = False
    gone: bool = False

    def shows_in(self, version: str) -> bool:
        """Says whether the object's body can be shown in answers of this version."""
        # Only the API server can convert an object between versions.
        return self.body is not None and not self.gone and self.version == version


class Overlay:
    """The planned changes of one script to one cluster."""

    def __init__(self) -> None:
        self._objects: dict[paths.Key, _Planned] = {}
        self._shown: dict[str, frozenset[paths.Key]] = {}
        """Planned objects that earlier pages of a list have shown, by the token of the next page."""

    # --- writes -----------------------------------------------------------------------------------------------------

    def record(
        self, call: Call, reply: exchanges.Reply, body: bytes, read_live: Callable[[tuple[str, ...]], bytes | None]
    ) -> bytes:
        """Records the answer to a planned write. Returns it as the script gets it, with the plan's earlier changes to
        the object. `read_live` reads an object of the cluster."""
        target = paths.locate(call.path)
        if target is None:
            return body
        if call.method == "DELETE" or target.subresource == "eviction":
            self._objects[target.key] = _Planned(gone=True)
        elif target.subresource == "scale":
            self._scale(target, body)
        elif call.method != "POST" or not target.subresource:
            return self._change(target, call, reply, body, read_live)
        return body

    def _scale(self, target: paths.Location, body: bytes) -> None:
        """Records the number of replicas in a Scale."""
        scale = lazy_json.decode_all(body)
        spec = scale.get("spec") or {}
        planned = self._objects.setdefault(target.key, _Planned())
        # The API server leaves out a number of zero.
        planned.replicas = spec.get("replicas", 0)
        if planned.body is not None:
            planned.body = _with_replicas(planned.body, planned.replicas)

    def _change(
        self,
        target: paths.Location,
        call: Call,
        reply: exchanges.Reply,
        body: bytes,
        read_live: Callable[[tuple[str, ...]], bytes | None],
    ) -> bytes:
        """Records the object that a write leaves. Returns it with the plan's earlier changes."""
        # The path of a POST has no name: the API server may have made one, by `generateName`.
        if not target.name:
            target = target._replace(name=_name(lazy_json.decode_all(body)))
        earlier = self._objects.get(target.key, _Planned())
        live = earlier.live
        if earlier.shows_in(target.version) and earlier.body is not None:
            # The cluster has no live form of an object that the plan creates.
            if live is None and not earlier.created:
                object_path = call.path[:-1] if target.subresource else call.path
                live = read_live(object_path)
            if live is not None:
                body = rebasing.rebase(earlier.body, live, body)
        elif earlier.replicas is not None:
            body = _with_replicas(body, earlier.replicas)
        # A server-side apply is a PATCH that may create an object; only the status 201 shows that it did.
        creates = call.method == "POST" or reply.status == 201
        self._objects[target.key] = _Planned(
            version=target.version,
            body=body,
            rule=reply.metadata_rule,
            live=live,
            replicas=earlier.replicas,
            created=earlier.created or creates,
        )
        return body

    def advice(self, call: Call, status: int | None) -> str:
        """Returns the hint for a write that the API server refused because it does not know the plan; else an empty
        string."""
        target = paths.locate(call.path)
        if target is None:
            return ""
        planned = self._objects.get(target.key)
        if planned is None or not planned.created or status != 404:
            return ""
        instead = "put the change into the object that it creates"
        if call.method == "DELETE" or target.subresource == "eviction":
            instead = "leave the creation out"
        return f"so far only the plan has this object: {instead}"

    # --- reads of one object ----------------------------------------------------------------------------------------

    def answer(self, call: Call, perform: Callable[[Call], transport.Exchange]) -> transport.Exchange:
        """Returns the answer to a call: from the cluster, or for a planned object from the plan."""
        target = self._locate_object(call)
        if target is None:
            return perform(call)
        planned = self._objects[target.key]
        if planned.gone:
            reply = exchanges.Reply(404, "Not Found", "application/json")
            return transport.Answer(reply, iter([_missing(target)]))
        if target.subresource != "scale" and planned.shows_in(target.version):
            reply = exchanges.Reply(200, "OK", "application/json", metadata_rule=planned.rule)
            shown = _render(planned, metadata_only=call.accept in METADATA)
            body = lazy_json.encode(shown)
            return transport.Answer(reply, iter([body]))
        return _apply_scale(perform(call), planned)

    def _locate_object(self, call: Call) -> paths.Location | None:
        """Returns the location of the planned object that a call reads; None for any other call."""
        if call.method != "GET" or call.stream or call.accept not in _OBJECTS:
            return None
        target = paths.locate(call.path)
        if target is None or target.key not in self._objects:
            return None
        # Other subresources, such as a pod's log, are not in the plan.
        if target.subresource not in ("", "status", "scale"):
            return None
        return target

    # --- lists ------------------------------------------------------------------------------------------------------

    def concerns(self, call: Call) -> bool:
        """Says whether the answer to a call is a list that may contain planned objects."""
        if call.method != "GET" or call.accept not in _OBJECTS:
            return False
        target = paths.locate(call.path)
        if target is None or target.name:
            return False
        return bool(self._of(target))

    def merge(self, call: Call, head: Object, items: list[Any], *, metadata_only: bool) -> None:
        """Changes a list's items to those that the plan would leave. Objects that are created, or match the selectors
        only after their change, are put on the first page, sorted by namespace and name."""
        target = paths.locate(call.path)
        if target is None:
            return
        query = dict(call.query)
        earlier = self._shown.get(query.get("continue", ""), frozenset())
        planned = self._of(target)
        kept = []
        candidates = set(planned)
        here = [_key(target, item) for item in items]
        # A later page only replaces its own items: the first page has shown all other planned objects.
        if "continue" in query:
            candidates.intersection_update(here)
        for key, item in zip(here, items, strict=True):
            entry = planned.get(key)
            if entry is not None:
                if key in earlier or _replaces(entry, target.version):
                    continue
                _set_replicas(item, entry.replicas)
            kept.append((key, item))
        added = []
        for key in candidates - earlier:
            entry = planned[key]
            if entry.shows_in(target.version) and _matches(entry, query):
                rendered = _render(entry, metadata_only=metadata_only)
                added.append((key, rendered))
        for pair in added:
            bisect.insort(kept, pair, key=lambda pair: pair[0])
        items[:] = [item for _, item in kept]
        token = (head.get("metadata") or {}).get("continue")
        if token:
            added_keys = [key for key, _ in added]
            self._shown[token] = earlier.union(added_keys)

    def _of(self, target: paths.Location) -> dict[paths.Key, _Planned]:
        """Returns the planned objects of a collection; without a namespace, those of all namespaces."""
        found = {}
        for key, planned in self._objects.items():
            group, resource, namespace, _ = key
            if (group, resource) != (target.group, target.resource):
                continue
            if target.namespace in ("", namespace):
                found[key] = planned
        return found


def _key(target: paths.Location, item: Any) -> paths.Key:
    """Returns the key of an item of a list."""
    metadata = _field(item, "metadata")
    name = _field(metadata, "name")
    namespace = _field(metadata, "namespace")
    return target.group, target.resource, namespace or "", name or ""


def _name(data: Object) -> str:
    """Returns an object's name; an empty string if it has none."""
    metadata = data.get("metadata") or {}
    name: str = metadata.get("name") or ""
    return name


def _field(data: Any, key: str) -> Any:
    """Decodes a field of a partly decoded object and returns it; None if it is absent."""
    if not isinstance(data, dict):
        return None
    value = data.get(key)
    if type(value) is msgspec.Raw:
        value = data[key] = lazy_json.open_raw(value)
    return value


def _replaces(planned: _Planned, version: str) -> bool:
    """Says whether the plan deletes an item of a list, or replaces it with the planned object."""
    # An item of another version cannot be replaced: only the API server converts objects.
    return planned.gone or planned.shows_in(version)


def _set_replicas(item: Any, replicas: int | None) -> None:
    """Sets `spec.replicas`, where the object has it."""
    spec = _field(item, "spec")
    # A custom resource may have its number elsewhere; only its definition names the field.
    if replicas is not None and isinstance(spec, dict) and "replicas" in spec:
        spec["replicas"] = replicas


def _with_replicas(body: bytes, replicas: int | None) -> bytes:
    """Returns an encoded object with this number of replicas."""
    data = lazy_json.open_map(body)
    _set_replicas(data, replicas)
    return lazy_json.encode(data)


def _render(planned: _Planned, *, metadata_only: bool) -> Object:
    """Returns a planned object in the form of an answer."""
    assert planned.body is not None
    data: Object = lazy_json.open_map(planned.body)
    if not (metadata_only or planned.rule):
        return data
    # The policy withholds the rest, so the plan must not show it either.
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": data["metadata"]}


def _matches(planned: _Planned, query: dict[str, str]) -> bool:
    """Says whether an object matches a list's selectors."""
    assert planned.body is not None
    try:
        by_label = selectors.labels(query.get("labelSelector", ""))
        by_field, _ = selectors.fields(query.get("fieldSelector", ""))
    except selectors.SelectorError:
        # The API server has accepted the selector, so the selector's syntax must be newer than this code.
        return True
    data = lazy_json.decode_all(planned.body)
    if by_label is not None and not by_label(data):
        return False
    return by_field is None or by_field(data)


def _apply_scale(exchange: transport.Exchange, planned: _Planned) -> transport.Exchange:
    """Returns the cluster's answer with the planned number of replicas; works for the object and for its scale."""
    replicas = planned.replicas
    if planned.body is not None:
        data = lazy_json.decode_all(planned.body)
        spec = data.get("spec") or {}
        replicas = spec.get("replicas", replicas)
    if exchange.reply.status != 200:
        return exchange

    def body() -> Iterator[bytes]:
        yield _with_replicas(b"".join(exchange.chunks()), replicas)

    return transport.Answer(exchange.reply, body(), exchange.stop)


def _missing(target: paths.Location) -> bytes:
    """Returns the Status that the API server sends for an object that does not exist."""
    resource = kinds.full_name(target.group, target.resource)
    details = {"name": target.name}
    if target.group:
        details["group"] = target.group
    details["kind"] = target.resource
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'{resource} "{target.name}" not found',
        "reason": "NotFound",
        "details": details,
        "code": 404,
    }
    return lazy_json.encode(status)
