"""Groups of MCP tools, each opt-in by name."""
