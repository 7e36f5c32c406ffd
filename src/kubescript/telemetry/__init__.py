"""What a server reports to the operator's own systems: traces and metrics over OTLP, and Prometheus' /metrics."""
