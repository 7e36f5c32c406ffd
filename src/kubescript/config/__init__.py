"""Every setting, read once from flags, environment and file (in that order of precedence) and frozen."""

from kubescript.config.loading import load
from kubescript.config.mistakes import nearest
from kubescript.config.sections import (
    MIB,
    Audit,
    Context,
    DeniedResource,
    Limits,
    Output,
    Redaction,
    RedactionRule,
    Sandbox,
    Telemetry,
)  # fmt: skip
from kubescript.config.settings import Settings

__all__ = [
    "MIB", "Audit", "Context", "DeniedResource", "Limits", "Output", "Redaction", "RedactionRule", "Sandbox",
    "Settings", "Telemetry", "load", "nearest",
]  # fmt: skip
