"""Owns `Overlay`, the objects of one cluster as a script's plan would leave them. session.py records each planned write
in it, and takes the answers of later reads from it.

In plan mode the host only tries a write (dryRun=All), so the cluster still has what it had. Each dry run begins with
the live object: what two writes change in one object is put together here. Nothing but the script's own view depends on
this; what is sent after an approval is the host's plan.

Watches, logs, tables and lists as raw text come as the cluster has them.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubescript.kube import kinds, paths, selectors
from kubescript.wire import exchanges
from kubescript.wire.exchanges import Call
from kubescript.worker.sdk import lazy_json, rebasing, transport

__all__ = ["Answer", "Overlay"]

Object = dict[str, Any]
METADATA: Final = frozenset({"metadata", "names"})
"""Representations of an object that leave its content out."""
_OBJECTS: Final = METADATA | {"json"}


@dataclass(slots=True)
class _Planned:
    """One object as the plan would leave it."""

    version: str = ""
    body: bytes | None = None
    """The whole object as JSON; None: as the cluster has it, but for `replicas`."""
    rule: str = ""
    """The rule by which it is metadata alone; empty when it is whole."""
    live: bytes | None = None
    """The object that the dry runs began with, once it was needed."""
    replicas: int | None = None
    created: bool = False
    gone: bool = False

    def shows_in(self, version: str) -> bool:
        """Whether its body can stand in answers of this version: an object is not converted here."""
        return self.body is not None and not self.gone and self.version == version


class Answer:
    """An answer that is not, or not wholly, the cluster's."""

    def __init__(self, reply: exchanges.Reply, body: Iterator[bytes], stop: Callable[[], None] = lambda: None) -> None:
        self.reply = reply
        self._body = body
        self.stop = stop

    def chunks(self) -> Iterator[bytes]:
        """The body."""
        return self._body


class Overlay:
    """What the planned writes of one script change in one cluster."""

    def __init__(self) -> None:
        self._objects: dict[paths.Key, _Planned] = {}
        self._shown: dict[str, frozenset[paths.Key]] = {}
        """Planned objects that earlier pages of a list have shown, by the token of the next page."""

    # --- writes -----------------------------------------------------------------------------------------------------

    def record(
        self, call: Call, reply: exchanges.Reply, body: bytes, read_live: Callable[[tuple[str, ...]], bytes | None]
    ) -> bytes:
        """Takes the answer to a planned write. Returns it as the script gets it: with what the plan changes in the
        object already. `read_live` reads an object of the cluster."""
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
        spec = lazy_json.decode_all(body).get("spec") or {}
        planned = self._objects.setdefault(target.key, _Planned())
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
        if not target.name:
            target = target._replace(name=_name(lazy_json.decode_all(body)))
        earlier = self._objects.get(target.key, _Planned())
        live = earlier.live
        if earlier.shows_in(target.version) and earlier.body is not None:
            if live is None and not earlier.created:
                live = read_live(call.path[: len(call.path) - bool(target.subresource)])
            if live is not None:
                body = rebasing.rebased(earlier.body, live, body)
        elif earlier.replicas is not None:
            body = _with_replicas(body, earlier.replicas)
        self._objects[target.key] = _Planned(
            version=target.version,
            body=body,
            rule=reply.metadata_rule,
            live=live,
            replicas=earlier.replicas,
            created=earlier.created or call.method == "POST" or reply.status == 201,
        )
        return body

    def advice(self, call: Call, status: int | None) -> str:
        """Returns what to say of a write that the API server refused because it has not seen the plan; else an empty
        text."""
        target = paths.locate(call.path)
        if target is not None and call.method == "POST" and status == 409 and not target.name:
            target = target._replace(name=_name(lazy_json.decode_all(bytes(call.body))))
        planned = self._objects.get(target.key) if target is not None else None
        if target is None or planned is None:
            return ""
        if call.method == "POST" and status == 409 and planned.gone:
            return "so far only the plan deletes this object: create it in the next script"
        if not planned.created or status != 404:
            return ""
        is_removal = call.method == "DELETE" or target.subresource == "eviction"
        instead = "leave the creation out" if is_removal else "put the change into the object that it creates"
        return f"so far only the plan has this object: {instead}"

    # --- reads of one object ----------------------------------------------------------------------------------------

    def answer(self, call: Call, perform: Callable[[Call], transport.Exchange]) -> transport.Exchange:
        """Returns the answer to a call: the cluster's, or for a planned object the plan's."""
        target = paths.locate(call.path) if call.method == "GET" and not call.stream else None
        planned = self._objects.get(target.key) if target is not None else None
        if target is None or planned is None or call.accept not in _OBJECTS:
            return perform(call)
        if target.subresource not in ("", "status", "scale"):
            return perform(call)
        if planned.gone:
            return Answer(exchanges.Reply(404, "Not Found", "application/json"), iter([_missing(target)]))
        if target.subresource != "scale" and planned.shows_in(target.version):
            reply = exchanges.Reply(200, "OK", "application/json", metadata_rule=planned.rule)
            shown = _shown(planned, metadata_only=call.accept in METADATA)
            return Answer(reply, iter([lazy_json.encode(shown)]))
        return _scaled(perform(call), planned)

    # --- lists ------------------------------------------------------------------------------------------------------

    def concerns(self, call: Call) -> bool:
        """Whether the answer to a call is a list in which planned objects may stand."""
        target = paths.locate(call.path) if call.method == "GET" and call.accept in _OBJECTS else None
        return target is not None and not target.name and bool(self._of(target))

    def merge(self, call: Call, head: Object, items: list[Any], *, metadata_only: bool) -> None:
        """Makes of a list's items those that the plan would leave. Created objects, and those that match only since
        they were changed, stand on the first page, at their place by namespace and name."""
        target = paths.locate(call.path)
        if target is None:
            return
        query = dict(call.query)
        earlier = self._shown.get(query.get("continue", ""), frozenset())
        planned = self._of(target)
        here = [_key(target, item) for item in items]
        shown = set(planned).intersection(here) if "continue" in query else set(planned)
        kept = [
            (key, item) for key, item in zip(here, items, strict=True)
            if key not in planned or (key not in earlier and not _replaces(planned[key], target.version))
        ]  # fmt: skip
        for key, item in kept:
            if key in planned:
                _set_replicas(item, planned[key].replicas)
        added = []
        for key in shown - earlier:
            entry = planned[key]
            if entry.shows_in(target.version) and _matches(entry, query):
                added.append((key, _shown(entry, metadata_only=metadata_only)))
        for key, item in added:
            bisect.insort(kept, (key, item), key=lambda pair: pair[0])
        items[:] = [item for _, item in kept]
        if token := (head.get("metadata") or {}).get("continue"):
            self._shown[token] = earlier.union(key for key, _ in added)

    def _of(self, target: paths.Location) -> dict[paths.Key, _Planned]:
        """Returns the planned objects of a collection."""
        return {
            key: planned for key, planned in self._objects.items()
            if key[:2] == (target.group, target.resource) and target.namespace in ("", key[2])
        }  # fmt: skip


def _key(target: paths.Location, item: Any) -> paths.Key:
    """Returns the key of an item of a list."""
    metadata = _field(item, "metadata")
    name, namespace = _field(metadata, "name"), _field(metadata, "namespace")
    return target.group, target.resource, namespace or "", name or ""


def _name(data: Object) -> str:
    name: str = (data.get("metadata") or {}).get("name") or ""
    return name


def _field(data: Any, key: str) -> Any:
    """Returns a field of an object of which not all levels are decoded; None when there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    if type(value) is msgspec.Raw:
        value = data[key] = lazy_json.open_raw(value)
    return value


def _replaces(planned: _Planned, version: str) -> bool:
    """Whether an item of a list leaves it for the planned object, or for good."""
    return planned.gone or planned.shows_in(version)


def _set_replicas(item: Any, replicas: int | None) -> None:
    spec = _field(item, "spec")
    # A custom resource may keep them elsewhere, under a name that only its definition tells.
    if replicas is not None and isinstance(spec, dict) and "replicas" in spec:
        spec["replicas"] = replicas


def _with_replicas(body: bytes, replicas: int | None) -> bytes:
    data = lazy_json.open_map(body)
    _set_replicas(data, replicas)
    return lazy_json.encode(data)


def _shown(planned: _Planned, *, metadata_only: bool) -> Object:
    """Returns a planned object as an answer has it."""
    assert planned.body is not None
    data: Object = lazy_json.open_map(planned.body)
    if not (metadata_only or planned.rule):
        return data
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": data["metadata"]}


def _matches(planned: _Planned, query: dict[str, str]) -> bool:
    """Whether an object is picked by the selectors of a list."""
    assert planned.body is not None
    try:
        by_label = selectors.labels(query.get("labelSelector", ""))
        by_field, _ = selectors.fields(query.get("fieldSelector", ""))
    except selectors.SelectorError:  # the API server has understood it, so it is newer than this code
        return True
    data = lazy_json.decode_all(planned.body)
    return (by_label is None or by_label(data)) and (by_field is None or by_field(data))


def _scaled(exchange: transport.Exchange, planned: _Planned) -> transport.Exchange:
    """Returns the cluster's answer with the planned number of replicas; works for the object and for its scale."""
    replicas = planned.replicas
    if planned.body is not None:
        replicas = (lazy_json.decode_all(planned.body).get("spec") or {}).get("replicas", replicas)
    if exchange.reply.status != 200:
        return exchange

    def body() -> Iterator[bytes]:
        yield _with_replicas(b"".join(exchange.chunks()), replicas)

    return Answer(exchange.reply, body(), exchange.stop)


def _missing(target: paths.Location) -> bytes:
    """Returns what the API server says of an object that is not there."""
    resource = kinds.full_name(target.group, target.resource)
    details = {"name": target.name, **({"group": target.group} if target.group else {}), "kind": target.resource}
    message = f'{resource} "{target.name}" not found'
    fixed = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return lazy_json.encode({**fixed, "message": message, "reason": "NotFound", "details": details, "code": 404})
