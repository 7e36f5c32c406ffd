"""The only way to the sources of one cluster: finds the source that a call names, and has it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kubescript import errors
from kubescript.broker import broker, operation
from kubescript.sources import source
from kubescript.wire import exchanges

if TYPE_CHECKING:
    from kubescript.cluster import live, web

__all__ = ["Door", "is_for_source"]

_SHOWN: Final = 40
"""How many characters of an unknown name a refusal quotes."""


class Door:
    """The sources of one cluster, for one caller. It keeps no state between calls, and many threads may use it."""

    def __init__(
        self,
        sources: Mapping[str, source.Source],
        hooks: source.Hooks,
        connections: Sequence[live.Live | web.Web] = (),
    ) -> None:
        """`connections` are those that only the sources use."""
        self._sources = sources
        self._hooks = hooks
        self._connections = connections

    def handle(
        self, asked: exchanges.Call, operation: operation.Operation, timeout_s: float, *, is_ours: bool = False
    ) -> broker.Answer:
        """Answers one call, see `broker.Broker.handle`; `is_ours` is one of kubescript itself, which may ask for
        everything."""
        # The name comes from a hostile worker, and is only compared.
        name = asked.path[len(exchanges.SOURCES)] if len(asked.path) > len(exchanges.SOURCES) else ""
        found = self._sources.get(name)
        if found is None:
            known = ", ".join(self._sources) or "none here ([sources])"
            error = errors.PolicyDenied(
                f"no source {name[:_SHOWN]!r}; there are: {known}", code="policy.unknown_source"
            )
            return broker.refuse(asked, operation, error), None
        return source.SourceCall(found, self._hooks, is_ours=is_ours).handle(asked, operation, timeout_s)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each source, by name."""
        return {name: each.settings.kind for name, each in self._sources.items()}

    def close(self) -> None:
        """Aborts every call, and closes the connections to all sources."""
        for each in self._connections:
            each.close()

    def release(self) -> None:
        """Closes connections that no call uses; calls that are under way end as they would."""
        for each in self._connections:
            each.release()


def is_for_source(asked: exchanges.Call) -> bool:
    """Says whether a call is for a source, and not for an API server."""
    return asked.path[: len(exchanges.SOURCES)] == exchanges.SOURCES
