"""The toolset `cluster`: which clusters this server has, and logging in to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent import futures
from typing import Final

import anyio

from kubescript.toolsets import base, classic

__all__ = ["toolset"]

_LOOK_S: Final = 0.05
"""Seconds between two looks at a log-in that is under way."""


def toolset(access: base.Access, log_in: Callable[[str], futures.Future[None]]) -> base.Toolset:
    """Returns the toolset. `log_in` begins to log the server in to a cluster; it, or its result, raises
    ClusterError."""

    async def prepare(cluster: str) -> Mapping[str, object]:
        await _wait_for(log_in(cluster))
        return {}

    tools = classic.tools(access, ("cluster_list",))
    tools += classic.tools(access, ("gke_auth",), classic.HostPart(prepare=prepare))
    return base.Toolset("cluster", "clusters and logging in", tools, instructions=classic.INSTRUCTIONS)


async def _wait_for(work: futures.Future[None]) -> None:
    """Returns when the work is done. Raises what it raises."""
    # Attack: calls that wait in threads, until no thread is left for the requests of other clients.
    while not work.done():  # noqa: ASYNC110 - a thread does it, which sets no event of this loop
        await anyio.sleep(_LOOK_S)
    work.result()
