"""Reads the bodies of sources' answers, each as a whole: how much it holds, and whether a part is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kubescript_masking.engine import forms, results, series
from kubescript_masking.wire import masking

__all__ = ["Answer", "Count"]

_MAX_ANSWER: Final = 32 * 1024 * 1024
"""The maximum size in bytes of an answer: 10,000 series of 60 points have 13-26 MB."""
_MAX_COUNT: Final = 1024 * 1024
"""The same of the answer to `count(…)`, which has one sample, and warnings."""
_PARTIAL: Final = b'"PARTIAL"'
"""How Tempo says that a part is missing."""


class _Listed(msgspec.Struct, rename="camel"):
    """The answer of a source that may list label sets, values or traces."""

    data: list[forms.Object | str] | forms.Object | None = None
    traces: list[forms.Object] | None = None
    is_partial: bool = False
    """How Thanos and VictoriaMetrics say that a part is missing."""
    status: msgspec.Raw = msgspec.Raw(b"null")


_LISTED: Final = msgspec.json.Decoder(_Listed)


class Count(forms.Document):
    """Reads the answer of a source to `count(…)`."""

    most, reason = _MAX_COUNT, "answer"

    def __init__(self) -> None:
        super().__init__(series.count)

    def _check(self, document: int) -> masking.Trailer:
        return masking.Trailer(items=document)


class Answer(forms.Document):
    """Reads the answer of a source, and keeps it for the masker."""

    most, reason = _MAX_ANSWER, "answer"

    def __init__(self, read: Callable[[bytes | bytearray], results.Masked | bytes | None]) -> None:
        """`read` returns None for JSON of another shape, which is kept as it is."""
        super().__init__(read)

    def _check(self, answer: results.Masked | bytes | None) -> masking.Trailer:
        # The samples of an answer are parts of these bytes, which are not copied: the memory of a copy costs more time
        # than its bytes.
        held, self._held = self._held, bytearray()
        if answer is None:
            answer = bytes(held)
            forms.ANY.decode(answer)
        self.answer = answer
        if not isinstance(answer, bytes):
            return masking.Trailer(items=answer.count, is_partial=answer.is_partial)
        # JSON that may list label sets, values or traces. Each takes 60 bytes.
        results.check_size(answer.count(b",") // 2)
        listed = results.decode(_LISTED, answer)
        if listed is None:
            return masking.Trailer()
        items = len(listed.data) if isinstance(listed.data, list) else 0
        is_partial = listed.is_partial or bytes(listed.status) == _PARTIAL
        return masking.Trailer(items=items + len(listed.traces or ()), is_partial=is_partial)
