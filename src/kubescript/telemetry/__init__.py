"""What the operator's own systems learn of a server: traces and metrics over OTLP, and Prometheus' /metrics."""
