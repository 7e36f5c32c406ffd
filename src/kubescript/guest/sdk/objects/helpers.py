"""Owns `top`, and the tables of the functions a script has besides the API: `quantity`, `age`, `table`, `top`."""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubescript.guest.sdk.objects import fields, table
from kubescript.guest.sdk.values import ages, quantity

__all__ = ["BY_NAME", "GLOBALS", "top"]


def top(rows: Any, key: Any = None, n: int | None = 10, *, reverse: bool = False) -> list[Any]:
    """The n rows with the highest key, highest first; rows without it come last.

    key is a function, or a field's name or path such as "spec.replicas". reverse=True gives the lowest. Texts that are
    all quantities, "250m" or "1Gi", are compared as such.
    """
    found = table.rows_of(rows)
    indexable = any(isinstance(row, tuple | list) for row in found)
    if isinstance(key, int) and (isinstance(rows, Mapping) or not indexable):
        key, n = None, key  # in top(counter, 5), 5 is the number of rows
    values = [_value(row, key, rows) for row in found]
    if found and key is not None and all(value is fields.MISSING for value in values):
        raise fields.missing_everywhere(key, found)
    present, absent, keys = [], [], []
    for row, value in zip(found, values, strict=True):
        if value is None or value is fields.MISSING:
            absent.append(row)
        else:
            present.append(row)
            keys.append(value)
    keys = _comparable(keys)
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=not reverse)
    ranked = [*(present[index] for index in order), *absent]
    return ranked if n is None else ranked[: max(n, 0)]


def _value(row: Any, key: Any, rows: Any) -> Any:
    if key is not None:
        return fields.read(row, key)
    pair = isinstance(rows, Mapping) and isinstance(row, tuple)
    if isinstance(row, Mapping) or (isinstance(row, tuple | list) and not pair and len(row) != 2):
        raise TypeError("top(rows, key, n): name the field to sort by, such as top(rows, 'count', 5)")
    return row[1] if isinstance(row, tuple | list) else row


def _comparable(values: list[Any]) -> list[Any]:
    """Returns keys that are all quantities as numbers, and other keys unchanged."""
    # As texts, quantities sort wrongly: "10" comes before "9", and "1" before "250m".
    if not any(isinstance(value, str) for value in values):
        return values
    if not all(isinstance(value, str | int | float | decimal.Decimal | fractions.Fraction) for value in values):
        raise TypeError("top(): the keys are of different types; pass a function that gives numbers")
    try:
        return [quantity.quantity(value) for value in values]
    except ValueError:
        if all(isinstance(value, str) for value in values):
            return values
    raise TypeError("top(): the keys are partly text, partly numbers; pass a function that gives numbers")


GLOBALS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": quantity.quantity,
    "age": ages.age,
    "table": table.table,
    "top": top,
}
"""The functions by their names in a script."""

BY_NAME: Final[Mapping[str, Callable[..., Any]]] = {
    **GLOBALS,
    "parsequantity": quantity.parse_quantity,
    "toquantity": quantity.quantity,
    "parsecpu": quantity.quantity,
    "parsememory": quantity.quantity,
    "getage": ages.age,
    "formattable": table.table,
    "tabulate": table.table,
}
"""The functions as attributes of `k8s`, by folded name."""
