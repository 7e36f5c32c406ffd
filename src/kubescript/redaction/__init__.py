"""The host's side of masking: secret values are masked before they enter the sandbox, and again in every text that
leaves.

What masks is `masker`, which holds no credential; what is here keeps its key, its settings and its deadline.
"""

from kubescript.config import Redaction as Settings
from kubescript.masker.placeholders import carried
from kubescript.redaction.engine import WITHHELD, Engine

__all__ = ["WITHHELD", "Engine", "Settings", "carried"]
