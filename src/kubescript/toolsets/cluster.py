"""The toolset `cluster`: lists this server's clusters, and logs in to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Final

import anyio

from kubescript.toolsets import base, classic

__all__ = ["toolset"]

_LOOK_S: Final = 0.05
"""Seconds between checks of a running log-in."""


def toolset(access: base.Access, log_in: Callable[[str], futures.Future[None]]) -> base.Toolset:
    """Returns the toolset. `log_in` starts to log the server in to a cluster; it, or its result, raises
    ClusterError."""

    async def prepare(cluster: str) -> Mapping[str, object]:
        work = log_in(cluster)
        await _wait_for(work)
        return {}

    tools = classic.tools(access, ("cluster_list",))
    tools += classic.tools(access, ("gke_auth",), classic.HostPart(prepare=prepare))
    return base.Toolset("cluster", "clusters and logging in", tools, instructions=classic.INSTRUCTIONS)


async def _wait_for(work: futures.Future[None]) -> None:
    """Returns when the work is done. Raises its exception."""
    # Attack: a client's calls wait in threads, until none is left for other clients.
    while not work.done():  # noqa: ASYNC110 - a thread does it, which sets no event of this loop
        await anyio.sleep(_LOOK_S)
    work.result()
