"""A benchmark of MCP servers for Kubernetes: judges how an agent has changed a cluster, not only what became of it."""
