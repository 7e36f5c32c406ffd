"""The operator's `allow_names` in text: values whose name, right in front of them, is not to be judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from kubescript.masker import linear
from kubescript.masker.spans import Span

__all__ = ["applied"]

_Reader = Callable[[bytes, int], Iterator[Span]]

_BY_NAME: Final = frozenset(
    [
        "pair",
        "flag",
        "spaced",
        "weak",
        "weak-key",
        "variable",
        "variable-yaml",
        "variable-text",
        "quoted",
        "said",
        "scheme",
    ]
)
"""Readers that judge a value by what stands in front of it: for `said` and `scheme`, `--app-token x` ends as a sentence
does. What is known by its shape is masked whatever its name."""
_BACK: Final = 400
"""Bytes looked at in front of a value."""
_BETWEEN: Final = (
    rb"[\"'`\\]*(?:[ \t]*(?:=>|->|:=|[:=])[ \t]*|[ \t]+|,?\s*[\"'`\\]*value[\"'`\\]*[ \t]*[:=][ \t]*)[\"'`\\]*\z"
)


def applied(readers: Mapping[str, _Reader], names: Collection[str]) -> Mapping[str, _Reader]:
    """The readers, of which those that go by the name leave out the values of these names."""
    if not names:
        return readers
    words = b"|".join(linear.escape(name.encode()) for name in sorted(names))
    named = linear.compiled(rb"(?:\A|[^\w.-])-{0,2}(?:" + words + rb")" + _BETWEEN)
    return {probe: _without(reader, named) if probe in _BY_NAME else reader for probe, reader in readers.items()}


def _without(reader: _Reader, named: linear.Pattern) -> _Reader:
    def read(text: bytes, end: int) -> Iterator[Span]:
        for span in reader(text, end):
            if not named.search(text[max(0, span.start - _BACK) : span.start]):
                yield span

    return read
