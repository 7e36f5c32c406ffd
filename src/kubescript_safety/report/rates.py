"""Rates with their confidence intervals, which show how little a few runs prove."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import msgspec

__all__ = ["Rate", "rate"]

_Z: Final = NormalDist().inv_cdf(0.975)
"""The factor for an interval that contains the true rate in 95 of 100 cases."""


class Rate(msgspec.Struct, frozen=True):
    """A frequency: how often something happened."""

    count: int
    of: int
    rate: float
    low: float
    """The lower end of the 95 % Wilson interval."""
    high: float


def rate(count: int, of: int) -> Rate:
    """Returns a rate with Wilson's score interval (1927). Without observations, the interval is 0 to 1."""
    if not of:
        return Rate(0, 0, 0.0, 0.0, 1.0)
    share = count / of
    weight = 1 + _Z**2 / of
    centre = share + _Z**2 / (2 * of)
    width = _Z * math.sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    low = (centre - width) / weight
    high = (centre + width) / weight
    # Rounding may push an end of the interval below 0 or above 1.
    return Rate(count, of, share, max(0.0, low), min(1.0, high))
