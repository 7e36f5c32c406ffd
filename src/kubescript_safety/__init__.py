"""A benchmark of MCP servers for Kubernetes that judges how an agent changed a cluster, not only the result."""
