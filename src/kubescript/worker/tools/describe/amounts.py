"""Owns sums of Kubernetes quantities, and how the API writes them: `1500m`, `2Gi`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubescript.kube import quantities
from kubescript.worker.sdk import exact, quantity

__all__ = ["ZERO", "Amount", "Amounts", "add", "amounts", "most", "percent"]

_NANO: Final = 10**9


class Amount(NamedTuple):
    """A quantity, and whether it is written in powers of 1024."""

    number: exact.Quantity
    binary: bool

    def __str__(self) -> str:
        whole = self.number.is_integer()
        if self.binary and whole and abs(self.number) >= 1024:
            return _written(int(self.number), 1024, quantities.BINARY)
        return _written(math.ceil(self.number * _NANO), 1000, quantities.DECIMAL)


Amounts = dict[str, Amount]
"""Amounts by resource."""
ZERO: Final = Amount(quantity.quantity(0), False)


def _written(count: int, base: int, suffixes: tuple[str, ...]) -> str:
    """Returns a count of the first unit in the largest unit of which it is a whole number."""
    if count == 0:
        return "0"
    unit = 0
    while count % base == 0 and unit < len(suffixes) - 1:
        count //= base
        unit += 1
    return f"{count}{suffixes[unit]}"


def amounts(found: Mapping[str, str] | None) -> Amounts:
    """Returns the amounts of a map such as `requests`."""
    return {name: Amount(quantity.quantity(text), str(text).endswith("i")) for name, text in (found or {}).items()}


def add(total: Amounts, more: Amounts) -> None:
    """Adds amounts to a total."""
    for name, amount in more.items():
        own = total.get(name, ZERO)
        binary = own.binary if own.number else amount.binary
        total[name] = Amount(quantity.quantity(own.number + amount.number), binary)


def most(total: Amounts, other: Amounts) -> None:
    """Raises each amount of a total to the other one where that is larger."""
    for name, amount in other.items():
        if name not in total or amount.number > total[name].number:
            total[name] = amount


def percent(part: Amount, whole: Amount, unit: float = 1) -> int:
    """Returns how much of a whole that is. Both count in `unit`, rounded up, as kubectl counts them."""
    of = math.ceil(whole.number / quantity.quantity(unit))
    return int(math.ceil(part.number / quantity.quantity(unit)) / of * 100) if of else 0
