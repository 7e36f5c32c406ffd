"""Forms of one write: its dry run, the read of its object, and the write with its precondition.

The broker and the plans send these. Bodies here are canonical JSON that `request.json_body` has checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from kubescript import errors
from kubescript.kube import kinds, paths
from kubescript.request import request

__all__ = [
    "add_name",
    "bound",
    "canonical",
    "creation",
    "dry_run",
    "guard",
    "is_dry_run",
    "mark",
    "move",
    "name",
    "names_version",
    "read",
    "removes",
    "rename",
    "target",
]  # fmt: skip

_IN_BODY: Final = frozenset({"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"})
"""Query parameters of a deletion that may also be in its body."""
_MANAGED_FIELDS: Final = "managedFields"
# With this version, the API server answers with 409 if the object exists.
_ABSENT: Final = "1"
"""A resourceVersion that no object has."""


def canonical(call: request.Request) -> request.Request:
    """Returns the write with all options of a deletion in its body, without managedFields, the API server's own record,
    and with a namespace inside itself. Raises RequestError for an invalid option, and for a patch of managedFields."""
    call = _with_options(call) if call.verb == "delete" else _without_managed_fields(call)
    # Attack: a namespace that must not be changed, or only by two people, is created by POST, whose path names none, or
    # deleted by OpenShift's name for it.
    if kinds.is_namespace(call.group, call.resource):
        call = replace(call, namespace=name(call))
    for asked in _dry_runs(call):
        # Attack: ?dryRun=all counts as a dry run here, but not at a server that compares it with All.
        if asked not in (None, [], ["All"]):
            raise errors.RequestError("a dry run is asked for with dry_run='All'", code="request.dry_run")
    return call


def is_dry_run(call: request.Request) -> bool:
    """Says whether a canonical write itself asks for a dry run."""
    return any(_dry_runs(call))


def dry_run(call: request.Request) -> request.Request:
    """Returns the canonical write as a dry run, which it may be already."""
    # The options of a deletion are in its body, and the API server ignores the query of a deletion with a body. Attack:
    # a proxy drops the body, and the dry run deletes.
    query = (*(pair for pair in call.query if pair[0] != "dryRun"), ("dryRun", "All"))
    body = call.body
    if call.verb == "delete":
        body = _encode(_decode(call) | {"dryRun": ["All"]})
    return replace(call, query=query, body=body, dry_run=True)


def removes(call: request.Request) -> bool:
    """Says whether a write removes its object."""
    return call.verb == "delete" or call.subresource == "eviction"


def name(call: request.Request) -> str:
    """Returns the name of the write's object; for a creation, the name in its body."""
    if call.name or call.body is None:
        return call.name
    metadata = _decode(call).get("metadata")
    if not isinstance(metadata, dict):
        return ""
    found = metadata.get("name")
    return found if isinstance(found, str) else ""


def add_name(call: request.Request, name: str) -> request.Request:
    """Returns a write with the name of its object in the path; a creation has it only in its body."""
    if call.name:
        return call
    return replace(call, name=name, path=f"{call.path}/{name}")


def creation(call: request.Request) -> request.Request:
    """Returns a creation or an apply as a creation. Raises RequestError."""
    if not call.name:
        return call
    named_in_body = rename(call, call.name)
    collection, _, _ = call.path.rpartition("/")
    query = tuple(pair for pair in call.query if pair[0] != "force")
    return replace(
        named_in_body,
        method="POST",
        path=collection,
        query=query,
        verb="create",
        name="",
        content_type="application/json",
    )


def rename(call: request.Request, name: str) -> request.Request:
    """Returns the same creation or apply for an object of another name. Raises RequestError."""
    body = _decode(call)
    body["metadata"] = _mapping(body, "metadata") | {"name": name}
    path = call.path
    if call.name:
        collection, _, _ = path.rpartition("/")
        path = f"{collection}/{name}"
    return replace(call, path=path, name=name if call.name else "", body=_encode(body))


def move(call: request.Request, namespace: str) -> request.Request:
    """Returns the same creation or apply for another namespace. Raises RequestError if the body names a third one."""
    body = _decode(call)
    metadata = _mapping(body, "metadata")
    # The API server would refuse this at its own place.
    if metadata.get("namespace", call.namespace) != call.namespace:
        raise errors.RequestError("`metadata.namespace` must be the namespace of the request", code="request.body")
    body["metadata"] = metadata | {"namespace": namespace}
    parts = paths.join(call.group, call.version, call.resource, namespace, call.name or None)
    return replace(call, path="/" + "/".join(parts), namespace=namespace, body=_encode(body))


def target(call: request.Request) -> request.Request | None:
    """Returns the request that reads the write's object; None for a creation."""
    if not call.name:
        return None
    path = call.path
    if call.subresource:
        # The object itself has the labels and the uid, which a subresource may lack.
        path = path.removesuffix(f"/{call.subresource}")
    return replace(read(call), path=path, subresource="")


def read(call: request.Request) -> request.Request:
    """Returns the request that reads what a write is sent to: its object, or a subresource of it."""
    return replace(
        call,
        method="GET",
        query=(),
        verb="get",
        body=None,
        content_type="application/json",
        accept="application/json",
    )


def guard(call: request.Request, uid: str, resource_version: str) -> request.Request:
    """Returns the canonical write with the precondition that its object is this one, in this version; with an empty
    `uid`, the precondition is that the object does not exist.

    Raises RequestError if the body has no place for the precondition.
    """
    if not call.name:
        return call  # the name must be unused; otherwise the API server answers with 409
    if not uid:
        # Attack: another client creates the object first, and this apply changes an object that was never shown.
        resource_version = _ABSENT
    if call.content_type.startswith("application/json-patch"):
        # The precondition comes last. Attack: one of the script's operations removes the version, and with it the
        # precondition.
        lock = {"op": "add", "path": "/metadata/resourceVersion", "value": resource_version}
        return replace(call, body=_encode([*_operations(call), lock]))
    body = _decode(call)
    both = {"uid": uid, "resourceVersion": resource_version} if uid else {"resourceVersion": resource_version}
    if call.verb == "delete":
        body["preconditions"] = both
    elif call.subresource == "eviction":
        body["deleteOptions"] = _mapping(body, "deleteOptions") | {"preconditions": both}
    elif call.method == "PATCH" and not call.content_type.startswith("application/apply-patch"):
        body["metadata"] = _mapping(body, "metadata") | {"resourceVersion": resource_version}
    else:
        # Attack: the object is deleted at this moment, and a PUT or an apply with a version alone makes it again.
        body["metadata"] = _mapping(body, "metadata") | both
    return replace(call, body=_encode(body))


def mark(call: request.Request, manager: str) -> request.Request:
    """Returns the creation with a field manager by which its object is known later; the call itself, if it is no
    creation, or names a manager."""
    names_manager = any(key == "fieldManager" for key, _ in call.query)
    if call.method != "POST" or call.subresource or names_manager:
        return call
    query = (*call.query, ("fieldManager", manager))
    return replace(call, query=query)


def bound(call: request.Request, seconds: int) -> request.Request:
    """Returns the write with the time after which the API server gives up on it and writes nothing any more."""
    query = (*call.query, ("timeout", f"{seconds}s"))
    return replace(call, query=query)


def names_version(call: request.Request) -> bool:
    """Says whether a canonical write already has a precondition: the version that its script has read."""
    if call.content_type.startswith("application/json-patch"):
        operations = _operations(call)
        return any(map(_sets_version, operations))
    body = _decode(call)
    return "resourceVersion" in _mapping(body, "metadata")


def _sets_version(operation: object) -> bool:
    """Says whether an operation of a JSON patch sets the precondition."""
    if not isinstance(operation, dict):
        return False
    # A test only reads the version.
    is_write = operation.get("op") != "test"
    return is_write and bool(operation.get("path") == "/metadata/resourceVersion")


def _with_options(call: request.Request) -> request.Request:
    # kube-apiserver ignores the query of a deletion that has a body. Attack: DELETE ?dryRun=All with the body {} looks
    # like a dry run but deletes.
    options = {"kind": "DeleteOptions", "apiVersion": "v1"} | _decode(call)
    query = []
    for key, value in call.query:
        if key in _IN_BODY:
            options[key] = _option(key, value)
        else:
            query.append((key, value))
    body = _encode(options)
    return replace(call, query=tuple(query), body=body, content_type="application/json")


def _without_managed_fields(call: request.Request) -> request.Request:
    # Attack: a write forges who owns which field. No diff shows this, since every write changes managedFields.
    if call.content_type.startswith("application/json-patch"):
        for operation in _operations(call):
            _check_operation(operation)
        return call
    body = _decode(call)
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or _MANAGED_FIELDS not in metadata:
        return call
    del metadata[_MANAGED_FIELDS]
    return replace(call, body=_encode(body))


def _check_operation(operation: object) -> None:
    """Raises RequestError for an operation of a JSON patch that could change managedFields."""
    if not isinstance(operation, dict):
        return
    for key in ("path", "from"):
        pointer = operation.get(key, "/x")
        parts: list[str] = []
        if isinstance(pointer, str):
            parts = pointer.split("/")[1:]
        is_whole = parts in ([], ["metadata"])
        if is_whole or parts[:2] == ["metadata", _MANAGED_FIELDS]:
            raise errors.RequestError(
                "a JSON patch changes no whole object, no whole `metadata` and no `managedFields`; name the fields",
                code="request.body",
            )


def _dry_runs(call: request.Request) -> Iterator[object]:
    """Yields the dry-run options in all places that kube-apiserver reads. Raises RequestError."""
    for key, value in call.query:
        if key == "dryRun":
            yield [value]
    if call.verb == "delete":
        yield _decode(call).get("dryRun")
    if call.subresource == "eviction":
        options = _mapping(_decode(call), "deleteOptions")
        yield options.get("dryRun")


def _option(key: str, value: str) -> Any:
    if key == "dryRun":
        return [value]
    if key == "gracePeriodSeconds":
        return int(value)
    if key == "orphanDependents":
        return value in {"true", "1"}
    return value


def _mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns a member that must be an object; an empty object if there is no such member. Raises RequestError."""
    found = body.get(key, {})
    if not isinstance(found, dict):
        raise errors.RequestError(f"`{key}` in the body must be an object", code="request.body")
    return found


def _operations(call: request.Request) -> list[Any]:
    """Returns the operations of a JSON patch."""
    operations = json.loads(call.body or b"[]")
    return operations if isinstance(operations, list) else []


def _decode(call: request.Request) -> dict[str, Any]:
    """Returns the body if it is an object, and an empty object otherwise."""
    body = json.loads(call.body or b"{}")
    return body if isinstance(body, dict) else {}


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
