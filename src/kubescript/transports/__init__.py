"""How clients reach the server: stdio and streamable HTTP."""

from kubescript.transports.serving import Announce, Scrape, State, serve

__all__ = ["Announce", "Scrape", "State", "serve"]
