"""Telemetry for the operator's own systems: traces and metrics over OTLP, and metrics for Prometheus at /metrics."""
