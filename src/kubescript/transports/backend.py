"""The interface of a server for the transports. `app.Application` implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import mcp_types
from mcp.server.lowlevel import server as lowlevel
from starlette.types import ASGIApp

from kubescript import config, contexts
from kubescript.auth import user
from kubescript.telemetry import evaluation
from kubescript.transports import readiness

if TYPE_CHECKING:
    from kubescript.auth import authenticator  # loads cryptography: 10 MiB that a server over stdio never needs

__all__ = ["Backend", "Reread", "Served", "Tenant", "WebApplication"]

WebApplication = ASGIApp
"""An application as a web server calls it."""
Reread = Callable[[], config.Settings]
"""Reads the settings again, as at the start. Raises ConfigError."""


class Served(Protocol):
    """The MCP server of one caller."""

    mcp: lowlevel.Server[Any]
    """The server for clients whose connections last."""
    stateless: lowlevel.Server[Any]
    """The server for clients without sessions."""

    async def replace(self, offer: Any) -> None:
        """Offers something else from now on; the old offer is closed after its last call."""

    def hang_up(self) -> None:
        """Ends streams on which no call is being answered."""

    async def close(self) -> None:
        """Closes the offer after the last call."""


class Tenant(Protocol):
    """One caller's part of a server."""

    contexts: contexts.Contexts
    """The caller's clusters; those of `operator` are under the server's own credentials."""

    def server(self) -> Served:
        """Returns the caller's MCP server. Raises ConfigError."""

    def offer(self) -> Any:
        """Returns the argument for `Served.replace`. Raises ConfigError."""

    def tools(self) -> Sequence[mcp_types.Tool]:
        """Returns the definitions of the caller's tools. Raises ConfigError."""

    def recover(self) -> None:
        """Resumes the caller's plans whose server died."""

    def close(self) -> None:
        """Closes the caller's connections to clusters."""


class Backend(Protocol):
    """A server without a transport."""

    verifier: authenticator.Authenticator | None
    """What identifies the callers; a transport sets it, and `ready` asks it."""

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""

    @property
    def operator(self) -> Tenant:
        """The tenant of every caller where callers need no credential."""

    def tenant(self, caller: user.User | None, settings: config.Settings, operator: Tenant, route: str = "") -> Tenant:
        """Returns a caller's tenant at an endpoint, under the caller's own settings, on the cluster that this operator
        has chosen. Raises ConfigError."""

    def prepare(self, settings: config.Settings) -> tuple[Tenant, Callable[[], None]]:
        """Returns a new `operator` for other settings, and a function that installs it without closing the previous
        one. Raises ConfigError when the settings cannot take effect."""

    def page(self, verifier: authenticator.Authenticator, url: str) -> WebApplication | None:
        """Returns the page on which callers approve plans, below `endpoints.PAGE`; None if there is none. `url` is that
        of /mcp."""

    def state(self) -> dict[str, object]:
        """Returns the server's version, toolsets and confinement; nothing about a cluster."""

    def ready(self) -> readiness.Readiness:
        """Returns whether calls would be answered now. This may take two seconds."""

    def scrape(self, present: evaluation.Presence) -> bytes:
        """Returns metrics in Prometheus' text format."""

    def note_refusal(self, status: int) -> None:
        """Counts a request that was refused with an HTTP status."""

    def drain(self) -> None:
        """Lets running scripts finish, and refuses those that wait."""
