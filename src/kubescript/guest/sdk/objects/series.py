"""Provides `Series`, one result of a query for metrics, and `Sample`, one value in it.

Ten thousand series of sixty points take 12 ms to open, about as long again where a script reads the last sample of
each, and another 90 ms where it reads a figure of all samples: nothing is decoded before it is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, Self

import msgspec

from kubescript.guest.sdk.objects import labelled

__all__ = ["NO_POINTS", "Sample", "Series", "plain"]

Point = tuple[float, float]
"""A time in seconds since the epoch, and the value."""

_decode_points: Final = msgspec.json.Decoder(list[Point], strict=False).decode
_decode_point: Final = msgspec.json.Decoder(Point, strict=False).decode
# Infinities are written as "+Inf", which msgspec does not take for a number.
_decode_texts: Final = msgspec.json.Decoder(list[tuple[float, str]]).decode

NO_POINTS: Final = msgspec.Raw(b"null")
_EXACT: Final = 2.0**53
"""Whole numbers below this are the same as an int."""
_HISTOGRAM: Final = (
    "this series is a native histogram, which has no single value: ask for histogram_quantile(0.99, ...), "
    "histogram_count(...), histogram_sum(...) or histogram_avg(...)"
)


def plain(value: float) -> float:
    """Returns a number as an int if it is whole, else as a float."""
    return int(value) if value.is_integer() and abs(value) < _EXACT else float(value)


class Sample(float):
    """A number that knows its time, in seconds since the epoch: `sample.time`. It reads as the pair (time, value) too:
    `t, v = sample`, `sample[1]`. It prints and goes out as an int when it is whole."""

    __slots__ = ("time",)

    time: float

    def __new__(cls, value: float, time: float = math.nan) -> Self:
        """`time` is only left out by functions such as statistics.mean, which make numbers of the same type."""
        self = super().__new__(cls, value)
        self.time = time
        return self

    @property
    def value(self) -> float:
        """The number alone."""
        return plain(self)

    def __iter__(self) -> Iterator[float]:
        return iter((plain(self.time), plain(self)))

    def __getitem__(self, index: int | slice) -> Any:
        return (plain(self.time), plain(self))[index]

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return repr(plain(self))


class Series(labelled.Labelled):
    """One series: labels, and one value or many."""

    __slots__ = ("_points", "_raw", "_samples", "is_range")

    _parts = (
        "labels", "metric", "value", "values", "times", "first", "last", "min", "max", "avg", "delta", "rate",
    )  # fmt: skip

    def __init__(self, labels: msgspec.Raw, points: msgspec.Raw, objects: labelled.Objects, *, is_range: bool) -> None:
        """`points` is the JSON of a list of [time, "value"]; for an instant, of one such pair."""
        super().__init__(labels, objects)
        self._raw = points
        self.is_range = is_range
        self._points: list[Point] | None = None
        self._samples: list[Sample] | None = None

    def _read(self) -> list[Point]:
        """Returns the points. Raises ValueError for native histograms."""
        if self._points is None:
            if self._raw == NO_POINTS:
                raise ValueError(_HISTOGRAM)
            text = bytes(self._raw) if self.is_range else b"[%b]" % bytes(self._raw)
            try:
                self._points = _decode_points(text)
            except msgspec.ValidationError:
                self._points = [(time, float(value)) for time, value in _decode_texts(text)]
        return self._points

    def _read_last(self) -> Point:
        """Returns the last point. Of a range, only its text is decoded: most scripts read nothing else."""
        if self._points is None and self.is_range:
            text = bytes(self._raw)
            try:
                last: Point = _decode_point(text[text.rfind(b"[") : -1])
            except msgspec.DecodeError:  # an infinity, or no points
                return self._read()[-1]
            return last
        return self._read()[-1]

    @property
    def values(self) -> list[Sample]:  # type: ignore[override]
        """The samples, oldest first: numbers with `.time`, and pairs (time, value) at once."""
        if self._samples is None:
            self._samples = [Sample(value, time) for time, value in self._read()]
        return self._samples

    @property
    def times(self) -> list[float]:
        """The samples' times, in seconds since the epoch."""
        return [plain(time) for time, _ in self._read()]

    @property
    def value(self) -> Sample:
        """The last sample, which of an instant query is the only one."""
        return self.last

    @property
    def first(self) -> Sample:
        """The oldest sample."""
        time, value = self._read()[0]
        return Sample(value, time)

    @property
    def last(self) -> Sample:
        """The newest sample."""
        time, value = self._read_last()
        return Sample(value, time)

    @property
    def min(self) -> Sample:
        """The lowest sample, of several the oldest one. NaN counts only where there is nothing else."""
        time, value = min(self._numbers(), key=_value)
        return Sample(value, time)

    @property
    def max(self) -> Sample:
        """The highest sample, of several the oldest one. NaN counts only where there is nothing else."""
        time, value = max(self._numbers(), key=_value)
        return Sample(value, time)

    @property
    def avg(self) -> float:
        """The mean of the samples without NaN."""
        numbers = self._numbers()
        return plain(sum(map(_value, numbers)) / len(numbers))

    @property
    def delta(self) -> float:
        """How much the last sample is above the first one. A counter that was reset makes it too low: for counters
        write increase(...) in the query."""
        return plain(float(self.last) - float(self.first))

    @property
    def rate(self) -> float:
        """The change per second: `delta` over the time between the first and the last sample; 0 for a single one. For
        counters write rate(...) in the query."""
        seconds = self.last.time - self.first.time
        return plain(self.delta / seconds) if seconds else 0

    def _numbers(self) -> list[Point]:
        """Returns the points without NaN, or all of them if there are no others."""
        points = self._read()
        return [point for point in points if not math.isnan(point[1])] or points

    def _figures(self) -> dict[str, Any]:
        if not self.is_range:
            return {"value": self.last}
        return {"min": self.min, "max": self.max, "avg": self.avg, "last": self.last}

    def __repr__(self) -> str:
        if self._raw == NO_POINTS:
            return f"{self._selector()} histogram"
        if not self.is_range:
            return f"{self._selector()} {self.last!r}"
        figures = " ".join(f"{name}={value!r}" for name, value in self._figures().items())
        return f"{self._selector()} {len(self._read())} samples, {figures}"


def _value(point: Point) -> float:
    return point[1]
