"""A real Kubernetes control plane for tests: `build`, `server`, `cluster`, and what to load: `fixture`, `bulk`."""
