"""The body of an API call. `request` calls it.

The body is parsed strictly and encoded again, so that the API server sees exactly what was checked.
"""

from __future__ import annotations

import json
from typing import Final, NoReturn

import msgspec

from kubescript import errors
from kubescript_sandbox.wire import outline

__all__ = ["MAX_BYTES", "check", "strict_json"]

MAX_BYTES: Final = 3 * 1024 * 1024
"""The API server's limit on the size of a request body."""
_MAX_DEPTH: Final = 100
_TYPES: Final = {
    "json": "application/json",
    "json-patch": "application/json-patch+json",
    "merge-patch": "application/merge-patch+json",
    "strategic-merge-patch": "application/strategic-merge-patch+json",
    "apply-patch": "application/apply-patch+yaml",  # JSON is YAML
}


def check(method: str, body: msgspec.Raw, content_type: str) -> tuple[str, bytes | None]:
    """Returns the Content-Type to send and the body in canonical JSON; None for JSON null, which means no body.

    Raises RequestError.
    """
    raw = bytes(body)
    if raw in {b"null", b""}:
        if method in {"POST", "PUT", "PATCH"}:
            raise _refusal(f"{method} needs a body")
        return _TYPES["json"], None
    if method == "GET":
        raise _refusal("GET takes no body")
    if (method == "PATCH") != content_type.endswith("-patch"):
        raise _refusal(f"{content_type} is not a content type for {method}")
    shape = list if content_type == "json-patch" else dict
    value = _read_strictly(raw, shape)
    if isinstance(value, list):
        _check_operations(value)
    return _TYPES[content_type], _write_canonically(value)


def strict_json(raw: bytes) -> object:
    """Decodes UTF-8 JSON.

    Raises RequestError for duplicate keys, NaN, huge numbers, too many values, excessive nesting and malformed JSON.
    """
    _check_outline(raw)
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"the body is not acceptable JSON: {str(error)[:200]}") from None


def _check_operations(operations: list[object]) -> None:
    """Refuses `copy` and `move`."""
    # Attack: a dry run copies a password to a field with a harmless name, and returns it unmasked.
    for operation in operations:
        if isinstance(operation, dict) and operation.get("op") in {"copy", "move"}:
            raise _refusal("a JSON patch cannot copy or move: read the value and write it with `add` or `replace`")


def _read_strictly(raw: bytes, shape: type) -> object:
    if len(raw) > MAX_BYTES:  # the API server would refuse it too
        raise _refusal(f"the body exceeds {MAX_BYTES >> 20} MiB")
    value = strict_json(raw)
    if not isinstance(value, shape):
        expected = "array" if shape is list else "object"
        raise _refusal(f"the body must be a JSON {expected}")
    return value


def _write_canonically(value: object) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except ValueError:  # 1e999 became infinite, or a lone surrogate cannot be UTF-8
        raise _refusal("the body holds a number or character that JSON cannot express") from None


def _check_outline(raw: bytes) -> None:
    """Refuses JSON with too many values or levels before it is decoded."""
    # Attack: a body of 3 MiB of empty lists takes many times that memory when it is decoded.
    values = outline.outline(raw, outline.MAX_VALUES)
    if values is None:
        raise _refusal(f"the body has more than {outline.MAX_VALUES} values")
    if outline.depth(values) > _MAX_DEPTH:
        raise _refusal(f"the body is nested more than {_MAX_DEPTH} levels deep")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuses an object with duplicate keys."""
    # Some parsers take the first key and others the last: the API server might not do what was checked.
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return result


def _refuse_constant(name: str) -> NoReturn:
    # Python reads NaN and Infinity, which no API server does.
    raise ValueError(f"{name} is not JSON")


def _refusal(message: str) -> errors.RequestError:
    return errors.RequestError(message, code="request.body")
