"""Whether somebody has asked for traces and metrics over OTLP. Cheap: every start asks."""

from __future__ import annotations

import os
from typing import Final

from kubescript import config

__all__ = ["endpoint"]

_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def endpoint(settings: config.Telemetry) -> str:
    """What asks for telemetry: the setting or variable by name; empty when nothing does."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ""
    if settings.otlp_endpoint:
        return "telemetry.otlp_endpoint"
    return next((name for name in _VARIABLES if os.environ.get(name)), "")
