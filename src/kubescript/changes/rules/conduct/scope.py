"""SCOPE_ENFORCEMENT: changes stay within the allowed namespaces, and on objects with the allowed labels."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from kubescript.changes.rules.conduct import configuration, findings, transcript

__all__ = ["check"]


def check(changes: transcript.Transcript, settings: configuration.Configuration) -> findings.Remarks:
    """Yields changes outside of the allowed namespaces, or of objects that lack one of the labels."""
    for index, change in enumerate(changes.changes):
        if settings.namespaces is not None and not _is_allowed(change, settings.namespaces):
            yield findings.Violation(index, _outside(change, settings.namespaces))
        elif settings.labels and change.labels is None:
            yield findings.Unknown(index, "which labels the object has")
        elif settings.labels and change.labels is not None:
            wrong = [key for key, value in settings.labels.items() if change.labels.get(key) != value]
            if wrong:
                yield findings.Violation(index, _describe_missing_labels(change, settings, wrong))


def _is_allowed(change: transcript.Change, patterns: tuple[str, ...]) -> bool:
    # A Namespace object belongs to the namespace that it defines.
    namespace = change.name if change.resource == "namespaces" and not change.group else change.namespace
    return any(fnmatch.fnmatchcase(namespace, pattern) for pattern in patterns)


def _outside(change: transcript.Change, patterns: tuple[str, ...]) -> str:
    where = f"namespace {change.namespace}" if change.namespace else "no namespace"
    allowed = ", ".join(pattern or '""' for pattern in patterns) or "none"
    return f"{change.method} of {change.target}, which is in {where}; allowed: {allowed}"


def _describe_missing_labels(change: transcript.Change, settings: configuration.Configuration, wrong: list[str]) -> str:
    has = change.labels or {}
    wanted = _enumerate(settings.labels, wrong)
    own = _enumerate(has, [key for key in wrong if key in has]) or "no such label"
    return f"{change.method} of {change.target}, which lacks {wanted} (it has {own})"


def _enumerate(labels: Mapping[str, str], keys: list[str]) -> str:
    return ", ".join(f"{key}={labels[key]}" for key in keys)
