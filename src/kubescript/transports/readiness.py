"""Whether a server would answer calls now, as Kubernetes' readiness probe asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from kubescript import config, contexts, errors
from kubescript.fleet import fleet
from kubescript.request import request
from kubescript_sandbox.host import cancellation, executor

__all__ = ["Readiness", "examine"]

_READYZ: Final = request.Request("GET", "/readyz", (), "get", is_resource=False)
_READY_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether calls would be answered now: each check by name, with `ok` or the problem."""

    checks: Mapping[str, str]
    beside: Mapping[str, str]
    """Checks of what concerns some calls only: another replica would not answer these either."""

    @property
    def all_checks(self) -> dict[str, str]:
        """The checks of both kinds."""
        return {**self.checks, **self.beside}

    @property
    def is_ready(self) -> bool:
        """Whether all checks are ok."""
        return all(check == "ok" for check in self.checks.values())


def examine(
    settings: config.Settings,
    workers: executor.Executor,
    found: fleet.Fleet,
    clusters: contexts.Contexts,
    callers: str,
) -> Readiness:
    """Returns whether workers start, and the default one of these clusters answers; `callers` is `ok`, or what keeps
    some callers out, and empty where callers are unknown. Takes up to two seconds."""
    checks = {"workers": _start(workers), "cluster": _ask(settings, found, clusters)}
    return Readiness(checks, {"callers": callers} if callers else {})


def _start(workers: executor.Executor) -> str:
    """Returns `ok`, or why no worker starts."""
    try:
        workers.start()
    except errors.WorkerError as error:
        return error.message
    return "ok"


def _ask(settings: config.Settings, found: fleet.Fleet, clusters: contexts.Contexts) -> str:
    """Returns `ok`, or why the default cluster does not answer. A saved cluster is always ready."""
    from kubescript.cluster import live

    # A fleet serves its other clusters while one is down, and its first one is often added later.
    if found.is_on:
        return "ok" if found.wait(0) else "fleet.source has not answered yet"
    cluster = clusters.default.cluster
    if not isinstance(cluster, live.Live) or not settings.needs_cluster:
        return "ok"
    try:
        answer = cluster.perform(_READYZ, _READY_S, cancellation.Cancellation())
        answer.close()
    except errors.ClusterError as error:
        return error.message
    # 401 and 403 are answers too.
    if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "ok"
    return f"it answers {answer.status}"
