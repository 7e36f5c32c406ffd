"""The transports through which clients reach the server: stdio, streamable HTTP, and the older SSE."""

from kubescript.transports.serving import Announce, serve

__all__ = ["Announce", "serve"]
