"""The host's side of masking: secret values are masked before they enter the sandbox, and again in every text that
leaves it.

Masking itself runs in separate processes (kubescript_masking). This package has the calls to clusters, the key and the
settings.
"""

from kubescript.config import Redaction as Settings
from kubescript.redaction.redactor import Engine, has_placeholder
from kubescript_masking.host.conversation import Report
from kubescript_masking.host.engine import WITHHELD

__all__ = ["WITHHELD", "Engine", "Report", "Settings", "has_placeholder"]
