"""Groups of MCP tools. An operator enables each by name."""
