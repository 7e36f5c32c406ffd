"""Values that an operator lets pass: some by pattern, some by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from kubescript_masking.text import linear
from kubescript_masking.text.spans import Span

__all__ = ["Allowances"]

_FRONT: Final = 400
"""How many bytes in front of a value are searched for an allowed name."""
_BETWEEN: Final = (
    rb"[\"'`\\]*(?:[ \t]*(?:=>|->|:=|[:=])[ \t]*|[ \t]+|,?\s*[\"'`\\]*value[\"'`\\]*[ \t]*[:=][ \t]*)[\"'`\\]*\z"
)


class Allowances:
    """The allowed values and names of one server."""

    def __init__(self, values: Sequence[linear.Pattern] = (), names: Collection[str] = ()) -> None:
        self._values = values
        self._names = frozenset(names)
        self._in_front = _find_in_front(names) if names else None

    def has_value(self, value: bytes) -> bool:
        """Says whether a value may be seen."""
        return any(pattern.search(value) for pattern in self._values)

    def has_name(self, name: str) -> bool:
        """Says whether the values of a name may be seen."""
        # A flag may be allowed with its dashes or without.
        return not self._names.isdisjoint((name, name.lstrip("-")))

    def drop(self, found: Iterable[Span], text: bytes) -> Iterator[Span]:
        """Yields the spans, except those that directly follow an allowed name."""
        if self._in_front is None:
            yield from found
            return
        for span in found:
            low = max(0, span.start - _FRONT)
            front = text[low : span.start]
            if not self._in_front.search(front):
                yield span


def _find_in_front(names: Iterable[str]) -> linear.Pattern:
    """Returns a pattern that finds one of these names right before a value's beginning."""
    escaped = [linear.escape(name.encode()) for name in sorted(names)]
    words = b"|".join(escaped)
    return linear.build(rb"(?:\A|[^\w.-])-{0,2}(?:" + words + rb")" + _BETWEEN)
