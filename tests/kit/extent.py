"""How much of a soak or a benchmark runs: a small, fixed sample in `make test`, all of it in `make long`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

LONG: Final = os.environ.get("KUBESCRIPT_TESTS") == "long"
"""Whether this is `make long`."""
_Item = TypeVar("_Item")


def some(items: Sequence[_Item], few: int) -> Sequence[_Item]:
    """Returns all items in `make long`; else `few` of them, evenly spaced and always the same."""
    if LONG or len(items) <= few:
        return items
    return [items[place * len(items) // few] for place in range(few)]


def count(many: int, few: int) -> int:
    """Returns how often something is repeated."""
    return many if LONG else few
