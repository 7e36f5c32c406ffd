"""The audit trail: what scripts asked of the cluster, on record and chained by hashes. See docs/audit.md."""
