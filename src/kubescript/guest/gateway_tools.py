"""The tools of the toolset `gateway`. Each makes one API call about a namespace's objects, after looking up a kind in
discovery by its exact group, version and plural.

`toolsets.gateway` rejects calls that the contract forbids before a script runs these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from kubescript.guest import tool_errors
from kubescript.guest.kubectl import get, logs, tool_kinds
from kubescript.guest.kubectl.rows import event_rows, listing, rendering
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import builtin_kinds, exceptions, lazy_json
from kubescript.kube import kinds as kube_kinds
from kubescript.wire import exchanges, messages

__all__ = ["k8s_delete", "k8s_get", "k8s_list", "k8s_list_events", "k8s_patch", "k8s_pod_logs"]

_MOST_BYTES: Final = 48 * 1024
"""How many bytes of whole objects one answer contains; by default, an answer may have 64 KiB."""
_MOST_NAMES: Final = 200
"""How many names of further objects are listed."""
_MOST_EVENTS: Final = 100
_REFUSED: Final = ("plan.", "policy.", "writes.")
"""How the policy's error codes begin."""


@contextlib.contextmanager
def _gate() -> Iterator[None]:
    """Turns failures into GateErrors: a refusal, or a failure with its type."""
    try:
        yield
    except exceptions.ApiException as error:
        # The error's hint is not used, because computing it may cost another call.
        if error.code.startswith(_REFUSED):
            raise tool_errors.GateError("gate_blocked", details=error.message) from None
        kind = error.code or type(error).__name__
        raise tool_errors.GateError("gate_failed", kind, details=error.message) from None
    except tool_errors.SHAPE as error:
        kind = type(error).__name__
        raise tool_errors.GateError("gate_failed", kind, details=error) from None


@_gate()
def k8s_list(k8s: client.K8s, namespace: str, group: str, version: str, plural: str) -> dict[str, Any]:
    """Returns as many of a kind's objects in a namespace as fit in an answer, and the names of the others."""
    kind = _find_kind(k8s, group, version, plural)
    scope = listing.Scope(kind, namespace)
    found, reply = k8s._session.fetch_list(scope.call("json"), schemas.OBJECT, "")
    items: list[dict[str, Any]] = []
    others: list[str] = []
    room = _MOST_BYTES
    for each in found:
        if room > 0:
            obj = get.prune_object(scope.kind, listing.strip(each))
            room -= len(lazy_json.encode(obj))
            if room > 0 or not items:
                items.append(obj)
                continue
        others.append(each["metadata"]["name"])
    answer: dict[str, Any] = {"items": items}
    if others:
        answer["others"] = others[:_MOST_NAMES]
        answer["note"] = messages.text("gate_list_cut", shown=len(items), total=len(items) + len(others))
    if reply.metadata_rule:
        answer["withheld"] = get.explain_withheld(scope, reply.metadata_rule)
    return answer


@_gate()
def k8s_get(k8s: client.K8s, namespace: str, name: str, group: str, version: str, plural: str) -> dict[str, Any]:
    """Returns one object."""
    kind = _find_kind(k8s, group, version, plural)
    scope = listing.Scope(kind, namespace, name)
    return get.one(k8s, scope)


@_gate()
def k8s_list_events(k8s: client.K8s, namespace: str) -> dict[str, Any]:
    """Returns a namespace's events, with warnings and the newest first."""
    scope = listing.Scope(tool_kinds.find(k8s, "events"), namespace)
    found = event_rows.sort_rows(listing.read(k8s, scope, named=False))
    shown = found._replace(rows=found.rows[:_MOST_EVENTS])
    answer: dict[str, Any] = {"items": rendering.as_json(shown, namespaces=False)}
    total = len(found.rows)
    if total > _MOST_EVENTS:
        answer["note"] = messages.text("gate_events_cut", shown=_MOST_EVENTS, total=total)
    return answer


@_gate()
def k8s_pod_logs(k8s: client.K8s, namespace: str, pod: str, container: str | None = None, tail_lines: int = 100) -> str:
    """Returns the last lines of a container's log."""
    text = k8s.coreV1().read_namespaced_pod_log(pod, namespace, container=container, tail_lines=tail_lines)
    if not text:
        return messages.text("log_empty", log=f"{namespace}/{pod}")
    lines = logs.LINE_END.split(text.removesuffix("\n"))
    shown = logs.fit_lines(lines)
    written = list(shown)
    if len(shown) < len(lines):
        note = messages.text("gate_log_cut", shown=len(shown), total=len(lines))
        written.insert(0, note)
    return "\n".join(written)


@_gate()
def k8s_delete(k8s: client.K8s, namespace: str, name: str, group: str, version: str, plural: str) -> bool:
    """Deletes one object, and its dependents in the background. Returns whether that is only planned."""
    kind = _find_kind(k8s, group, version, plural)
    # As in kubectl. Without this parameter, the pods of a Job would stay.
    query = (("propagationPolicy", "Background"),)
    call = exchanges.Call("DELETE", kind.path(namespace, name), query)
    k8s._session.fetch(call, schemas.OBJECT)
    return k8s._session.planned


@_gate()
def k8s_patch(
    k8s: client.K8s,
    namespace: str,
    name: str,
    group: str,
    version: str,
    plural: str,
    action: str,
    replicas: int | None = None,
    container: str | None = None,
    image: str | None = None,
) -> bool:
    """Scales a workload, sets a container's image, or restarts it. Returns whether that is only planned."""
    kind = _find_kind(k8s, group, version, plural)
    workload = f"{kind.full_name}/{name}"
    if action == "scale":
        k8s.scale(workload, replicas, namespace=namespace)
    elif action == "update_image":
        k8s.set_image(workload, {container: image}, namespace=namespace)
    elif action == "rollout_restart":
        k8s.restart(workload, namespace=namespace)
    else:
        raise ValueError(f"no action {action!r}; there is: scale, update_image, rollout_restart")
    return k8s._session.planned


def _find_kind(k8s: client.K8s, group: str, version: str, plural: str) -> tool_kinds.Kind:
    """Returns the kind that the cluster serves under exactly these names. Raises GateError if there is none."""
    group_version = kube_kinds.api_version(group, version)
    try:
        served = k8s.discovery().server_resources_for_group_version(group_version)
    except exceptions.NotFoundException:
        served = []
    for each in served:
        if each.name == plural and each.namespaced:
            known = builtin_kinds.find(each.full_name, group_version)
            model = known.model if known else ""
            return tool_kinds.Kind(group, version, plural, each.kind, namespaced=True, model=model)
    raise tool_errors.GateError("gate_not_served", plural=plural, group_version=group_version)
