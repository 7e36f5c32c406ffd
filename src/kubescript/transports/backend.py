"""What the transports are given of a server. `app.Application` is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import mcp_types
from mcp.server.lowlevel import server as lowlevel

from kubescript import config, contexts
from kubescript.auth import user

__all__ = ["Backend", "Readiness", "Reread", "Served", "Tenant"]

Reread = Callable[[], config.Settings]
"""Reads the settings again, as at the start. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether calls would be answered now, and if not, why: what is checked, and `ok` or what is wrong."""

    checks: Mapping[str, str]

    @property
    def is_ready(self) -> bool:
        """Whether nothing is wrong."""
        return all(check == "ok" for check in self.checks.values())


class Served(Protocol):
    """The MCP server of one caller."""

    mcp: lowlevel.Server[Any]
    """For clients whose connections last."""
    stateless: lowlevel.Server[Any]
    """For those without sessions."""

    async def replace(self, offer: Any) -> None:
        """Offers something else from now on; what was offered before ends after its last call."""

    def hang_up(self) -> None:
        """Ends streams on which no call is answered."""

    async def close(self) -> None:
        """Ends what is offered after the last call."""


class Tenant(Protocol):
    """What one caller has of a server."""

    contexts: contexts.Contexts
    """The caller's clusters; those of `operator` are under the server's own credentials."""

    def server(self) -> Served:
        """Returns the caller's MCP server. Raises ConfigError."""

    def offer(self) -> Any:
        """Returns what `Served.replace` takes. Raises ConfigError."""

    def tools(self) -> Sequence[mcp_types.Tool]:
        """Returns the definitions of the caller's tools. Raises ConfigError."""

    def recover(self) -> None:
        """Goes on with the caller's plans whose server died."""

    def close(self) -> None:
        """Closes the caller's connections to clusters."""


class Backend(Protocol):
    """A server without a transport."""

    @property
    def settings(self) -> config.Settings:
        """Those that count now."""

    @property
    def operator(self) -> Tenant:
        """What every caller has where callers need no credential."""

    def tenant(self, caller: user.User | None, settings: config.Settings, operator: Tenant, route: str = "") -> Tenant:
        """Returns what a caller has at an endpoint, under the caller's own settings, on the cluster that this operator
        has chosen. Raises ConfigError."""

    def prepare(self, settings: config.Settings) -> tuple[Tenant, Callable[[], None]]:
        """Returns what `operator` will be under other settings, and a function that puts it in its place; that does not
        close the one before. Raises ConfigError when the settings cannot take effect."""

    def state(self) -> dict[str, object]:
        """Returns what the server is; nothing about a cluster."""

    def ready(self) -> Readiness:
        """Returns whether calls would be answered now. It may take two seconds."""

    def scrape(self) -> bytes:
        """Returns metrics in Prometheus' text format."""

    def drain(self) -> None:
        """Lets running scripts end, and refuses those that wait."""
