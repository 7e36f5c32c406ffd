"""The saved sources of a snapshot: files that answer the questions of Prometheus, Alertmanager and Loki."""
