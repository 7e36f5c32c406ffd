"""All settings. They are read once from flags, environment and file, in this order of precedence, and frozen."""

from kubescript.config.deferring import deferred_models
from kubescript.config.loading import load, nearest
from kubescript.config.settings import (
    MIB,
    Approvals,
    Audit,
    Context,
    DeniedResource,
    Expression,
    Http,
    Limits,
    Output,
    Plans,
    Redaction,
    RedactionRule,
    Sandbox,
    Settings,
    Telemetry,
    WritePolicy,
)  # fmt: skip

__all__ = [
    "MIB", "Approvals", "Audit", "Context", "DeniedResource", "Expression", "Http", "Limits", "Output", "Plans",
    "Redaction", "RedactionRule", "Sandbox", "Settings", "Telemetry", "WritePolicy", "deferred_models", "load",
    "nearest",
]  # fmt: skip
