"""Provides `BaseView`, the base of View (views.py) and ListView (list_view.py): the JSON data, its shape, and its place
in the object it belongs to."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from kubescript.guest.sdk.objects import schemas, to_dict

__all__ = ["BaseView", "unwrap"]

# An assignment to an attribute of a view writes to the object's data, so this function sets the view's own slots.
_set_slot: Final = msgspec.Struct.__setattr__


class BaseView(msgspec.Struct, gc=False, eq=False, weakref=False):
    """A JSON object or list as a script sees it."""

    _data: Any
    _shape: schemas.Shape
    """The shape of the object, or of the list's elements."""
    _home: tuple[Any, str] | None = None
    """The parent view and the key of an absent field that reads as empty; None once the data is in the object."""

    # RestrictedPython's write guard checks this before a script assigns to an attribute or an item.
    _guarded_writes: ClassVar[bool] = True
    # A view with a `_home` is empty and represents an absent field; a script's `is None` is then true for the view.
    _stands_in: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]

    def _all(self) -> Any:
        """Returns the data; for a list, only after all of it has arrived."""
        return self._data

    def _own(self) -> Any:
        """Returns the data for a write; adds it to its object first if the field was absent."""
        if self._home is not None:
            parent, key = self._home
            data = parent._own().setdefault(key, self._data)
            _set_slot(self, "_data", data)
            _set_slot(self, "_home", None)
        return self._all()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __ne__(self, other: object) -> bool:
        # The base class msgspec.Struct defines a __ne__ that compares by identity.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal


def unwrap(value: Any) -> Any:
    """Returns the JSON data of a script's value, including views at any depth; a view's data is shared, not copied."""
    if type(value) in (str, int, float, bool, type(None)):
        return value
    if isinstance(value, BaseView):
        return value._own()
    return to_dict.json_data(value, unwrap)
