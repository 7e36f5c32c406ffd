"""The operator's `allow_names` in text: values whose name, right in front of them, is not to be judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from kubescript.masker.spans import Span

__all__ = ["applied"]

_Reader = Callable[[bytes, int], Iterator[Span]]

_BY_NAME: Final = frozenset(
    {
        "pair", "flag", "spaced", "weak", "weak-key", "variable", "variable-yaml", "variable-text", "quoted",
        "said", "scheme",  # `--app-token x`: the end of a name reads as a sentence or a scheme
    }
)  # fmt: skip
"""Readers that judge a value by what stands in front of it. What is known by its shape is masked whatever its name."""
_BACK: Final = 400
"""Bytes looked at in front of a value."""
_BETWEEN: Final = (
    rb"[\"'`\\]{0,6}(?:[ \t]{0,20}(?:=>|->|:=|[:=])[ \t]{0,20}|[ \t]{1,20}"
    rb"|,?\s{0,80}[\"'`\\]{0,6}value[\"'`\\]{0,6}[ \t]{0,9}[:=][ \t]{0,20})[\"'`\\]{0,6}\Z"
)


def applied(readers: Mapping[str, _Reader], names: Collection[str]) -> Mapping[str, _Reader]:
    """The readers, of which those that go by the name leave out the values of these names."""
    if not names:
        return readers
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    named = re.compile(rb"(?:\A|[^\w.-])-{0,2}(?:" + words + rb")" + _BETWEEN)
    return {probe: _without(reader, named) if probe in _BY_NAME else reader for probe, reader in readers.items()}


def _without(reader: _Reader, named: re.Pattern[bytes]) -> _Reader:
    def read(text: bytes, end: int) -> Iterator[Span]:
        for span in reader(text, end):
            if not named.search(text[max(0, span.start - _BACK) : span.start]):
                yield span

    return read
