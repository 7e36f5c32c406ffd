"""Provides the constructors of the official models, `client.V1Pod(metadata=client.V1ObjectMeta(name="web"))`. They make
views; modules.py exports them."""

from __future__ import annotations

from typing import Any

from kubescript.guest.sdk.objects import base_view, schemas, views
from kubescript.guest.sdk.values import names, operations

__all__ = ["Model"]


class Model:
    """The constructor of one model. Fields may be written in snake_case or camelCase; an unknown one raises
    TypeError."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, **fields: Any) -> views.View:
        """An object with these fields."""
        shape = schemas.shape_of(self._name)
        data: dict[str, Any] = {}
        for name, value in fields.items():
            # An option of the official constructors, not a field.
            if name == "local_vars_configuration":
                continue
            field = shape.fields.get(name)
            if field is None:
                hint = names.suggestion(name, shape.attributes, 40)
                raise TypeError(f"{self._name} has no field {name!r}; {hint}")
            if value is not None:
                data[field.key] = base_view.unwrap(value)
        return views.View(data, shape)

    @property
    def openapi_types(self) -> dict[str, str]:
        """Maps attributes to types, as in the official client."""
        types = {}
        for name, entry in operations.models()[self._name].items():
            types[name] = entry if isinstance(entry, str) else entry[0]
        return types

    @property
    def attribute_map(self) -> dict[str, str]:
        """Maps attributes to JSON keys, as in the official client."""
        keys = {}
        for name, entry in operations.models()[self._name].items():
            keys[name] = names.camel(name) if isinstance(entry, str) else entry[1]
        return keys

    def __instancecheck__(self, value: object) -> bool:
        # For isinstance(pod, client.V1Pod): all views are of one Python class.
        if not isinstance(value, views.View):
            return False
        return value._shape.name == self._name

    def __repr__(self) -> str:
        return f"<model {self._name}>"
