"""Provides `View`, a Kubernetes object as a script sees it. session.py makes views of answers.

A view holds a dict of JSON data and the shape that names its fields; nothing else. A script reads a field as
`pod.status.pod_ip`, `pod.status.podIP`, `pod["status"]["podIP"]` or `pod.status.get("podIP")`. Python sees a mapping
(`dict(view)`, `{**view}`, `match`, `isinstance(view, dict)`). Writes go to the data, so read-modify-replace works.

- A field that the model has and the object lacks reads as None; a list or map field reads as an empty one, which
  becomes part of the object when it is first written to.
- A field that the model does not have raises AttributeError, or KeyError for items; the error names the nearest field.
- A timestamp is an aware datetime by its snake_case attribute, and JSON text by any other access.
- A field that the policy withholds (schemas.metadata_only) raises MetadataOnlyError by any access.
- A field called `items`, `values` or `keys` is the field; calling it runs the dict method.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from typing import Any, Final, Self

import msgspec

from kubescript.guest.sdk.objects import base_view, list_view, object_text, schemas, to_dict
from kubescript.guest.sdk.values import builtin_kinds, exceptions, lazy_json, masks, names, timestamps
from kubescript_sandbox.language import guards

__all__ = ["View", "wrap"]

_Raw = msgspec.Raw
_MASK = masks.MASK
_OF_ITS_KIND: Final = frozenset({"kind", "apiVersion"})
_METADATA: Final = frozenset({"name", "namespace", "labels", "annotations", "raw"})
"""Attributes that an object reads from its metadata, except `raw`: that is the object itself, which also reads as plain
data."""
_FINDERS: Final = {"pod": "pod", "object": ""}
"""The methods of what has labels in the answer of a source, and the kinds of object that they find."""
_METHODS: Final = ("get", "items", "keys", "to_dict", "values")
"""The methods that `dir` lists for an object without a model."""


def wrap(value: Any, shape: schemas.Shape) -> Any:
    """Returns a view of a dict or list, and any other value unchanged."""
    kind = type(value)
    if kind is dict:
        return View(value, shape)
    if kind is list:
        return list_view.ListView(value, shape.element)
    if kind is str and _MASK in value:
        masks.remember()
    return value


class View(base_view.BaseView):
    """One JSON object."""

    __hash__ = None

    def __getattr__(self, name: str) -> Any:
        # Runs for each field that a script reads, so it repeats `_fetch` and `wrap` instead of calling them.
        field = self._shape.fields.get(name)
        if field is None:
            return self._read_unlisted(name, AttributeError)
        value = self._data.get(field.key)
        if value is None:
            return self._absent(field)
        if type(value) is _Raw:
            value = self._data[field.key] = lazy_json.open_raw(value)
            if value is None:
                return self._absent(field)
        kind = type(value)
        if kind is dict:
            return View(value, field.shape)
        if kind is list:
            return list_view.ListView(value, field.shape.element)
        if kind is str and _MASK in value:
            masks.remember()
        return timestamps.parse_time(value) if field.time else value

    def __getitem__(self, key: str) -> Any:
        field = self._shape.fields.get(key)
        if field is not None:
            value = self._fetch(field.key)
            return self._absent(field) if value is None else wrap(value, field.shape)
        value = self._fetch(key)
        if value is None and key not in self._data:
            return self._read_unlisted(key, KeyError)
        return wrap(value, self._shape.element)

    def get(self, key: str, default: Any = None) -> Any:
        """The field's value, or `default` when the object lacks it."""
        field = self._shape.fields.get(key)
        if field is None:
            name = key
            shape = self._shape.element
        else:
            name = field.key
            shape = field.shape
        if name in self._data:
            return wrap(self._fetch(name), shape)
        self._check_withheld(key)
        spelled = None if self._shape.exact else self._find_spelling(key)
        if spelled is not None:
            return wrap(self._fetch(spelled), shape)
        own = self._own_kind(name) if name in _OF_ITS_KIND else None
        return default if own is None else own

    def _fetch(self, key: str) -> Any:
        """Returns the decoded data under a JSON key; None if it is absent."""
        # A decoded value replaces the Raw, so that it is decoded only once.
        value = self._data.get(key)
        if type(value) is _Raw:
            value = self._data[key] = lazy_json.open_raw(value)
        return value

    def _absent(self, field: schemas.Field) -> Any:
        """Returns the value of a known field that the object lacks."""
        # An empty map or list remembers its parent and key, and joins the object at the first write.
        home = (self, field.key)
        if field.absent is dict:
            return View({}, field.shape, home)
        if field.absent is list:
            return list_view.ListView([], field.shape.element, home)
        # The API server leaves out both the kind and the apiVersion of a list's items.
        return self._own_kind(field.key) if field.key in _OF_ITS_KIND else None

    def _own_kind(self, key: str) -> str | None:
        """Returns the kind or apiVersion of the object's model; None if the model is not that of a whole object."""
        kind = builtin_kinds.of_model(self._shape.name)
        if kind is None:
            return None
        return kind.kind if key == "kind" else kind.api_version

    def _find_spelling(self, name: str) -> str | None:
        """Returns a key that is present, unknown to the model, and equal to `name` except for case and underscores."""
        known = self._shape.fields
        unknown = (key for key in self._data if key not in known)
        return names.find_spelling(name, unknown)

    def _read_unlisted(self, name: str, error: type[Exception]) -> Any:
        """Reads a field that the shape does not list: data newer than the model, a map's key, or a mistake."""
        by_attribute = error is AttributeError
        private = name.startswith("_")
        key: str | None = name
        # A map's key, such as a label's, has only one spelling.
        if name not in self._data and (by_attribute or not self._shape.exact):
            key = self._find_spelling(name)
        if key is not None and key in self._data and not private:
            return wrap(self._fetch(key), self._shape.element)
        if by_attribute and name in _FINDERS and self._shape.find_object is not None:
            return self._finder(_FINDERS[name])
        if by_attribute and name in _METADATA:
            own = self._metadata()
            if own is not None:
                return self if name == "raw" else getattr(own, name)
        if not object_text.is_method(name):
            self._check_withheld(name)
        # As in the official DynamicClient: no model lists the fields that a custom resource may have.
        if by_attribute and self._is_free() and not private and not self._is_mistake(name):
            return None
        raise error(object_text.no_field(name, self._shape, self._data, item=not by_attribute))

    def _check_withheld(self, name: str) -> None:
        """Raises MetadataOnlyError for a field that was not served."""
        # The field must not pass for one that is absent.
        if name in self._shape.withheld:
            kind = self._fetch("kind") or ""
            raise exceptions.MetadataOnlyError(str(kind), self._shape.metadata_rule)

    def _is_free(self) -> bool:
        """Says whether the object has no model: any name may be one of its fields."""
        return not (self._shape.exact or self._shape.closed)

    def _lacks(self, name: str) -> bool:
        """Says whether an object without a model lacks a field; `hasattr` and the default of `getattr` use it."""
        if not self._is_free() or name in self._data:
            return False
        return self._find_spelling(name) is None

    def _is_mistake(self, name: str) -> bool:
        """Says whether an absent name is most likely misspelled, or a method of another library."""
        if names.nearest(name, self._data):
            return True
        return "metadata" in self._data and object_text.is_method(name)

    def _finder(self, kind: str) -> Callable[[], Any]:
        """Returns the function that finds the object which the labels of an alert, a rule or a target name."""
        find, labels = self._shape.find_object, self._fetch("labels")
        assert find is not None  # the caller has looked
        known = labels.items() if isinstance(labels, dict) else ()
        return lambda: find({name: text for name, text in known if isinstance(text, str)}, kind)

    def _metadata(self) -> Any:
        """Returns the metadata of a whole object, else None."""
        # Users of kr8s and kubectl read `.name` and `.labels` from the object itself.
        own = self.get("metadata")
        return own if isinstance(own, View) and "name" in own else None

    def _key(self, name: str) -> str:
        """Returns the JSON key that a script means when it writes to `name`."""
        field = self._shape.fields.get(name)
        if field is not None:
            return field.key
        # A map's key, such as a label's, has only one spelling.
        if name in self._data or self._shape.exact:
            return name
        if not self._shape.closed:
            return self._find_spelling(name) or name
        # The API server would drop a field that the kind does not have, without an error.
        reason = object_text.no_field(name, self._shape, self._data)
        raise AttributeError(f"{reason}; values of your own go into a dict")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __setitem__(self, key: str, value: Any) -> None:
        # `_own` first adds an absent map to its object, so that the write reaches the object.
        plain = base_view.unwrap(value)
        self._own()[self._key(key)] = plain

    def __delattr__(self, name: str) -> None:
        data = self._own()
        data.pop(self._key(name), None)

    def __delitem__(self, key: str) -> None:
        data = self._own()
        del data[self._key(key)]

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The field's value; written first when the object lacks it."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **fields: Any) -> None:
        """Write several fields."""
        for name, value in dict(*others, **fields).items():
            self[name] = value

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a field and return its value."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last field and return its name and value."""
        if not self._data:
            raise KeyError("popitem(): this object is empty")
        name = next(reversed(self._data))
        return name, self.pop(name)

    def clear(self) -> None:
        """Remove all fields."""
        self._own().clear()

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return key in self._data
        if key not in self._data:
            self._check_withheld(key)
        field = self._shape.fields.get(key)
        if field is not None:
            return field.key in self._data
        if key in self._data:
            return True
        return not self._shape.exact and self._find_spelling(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        # An object is true even when it is empty, as in the official client; an empty map is false.
        return bool(self._data) or self._shape.closed

    @property
    def keys(self) -> Any:
        """The dict method, or the field of this name."""
        return _method_or_field(self, "keys", self._names)

    @property
    def values(self) -> Any:
        """The dict method, or the field of this name."""
        return _method_or_field(self, "values", lambda: [self[key] for key in self._data])

    @property
    def items(self) -> Any:
        """The dict method, or the field of this name."""
        return _method_or_field(self, "items", self._pairs)

    def _names(self) -> KeysView[str]:
        """Returns the keys as a view of a dict."""
        # Attack: `pod.keys().mapping.values()` would reach the encoded parts of the object's own dict.
        names_only = dict.fromkeys(self._data)
        return names_only.keys()

    def _pairs(self) -> ItemsView[str, Any]:
        """Returns the items as a view of a dict."""
        # `selector.items() <= labels.items()` must compare as sets; lists would compare by order.
        pairs = {key: self[key] for key in self._data}
        return pairs.items()

    def to_dict(self) -> dict[str, Any]:
        """A detached plain dict: with snake_case keys and datetimes, as in the official client; for a dynamic or custom
        object with JSON names and texts. Absent fields are left out; reading one still gives None."""
        data: dict[str, Any] = lazy_json.read(self._data)
        if self._shape.exact:
            return data
        return to_dict.snapshot(data, self._shape)

    toDict = to_dict  # noqa: N815  for scripts that write camelCase throughout

    def to_str(self) -> str:
        """The object as text."""
        return repr(self.to_dict())

    def copy(self) -> View:
        """An independent copy."""
        return View(lazy_json.whole(self._data), self._shape)

    def __copy__(self) -> View:
        return self.copy()

    def __deepcopy__(self, _memo: object) -> View:
        return self.copy()

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[str, Any]:
        return {**other, **self}

    def __ior__(self, other: Any) -> Self:
        # The update is made in place, since a change to a copy would not reach the object.
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if other is None:
            return self._home is not None
        if not isinstance(other, Mapping):
            return NotImplemented
        return bool(lazy_json.read(self._data) == lazy_json.read(base_view.unwrap(other)))

    def __repr__(self) -> str:
        return object_text.describe(self._data, self._shape)

    def __dir__(self) -> list[str]:
        return self._shape.attributes or [*self._data, *_METHODS]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Makes `isinstance(view, dict)` true."""
        # Scripts that walk JSON tell objects from lists by isinstance.
        return dict


class FieldView(View):
    """A map field with the name of a dict method; a call runs the method."""

    _method: Callable[[], Any] = list

    def __call__(self) -> Any:
        return self._method()


def _method_or_field(view: View, name: str, method: Callable[[], Any]) -> Any:
    """Returns a dict method, or the object's field of this name, which runs the method when it is called."""
    # V1ConfigMapVolumeSource has the field `items`, V1NodeSelectorRequirement the field `values`.
    field = view._shape.fields.get(name)
    if field is None and name not in view._data:
        return method
    value = view[name]
    if isinstance(value, list_view.ListView):
        return list_view.FieldList(value._data, value._shape, value._home, method)
    if isinstance(value, View):
        return FieldView(value._data, value._shape, value._home, method)
    return method


Mapping.register(View)
list_view.ListView._view = View

_OWN: Final = frozenset(dir(View))
_read_field: Final = View.__getattr__


def _read(view: View, name: str) -> Any:
    """Reads `view.name` for the guard, which has checked the name: methods first, then the object's fields."""
    return getattr(view, name) if name in _OWN else _read_field(view, name)


guards.READERS[View] = _read
