"""Amounts as Kubernetes writes them: `250m`, `1Gi`, `1e3`, and shares of a total: `25%`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BINARY", "DECIMAL", "LONGEST", "parse", "scale"]

DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
"""Suffixes of the powers of 1000, starting at -3."""
BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
"""Suffixes of the powers of 1024."""
LONGEST: Final = 100
"""The maximum number of characters of a quantity."""

# Attack: a quantity such as "1e999999999" has a billion digits. No real cluster exceeds this limit.
_LARGEST: Final = 2**80
# The syntax of Kubernetes' own parser, resource.ParseQuantity. "K" is in use, though only "k" is correct.
_FORM: Final = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([KMGTPE]i)|([numkKMGTPE])|[eE]([+-]?\d{1,3}))?", re.ASCII)
_PERCENT: Final = re.compile(r"([0-9]{1,3})%")
_POWERS: Final = {suffix: power for power, suffix in enumerate(DECIMAL, -3)}
_FACTORS: Final = {suffix: 1024**power for power, suffix in enumerate(BINARY)}


def parse(text: str) -> tuple[int, int] | None:
    """Returns numerator and denominator of a quantity; None when the string is not one."""
    if len(text) > LONGEST:
        return None
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    sign, digits, binary, suffix, exponent = form.groups()
    whole, _, decimals = digits.partition(".")
    factor = _FACTORS[binary or ""]
    numerator = int(f"{sign}{whole}{decimals}") * factor
    power = int(exponent or 0)
    if suffix is not None:
        power = 3 * _POWERS[suffix.replace("K", "k")]
    power -= len(decimals)
    numerator *= 10 ** max(power, 0)
    denominator = 10 ** max(-power, 0)
    if abs(numerator) > _LARGEST * denominator:
        return None
    return numerator, denominator


def scale(value: object, total: int, *, up: bool = False) -> int:
    """Returns a number that is given as such or in percent of a total, as Kubernetes' GetScaledValueFromIntOrPercent
    does; 0 for anything else. A percentage is rounded down, or `up`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if percent is None:
        return 0
    hundredths = int(percent[1]) * total
    return -(-hundredths // 100) if up else hundredths // 100
