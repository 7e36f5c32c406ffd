"""Provides Kubernetes quantities as numbers: `quantity("250m")`, a global of scripts, and
`utils.parse_quantity("250m")` of the official client. `kube/quantities.py` knows their syntax, `quantity_number.py`
computes with them."""

from __future__ import annotations

import decimal
import fractions
import functools
from typing import Any, Final

from kubescript.guest.sdk.values import quantity_number
from kubescript.kube import quantities

__all__ = ["parse_quantity", "quantity"]

# Keys that an error may quote. Other keys may be a workload's own words.
_USUAL: Final = frozenset({"cpu", "memory", "storage", "ephemeral-storage", "pods"})


def parse_quantity(quantity: str | float | decimal.Decimal) -> decimal.Decimal:
    """The number behind "250m", "1Gi", "1e3" or 2. Raises ValueError for anything else, as the official function
    does."""
    if isinstance(quantity, fractions.Fraction):
        return quantity_number.to_decimal(quantity)
    if isinstance(quantity, int | float | decimal.Decimal):
        return decimal.Decimal(quantity)
    text = str(quantity)
    found = _parse(text.strip())
    if found is None:
        raise ValueError(f"invalid quantity {text[: quantities.LONGEST]!r}")
    return quantity_number.to_decimal(found)


def quantity(value: Any) -> quantity_number.Quantity:
    """The exact number behind a quantity; None and "" are 0.

    quantity("250m") is 0.25, quantity("1Gi") 1073741824. It counts, compares, rounds, formats and is returned as a
    number, also with int, float and Decimal, without rounding errors: ten times "100m" is 1, and a float counts as
    it prints. With a Decimal the result is a Decimal.
    """
    if value is None:
        return _ZERO
    if isinstance(value, str):
        text = str.__str__(value)
        stripped = text.strip()
        found = _parse(stripped) if stripped else _ZERO
    elif isinstance(value, int | float | fractions.Fraction | decimal.Decimal):
        text = str(value)
        ratio = quantity_number.ratio(value)
        found = _parse(text) if ratio is None else quantity_number.Quantity._of(*ratio)
    else:
        raise TypeError(f"quantity() takes one text or number, not a {type(value).__name__}{_hint(value)}")
    if found is None:
        suffixes = "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi…"
        raise ValueError(f"{text[:60]!r} is no quantity; one is a number with {suffixes} or nothing after")
    return found


_ZERO: Final = quantity_number.Quantity._of(0)


# A cluster's pods request the same few quantities, and parsing one takes ten times as long as finding it in this cache.
@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> quantity_number.Quantity | None:
    """Returns the number of a quantity; None if the text is not a quantity."""
    found = quantities.parse(text)
    if found is None:
        return None
    return quantity_number.Quantity._of(*found)


def _hint(value: Any) -> str:
    """Returns a hint for a map of quantities, such as requests, limits or usage."""
    if not hasattr(value, "keys"):
        return ""
    for key in value:
        if key in _USUAL:
            return f"; take one of them: quantity(x[{key!r}])"
    return ""
