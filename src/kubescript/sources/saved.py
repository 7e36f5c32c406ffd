"""Makes the sources of a snapshot answer through the door, as those of a live cluster do."""

from __future__ import annotations

import functools
from typing import Final

from kubescript import config
from kubescript.cluster import base
from kubescript.snapshot import saved_cluster
from kubescript.snapshot.sources import alerts, logs, metrics, saved_source, server
from kubescript.sources import door, source

__all__ = ["open_saved"]

_NOWHERE: Final = "http://snapshot.invalid"
"""The URL of the settings of a saved source; nothing is sent there."""


def open_saved(
    saved: saved_cluster.SavedCluster, namespaces: tuple[str, ...] | None, hooks: source.Hooks
) -> door.Door | None:
    """Returns the sources of a saved cluster for a caller, who may be limited to namespaces; None if there are none.
    Raises ClusterError (cluster.broken)."""
    opened = {}
    for name, each in saved_source.open_sources(saved).items():
        # Nothing keeps namespaces apart in a snapshot, so the tenancy is the default: none.
        own = config.Source(kind=each.about.kind, url=_NOWHERE)
        clock = functools.partial(float, each.about.end)
        opened[name] = source.Source(name, own, _make_server(each), namespaces, clock)
    return door.Door(opened, hooks) if opened else None


def _make_server(each: saved_source.SavedSource) -> base.Server:
    if each.about.kind == "prometheus":
        return server.Saved("/api/v1/", metrics.Metrics(each).answer)
    if each.about.kind == "loki":
        return server.Saved("/loki/api/v1/", logs.Logs(each).answer)
    return server.Saved("/api/v2/", alerts.Alerts(each).answer)
