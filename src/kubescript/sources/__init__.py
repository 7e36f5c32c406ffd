"""The servers of metrics, alerts, logs and traces that scripts may ask, each by fixed operations only."""
