"""Provides `Quantity`, the exact number that `quantity("250m")` gives a script."""

from __future__ import annotations

import decimal
import fractions
import math
import operator
import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["DIGITS", "Quantity", "ratio", "to_decimal"]

# This is not the current context, which a script may have set to three digits.
DIGITS: Final = decimal.Context(prec=60, traps=[decimal.InvalidOperation, decimal.Overflow])
"""The decimal context of all computations here."""

# The fraction of a smoothed average grows with each step, so ten thousand steps would take seconds.
_MOST_BITS: Final = 512
_FINEST: Final = 2**256
"""A fraction whose denominator has more than _MOST_BITS bits is rounded to a multiple of 1 / _FINEST."""

_FIXED: Final = re.compile(r"\.(\d{1,2})([fF%])")
"""The end of a format that gives a number of decimals."""
_MOST_DECIMALS: Final = 100

_Ratio = tuple[int, int]
_Method = Callable[[Any, Any], Any]


class Quantity(fractions.Fraction):
    """A fraction that prints, formats and is returned as a plain number.

    It adds to and compares with int, float, Fraction and Decimal. A float counts as its printed decimal number: 0.1 is
    "100m". The result is a Quantity again; with a Decimal it is a Decimal, with an infinite float a float.
    """

    __slots__ = ()
    _numerator: int
    _denominator: int

    @classmethod
    def _of(cls, numerator: int, denominator: int = 1) -> Quantity:
        """Returns a quantity for a ratio whose denominator is above zero."""
        if denominator != 1:
            if denominator.bit_length() > _MOST_BITS:
                numerator = numerator * _FINEST // denominator
                denominator = _FINEST
            shared = math.gcd(numerator, denominator)
            numerator //= shared
            denominator //= shared
        # Fraction() checks the types of its arguments, which takes three times as long.
        made = object.__new__(cls)
        made._numerator = numerator
        made._denominator = denominator
        return made

    def plain(self) -> int | float:
        """An int when whole, else the nearest float."""
        if self._denominator == 1:
            return self._numerator
        try:
            return self._numerator / self._denominator
        except OverflowError:
            # Above 1e308, a fraction makes no difference.
            return self._numerator // self._denominator

    def is_integer(self) -> bool:
        """Whether it is whole, as of a float."""
        return self._denominator == 1

    def __str__(self) -> str:
        return str(self.plain())

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        is_whole = self._denominator == 1
        if is_whole and spec[-1:] not in {"e", "E", "f", "F", "g", "G", "%"}:
            try:
                return format(self._numerator, spec)
            except ValueError:
                # ".2" is a format of floats only.
                return format(float(self), spec)
        fixed = _FIXED.search(spec)
        if fixed is None:
            return format(self.plain(), spec)
        # The number is rounded while it is exact: the float 2.675 is a little less, and would print as 2.67.
        decimals = int(fixed[1])
        if fixed[2] == "%":
            decimals += 2
        rounded = round(self, decimals)
        return format(float(rounded), spec)

    def __index__(self) -> int:
        """The int for range(), an index and `"x" * n`."""
        if self._denominator != 1:
            raise TypeError(f"{self} is not a whole number; write int(x), round(x) or math.ceil(x)")
        return self._numerator

    def __hash__(self) -> int:  # type: ignore[override]
        # The hash is that of the float, so that 0.1 and quantity("100m") are the same key. The hash of Decimal("0.1")
        # differs from that of 0.1.
        return hash(self.plain())

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is None:
            return fractions.Fraction.__round__(self)
        # round(x, 10**9) would compute a power of ten with as many digits.
        digits = min(operator.index(ndigits), _MOST_DECIMALS)
        rounded = fractions.Fraction.__round__(self, digits)
        return Quantity._of(rounded.numerator, rounded.denominator)

    def __neg__(self) -> Quantity:
        return Quantity._of(-self._numerator, self._denominator)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return Quantity._of(abs(self._numerator), self._denominator)

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int | float | fractions.Fraction):
            return NotImplemented
        exponent = _plain(other)
        if not isinstance(exponent, int):
            return self.plain() ** exponent
        power = fractions.Fraction(self) ** exponent
        return Quantity._of(power.numerator, power.denominator)

    def __rpow__(self, other: Any) -> Any:
        return other ** self.plain()


def to_decimal(value: fractions.Fraction) -> decimal.Decimal:
    """Returns the same number as a Decimal of at most 60 digits."""
    return DIGITS.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))


# --- arithmetic and comparison ---------------------------------------------------------------------------------------


def _plain(other: float | fractions.Fraction) -> int | float:
    """Returns an int for a whole number, else a float."""
    # An int as the exponent keeps a power exact.
    found = ratio(other)
    if found is None:
        return float(other)
    numerator, denominator = found
    return numerator if denominator == 1 else float(other)


def ratio(value: Any) -> _Ratio | None:
    """Returns the numerator and denominator of an exact number, or of a finite float as it prints; None for anything
    else."""
    if isinstance(value, Quantity):
        return value._numerator, value._denominator
    if isinstance(value, int):
        return int(value), 1
    if isinstance(value, fractions.Fraction):
        return value.numerator, value.denominator
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    if value.is_integer():
        return int(value), 1
    printed = decimal.Decimal(float.__repr__(value))
    return printed.as_integer_ratio()


def _add(a: int, b: int, c: int, d: int) -> Quantity:
    # Equal denominators, such as those of whole numbers, need no products.
    if b == d:
        return Quantity._of(a + c, b)
    return Quantity._of(a * d + c * b, b * d)


def _subtract(a: int, b: int, c: int, d: int) -> Quantity:
    return _add(a, b, -c, d)


def _multiply(a: int, b: int, c: int, d: int) -> Quantity:
    return Quantity._of(a * c, b * d)


def _divide(a: int, b: int, c: int, d: int) -> Quantity:
    if c == 0:
        raise ZeroDivisionError("division by zero")
    # The sign moves to the numerator: `_of` takes a denominator above zero.
    if c < 0:
        return Quantity._of(-a * d, -b * c)
    return Quantity._of(a * d, b * c)


def _divmod(a: int, b: int, c: int, d: int) -> tuple[int, Quantity]:
    whole, rest = divmod(a * d, b * c)
    return whole, Quantity._of(rest, b * d)


def _remainder(a: int, b: int, c: int, d: int) -> Quantity:
    _, rest = _divmod(a, b, c, d)
    return rest


_ARITHMETIC: Final[dict[str, Callable[[int, int, int, int], Any]]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "truediv": _divide,
    "floordiv": lambda a, b, c, d: (a * d) // (b * c),
    "mod": _remainder,
    "divmod": _divmod,
}
"""Operations on a/b and c/d, by name."""
_COMPARISONS: Final[dict[str, Callable[[int, int, int, int], bool]]] = {
    "eq": lambda a, b, c, d: a == c and b == d,
    "lt": lambda a, b, c, d: a * d < c * b,
    "le": lambda a, b, c, d: a * d <= c * b,
    "gt": lambda a, b, c, d: a * d > c * b,
    "ge": lambda a, b, c, d: a * d >= c * b,
}


def _method(name: str, compute: Callable[[int, int, int, int], Any], *, swapped: bool = False) -> _Method:
    def method(self: Quantity, other: Any) -> Any:
        found = ratio(other)
        if found is None:
            return _beside_inexact(self, other, name)
        if swapped:
            return compute(*found, self._numerator, self._denominator)
        return compute(self._numerator, self._denominator, *found)

    method.__name__ = method.__qualname__ = name
    return method


def _beside_inexact(own: Quantity, other: Any, name: str) -> Any:
    """Computes with a Decimal as a Decimal, in the script's own decimal context, and with inf and nan as a float."""
    if isinstance(other, decimal.Decimal):
        return getattr(to_decimal(own), name)(other)
    if isinstance(other, float):
        return getattr(float(own), name)(other)
    return NotImplemented


for _name, _compute in (_ARITHMETIC | _COMPARISONS).items():
    setattr(Quantity, f"__{_name}__", _method(f"__{_name}__", _compute))
for _name, _compute in _ARITHMETIC.items():
    setattr(Quantity, f"__r{_name}__", _method(f"__r{_name}__", _compute, swapped=True))
