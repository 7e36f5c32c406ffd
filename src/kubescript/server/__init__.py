"""The MCP server of one caller: what it offers, the handlers of requests, and what it tells clients by itself."""
