"""Provides `top`, and the names of the helper functions in scripts: `quantity`, `age`, `table`, `top`."""

from __future__ import annotations

import decimal
import fractions
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubescript.guest.sdk.objects import fields, series, table
from kubescript.guest.sdk.values import ages, quantity

__all__ = ["BY_NAME", "GLOBALS", "top"]


def top(rows: Any, key: Any = None, n: int | None = 10, *, reverse: bool = False) -> list[Any]:
    """The n rows with the highest key, highest first; rows without it come last.

    key is a function, or a field's name or path such as "spec.replicas"; series need none. reverse=True gives the
    lowest. Texts that are all quantities, "250m" or "1Gi", are compared as such.
    """
    found = table.rows_of(rows)
    if isinstance(key, int):
        # In top(counter, 5), 5 is the number of rows; in rows with positions it is a column.
        indexable = any(isinstance(row, tuple | list) for row in found)
        if isinstance(rows, Mapping) or not indexable:
            n = key
            key = None
    values = [_key_value(row, key, rows) for row in found]
    if found and key is not None and all(value is fields.MISSING for value in values):
        raise fields.missing_everywhere(key, found)
    present, absent, keys = [], [], []
    for row, value in zip(found, values, strict=True):
        if value is None or value is fields.MISSING:
            absent.append(row)
        else:
            present.append(row)
            keys.append(value)
    keys = _make_comparable(keys)
    # Positions are sorted instead of rows, since rows with equal keys may not be comparable.
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=not reverse)
    ranked = [present[index] for index in order]
    ranked += absent
    return ranked if n is None else ranked[: max(n, 0)]


def _key_value(row: Any, key: Any, rows: Any) -> Any:
    """Returns the value that a row is sorted by; without a key, the second of a pair, or the row itself."""
    if key is not None:
        return fields.read(row, key)
    if isinstance(row, series.Series):
        return None if math.isnan(row.last) else row.last
    is_sequence = isinstance(row, tuple | list)
    is_entry = isinstance(rows, Mapping) and isinstance(row, tuple)
    is_pair = is_entry or (is_sequence and len(row) == 2)
    if isinstance(row, Mapping) or (is_sequence and not is_pair):
        raise TypeError("top(rows, key, n): name the field to sort by, such as top(rows, 'count', 5)")
    return row[1] if is_sequence else row


_COMPARABLE: Final = (str, int, float, decimal.Decimal, fractions.Fraction)


def _make_comparable(values: list[Any]) -> list[Any]:
    """Returns keys that are all quantities as numbers, and other keys unchanged."""
    # As strings, quantities sort wrongly: "10" comes before "9", and "1" before "250m".
    if not any(isinstance(value, str) for value in values):
        return values
    if not all(isinstance(value, _COMPARABLE) for value in values):
        raise TypeError("top(): the keys are of different types; pass a function that gives numbers")
    try:
        return [quantity.quantity(value) for value in values]
    except ValueError:
        # Names are compared as strings.
        if all(isinstance(value, str) for value in values):
            return values
    raise TypeError("top(): the keys are partly text, partly numbers; pass a function that gives numbers")


GLOBALS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": quantity.quantity,
    "age": ages.age,
    "table": table.table,
    "top": top,
}
"""The functions by their global names in a script."""

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
