"""Masks secret values before they enter the sandbox, and once more in every text that leaves.

A program can reverse, slice or encode what it reads, so what must not leave must not come in. One scan over the raw
bytes (`scanner`) finds candidates; only the strings they lie in are decoded and judged (`masker`, and `names`,
`values`, `readers`, `rules`, `secret_objects`, `encodings` below it); all other bytes pass unchanged.
"""

from kubescript.config import Redaction as Settings
from kubescript.redaction.engine import WITHHELD, Engine
from kubescript.redaction.placeholders import carried

__all__ = ["WITHHELD", "Engine", "Settings", "carried"]
