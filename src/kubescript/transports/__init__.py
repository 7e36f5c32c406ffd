"""How clients reach the server: stdio and streamable HTTP."""

from kubescript.transports.serving import Scrape, State, serve

__all__ = ["Scrape", "State", "serve"]
