"""The sources beside the cluster, as scripts see them: metrics, alerts, logs and traces."""
