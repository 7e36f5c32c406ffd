"""A Kubernetes control plane on this machine, built from pinned Go modules, and started on demand."""
