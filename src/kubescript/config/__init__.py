"""All settings. They are read once from flags, environment and file, in this order of precedence, and frozen."""

from kubescript.config.deferring import deferred_models
from kubescript.config.loading import load, nearest
from kubescript.config.settings import (
    MIB,
    Audit,
    Context,
    DeniedResource,
    Http,
    Limits,
    Output,
    Redaction,
    RedactionRule,
    Sandbox,
    Settings,
    Telemetry,
)  # fmt: skip

__all__ = [
    "MIB", "Audit", "Context", "DeniedResource", "Http", "Limits", "Output", "Redaction", "RedactionRule",
    "Sandbox", "Settings", "Telemetry", "deferred_models", "load", "nearest",
]  # fmt: skip
