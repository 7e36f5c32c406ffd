"""The arguments of one call of a runbook, which a hostile worker sends as JSON.

The host checks them here, in time that grows with their size alone, and gives them to the runbook as variables. They
never become part of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.runbooks import header

__all__ = ["MAX_BYTES", "read"]

MAX_BYTES: Final = 64 * 1024
"""How many bytes of JSON the arguments of a call may have."""
_MAX_SHOWN: Final = 64
"""How many characters of a foreign name an error quotes."""
_GIVEN: Final[msgspec.json.Decoder[dict[str, msgspec.Raw]]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TYPES: Final[Mapping[str, msgspec.json.Decoder[Any]]] = {
    "string": msgspec.json.Decoder(str),
    "integer": msgspec.json.Decoder(int),
    "boolean": msgspec.json.Decoder(bool),
}


def read(body: bytes, declared: Mapping[str, header.Argument]) -> dict[str, header.Value]:
    """Returns the values of all arguments that are declared, with defaults for those that are not given. Raises
    RunbookError, code runbook.arguments."""
    given = _decode(body)
    for name in given:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise _fault(f"it has no argument {name[:_MAX_SHOWN]!a}; its arguments are: {known}")
    values: dict[str, header.Value] = {}
    for name, argument in declared.items():
        if name in given:
            values[name] = _read_one(name, argument, bytes(given[name]))
        elif argument.default is not None:
            values[name] = argument.default
        else:
            raise _fault(f"its argument {name} ({argument.type}) is missing")
    return values


def _decode(body: bytes) -> dict[str, msgspec.Raw]:
    if len(body) > MAX_BYTES:
        raise _fault(f"they have more than {MAX_BYTES >> 10} KiB")
    try:
        return _GIVEN.decode(body)
    except (ValueError, RecursionError):
        raise _fault("they are not a table of names and values") from None


def _read_one(name: str, argument: header.Argument, raw: bytes) -> header.Value:
    try:
        value: header.Value = _TYPES[argument.type].decode(raw)
    except (ValueError, RecursionError):  # msgspec's errors, and Python's own for a number of 5,000 digits
        raise _fault(f"its argument {name} is not of type {argument.type}") from None
    fault = argument.find_fault(value)
    if fault:
        raise _fault(f"its argument {name} {fault}")
    return value


def _fault(why: str) -> errors.RunbookError:
    return errors.RunbookError(f"the runbook is not run: {why}", code="runbook.arguments")
