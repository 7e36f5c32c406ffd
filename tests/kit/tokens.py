"""Counts o200k tokens, as the models' vendors do, without a network. Where the counter has no wheel, its tests are
skipped."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rs_bpe import openai

__all__ = ["count"]


def count(text: str) -> int:
    """Tokens of the text."""
    return int(_vocabulary().count(text))


@functools.cache
def _vocabulary() -> openai.Tokenizer:
    tokenizer: openai.Tokenizer = pytest.importorskip("rs_bpe").openai.o200k_base()
    return tokenizer
