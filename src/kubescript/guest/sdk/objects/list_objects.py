"""Owns the answers of list calls: `pods.items`, `pods.metadata`, and the list object itself as a sequence of its items.
session.py makes them.

An item can be read as soon as it has arrived (streaming.py). Reading the length or an index waits for all items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

import msgspec

from kubescript.guest.sdk.objects import list_view, schemas, streaming, to_dict, views
from kubescript.guest.sdk.values import operations

__all__ = ["ItemList", "ListObject"]


class ItemList(list_view.ListView):
    """The items of a list answer; a call, `.items()`, is the dict method on the list object."""

    _arrival: Any = None
    _fields: Any = None
    _hold: Any = None

    def _all(self) -> Any:
        self._arrival.whole()
        return self._data

    def __iter__(self) -> Iterator[Any]:
        return _loop(self._arrival, self._shape, self._arrival.loop())

    def _element(self, position: int) -> Any:
        if self._shape.plain:
            _name(self._data[position], self._arrival.head)
        return super()._element(position)

    def __bool__(self) -> bool:
        while not self._data and self._arrival.pull():
            pass
        return bool(self._data)

    def __call__(self) -> list[tuple[str, Any]]:
        """The dict method `items` of the list object."""
        return list(self._fields().items())


def _loop(arrival: streaming.Arrival, shape: schemas.Shape, _hold: streaming.Hold) -> Iterator[Any]:
    """Yields the items in order."""
    # The loop holds the arrival and no list: items that are passed can be freed when nothing else holds the list.
    data, position, plain = arrival.items, 0, shape.plain
    while True:
        while position < len(data):
            value = data[position]
            position += 1
            if plain:
                _name(value, arrival.head)
            yield views.View(value, shape) if type(value) is dict else views.wrap(value, shape)
        position = arrival.pass_by(position)
        if not arrival.pull():
            return


def _name(item: Any, head: dict[str, Any]) -> None:
    """Gives an item its kind and apiVersion, as the dynamic client does."""
    # The API server leaves both out of the items in lists of its own kinds.
    kind = head.get("kind")
    if isinstance(item, dict) and isinstance(kind, str) and kind.endswith("List") and kind != "List":
        item.setdefault("kind", kind.removesuffix("List"))
        item.setdefault("apiVersion", head.get("apiVersion"))


# The answer iterates as its items do, so scripts call list methods on the answer itself.
_OF_ITEMS: Final = frozenset(
    {"append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"}
)
"""List methods that the answer passes on to its items."""

_OF_METADATA: Final = frozenset({"name", "namespace", "labels", "annotations", "creation_timestamp", "uid"})


class ListObject(msgspec.Struct, gc=False, eq=False, weakref=False):
    """The answer of a list call: a sequence of its items, with `.items` and `.metadata`; also readable as a mapping."""

    _arrival: streaming.Arrival
    _shape: schemas.Shape
    """The shape of one item."""
    _name: str = ""
    """The list's model, for `repr` only."""
    _hold: Any = None

    _guarded_writes: ClassVar[bool] = True
    __hash__ = None  # type: ignore[assignment]

    @property
    def items(self) -> Any:
        """The list's items; they are decoded when they are touched."""
        return ItemList(self._arrival.items, self._shape, None, self._arrival, self._plain, self._hold)

    @items.setter
    def items(self, value: Any) -> None:
        """Replaces the items: `pods.items = [p for p in pods if …]`."""
        # `pods.items += more` has changed the list already and only assigns it again.
        if getattr(value, "_data", None) is not self._arrival.items:
            self.items[:] = value

    @property
    def metadata(self) -> Any:
        """`resource_version`, and `_continue` and `remaining_item_count` when there are more pages."""
        return views.View(self._early("metadata") or {}, schemas.shape_of("V1ListMeta"))

    @property
    def kind(self) -> Any:
        """As the API server says, such as "PodList"."""
        return self._early("kind")

    @property
    def api_version(self) -> Any:
        """As the API server says, such as "v1"."""
        return self._early("apiVersion")

    @property
    def apiVersion(self) -> Any:
        """As the API server says, such as "v1"."""
        return self._early("apiVersion")

    def _early(self, key: str) -> Any:
        """Returns a field of the list itself; reads on only while the field has not arrived."""
        while key not in self._arrival.head and self._arrival.pull():
            pass
        return self._arrival.head.get(key)

    def _plain(self) -> dict[str, Any]:
        """Returns the list object's own fields."""
        fields = {}
        for key in ("kind", "apiVersion", "metadata"):
            if self._early(key) is not None:
                fields[key] = self[key]
        fields["items"] = self.items
        return fields

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.items[key]
        names = {
            "items": "items",
            "metadata": "metadata",
            "kind": "kind",
            "apiVersion": "api_version",
            "api_version": "api_version",
        }
        if key not in names:
            raise KeyError(f"a list has no key {key!r}; it has 'items', 'metadata', 'kind' and 'apiVersion'")
        return getattr(self, names[key])

    def get(self, key: str, default: Any = None) -> Any:
        """A field of the list object."""
        return self[key] if key in ("items", "metadata", "kind", "apiVersion", "api_version") else default

    def keys(self) -> list[str]:
        """The names of the list object's own fields."""
        return list(self._plain())

    def values(self) -> list[Any]:
        """The list object's own fields."""
        return list(self._plain().values())

    def __contains__(self, value: object) -> bool:
        if value in self.items:
            return True
        return isinstance(value, str) and value in self._plain()

    def __reversed__(self) -> Iterator[Any]:
        return iter(self[::-1])

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Sequence | list) and list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def to_dict(self) -> dict[str, Any]:
        """A detached plain dict, like `to_dict()` of an object."""
        model = self._name if self._name in operations.models() else "V1PodList"
        shape = schemas.shape_of(model, plain=self._shape.plain)
        copied = {}
        for key, value in self._plain().items():
            name = shape.spelling.get(key, key)
            copied[name] = value.to_dict() if hasattr(value, "to_dict") else value
        return to_dict.Snapshot(copied, shape)

    toDict = to_dict  # noqa: N815  what scripts that write camelCase throughout call it

    def _own(self) -> dict[str, Any]:
        """Returns the data, for `unwrap`."""
        return {**self._arrival.head, "items": self.items._all()}

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ITEMS:
            return getattr(self.items, name)
        part = "metadata." if name in _OF_METADATA else ""
        hint = (
            f"loop over it: `for item in pods: item.{part}{name}`"
            if part or name in self._shape.fields
            else "it is a list with .items and .metadata: write [p for p in pods if …], sorted(…), Counter(…)"
        )
        raise AttributeError(f"{self._name or 'this list'} has no field {name!r}; {hint}")

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __repr__(self) -> str:
        return f"<{self._name or self.kind or 'List'} of {len(self)}>"


Sequence.register(ListObject)
