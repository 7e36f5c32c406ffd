"""The operator's `allow_names` in text: values whose name, right in front of them, is not to be judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from kubescript.masker import linear, pairs
from kubescript.masker.spans import Span

__all__ = ["applied", "kept", "named"]

_Reader = Callable[[bytes, int], Iterator[Span]]

_BY_NAME: Final = frozenset({*pairs.READERS, "scheme"})
"""Readers that judge a value by what stands in front of it: for `scheme`, `--app-token x` ends as one does. What is
known by its shape is masked whatever its name."""
_BACK: Final = 400
"""Bytes looked at in front of a value."""
_BETWEEN: Final = (
    rb"[\"'`\\]*(?:[ \t]*(?:=>|->|:=|[:=])[ \t]*|[ \t]+|,?\s*[\"'`\\]*value[\"'`\\]*[ \t]*[:=][ \t]*)[\"'`\\]*\z"
)


def applied(readers: Mapping[str, _Reader], names: Collection[str]) -> Mapping[str, _Reader]:
    """The readers, of which those that go by the name leave out the values of these names."""
    pattern = named(names)
    if pattern is None:
        return readers
    return {probe: _without(reader, pattern) if probe in _BY_NAME else reader for probe, reader in readers.items()}


def named(names: Collection[str]) -> linear.Pattern | None:
    """Finds one of the names right in front of where a value begins; None when there are none."""
    if not names:
        return None
    words = b"|".join(linear.escape(name.encode()) for name in sorted(names))
    return linear.compiled(rb"(?:\A|[^\w.-])-{0,2}(?:" + words + rb")" + _BETWEEN)


def kept(found: Iterable[Span], text: bytes, pattern: linear.Pattern | None) -> Iterator[Span]:
    """The spans without those of the values of these names."""
    for span in found:
        if pattern is None or not pattern.search(text[max(0, span.start - _BACK) : span.start]):
            yield span


def _without(reader: _Reader, pattern: linear.Pattern) -> _Reader:
    def read(text: bytes, end: int) -> Iterator[Span]:
        yield from kept(reader(text, end), text, pattern)

    return read
