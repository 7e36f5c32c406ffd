"""Which series the rules of a Prometheus read: the selectors in their expressions. `sources` captures them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript.snapshot.sources import selectors
from kubescript.sources import functions

__all__ = ["find_selectors"]

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_BEFORE_LABELS: Final = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_KEYWORDS: Final = functions.KEYWORDS | {"inf", "nan"}
_PAIRS: Final = {"[": "]", "(": ")", "{": "}"}


def find_selectors(expression: str) -> Iterator[str]:
    """Yields each selector of series in PromQL, without its range and offset."""
    tokens = selectors.normalize(expression)
    at = 0
    while at < len(tokens):
        part, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
        word = part.lower()
        is_name = _NAME.fullmatch(part) is not None and word not in _KEYWORDS
        if part == "[":
            at = _find_end(tokens, at)
        elif word in _BEFORE_LABELS and following == "(":
            at = _find_end(tokens, at + 1)
        elif part == "{" or (is_name and following == "{"):
            end = _find_end(tokens, at if part == "{" else at + 1)
            yield "".join(tokens[at:end])
            at = end
        else:
            if is_name and following != "(" and following.lower() not in {"by", "without"}:
                yield part
            at += 1


def _find_end(tokens: Sequence[str], at: int) -> int:
    """Returns the place behind the bracket that closes the one at `at`."""
    closing = _PAIRS[tokens[at]]
    while at < len(tokens) and tokens[at] != closing:
        at += 1
    return at + 1
