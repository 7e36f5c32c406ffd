"""Owns the generated tables: what every API method sends (operations.json), and what every model's fields are called
(schemas.json). The fork server calls `warm()` once, before the first fork.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import msgspec

__all__ = ["Operation", "apis", "models", "operation", "operations", "warm"]

_FOLDER: Final = Path(__file__).resolve().parent

Row = tuple[str, str, int, int, str, str, int]
"""Verb, path template, index of the parameter list, number of required parameters, body type, return type, index of
the media types."""


class Operations(msgspec.Struct, gc=False):
    """operations.json as it is stored."""

    apis: dict[str, dict[str, Row]]
    media: list[list[str]]
    parameters: list[list[str]]
    query: dict[str, tuple[str, str]]


class Schemas(msgspec.Struct, gc=False):
    """schemas.json as it is stored: by model and attribute the type, or (type, JSON name) where the rule of
    `names.camel` gives another name."""

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
        """Returns the parameters that are placeholders in the path."""
        return frozenset(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def query(self, parameter: str) -> tuple[str, str]:
        """Returns wire name and type of a query parameter."""
        return _operations().query[parameter]


class _Loaded:
    """The tables that `warm` has loaded; attributes here, so that no module global is rebound."""

    operations: Operations | None = None
    schemas: Schemas | None = None


def _operations() -> Operations:
    if _Loaded.operations is None:
        _Loaded.operations = msgspec.json.decode((_FOLDER / "operations.json").read_bytes(), type=Operations)
    return _Loaded.operations


def models() -> dict[str, dict[str, str | tuple[str, str]]]:
    """Returns every model's fields, by model name."""
    if _Loaded.schemas is None:
        _Loaded.schemas = msgspec.json.decode((_FOLDER / "schemas.json").read_bytes(), type=Schemas)
    return _Loaded.schemas.models


def warm() -> None:
    """Loads both tables."""
    # A worker cannot open files. Loaded before the first fork, the tables are also memory that all workers share.
    _operations()
    models()


def apis() -> tuple[str, ...]:
    """Returns the names of all API classes, sorted."""
    return tuple(_operations().apis)


def operations(api: str) -> tuple[str, ...]:
    """Returns the method names of one API class, sorted."""
    return tuple(_operations().apis[api])


def operation(api: str, name: str) -> Operation:
    """Returns one method of one class. Raises KeyError for an unknown one."""
    table = _operations()
    verb, path, parameters, required, body, returns, media = table.apis[api][name]
    return Operation(
        api, name, verb, path, tuple(table.parameters[parameters]), required, body, returns, tuple(table.media[media])
    )
