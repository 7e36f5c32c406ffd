"""Provides plain data from views and for views: the result of `to_dict()`, and `json_data` for values that a script
assigns or sends as a body."""

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import exceptions, names, quantity_number, timestamps
from kubescript_sandbox.library import copying

__all__ = ["Snapshot", "json_data", "snapshot"]


class Snapshot(dict[str, Any]):
    """The result of `to_dict()`: a real dict, read and written by either spelling of a field. A known field that is
    absent reads as None, as in the official client."""

    __slots__ = ("_shape",)
    _guarded_writes = True

    def __init__(self, fields: Mapping[str, Any], shape: schemas.Shape) -> None:
        super().__init__(fields)
        self._shape = shape

    def _find_key(self, key: Any) -> Any:
        """Returns the spelling in which this dict has, or would have, the field."""
        if dict.__contains__(self, key) or not isinstance(key, str):
            return key
        shape = self._shape
        field = shape.fields.get(key)
        if field is not None:
            return shape.spelling.get(field.key, field.key)
        return names.find_spelling(key, self) or key

    def __missing__(self, key: str) -> Any:
        held = self._find_key(key)
        if dict.__contains__(self, held):
            return dict.__getitem__(self, held)
        # As in the official client, a known field that is absent reads as None.
        if held in self._shape.fields:
            return None
        # A withheld field must not pass for a misspelt one.
        self._check_withheld(key)
        hint = names.suggestion(str(key), self)
        raise KeyError(f"{key!r}; {hint}")

    def __contains__(self, key: object) -> bool:
        # `"data" in secret.to_dict()` must not be false for a withheld field.
        if not dict.__contains__(self, key):
            self._check_withheld(key)
        held = self._find_key(key)
        return dict.__contains__(self, held)

    def __setitem__(self, key: str, value: Any) -> None:
        held = self._find_key(key)
        dict.__setitem__(self, held, value)

    def __delitem__(self, key: str) -> None:
        held = self._find_key(key)
        dict.__delitem__(self, held)

    def __getattr__(self, name: str) -> Any:
        # Scripts read the dict's fields as they read the object's.
        raise AttributeError(f"to_dict() gives a dict: write [{name!r}] or .get({name!r})")

    def _check_withheld(self, key: object) -> None:
        """Raises MetadataOnlyError for a field that was not served."""
        # Such a field must not read as absent.
        shape = self._shape
        if key in shape.withheld:
            kind = dict.get(self, "kind") or ""
            raise exceptions.MetadataOnlyError(str(kind), shape.metadata_rule)

    def get(self, key: str, default: Any = None) -> Any:
        """The field's value, or `default`."""
        if not dict.__contains__(self, key):
            self._check_withheld(key)
        held = self._find_key(key)
        return dict.get(self, held, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The field's value; written first when it is absent."""
        held = self._find_key(key)
        return dict.setdefault(self, held, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a field and return its value."""
        held = self._find_key(key)
        return dict.pop(self, held, *default)

    def update(self, *others: Any, **fields: Any) -> None:
        """Write several fields."""
        # dict.update would bypass __setitem__, which finds the right spelling.
        for name, value in dict(*others, **fields).items():
            self[name] = value

    def copy(self) -> Snapshot:
        """A shallow copy."""
        return Snapshot(self, self._shape)

    __copy__ = copy

    def __deepcopy__(self, _memo: object) -> Snapshot:
        # Attack: Python's deepcopy calls hooks of a script's objects. This one copies known types only.
        copied = {key: copying.deep(value) for key, value in self.items()}
        return Snapshot(copied, self._shape)

    def __or__(self, other: Mapping[str, Any]) -> Snapshot:  # type: ignore[override]
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]
        self.update(other)
        return self

    def wire(self, name: str) -> str:
        """Returns the JSON key of one of its keys."""
        field = self._shape.fields.get(name)
        return field.key if field else name


# managedFields is large, and only server-side apply reads it.
_BULKY: Final = {"V1ObjectMeta": "managedFields"}
"""The field that plain objects of the dynamic client leave out, by model."""


def snapshot(data: Mapping[str, Any], shape: schemas.Shape) -> Snapshot:
    """Returns a detached copy of decoded data: with the official client's attribute names, or for a dynamic object with
    its JSON names."""
    copied = {}
    dropped = _BULKY.get(shape.name) if shape.plain else None
    for key, value in data.items():
        if key == dropped:
            continue
        name = shape.spelling.get(key, key)
        field = shape.fields.get(key)
        if field is None:
            copied[name] = _copy(value, shape.element)
        else:
            time = not shape.plain and shape.fields[name].time
            copied[name] = _copy(value, field.shape, time=time)
    return Snapshot(copied, shape)


def _copy(value: Any, shape: schemas.Shape, *, time: bool = False) -> Any:
    if isinstance(value, dict):
        # The keys of a map such as labels belong to the user and have one spelling.
        if shape.exact:
            return {key: _copy(each, shape.element) for key, each in value.items()}
        return snapshot(value, shape)
    if isinstance(value, list):
        return [_copy(each, shape.element) for each in value]
    return timestamps.parse_time(value) if time else value


def json_data(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns a Python value as JSON data; `convert` is called for every value inside. Raises TypeError for a value
    that JSON cannot hold."""
    if isinstance(value, Snapshot):
        return {value.wire(key): convert(each) for key, each in value.items()}
    if isinstance(value, Mapping):
        return {str(key): convert(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        # The order of a set differs from process to process; a body must not.
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [convert(each) for each in value]
    if isinstance(value, datetime.datetime | datetime.date):
        return timestamps.format_time(value)
    if isinstance(value, enum.Enum):
        return convert(value.value)
    if isinstance(value, quantity_number.Quantity):
        value = value.plain()
    # As a JSON number, the value could lose digits.
    if isinstance(value, decimal.Decimal):
        value = str(value)
    if isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"a Kubernetes object cannot hold a {type(value).__name__}; use dict, list, str, int, float, bool or None"
    )
