"""The answer of a source of metrics or logs, in the shape of Prometheus's HTTP API: a frame around a list of results.

Only the fields that are named here pass; they are written anew, without blanks, so that all readers see what was
masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

import msgspec

from kubescript_masking.engine import masker
from kubescript_masking.text import json_strings
from kubescript_masking.text.json_strings import String
from kubescript_masking.wire.lists import UNREADABLE, FlawError, TooLargeError

__all__ = ["ABSENT", "Answer", "Data", "Masked", "check_size", "decode", "groups", "mask_document", "write"]

ABSENT: Final = msgspec.Raw()
"""A field that an answer does not have."""
# Together, the labels of so many series have about 100 KB. A piece pays for its own candidates (budget.py).
_GROUP: Final = 500
"""How many results are masked at a time."""
_MOST_PARTS: Final = 1_000_000
"""How many parts an answer may have that take 100 to 300 bytes each, once they are decoded."""
_RESULT: Final = b'"result":['
# Loki quotes the value that it could not read: `strconv.ParseFloat: parsing "…"`.
_DETAILS: Final = b'"__error_details__":"'
"""A label that repeats the value of another one."""
_Result = TypeVar("_Result")


class Data(msgspec.Struct, Generic[_Result], omit_defaults=True, rename="camel"):
    """What an answer holds."""

    result_type: Literal["vector", "matrix", "streams"]
    result: list[_Result]
    stats: msgspec.Raw = ABSENT
    analysis: msgspec.Raw = ABSENT
    encoding_flags: msgspec.Raw = ABSENT


class Answer(msgspec.Struct, Generic[_Result], omit_defaults=True, rename="camel"):
    """One answer, with the fields that Prometheus, Thanos, Mimir, VictoriaMetrics and Loki give it."""

    status: Literal["success"]
    data: Data[_Result]
    warnings: msgspec.Raw = ABSENT
    infos: msgspec.Raw = ABSENT
    is_partial: bool = False
    stats: msgspec.Raw = ABSENT


class Masked(Protocol):
    """An answer that was read and can be masked."""

    count: int
    """The number of its series, or of its log lines."""
    is_partial: bool
    """Whether it says that a part is missing."""

    def mask(self, rules: masker.Masker) -> Iterator[bytes]:
        """Yields the masked answer in pieces."""


def decode(decoder: msgspec.json.Decoder[_Result], document: bytes | bytearray) -> _Result | None:
    """Returns a document, decoded; None if it is JSON of another shape. Raises FlawError."""
    try:
        return decoder.decode(document)
    except msgspec.ValidationError:
        return None
    except UNREADABLE as error:
        raise FlawError("json", error) from None


def check_size(parts: int) -> None:
    """Raises TooLargeError for an answer with too many parts to decode it."""
    # Attack: 60 MB of `{"metric":{}},`, 114 KB on the wire, decode to 750 MiB, and a script asks eight times at once.
    if parts > _MOST_PARTS:
        raise TooLargeError("answer")


def groups(result: Sequence[_Result]) -> Iterator[Sequence[_Result]]:
    """Yields the results that are masked together."""
    for at in range(0, len(result), _GROUP):
        yield result[at : at + _GROUP]


def mask_document(rules: masker.Masker, document: bytes) -> bytes:
    """Returns a part of an answer, masked as a JSON document; the same object when there is nothing to mask."""
    rules.budget.credit(len(document))
    return rules.document(document, also=(_find_details,))


def _find_details(document: bytes) -> Iterator[String]:
    """Yields the details of errors, which are masked as a whole."""
    end = 0
    while (place := document.find(_DETAILS, end)) >= 0:
        start = place + len(_DETAILS)
        end = json_strings.end_of(document, start)
        yield String(start, end, role="stringData")


def write(rules: masker.Masker, answer: Answer[Any], results: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the answer with these masked results, each of which is a JSON list."""
    answer.data.result = []
    frame = mask_document(rules, msgspec.json.encode(answer))
    # All fields in front of the result have fixed values, so no text of the source can hold these bytes earlier.
    head, sign, tail = frame.partition(_RESULT)
    yield head + sign
    comma = b""
    for some in results:
        yield comma + some[1:-1]
        comma = b","
    yield tail
