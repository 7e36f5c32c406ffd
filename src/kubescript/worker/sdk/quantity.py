"""Owns Kubernetes quantities as numbers: `quantity("250m")`, a global of scripts, and `utils.parse_quantity("250m")` of
the official client."""

from __future__ import annotations

import decimal
from typing import Any, Final

__all__ = ["parse_quantity", "quantity"]

# A context of its own: a script may have set its decimal context to three digits.
_EXACT: Final = decimal.Context(prec=60, traps=[decimal.InvalidOperation, decimal.Overflow])
# Attack: int() of "1e999999999" has a billion digits. No cluster has a quantity beyond this limit.
_LARGEST: Final = decimal.Decimal(2) ** 80

# Keys that an error may quote. Other keys may be a workload's own words.
_USUAL: Final = frozenset({"cpu", "memory", "storage", "ephemeral-storage", "pods"})

_BINARY: Final = {suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL: Final = {
    "n": "1e-9",
    "u": "1e-6",
    "m": "1e-3",
    "k": "1e3",
    "K": "1e3",
    "M": "1e6",
    "G": "1e9",
    "T": "1e12",
    "P": "1e15",
    "E": "1e18",
}


def parse_quantity(quantity: str | float | decimal.Decimal) -> decimal.Decimal:
    """The number behind "250m", "1Gi", "1e3" or 2. Raises ValueError for anything else, as the official function
    does."""
    if isinstance(quantity, int | float | decimal.Decimal):
        return decimal.Decimal(quantity)
    text = str(quantity).strip()
    factor = decimal.Decimal(1)
    if text[-2:] in _BINARY:
        text, factor = text[:-2], decimal.Decimal(_BINARY[text[-2:]])
    elif text[-1:] in _DECIMAL:
        text, factor = text[:-1], decimal.Decimal(_DECIMAL[text[-1:]])
    try:
        return _EXACT.multiply(_EXACT.create_decimal(text), factor)
    except decimal.InvalidOperation:
        raise ValueError(f"invalid quantity {quantity!r}") from None


def quantity(value: Any) -> int | float:
    """The number behind a quantity: an int when whole, else a float; None and "" are 0.

    quantity("250m") is 0.25, quantity("1Gi") 1073741824.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return 0
    if not isinstance(value, str | int | float | decimal.Decimal):
        raise TypeError(f"quantity() takes one text or number, not a {type(value).__name__}{_pick(value)}")
    try:
        exact = parse_quantity(value)
    except (ValueError, decimal.Overflow):
        raise _bad(value) from None
    if not exact.is_finite() or abs(exact) > _LARGEST:
        raise _bad(value)
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def _bad(value: object) -> ValueError:
    return ValueError(
        f"{str(value)[:60]!r} is no quantity; one is a number with m, k, M, G, Ki, Mi, Gi… or nothing after"
    )


def _pick(value: Any) -> str:
    """Returns a hint for a map of quantities, such as requests, limits or usage."""
    keys = [key for key in value if key in _USUAL] if hasattr(value, "keys") else []
    return f"; take one of them: quantity(x[{keys[0]!r}])" if keys else ""
