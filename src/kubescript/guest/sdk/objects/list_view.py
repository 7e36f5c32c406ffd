"""Provides `ListView`: a JSON list as a script sees it. An element becomes a view when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence
from typing import Any, ClassVar, Self

import msgspec

from kubescript.guest.sdk.objects import base_view, object_text
from kubescript.guest.sdk.values import lazy_json, masks

__all__ = ["FieldList", "ListView"]

_Raw = msgspec.Raw
_MASK = masks.MASK


class ListView(base_view.BaseView):
    """One JSON list; `_shape` is the shape of its elements."""

    # The class of elements that are objects. views.py sets it, since that module imports this one.
    _view: ClassVar[type[base_view.BaseView]]
    __hash__ = None

    def _element(self, position: int) -> Any:
        """Returns one element, decoded; an object or a list as a view."""
        # Runs for each element of a loop, so it repeats `views.wrap` instead of calling it.
        data = self._data
        value = data[position]
        if type(value) is _Raw:
            value = data[position] = lazy_json.open_raw(value)
        kind = type(value)
        if kind is dict:
            return ListView._view(value, self._shape)
        if kind is list:
            return ListView(value, self._shape.element)
        if kind is str and _MASK in value:
            masks.remember()
        return value

    def __iter__(self) -> Iterator[Any]:
        # As with a list, the loop notices elements that are added or removed while it runs.
        position = 0
        while position < len(self._data):
            yield self._element(position)
            position += 1

    def __getitem__(self, index: int | slice) -> Any:
        size = len(self._all())
        if isinstance(index, slice):
            return [self._element(position) for position in range(size)[index]]
        if not isinstance(index, int):
            raise TypeError(f"this is a list: use a number, not [{index!r}], or loop over it")
        return self._element(index)

    def __len__(self) -> int:
        return len(self._all())

    def __setitem__(self, index: Any, value: Any) -> None:
        # The value is unwrapped before `_own`: a value without a JSON form must not cause an absent list to be added to
        # its object.
        if not isinstance(index, slice):
            self._own()[index] = base_view.unwrap(value)
            return
        plain = [base_view.unwrap(each) for each in value]
        self._own()[index] = plain

    def __delitem__(self, index: Any) -> None:
        del self._own()[index]

    def insert(self, index: int, value: Any) -> None:
        """Insert a value before `index`."""
        data = self._own()
        data.insert(index, base_view.unwrap(value))

    def append(self, value: Any) -> None:
        """Add a value at the end."""
        self._own().append(base_view.unwrap(value))

    def extend(self, values: Any) -> None:
        """Add values at the end."""
        data = self._own()
        # The values are copied into a list first: in `containers += containers`, they are this list itself.
        data.extend([base_view.unwrap(value) for value in values])

    def pop(self, index: int = -1) -> Any:
        """Remove an element and return it."""
        value = self[index]
        del self[index]
        return value

    def remove(self, value: Any) -> None:
        """Remove the first element equal to `value`."""
        del self[self.index(value)]

    def clear(self) -> None:
        """Remove all elements."""
        self._own().clear()

    def reverse(self) -> None:
        """Reverse the order in place."""
        self._own().reverse()

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort in place."""
        # The script's `key` gets views, so the views are sorted and not their data.
        ordered = sorted(self, key=key, reverse=reverse)
        plain = [base_view.unwrap(each) for each in ordered]
        self._own()[:] = plain

    def index(self, value: Any) -> int:
        """The position of the first element equal to `value`."""
        for position, element in enumerate(self):
            if element == value:
                return position
        raise ValueError(f"{value!r} is not in the list")

    def count(self, value: Any) -> int:
        """How many elements equal `value`."""
        return sum(1 for element in self if element == value)

    def __getattr__(self, name: str) -> Any:
        # A script that has forgotten the loop reads a field of the list.
        message = object_text.no_list_field(name, self._shape)
        raise AttributeError(message)

    def copy(self) -> list[Any]:
        """A plain list of the elements."""
        return list(self)

    def to_dict(self) -> list[Any]:
        """A detached plain list, as `to_dict()` of an object makes it."""
        return [each.to_dict() if hasattr(each, "to_dict") else each for each in self]

    def __contains__(self, value: object) -> bool:
        return any(element == value for element in self)

    def __reversed__(self) -> Iterator[Any]:
        size = len(self._all())
        positions = reversed(range(size))
        return (self._element(position) for position in positions)

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self]

    def __iadd__(self, other: Any) -> Self:
        self.extend(other)
        return self

    def __mul__(self, times: int) -> list[Any]:
        return list(self) * times

    def __eq__(self, other: object) -> bool:
        if other is None:
            return self._home is not None
        if not isinstance(other, list):
            return NotImplemented
        return bool(lazy_json.read(self._all()) == lazy_json.read(base_view.unwrap(other)))

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, _memo: object) -> ListView:
        copied = lazy_json.whole(self._all())
        return ListView(copied, self._shape)

    def __repr__(self) -> str:
        size = len(self._all())
        # Printed in full, a long list would cost many tokens.
        if size > 5 and self._shape.closed:
            first = self._element(0)
            return f"[{first!r}, … {size} {self._shape.name} in all]"
        elements = [repr(element) for element in self]
        return f"[{', '.join(elements)}]"

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Makes `isinstance(value, list)` true."""
        # Scripts that walk JSON tell objects from lists by isinstance.
        return list


class FieldList(ListView):
    """A list field with the name of a dict method; a call runs the method."""

    _method: Callable[[], Any] = list

    def __call__(self) -> Any:
        """The dict method."""
        return self._method()


MutableSequence.register(ListView)
