"""What views of objects and views of lists have in common: the data, its shape, and where it belongs."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from kubescript.worker.sdk import schemas, to_dict

__all__ = ["BaseView", "unwrap"]

_set_slot: Final = msgspec.Struct.__setattr__
"""Sets a slot of a view; plain assignment on a view of an object writes to the object's data."""


class BaseView(msgspec.Struct, gc=False, eq=False, weakref=False):
    """A JSON object or list as a script sees it."""

    _data: Any
    _shape: schemas.Shape
    """Of the object, or of the list's elements."""
    _home: tuple[Any, str] | None = None
    """The view and the key where empty data belongs that is not in its object yet."""

    _guarded_writes: ClassVar[bool] = True
    """RestrictedPython's write guard lets scripts assign to attributes and items."""
    _stands_in: ClassVar[bool] = True
    """With a `_home` it is empty and stands for a field that is not there; then `is None` is true of it."""
    __hash__ = None  # type: ignore[assignment]

    def _all(self) -> Any:
        """The data; lists that are still arriving wait for the rest here."""
        return self._data

    def _own(self) -> Any:
        """The data, made part of its object first if it was absent until now."""
        if self._home is not None:
            parent, key = self._home
            _set_slot(self, "_data", parent._own().setdefault(key, self._data))
            _set_slot(self, "_home", None)
        return self._all()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)  # written out: the base class has a __ne__ of its own, by identity
        return equal if equal is NotImplemented else not equal


def unwrap(value: Any) -> Any:
    """The JSON data behind a script's value, views at any depth included; the data of a view is shared, not copied."""
    if type(value) in (str, int, float, bool, type(None)):
        return value
    if isinstance(value, BaseView):
        return value._own()
    return to_dict.json_data(value, unwrap)
