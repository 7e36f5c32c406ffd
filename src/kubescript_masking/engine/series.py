"""Masks series of samples: their labels as JSON. Samples pass as they were sent if all their characters are those of
numbers; they are most of an answer's bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

import msgspec

from kubescript_masking.engine import masker, results
from kubescript_masking.engine.results import ABSENT, Answer
from kubescript_masking.wire.lists import FlawError

__all__ = ["Matrix", "count", "read"]

_OF_NUMBERS: Final = b'0123456789,[]"+-.eNaInf '
"""The characters of `[1732730000.123,"-1.5e+06"]`, `NaN` and `+Inf`."""
_MOST: Final = 1 << 40
_Numbers = tuple[msgspec.Raw, msgspec.Raw]
"""The `value` and the `values` of a series, as far as they are numbers."""


class Series(msgspec.Struct, omit_defaults=True, gc=False):
    """One series. A histogram is masked as JSON, like the labels."""

    metric: msgspec.Raw
    value: msgspec.Raw = ABSENT
    values: msgspec.Raw = ABSENT
    histogram: msgspec.Raw = ABSENT
    histograms: msgspec.Raw = ABSENT


class _Sample(msgspec.Struct):
    value: tuple[float, Annotated[str, msgspec.Meta(max_length=40)]]


class _Counted(msgspec.Struct, rename="camel"):
    result_type: Literal["vector"]
    result: Annotated[list[_Sample], msgspec.Meta(max_length=1)]


class _Count(msgspec.Struct):
    status: Literal["success"]
    data: _Counted


_READER: Final = msgspec.json.Decoder(Answer[Series])
_LABELS: Final = msgspec.json.Decoder(list[Series])
_COUNT: Final = msgspec.json.Decoder(_Count)


class Matrix:
    """The answer to a query of metrics: a vector or a matrix."""

    def __init__(self, answer: Answer[Series]) -> None:
        self._answer = answer
        self.count = len(answer.data.result)
        self.is_partial = answer.is_partial

    def mask(self, rules: masker.Masker) -> Iterator[bytes]:
        """Yields the masked answer in pieces."""
        masked = (_mask(rules, some) for some in results.groups(self._answer.data.result))
        return results.write(rules, self._answer, masked)


def read(document: bytes | bytearray) -> Matrix | None:
    """Returns the answer that a document holds; None for JSON of another shape. Raises FlawError."""
    results.check_size(document.count(b"{"))
    answer = results.decode(_READER, document)
    return None if answer is None else Matrix(answer)


def count(document: bytes | bytearray) -> int:
    """Returns the value of the only sample in the answer to `count(…)`; 0 without a sample, which means that nothing
    was counted. Raises FlawError for any other answer."""
    answer = results.decode(_COUNT, document)
    if answer is None:
        raise FlawError("count")
    number = 0.0
    for sample in answer.data.result:
        number = _number(sample.value[1])
    return int(min(number, _MOST))


def _number(text: str) -> float:
    """Returns the number of a sample. Raises FlawError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if number >= 0:
        return number
    raise FlawError("count")


def _mask(rules: masker.Masker, group: Sequence[Series]) -> bytes:
    """Returns series, masked, as a JSON list."""
    taken = [_take(one) for one in group]
    text = msgspec.json.encode(group)
    masked = results.mask_document(rules, text)
    if masked is not text:
        group = _LABELS.decode(masked)
    for one, numbers in zip(group, taken, strict=True):
        _put(one, numbers)
    return msgspec.json.encode(group)


def _take(one: Series) -> _Numbers:
    """Removes the samples of a series that are numbers, and returns them."""
    value, values = ABSENT, ABSENT
    if one.value is not ABSENT and _is_of_numbers(one.value):
        value, one.value = one.value, ABSENT
    if one.values is not ABSENT and _is_of_numbers(one.values):
        values, one.values = one.values, ABSENT
    return value, values


def _put(one: Series, numbers: _Numbers) -> None:
    """Puts samples back into their series."""
    value, values = numbers
    if value is not ABSENT:
        one.value = value
    if values is not ABSENT:
        one.values = values


def _is_of_numbers(samples: msgspec.Raw) -> bool:
    """Says whether all characters are those of numbers."""
    return not bytes(samples).translate(None, _OF_NUMBERS)
