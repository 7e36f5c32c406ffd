"""A Kubernetes control plane on this machine: built from pinned Go modules, and started for as long as it is needed."""
