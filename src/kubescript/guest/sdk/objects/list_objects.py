"""Provides the answers of list calls: `pods.items`, `pods.metadata`, and the list object itself as a sequence of its
items. session.py makes them.

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
    """The items of a list answer; calling this object, as in `.items()`, is the list object's dict method."""

    _arrival: Any = None
    _fields: Any = None
    _hold: Any = None

    def _all(self) -> Any:
        self._arrival.whole()
        return self._data

    def __iter__(self) -> Iterator[Any]:
        arrival = self._arrival
        return _loop(arrival, self._shape, arrival.loop())

    def _element(self, position: int) -> Any:
        # A view with a model has the kind from its model.
        if self._shape.plain:
            item = self._data[position]
            _name_kind(item, self._arrival.head)
        return super()._element(position)

    def __bool__(self) -> bool:
        # One item is enough, since `if pods:` must not wait for the whole body.
        while not self._data and self._arrival.pull():
            pass
        return bool(self._data)

    def __call__(self) -> list[tuple[str, Any]]:
        """The dict method `items` of the list object."""
        fields = self._fields()
        return list(fields.items())


def _loop(arrival: streaming.Arrival, shape: schemas.Shape, _hold: streaming.Hold) -> Iterator[Any]:
    """Yields the items in order."""
    # The loop holds the arrival, but not the list: items that the loop has passed can be freed if nothing else holds
    # the list.
    data = arrival.items
    position = 0
    plain = shape.plain
    while True:
        # Runs for each item of each list: most items are objects, which need no call of `wrap`.
        while position < len(data):
            value = data[position]
            position += 1
            if plain:
                _name_kind(value, arrival.head)
            yield views.View(value, shape) if type(value) is dict else views.wrap(value, shape)
        position = arrival.pass_by(position)
        if not arrival.pull():
            return


def _name_kind(item: Any, head: dict[str, Any]) -> None:
    """Gives an item its kind and apiVersion, as the dynamic client does."""
    # The API server leaves both out of the items in lists of its own kinds. The items of a mixed List have their own.
    kind = head.get("kind")
    if isinstance(item, dict) and isinstance(kind, str) and kind.endswith("List") and kind != "List":
        item.setdefault("kind", kind.removesuffix("List"))
        item.setdefault("apiVersion", head.get("apiVersion"))


# A loop over the answer gives its items, so scripts call list methods on the answer itself.
_OF_ITEMS: Final = frozenset(
    {"append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"}
)
"""List methods that the answer passes on to its items."""

_OF_METADATA: Final = frozenset({"name", "namespace", "labels", "annotations", "creation_timestamp", "uid"})

_FIELDS: Final = ("items", "metadata", "kind", "apiVersion", "api_version")
"""The keys of a list object."""


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
        # `pods.items += more` has already changed the list, and only assigns it again.
        if getattr(value, "_data", None) is not self._arrival.items:
            self.items[:] = value

    @property
    def metadata(self) -> Any:
        """`resource_version`, and `_continue` and `remaining_item_count` when there are more pages."""
        data = self._early("metadata") or {}
        return views.View(data, schemas.shape_of("V1ListMeta"))

    @property
    def kind(self) -> Any:
        """From the API server, such as "PodList"."""
        return self._early("kind")

    @property
    def api_version(self) -> Any:
        """From the API server, such as "v1"."""
        return self._early("apiVersion")

    @property
    def apiVersion(self) -> Any:
        """From the API server, such as "v1"."""
        return self._early("apiVersion")

    def _early(self, key: str) -> Any:
        """Returns a field of the list itself; reads the body only until the field arrives."""
        arrival = self._arrival
        while key not in arrival.head and arrival.pull():
            pass
        return arrival.head.get(key)

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
        # `pods[0]` is an item, `pods["items"]` a field.
        if not isinstance(key, str):
            return self.items[key]
        if key not in _FIELDS:
            raise KeyError(f"a list has no key {key!r}; it has 'items', 'metadata', 'kind' and 'apiVersion'")
        return getattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        """A field of the list object."""
        if key not in _FIELDS:
            return default
        return self[key]

    def keys(self) -> list[str]:
        """The names of the list object's own fields."""
        return list(self._plain())

    def values(self) -> list[Any]:
        """The list object's own fields."""
        return list(self._plain().values())

    def __contains__(self, value: object) -> bool:
        # A list object is both a list of its items and a dict of its fields.
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
        if not isinstance(other, Sequence | list):
            return False
        return list(self) == list(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def to_dict(self) -> dict[str, Any]:
        """A detached plain dict, like `to_dict()` of an object."""
        # All list models have the same fields of their own.
        model = self._name if self._name in operations.models() else "V1PodList"
        shape = schemas.shape_of(model, plain=self._shape.plain)
        copied = {}
        for key, value in self._plain().items():
            name = shape.spelling.get(key, key)
            copied[name] = value.to_dict() if hasattr(value, "to_dict") else value
        return to_dict.Snapshot(copied, shape)

    toDict = to_dict  # noqa: N815  for scripts that write camelCase throughout

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ITEMS:
            return getattr(self.items, name)
        part = "metadata." if name in _OF_METADATA else ""
        # This is a field of the items: the script has left out the loop.
        if part or name in self._shape.fields:
            hint = f"loop over it: `for item in pods: item.{part}{name}`"
        else:
            hint = "it is a list with .items and .metadata: write [p for p in pods if …], sorted(…), Counter(…)"
        raise AttributeError(f"{self._name or 'this list'} has no field {name!r}; {hint}")

    def __format__(self, spec: str) -> str:
        text = repr(self)
        return format(text, spec)

    def __repr__(self) -> str:
        kind = self._name or self.kind or "List"
        return f"<{kind} of {len(self)}>"


Sequence.register(ListObject)
