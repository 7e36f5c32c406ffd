"""SCOPE_ENFORCEMENT: changes stay within the allowed namespaces, and on objects with the allowed labels."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from kubescript.changes.rules.conduct import configuration, findings, transcript
from kubescript.kube import kinds

__all__ = ["check"]


def check(changes: transcript.Transcript, settings: configuration.Configuration) -> findings.Remarks:
    """Yields changes outside of the allowed namespaces, or of objects that lack one of the labels."""
    for index, change in enumerate(changes.changes):
        if settings.namespaces is not None and not _is_allowed(change, settings.namespaces):
            yield findings.Violation(index, _outside(change, settings.namespaces))
            continue
        if not settings.labels:
            continue
        if change.labels is None:
            yield findings.Unknown(index, "which labels the object has")
            continue
        message = _compare_labels(change, change.labels, settings.labels)
        if message:
            yield findings.Violation(index, message)


def _is_allowed(change: transcript.Change, patterns: tuple[str, ...]) -> bool:
    """Says whether a change stays within the allowed namespaces."""
    namespace = change.namespace
    # A Namespace object belongs to the namespace that it defines.
    if kinds.is_namespace(change.group, change.resource):
        namespace = change.name
    return any(fnmatch.fnmatchcase(namespace, pattern) for pattern in patterns)


def _outside(change: transcript.Change, patterns: tuple[str, ...]) -> str:
    where = f"namespace {change.namespace}" if change.namespace else "no namespace"
    shown = [pattern or '""' for pattern in patterns]
    allowed = ", ".join(shown) or "none"
    return f"{change.method} of {change.target}, which is in {where}; allowed: {allowed}"


def _compare_labels(change: transcript.Change, labels: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Describes the labels that an object lacks; returns an empty string if it has all of them."""
    lacks = []
    has = []
    for key, value in wanted.items():
        own = labels.get(key)
        if own == value:
            continue
        lacks.append(f"{key}={value}")
        if own is not None:
            has.append(f"{key}={own}")
    if not lacks:
        return ""
    found = ", ".join(has) or "no such label"
    return f"{change.method} of {change.target}, which lacks {', '.join(lacks)} (it has {found})"
