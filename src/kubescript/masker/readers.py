"""Which reader judges what a probe has found.

Each reader gets the text and the place where a probe's match ends, and gives the spans to mask. A reader looks at a
bounded neighbourhood only: a pod's log may be ten megabytes in one line, written to be slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import columns, keys, pairs
from kubescript.masker.spans import Span

__all__ = ["READERS"]

READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    **pairs.READERS,
    "scheme": keys.scheme,
    "hash": keys.password_hash,
    "insert": columns.insert,
}
"""By the probe that calls for them; those that remember how far they have read are `masker`'s."""
