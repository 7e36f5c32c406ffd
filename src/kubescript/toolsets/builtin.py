"""The built-in toolsets, by the names that `--toolsets` takes, and the installed ones."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubescript import config, contexts, errors, evaluator, types
from kubescript.commands import processes
from kubescript.toolsets import installed

if TYPE_CHECKING:
    from concurrent import futures

    from kubescript.toolsets import base, completion

__all__ = ["TOOLSETS", "Parts", "check", "completions", "load"]

log = logging.getLogger(__name__)


_Handler = Callable[[], evaluator.CallHandler]
_EvaluatorOf = Callable[[evaluator.Runner, evaluator.CallHandler], evaluator.Evaluator]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a tenant that its toolsets use."""

    settings: config.Settings
    contexts: contexts.Contexts
    evaluator: evaluator.Evaluator
    processes: processes.Processes
    later: Callable[..., None]
    """Runs a function after the current answer has been sent."""
    evaluator_of: _EvaluatorOf
    """Returns an evaluator of command lines."""
    api_servers: _Handler
    """Returns the handler for requests that name their API server. Raises ConfigError."""
    route: str = ""
    """The endpoint at which the toolsets are offered."""


def _code(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import code

    return code.toolset(parts.settings, parts.evaluator, parts.contexts.sources.values())


def _kubectl(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import kubectl

    # A write may wait until the cluster has carried out the change, longer than a script may run.
    def follow(
        script: str, waits_ms: int, on_progress: types.OnProgress | None, caller: types.Caller
    ) -> Coroutine[None, None, types.Answer]:
        return parts.evaluator.evaluate(script, None, on_progress, caller, waits_ms=waits_ms)

    settings = parts.settings
    follows = follow if settings.writable else None
    return kubectl.toolset(_access(parts), follow=follows, by_argument=settings.by_argument)


def _helm(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import helm

    return helm.toolset(_access(parts))


def _clusters(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import cluster

    def log_in(name: str) -> futures.Future[None]:
        from kubescript.cluster import live
        from kubescript.wire import messages

        # Attack: a caller with few rights replaces the server's credentials with those of this machine.
        if parts.settings.knows_callers:
            raise errors.ClusterError(
                "a server with several callers keeps its own credentials: its operator logs it in"
            )
        chosen = parts.contexts.cluster(name)
        if not isinstance(chosen, live.Live):
            raise errors.ClusterError(messages.text("gke_saved", cluster=name), remedy=messages.text("action_saved"))
        return chosen.log_in()

    return cluster.toolset(_access(parts), log_in)


def _gateway(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import gateway

    settings = parts.settings
    # The tools work on the default cluster, whatever the others permit.
    is_writable = set(settings.default_modes) != {"off"}
    by_argument = settings.approval == "argument"
    return gateway.toolset(_access(parts), writable=is_writable, by_argument=by_argument)


def _observability(parts: Parts) -> base.Toolset:
    from kubescript.toolsets import observability

    settings, sources = parts.settings, parts.contexts.sources
    # Some callers may have none; `check` has seen to the others.
    if not sources and not settings.knows_callers:
        raise errors.ConfigError(_NO_SOURCE, remedy=_ADD_SOURCE)
    namespaced = {
        name for own in settings.clusters for name, each in own.sources.items() if each.tenancy == "namespace"
    }
    return observability.toolset(_access(parts), sources, namespaced, settings.source_kinds.keys())


def _openshift(parts: Parts) -> base.Toolset:
    from kubescript.commands import oc_runner as commands
    from kubescript.toolsets import command_lines

    settings = parts.settings
    runner = commands.Runner(settings, parts.processes, parts.later)
    # The only way out of the command's process is a proxy of ours, whose requests this handler answers.
    handler = parts.api_servers() if settings.openshift.urls else parts.contexts
    own_evaluator = parts.evaluator_of(runner, handler)
    return command_lines.openshift(own_evaluator, settings)


def _openstack(parts: Parts) -> base.Toolset:
    from kubescript.commands import openstack_runner as commands
    from kubescript.toolsets import command_lines

    runner = commands.Runner(parts.settings, parts.processes, parts.later)
    # The client talks to its cloud itself, so no broker has a part in it.
    own_evaluator = parts.evaluator_of(runner, commands.NoCluster())
    return command_lines.openstack(own_evaluator, parts.settings)


def _access(parts: Parts) -> base.Access:
    """Returns the access that a toolset gets to a server. The functions are closures, so that none of their attributes
    leads to the parts of the server."""
    from kubescript.toolsets import base  # it loads half of the MCP SDK, which `check` does not need

    async def evaluate(
        script: str, timeout_ms: int | None, on_progress: types.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        return await parts.evaluator.evaluate(script, timeout_ms, on_progress, caller)

    def list_clusters() -> tuple[str, ...]:
        return parts.contexts.list_names()

    settings = parts.settings
    return base.Access(evaluate, list_clusters, settings.language, settings.by_argument)


def load(parts: Parts) -> list[base.Toolset]:
    """Returns the toolsets in the settings. Raises ConfigError when an installed one cannot be used."""
    from kubescript.wire import messages

    messages.choose(parts.settings.language)
    toolsets = []
    for name in _list_names(parts.settings, parts.route):
        if name in TOOLSETS:
            toolsets.append(TOOLSETS[name](parts))
        else:
            toolsets.append(installed.load(name, _access(parts)))
    installed.check_clashes(toolsets)
    return toolsets


def completions(parts: Parts) -> completion.Completions:
    """Returns the completions for arguments of prompts."""
    from kubescript.toolsets import completion

    return completion.Completions(_access(parts))


TOOLSETS: Final[dict[str, Callable[[Parts], base.Toolset]]] = {
    "code": _code,
    "kubectl": _kubectl,
    "helm": _helm,
    "cluster": _clusters,
    "gateway": _gateway,
    "observability": _observability,
    "openshift": _openshift,
    "openstack": _openstack,
}
"""Toolsets by the names that `--toolsets` takes."""
_NO_SOURCE: Final = "no source is configured for the toolset `observability`"
_ADD_SOURCE: Final = (
    'add [sources.prometheus] with kind = "prometheus" and its url or service, or another kind: alertmanager, loki '
    "(docs/sources.md)"
)
_FOREIGN_TOOLSETS: Final = frozenset({"config", "core", "kcp", "kiali", "kubevirt", "metrics", "netobserv", "tekton"})
"""Toolsets of kubernetes-mcp-server."""


def check(settings: config.Settings) -> None:
    """Checks that every toolset in the settings exists, and that its requirements are met. Raises ConfigError."""
    in_tables = itertools.chain.from_iterable(table.toolsets or () for table in settings.access)
    for where, names in (("", settings.toolsets), (" in [[access]]", in_tables)):
        for name in names:
            if name not in TOOLSETS:
                _check_installed(name, where)
            if name == "observability":
                _check_sources(settings, where)
    for name in settings.toolsets:
        if name == "openstack":
            from kubescript.commands import openstack_runner

            openstack_runner.check()


def _check_sources(settings: config.Settings, where: str) -> None:
    """Checks that there are sources, or that a snapshot may have some. Raises ConfigError."""
    if not any(own.sources or own.snapshot is not None for own in settings.clusters):
        raise errors.ConfigError(f"{_NO_SOURCE}{where}", remedy=_ADD_SOURCE)


def _check_installed(name: str, where: str) -> None:
    """Checks that a toolset that is not built in is installed, without loading it. Raises ConfigError."""
    if installed.find(name) is not None:
        return
    remedy = ""
    if name in _FOREIGN_TOOLSETS:
        remedy = (
            f"`{name}` is a toolset of kubernetes-mcp-server; use --toolsets kubectl for tools that work like kubectl, "
            "or code for one tool that runs scripts"
        )
    there = ", ".join((*TOOLSETS, *installed.names()))
    raise errors.ConfigError(f"unknown toolset `{name}`{where}; there is: {there}", remedy=remedy)


def _list_names(settings: config.Settings, route: str) -> tuple[str, ...]:
    if not settings.toolsets:
        log.warning(
            "no toolset is enabled, so no tool is offered; pass --toolsets code", extra={"event": "toolsets.none"}
        )
    return tuple(dict.fromkeys(settings.list_toolsets(route)))
