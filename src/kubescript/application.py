"""The one place where the parts are put together.

flags, environment, file ─▶ Settings
Spawner ─▶ Executor ─┐
Cluster ─▶ Broker  ──┴─▶ Session ─▶ Toolsets ─▶ Server ─▶ transport
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import kubescript
from kubescript import broker, config, errors, policy, resolver, session
from kubescript.cluster import base as cluster_base
from kubescript.sandbox import executor, spawner

if TYPE_CHECKING:
    from mcp.server.lowlevel import server as lowlevel

    from kubescript.toolsets import base

__all__ = ["TOOLSETS", "Application", "opened"]

log = logging.getLogger(__name__)

_CPU_MARGIN_S: Final = 5
"""Processor seconds beyond the longest deadline; the kernel's limit is only there should the host fail."""


class Application:
    """The parts of one running server, and their common end."""

    def __init__(self, settings: config.Settings, source: spawner.Spawner) -> None:
        self.settings = settings
        self.cluster = _cluster(settings)
        self.broker = broker.Broker(self.cluster, _policy(settings), resolve=resolver.KindResolver(self.cluster))
        self.executor = executor.Executor(
            source,
            memory_bytes=settings.limits.memory_mib * config.MIB,
            cpu_seconds=settings.limits.max_timeout_ms // 1000 + _CPU_MARGIN_S,
            spares=settings.sandbox.spare_workers,
            strict=settings.strict,
        )
        self.session = session.Session(settings, self.executor, self.broker, self.cluster)

    def server(self) -> lowlevel.Server[Any]:
        """The MCP server with the toolsets that the settings name."""
        from kubescript import server

        return server.build([TOOLSETS[name](self) for name in _chosen(self.settings)], self.executor.start)

    def state(self) -> dict[str, object]:
        """What the server is and how well it confines scripts; nothing about the cluster."""
        active = {layer.name for layer in self.executor.layers if layer.active}
        missing = sorted({layer.name for layer in self.executor.layers} - active)
        return {
            "name": "kubescript",
            "version": kubescript.__version__,
            "toolsets": self.settings.toolsets,
            "read_only": self.settings.read_only,
            "sandbox": {"strict": self.settings.strict, "layers": sorted(active), "missing": missing},
        }

    def close(self) -> None:
        """Stop workers and drop connections."""
        self.executor.close()
        self.cluster.close()


@contextlib.contextmanager
def opened(settings: config.Settings, source: spawner.Spawner) -> Iterator[Application]:
    """An application that runs scripts. Raises WorkerError when strict and a layer is missing."""
    application = Application(settings, source)
    try:
        if settings.strict:
            application.executor.probe()
        yield application
    finally:
        application.close()


def _code(application: Application) -> base.Toolset:
    from kubescript.toolsets import code

    return code.toolset(application.settings, application.session)


TOOLSETS: Final[dict[str, Callable[[Application], base.Toolset]]] = {"code": _code}
"""By the name that `--toolsets` takes."""


def _chosen(settings: config.Settings) -> tuple[str, ...]:
    unknown = [name for name in settings.toolsets if name not in TOOLSETS]
    if unknown:
        raise errors.ConfigError(f"unknown toolset `{unknown[0]}`; there is: {', '.join(TOOLSETS)}")
    if not settings.toolsets:
        log.warning(
            "no toolset is enabled, so no tool is offered; pass --toolsets code", extra={"event": "toolsets.none"}
        )
    return settings.toolsets


def _policy(settings: config.Settings) -> policy.Policy:
    rules = tuple(
        policy.DeniedResource(
            "*" if rule.group is None else rule.group or "core", rule.version, rule.kind, rule.resource
        )
        for rule in settings.denied_resources
    )
    defaults = policy.DEFAULT_RULES if settings.deny_defaults else ()
    return policy.Policy(settings.read_only, rules, defaults)


def _cluster(settings: config.Settings) -> cluster_base.Cluster:
    if settings.snapshot is not None:
        from kubescript.cluster import snapshot

        return snapshot.Snapshot(settings.snapshot)
    from kubescript.cluster import live

    return live.Live(settings.kubeconfig, settings.context)
