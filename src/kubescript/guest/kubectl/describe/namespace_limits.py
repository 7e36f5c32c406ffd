"""Namespaces, with the quotas and limits in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.describe import subject, texts
from kubescript.guest.kubectl.describe.subject import Read, Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.sdk import client

__all__ = ["reads", "write"]

_LIMITS: Final = ("Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
_LIMIT_FIELDS: Final = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
_CONDITION_HEAD: Final = ("Type", "Status", "LastTransitionTime", "Reason", "Message")
_QUOTA_HEAD: Final = ("Resource", "Used", "Hard")
# Two of these lines are shorter than their titles, as in kubectl.
_QUOTA_RULES: Final = ("--------", "---", "---")


def reads(k8s: client.K8s, name: str, namespace: str) -> dict[str, Read]:
    """Returns the calls that read the namespace's quotas and limits."""
    core = k8s.coreV1()
    return {
        "quotas": lambda: core.list_namespaced_resource_quota(name),
        "limits": lambda: core.list_namespaced_limit_range(name),
    }


def write(about: Subject, out: Writer) -> None:
    """Writes a Namespace."""
    metadata = about.metadata
    status = about.status
    out.field("Name", metadata.get("name"))
    out.labels_and_annotations(metadata)
    out.field("Status", status.get("phase"))
    conditions = status.get("conditions")
    if conditions:
        out.title("Conditions")
        out.table(_CONDITION_HEAD, map(_condition_row, conditions))
    out.verbatim("")
    _write_quotas(about, out)
    out.verbatim("")
    _write_limits(about, out)


def _condition_row(condition: Object) -> tuple[str, ...]:
    """Returns the cells of a condition, in the order of `_CONDITION_HEAD`."""
    kind, state, reason, message = texts.values(condition, "type", "status", "reason", "message")
    changed = texts.time(condition.get("lastTransitionTime"))
    return kind, state, changed, reason, message


# --- quotas -----------------------------------------------------------------------------------------------------------


def _write_quotas(about: Subject, out: Writer) -> None:
    """Writes the limits for the whole namespace."""
    error = about.beside.get("quotas")
    if isinstance(error, Exception):
        note = subject.describe_failure(error)
        out.field("Resource Quotas", note)
        return
    quotas = sorted(about.get_list("quotas"), key=texts.name_of)
    if not quotas:
        out.row("No resource quota.")
        return
    out.row("Resource Quotas")
    for quota in quotas:
        _write_quota(out, quota)


def _write_quota(out: Writer, quota: Object) -> None:
    """Writes a quota, and how much of it is used."""
    out.field("Name", texts.name_of(quota), 1)
    spec = quota.get("spec") or {}
    scopes = sorted(spec.get("scopes") or ())
    # Below the scopes, kubectl also prints a line that explains each of them.
    out.optional_field("Scopes", ", ".join(scopes), 1)
    status = quota.get("status") or {}
    out.table(_QUOTA_HEAD, _quota_rows(status), _QUOTA_RULES)


def _quota_rows(status: Object) -> Iterator[tuple[str, ...]]:
    """Yields the cells of each resource, in the order of `_QUOTA_HEAD`."""
    hard = status.get("hard") or {}
    used = status.get("used") or {}
    for resource in sorted(hard):
        use = texts.text(used.get(resource), "0")
        yield resource, use, texts.text(hard[resource])


# --- limits -----------------------------------------------------------------------------------------------------------


def _write_limits(about: Subject, out: Writer) -> None:
    """Writes the limits of single pods, containers and claims in the namespace."""
    error = about.beside.get("limits")
    if isinstance(error, Exception):
        note = subject.describe_failure(error)
        out.field("Resource Limits", note)
        return
    limit_ranges = about.get_list("limits")
    if not limit_ranges:
        out.row("No LimitRange resource.")
        return
    out.row("Resource Limits")
    rules = ["-" * len(title) for title in _LIMITS]
    _write_limit_row(out, *_LIMITS)
    _write_limit_row(out, *rules)
    for each in limit_ranges:
        spec = each.get("spec") or {}
        for limit in spec.get("limits") or ():
            _write_limit(out, limit)


def _write_limit_row(out: Writer, first: str, *rest: str) -> None:
    """Writes a line of the table of limits."""
    # kubectl indents this table by one space only.
    out.row(f" {first}", *rest)


def _write_limit(out: Writer, limit: Object) -> None:
    """Writes a row for each resource that a limit names in any of its maps."""
    columns = [limit.get(key) or {} for key in _LIMIT_FIELDS]
    resources: set[str] = set()
    resources.update(*columns)
    for resource in sorted(resources):
        amounts = [texts.text(column.get(resource), "-") for column in columns]
        _write_limit_row(out, limit.get("type", ""), resource, *amounts)
