"""Judges whether a tool call took effect by its result: text, an object, or a list of MCP content."""

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
"""Words that a line which reports a failure may contain instead."""
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
    """A result's statements about objects, by name. The result is read once, however many objects a call is about."""

    def __init__(self, result: Any) -> None:
        self._good: set[str] = set()
        self._bad: set[str] = set()
        self._all: set[str] = set()
        # The result is read line by line, because nine of ten objects may have been deleted.
        for line in words_of(result).splitlines():
            words = line.translate(_MARKS).split()
            names = {word.strip(".,:;") for word in words}
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
        if name not in self._bad:
            return False
        return name not in self._good


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
        word = value.strip().lower()
        return word not in {"", "none", "false", "no", "0", "off"}
    return bool(value)


def _parts(result: Any) -> Iterator[str | Mapping[str, Any]]:
    """Yields a result's objects and strings, outermost first."""
    # This uses a stack, not recursion, because a result may come from an attacker.
    rest: list[tuple[Any, int]] = [(result, 0)]
    while rest:
        value, depth = rest.pop()
        inner: Any = None
        if isinstance(value, list):
            inner = value
        elif isinstance(value, str):
            # Servers wrap JSON in the text of an answer.
            decoded = _decode(value)
            if decoded is None:
                yield value
            else:
                inner = [decoded]
        elif isinstance(value, dict):
            yield value
            inner = _inside(value)
        if depth < _MAX_DEPTH:
            rest.extend((one, depth + 1) for one in inner or ())


def _inside(value: Mapping[str, Any]) -> list[Any]:
    """Returns the parts of an object that may show how the call ended."""
    if _is_object(value):
        return []
    parts = [value.get(key) for key in _INNER]
    return [part for part in parts if isinstance(part, str | list | dict)]


def _decode(text: str) -> Any:
    """Returns the object or list in JSON text; None if the text is not JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _is_object(value: Mapping[str, Any]) -> bool:
    """Says whether the value is a Kubernetes object, whose status is not the outcome of a call."""
    if not isinstance(value.get("metadata"), dict):
        return False
    # A Status is the API server's refusal, although it has metadata like any object.
    return value.get("kind") != "Status"


def _is_failure(part: str | Mapping[str, Any]) -> bool:
    """Says whether a part of a result reports a failure."""
    if isinstance(part, str):
        return _tells_failure(part)
    if _is_object(part):
        return False
    if any(part.get(key) is True for key in _TRUE_IS_BAD):
        return True
    if any(part.get(key) is False for key in _FALSE_IS_BAD):
        return True
    # A dry run has changed nothing, whatever it reports.
    trials = [part.get(key) for key in ("dryRun", "dry_run")]
    if part.get("error") or part.get("errors") or any(map(is_dry, trials)):
        return True
    words = [part.get(key) for key in ("status", "outcome", "state", "result")]
    codes = [part.get(key) for key in _CODES]
    return any(map(_is_word, words)) or any(map(_is_code, codes))


def _is_word(value: Any) -> bool:
    """Says whether a value of a field such as `status` is a word for a failure."""
    if not isinstance(value, str) or len(value) > 40:
        return False
    # `not_found`, `NotFound` and `not found` count as the same word.
    word = "".join(filter(str.isalpha, value.lower()))
    return word in _BAD


def _is_code(value: Any) -> bool:
    """Says whether a number is an HTTP status from 400 on, an exit code other than 0, or a JSON-RPC error."""
    # Attack: a number of ten thousand digits, for which `int` raises ValueError.
    if isinstance(value, str) and value.isdigit() and len(value) < 6:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    if value == 0:
        return False
    return not 100 <= value < 400


def _tells_failure(text: str) -> bool:
    """Says whether the first or last line of a text reports a failure, and no line reports success in kubectl's way:
    `deployment.apps/web configured`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    if any(mark in text for mark in _DRY) or lines[0].lower().startswith(("dry run", "dry-run")):
        return True
    # A warning may come before that line, for example about a deprecated version.
    if any(map(_is_done, lines)):
        return False
    if _is_failed(lines[0]):
        return True
    return _is_failed(lines[-1])


def _is_failed(line: str) -> bool:
    """Says whether a line reports a failure."""
    begin = line[:2000].lower()
    start = begin.lstrip("[]()*-#!:❌⚠️✗ \t\"'`")
    if start.startswith(_BEGINS):
        return True
    return any(words in begin for words in _HOLDS)


def _is_done(line: str) -> bool:
    """Says whether a line reports success in kubectl's way: `deployment.apps/web configured`."""
    # kubectl's own lines are short. Attack: a result has a megabyte without a line end.
    if len(line) > 2000:
        return False
    words = line.rstrip(".").split()
    if "not" in words or not (2 <= len(words) <= 6):
        return False
    if words[-1] not in _DONE or words[0].lower().startswith(_BEGINS):
        return False
    # Without an object's name, the line is a sentence.
    return "/" in words[0] or '"' in line
