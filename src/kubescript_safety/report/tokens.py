"""Counts tokens with OpenAI's vocabulary o200k, offline, as kubescript's benchmarks do."""

from __future__ import annotations

import functools
from typing import Any, Final

__all__ = ["ENCODING", "count"]

ENCODING: Final = "o200k_base"


def count(*texts: str) -> int | None:
    """Returns the texts' total number of tokens; None if the counter is not installed. Takes linear time."""
    counter = _counter()
    return None if counter is None else sum(counter.count(text) for text in texts)


@functools.cache
def _counter() -> Any:
    try:
        from rs_bpe import openai
    except ImportError:  # it does not have a wheel for every version of Python
        return None
    return openai.o200k_base()
