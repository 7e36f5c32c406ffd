"""Namespaces, with the quotas and limits in them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["reads", "write"]

_LIMITS: Final = ("Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
_OF_LIMITS: Final = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
_HEAD: Final = ("Type", "Status", "LastTransitionTime", "Reason", "Message")


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the calls that read the namespace's quotas and limits."""
    return {
        "quotas": functools.partial(k8s.coreV1().list_namespaced_resource_quota, name),
        "limits": functools.partial(k8s.coreV1().list_namespaced_limit_range, name),
    }


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Namespace."""
    metadata, status = about.object.get("metadata") or {}, about.object.get("status") or {}
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Status", status.get("phase"))
    if conditions := status.get("conditions"):
        out.title("Conditions")
        out.table(_HEAD, map(_condition, conditions))
    out.verbatim("")
    _quotas(about, out)
    out.verbatim("")
    _limits(about, out)


def _condition(found: texts.Object) -> tuple[str, ...]:
    kind, state, why, message = (texts.text(found.get(key)) for key in ("type", "status", "reason", "message"))
    return kind, state, texts.time(found.get("lastTransitionTime")), why, message


def _quotas(about: subject.Subject, out: text_writer.Writer) -> None:
    if isinstance(error := about.beside.get("quotas"), Exception):
        out.field("Resource Quotas", messages.text("describe_not_read", reason=subject.reason(error)))
        return
    quotas = sorted(about.get_list("quotas"), key=texts.name_of)
    out.row("Resource Quotas" if quotas else "No resource quota.")
    for quota in quotas:
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        out.field("Name", texts.name_of(quota), 1)
        out.optional_field("Scopes", ", ".join(sorted((quota.get("spec") or {}).get("scopes") or ())), 1)
        rows = [(name, texts.text(used.get(name), "0"), texts.text(hard[name])) for name in sorted(hard)]
        out.table(("Resource", "Used", "Hard"), rows, ("--------", "---", "---"))


def _limits(about: subject.Subject, out: text_writer.Writer) -> None:
    if isinstance(error := about.beside.get("limits"), Exception):
        out.field("Resource Limits", messages.text("describe_not_read", reason=subject.reason(error)))
        return
    found = about.get_list("limits")
    if not found:
        out.row("No LimitRange resource.")
        return
    out.row("Resource Limits")
    out.row(f" {_LIMITS[0]}", *_LIMITS[1:])
    first, *rules = ("-" * len(name) for name in _LIMITS)
    out.row(f" {first}", *rules)
    for each in found:
        for cells in _limit_rows(each.get("spec") or {}):
            out.row(*cells)


def _limit_rows(spec: texts.Object) -> Iterator[tuple[str, ...]]:
    for limit in spec.get("limits") or ():
        columns = [limit.get(key) or {} for key in _OF_LIMITS]
        for resource in sorted({name for column in columns for name in column}):
            cells = (texts.text(column.get(resource), "-") for column in columns)
            yield f" {limit.get('type', '')}", resource, *cells
