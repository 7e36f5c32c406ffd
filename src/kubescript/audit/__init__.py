"""The audit trail: what scripts asked of the cluster, recorded and chained by hashes. See docs/audit.md."""
