"""The host's side of masking: secret values are masked before they enter the sandbox, and again in every text that
leaves.

What masks is `masker`, which runs in processes of its own; what is here starts and ends them, and keeps the key, the
settings and the deadline.
"""

from kubescript.config import Redaction as Settings
from kubescript.redaction.redactor import Engine, has_placeholder
from kubescript_masking.host.conversation import Report
from kubescript_masking.host.engine import WITHHELD

__all__ = ["WITHHELD", "Engine", "Report", "Settings", "has_placeholder"]
