"""Plain data out of views and into them: `to_dict()`, and what a script assigns or sends as a body."""

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Callable, Mapping
from typing import Any

from kubescript.sdk import names, shapes, timestamps

__all__ = ["SnakeDict", "json_data", "snake_dict"]


class SnakeDict(dict[str, Any]):
    """What `to_dict()` gives: a real dict with snake_case keys; a known field that is absent reads as None, as
    officially."""

    __slots__ = ("_shape",)
    _guarded_writes = True

    def __init__(self, fields: Mapping[str, Any], shape: shapes.Shape) -> None:
        super().__init__(fields)
        self._shape = shape

    def __missing__(self, key: str) -> Any:
        field = self._shape.fields.get(key)
        if field is None:
            raise KeyError(f"{key!r}; {names.suggestion(key, self)}")
        return next((value for name, value in self.items() if self.wire(name) == field.key), None)

    def wire(self, name: str) -> str:
        """The JSON key of one of its keys."""
        field = self._shape.fields.get(name)
        return field.key if field else name


def snake_dict(data: Mapping[str, Any], shape: shapes.Shape) -> SnakeDict:
    """A detached copy of decoded data under the official client's attribute names."""
    official = {field.key: name for name, field in shape.fields.items()}
    copied: dict[str, Any] = {}
    for key, value in data.items():
        name = official.get(key, key)
        field = shape.fields.get(name)
        copied[name] = _snake(value, field.shape if field else shape.element, time=field is not None and field.time)
    return SnakeDict(copied, shape)


def _snake(value: Any, shape: shapes.Shape, *, time: bool = False) -> Any:
    if isinstance(value, dict):
        return (
            snake_dict(value, shape)
            if shape.fields
            else {key: _snake(each, shape.element) for key, each in value.items()}
        )
    if isinstance(value, list):
        return [_snake(each, shape.element) for each in value]
    return timestamps.parse_time(value) if time else value


def json_data(value: Any, convert: Callable[[Any], Any]) -> Any:
    """A Python value as JSON data; `convert` is called for everything inside. Raises TypeError for what JSON cannot
    hold."""
    if isinstance(value, SnakeDict):
        return {value.wire(key): convert(each) for key, each in value.items()}
    if isinstance(value, Mapping):
        return {str(key): convert(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [convert(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, datetime.datetime | datetime.date):
        return timestamps.format_time(value)
    if isinstance(value, enum.Enum):
        return convert(value.value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"a Kubernetes object cannot hold a {type(value).__name__}; use dict, list, str, int, float, bool or None"
    )
