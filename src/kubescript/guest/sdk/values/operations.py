"""Provides the generated tables: the request of every API method (operations.json), and the names of every model's
fields (schemas.json). The fork server calls `warm()` once, before the first fork.
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
    """The format of operations.json."""

    apis: dict[str, dict[str, Row]]
    media: list[list[str]]
    parameters: list[list[str]]
    query: dict[str, tuple[str, str]]


class Schemas(msgspec.Struct, gc=False):
    """The format of schemas.json: by model and attribute the type, or (type, JSON name) where `names.camel` would give
    a different name."""

    models: dict[str, dict[str, str | tuple[str, str]]]


class Operation(NamedTuple):
    """One API method."""

    api: str
    name: str
    verb: str
    path: str
    parameters: tuple[str, ...]
    """In the official signature's order; the first `required` ones have no default, the others default to None."""
    required: int
    body: str
    """The body's model; "object" for any object, "" for no body."""
    returns: str
    media: tuple[str, ...]
    """Media types of the body that the API server accepts; empty means JSON."""

    @property
    def path_parameters(self) -> frozenset[str]:
        """Returns the parameters that are placeholders in the path."""
        parts = self.path.split("/")
        return frozenset(part[1:-1] for part in parts if part.startswith("{"))

    def query(self, parameter: str) -> tuple[str, str]:
        """Returns the wire name and the type of a query parameter."""
        return _operations().query[parameter]


class _Loaded:
    """The loaded tables, as attributes, so that no module global is rebound."""

    operations: Operations | None = None
    schemas: Schemas | None = None


def _operations() -> Operations:
    """Returns the table of methods."""
    if _Loaded.operations is None:
        text = (_FOLDER / "operations.json").read_bytes()
        _Loaded.operations = msgspec.json.decode(text, type=Operations)
    return _Loaded.operations


def models() -> dict[str, dict[str, str | tuple[str, str]]]:
    """Returns every model's fields, by model name."""
    if _Loaded.schemas is None:
        text = (_FOLDER / "schemas.json").read_bytes()
        _Loaded.schemas = msgspec.json.decode(text, type=Schemas)
    return _Loaded.schemas.models


def warm() -> None:
    """Loads both tables."""
    # A worker cannot open files. Tables that are loaded before the first fork are also memory that all workers share.
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
    row = table.apis[api][name]
    # Many methods share one list of parameters or media types, so a row has only their index.
    verb, path, parameters_index, required, body, returns, media_index = row
    parameters = tuple(table.parameters[parameters_index])
    media = tuple(table.media[media_index])
    return Operation(api, name, verb, path, parameters, required, body, returns, media)
