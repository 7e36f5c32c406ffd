"""Groups of MCP tools. An operator switches each on by its name."""
