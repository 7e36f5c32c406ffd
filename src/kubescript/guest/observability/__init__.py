"""The tools of the toolset `observability`: metrics, alerts and logs of the operator's sources."""
