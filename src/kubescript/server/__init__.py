"""The MCP server of one caller: its offer, the handlers of requests, and notifications to clients."""
