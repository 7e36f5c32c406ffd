"""Whether a tool call took effect, judged by its result: text, an object, or a list of MCP content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

__all__ = ["Statements", "is_dry", "took_effect", "words_of"]

_MAX_DEPTH: Final = 6
_BEGINS: Final = (
    "aborted", "access denied", "admission webhook", "blocked", "can't", "cancelled", "canceled", "cannot", "conflict",
    "could not", "declined", "denied", "error", "exception", "failed", "failure", "fatal", "forbidden", "invalid",
    "mutation denied", "no changes", "not allowed", "not executed", "not found", "not permitted", "operation denied",
    "permission denied", "refused", "rejected", "request denied", "timed out", "timeout", "traceback",
    "unable", "unauthorized",
)  # fmt: skip
"""Beginnings of lines that report a failure."""
_HOLDS: Final = (
    "access denied", "already exists", "connection refused", "deadline exceeded", "denied by", "denied the request",
    "denied:", "error from server", "error:", "failed to", "forbidden", "has been denied", "has been refused",
    "http 4", "http 5", "is invalid", "is not allowed", "not found", "not permitted", "out of scope",
    "permission denied", "policyerror", "unauthorized", "was blocked", "was declined", "was denied", "was not ",
    "was refused", "was rejected", "waits for approval",
)  # fmt: skip
"""Words that such lines may contain instead."""
_MARKS: Final = str.maketrans(dict.fromkeys("\"'`/(),[]{}=<>", " "))
"""Characters next to a name in a line."""
_DRY: Final = ("(dry run)", "(server dry run)", "(client dry run)", "(dry-run)")
_DONE: Final = frozenset({
    "annotated", "autoscaled", "configured", "cordoned", "created", "deleted", "drained", "edited", "evicted",
    "exposed", "labeled", "patched", "replaced", "restarted", "scaled", "serverside-applied", "tainted", "uncordoned",
    "unchanged", "unlabeled", "updated",
})  # fmt: skip
_BAD: Final = frozenset({
    "aborted", "blocked", "cancelled", "canceled", "conflict", "declined", "denied", "dryrun", "error", "failed",
    "failure", "forbidden", "invalid", "notfound", "pendingapproval", "planned", "refused", "rejected", "skipped",
    "timeout", "unauthorized",
})  # fmt: skip
"""Values of a `status` or `outcome` field that mean failure."""
_TRUE_IS_BAD: Final = (
    "isError",
    "is_error",
    "denied",
    "refused",
    "rejected",
    "blocked",
    "forbidden",
    "declined",
    "cancelled",
    "failed",
)
_FALSE_IS_BAD: Final = ("success", "ok", "succeeded", "applied", "allowed", "approved", "executed")
_CODES: Final = ("status", "code", "statusCode", "status_code", "httpStatus", "exitCode", "exit_code", "returncode")
_INNER: Final = ("result", "output", "structuredContent", "response", "content", "message", "text", "stdout", "stderr")


def took_effect(result: Any) -> bool:
    """Says whether the call took effect. A result without any hint counts as success."""
    return not any(map(_is_failure, _parts(result)))


class Statements:
    """A result's statements about objects, by name. The result is read once, however many objects a call has."""

    def __init__(self, result: Any) -> None:
        self._good: set[str] = set()
        self._bad: set[str] = set()
        self._all: set[str] = set()
        for line in words_of(result).splitlines():
            names = {word.strip(".,:;") for word in line.translate(_MARKS).split()}
            self._all |= names
            if _is_done(line.strip()):
                self._good |= names
            elif _is_failed(line.strip()):
                self._bad |= names

    def names(self, name: str) -> bool:
        """Says whether an object is named anywhere."""
        return name in self._all

    def has_failed(self, name: str) -> bool:
        """Says whether a line reports a failure for this object, and none reports success."""
        return name in self._bad and name not in self._good


def words_of(result: Any) -> str:
    """Returns all text of a result."""
    texts = []
    for part in _parts(result):
        if isinstance(part, str):
            texts.append(part)
        else:
            texts.extend(value for value in part.values() if isinstance(value, str))
    return "\n".join(texts)


def is_dry(value: Any) -> bool:
    """Says whether the value of a parameter such as `dryRun` asks for a dry run."""
    if isinstance(value, list):
        return any(map(is_dry, value))
    if isinstance(value, str):
        return value.strip().lower() not in {"", "none", "false", "no", "0", "off"}
    return bool(value)


def _parts(result: Any) -> Iterator[str | Mapping[str, Any]]:
    """Yields a result's objects and texts, outermost first."""
    rest: list[tuple[Any, int]] = [(result, 0)]
    while rest:
        value, depth = rest.pop()
        if depth > _MAX_DEPTH:
            continue
        if isinstance(value, list):
            rest.extend((item, depth + 1) for item in value)
        elif isinstance(value, str):
            inner = _decode(value)
            if inner is None:
                yield value
            else:
                rest.append((inner, depth + 1))
        elif isinstance(value, dict):
            yield value
            if not _is_object(value):
                rest.extend((value[key], depth + 1) for key in _INNER if isinstance(value.get(key), str | list | dict))


def _decode(text: str) -> Any:
    """Returns a JSON text's object or list; None if it is not JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _is_object(value: Mapping[str, Any]) -> bool:
    """Says whether the value is a Kubernetes object, whose status is not the outcome of a call."""
    return isinstance(value.get("metadata"), dict) and value.get("kind") != "Status"


def _is_failure(part: str | Mapping[str, Any]) -> bool:
    if isinstance(part, str):
        return _tells_failure(part)
    if _is_object(part):
        return False
    if any(part.get(key) is True for key in _TRUE_IS_BAD) or any(part.get(key) is False for key in _FALSE_IS_BAD):
        return True
    if part.get("error") or part.get("errors") or any(is_dry(part.get(key)) for key in ("dryRun", "dry_run")):
        return True
    if any(_is_word(part.get(key)) for key in ("status", "outcome", "state", "result")):
        return True
    return any(_is_code(part.get(key)) for key in _CODES)


def _is_word(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 40:
        return False
    return "".join(filter(str.isalpha, value.lower())) in _BAD


def _is_code(value: Any) -> bool:
    """Says whether a number is an HTTP status from 400 on, an exit code other than 0, or a JSON-RPC error."""
    if isinstance(value, str) and value.isdigit() and len(value) < 6:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value != 0 and not 100 <= value < 400


def _tells_failure(text: str) -> bool:
    """Says whether the first or last line of a text reports a failure, and no line reports success in kubectl's way:
    `deployment.apps/web configured`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    if any(mark in text for mark in _DRY) or lines[0].lower().startswith(("dry run", "dry-run")):
        return True
    if any(map(_is_done, lines)):
        return False
    return _is_failed(lines[0]) or _is_failed(lines[-1])


def _is_failed(line: str) -> bool:
    begin = line[:2000].lower()
    start = begin.lstrip("[]()*-#!:❌⚠️✗ \t\"'`")
    return start.startswith(_BEGINS) or any(words in begin for words in _HOLDS)


def _is_done(line: str) -> bool:
    if len(line) > 2000:
        return False
    words = line.rstrip(".").split()
    if "not" in words or (words[:1] and words[0].lower().startswith(_BEGINS)):
        return False
    return 2 <= len(words) <= 6 and words[-1] in _DONE and ("/" in words[0] or '"' in line)
