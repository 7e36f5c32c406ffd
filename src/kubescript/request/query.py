"""The query string of an API call: the keys that a script may send, and the format of their values."""

from __future__ import annotations

import difflib
import re
from typing import Final

from kubescript import errors

__all__ = ["check"]

_FLAGS: Final = frozenset({
    "watch", "allowWatchBookmarks", "sendInitialEvents", "force", "orphanDependents", "previous", "timestamps",
})  # fmt: skip
_NUMBERS: Final = frozenset(
    {"limit", "timeoutSeconds", "gracePeriodSeconds", "sinceSeconds", "tailLines", "limitBytes"}
)
_TEXTS: Final = frozenset({
    "labelSelector", "fieldSelector", "continue", "resourceVersion", "resourceVersionMatch", "dryRun",
    "fieldManager", "fieldValidation", "propagationPolicy", "container", "sinceTime", "stream", "includeObject",
})  # fmt: skip
_OF_METRIC: Final = "metricLabelSelector"
_IGNORED: Final = frozenset({"pretty"})
"""Accepted but never sent: compact JSON is read from the cluster and masked, and its reader formats it."""
_DOCUMENT_KEYS: Final = frozenset({"hash", "verbose", "timeout"}) | _IGNORED
"""openapi/v3 documents are addressed with ?hash=, health checks with ?verbose."""
# These keys are left to the policy, which refuses tunnels with a better explanation than "unknown key".
_TUNNEL_KEYS: Final = frozenset({"command", "stdin", "stdout", "stderr", "tty", "container", "path", "ports"})
_OFF_ONLY: Final = {
    "follow": "logs cannot be followed here: read the last lines with tailLines=, or sinceSeconds=",
    "insecureSkipTLSVerifyBackend": "the kubelet's certificate is always verified: leave this parameter out",
}
"""Flags that may only be turned off."""
_UNSENT: Final = _OFF_ONLY.keys() | _IGNORED
_RESOURCE_KEYS: Final = _FLAGS | _OFF_ONLY.keys() | _NUMBERS | _TEXTS | _IGNORED
_MAX_KEYS: Final = 64
_MAX_VALUE: Final = 16 * 1024
"""The maximum number of characters of one value. A continue token has about 200."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_OFF: Final = frozenset({"false", "0"})
_BOOLEANS: Final = _OFF | {"true", "1"}
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_Query = tuple[tuple[str, str], ...]


def check(query: _Query, *, tunnel: bool, resource: bool, metric: bool = False) -> _Query:
    """Returns the query as it is sent; `metric` permits the selector of custom metrics. Raises RequestError unless
    every key is known and unique, and every value is valid."""
    if len(query) > _MAX_KEYS:
        raise _refusal(f"more than {_MAX_KEYS} query parameters")
    seen = set()
    for key, value in query:
        if key in _OFF_ONLY and value not in _OFF:
            raise _refusal(_OFF_ONLY[key])
        if not (metric and key == _OF_METRIC):
            _check_key(key, tunnel=tunnel, resource=resource)
        # kube-apiserver takes the first of two, and a proxy perhaps the last, so duplicates are never sent.
        may_repeat = tunnel and key == "command"
        if key in seen and not may_repeat:
            raise _refusal(f"query parameter {key} is given twice")
        seen.add(key)
        _check_value(key, value)
    return tuple(pair for pair in query if pair[0] not in _UNSENT)


def _check_key(key: str, *, tunnel: bool, resource: bool) -> None:
    """Refuses a key that does not fit this kind of request. Raises RequestError."""
    known = _RESOURCE_KEYS if resource else _DOCUMENT_KEYS
    if key in known or (tunnel and key in _TUNNEL_KEYS):
        return
    hint = _suggest(key, known)
    raise _refusal(f"unknown query parameter {key[:80]!r}{hint}")


def _suggest(key: str, known: frozenset[str]) -> str:
    """Returns the end of an error's text: the most similar known key, or where to find the keys."""
    by_lower = {name.lower(): name for name in known}
    # Python's parameters are in snake case. The time of the search grows with the word, which a script chooses.
    word = key.replace("_", "").lower()[:80]
    close = difflib.get_close_matches(word, by_lower, n=1, cutoff=0.6)
    if not close:
        return "; help(method) lists the parameters"
    name = by_lower[close[0]]
    return f"; did you mean {name}?"


def _check_value(key: str, value: str) -> None:
    """Refuses a value that is too long, or not of the key's type. Raises RequestError."""
    shown = value[:40]
    if len(value) > _MAX_VALUE or _CONTROL.search(value):
        raise _refusal(f"the value of {key} is too long or holds control characters")
    if key in _FLAGS and value not in _BOOLEANS:
        raise _refusal(f"{key} must be true or false, not {shown!r}")
    if key in _NUMBERS and not _NUMBER.fullmatch(value):
        raise _refusal(f"{key} must be a whole number, not {shown!r}")


def _refusal(message: str) -> errors.RequestError:
    return errors.RequestError(message, code="request.query")
