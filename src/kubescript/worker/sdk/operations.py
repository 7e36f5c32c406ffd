"""The generated tables, loaded once: what every API method sends and what every model's fields are called.

The fork server calls `warm()` before the first fork, so that workers share the memory. Nothing is read from disk after
that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import msgspec

__all__ = ["Operation", "apis", "models", "operation", "operations", "warm"]

_FOLDER: Final = Path(__file__).resolve().parent

Row = tuple[str, str, int, int, str, str, int]
"""Verb, path template, index of the parameter list, how many are required, body type, return type, index of media
types."""


class Operations(msgspec.Struct, gc=False):
    """operations.json as it is stored."""

    apis: dict[str, dict[str, Row]]
    media: list[list[str]]
    parameters: list[list[str]]
    query: dict[str, tuple[str, str]]


class Schemas(msgspec.Struct, gc=False):
    """schemas.json as it is stored: model → attribute → type, or (type, JSON name) where the rule for names fails."""

    models: dict[str, dict[str, str | tuple[str, str]]]


class Operation(NamedTuple):
    """One API method."""

    api: str
    name: str
    verb: str
    path: str
    parameters: tuple[str, ...]
    """In the official signature's order; the first `required` of them have no default, the others default to None."""
    required: int
    body: str
    """The body's model, "object" for any, "" for none."""
    returns: str
    media: tuple[str, ...]
    """Media types of the body that the API server accepts; empty means JSON."""

    @property
    def path_parameters(self) -> frozenset[str]:
        """The parameters that are placeholders in the path."""
        return frozenset(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def query(self, parameter: str) -> tuple[str, str]:
        """Wire name and type of a query parameter."""
        return _operations().query[parameter]


class _Loaded:
    """What `warm` has loaded; one place instead of module globals that are rebound."""

    operations: Operations | None = None
    schemas: Schemas | None = None


def _operations() -> Operations:
    if _Loaded.operations is None:
        _Loaded.operations = msgspec.json.decode((_FOLDER / "operations.json").read_bytes(), type=Operations)
    return _Loaded.operations


def models() -> dict[str, dict[str, str | tuple[str, str]]]:
    """Every model's fields, by model name."""
    if _Loaded.schemas is None:
        _Loaded.schemas = msgspec.json.decode((_FOLDER / "schemas.json").read_bytes(), type=Schemas)
    return _Loaded.schemas.models


def warm() -> None:
    """Load both tables. Call it in the fork server: a worker cannot open files."""
    _operations()
    models()


def apis() -> tuple[str, ...]:
    """The names of all API classes, sorted."""
    return tuple(_operations().apis)


def operations(api: str) -> tuple[str, ...]:
    """The method names of one API class, sorted."""
    return tuple(_operations().apis[api])


def operation(api: str, name: str) -> Operation:
    """One method of one class. Raises KeyError for an unknown one."""
    table = _operations()
    verb, path, parameters, required, body, returns, media = table.apis[api][name]
    return Operation(
        api, name, verb, path, tuple(table.parameters[parameters]), required, body, returns, tuple(table.media[media])
    )
