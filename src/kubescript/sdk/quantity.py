"""`utils.parse_quantity("500m")`: Kubernetes quantities as exact decimals."""

from __future__ import annotations

import decimal
from typing import Final

__all__ = ["parse_quantity"]

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
        return decimal.Decimal(text) * factor
    except decimal.InvalidOperation:
        raise ValueError(f"invalid quantity {quantity!r}") from None
