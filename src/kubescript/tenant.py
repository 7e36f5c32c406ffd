"""One caller's part of a server: clusters under the caller's identity, plans, scripts and tools. `app` makes one for
each.

A tenant has no access to other callers, so it cannot leak their connections, discovery answers or plans. `Shared` holds
the parts common to all callers; it runs scripts and masks texts, but keeps neither.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubescript import clusters as cluster_parts
from kubescript import concurrency, config, contexts, errors, evaluator, redaction, types
from kubescript.audit import recorder
from kubescript.auth import exchanged_tokens, identities, namesakes, user
from kubescript.broker import operation, rate
from kubescript.changes import rollouts, writer
from kubescript.commands import processes
from kubescript.fleet import directory, fleet
from kubescript.runbooks import folder
from kubescript.snapshot import library
from kubescript.telemetry import evaluation
from kubescript.wire import inspection
from kubescript_sandbox import runs
from kubescript_sandbox.host import executor

if TYPE_CHECKING:
    import mcp_types

    from kubescript.changes import approval, plan, planning, recovery
    from kubescript.changes.ask import elicitation
    from kubescript.changes.store import record
    from kubescript.commands import api_servers
    from kubescript.runbooks import preapproval
    from kubescript.server import offering, served
    from kubescript.toolsets import base, builtin

__all__ = ["Shared", "Tenant"]

_NOT_FOLLOWED: Final = frozenset({"k8s_patch"})
"""Tools that promise one API call: rollouts that their plans start are not followed."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts that the callers of a server share."""

    redaction: redaction.Engine
    audit: recorder.Recorder | None
    executor: executor.Executor
    fleet: fleet.Fleet
    """The clusters that are found."""
    places: concurrency.Places
    processes: processes.Processes
    """The processes of command lines."""
    rates: rate.Rates
    """The counts of all callers' writes."""
    keeper: Callable[[], recovery.Keeper]
    """Returns the keeper of plans."""
    warm_up: Callable[[], None]
    """Does the work that the first script would otherwise wait for."""
    authors: approval.Authors | None
    """Finds who applies the plans of authenticated callers; None for those who do."""
    approvers: approval.Approvers | None = None
    """Judges who has approved a plan."""
    exchange: Callable[[], exchanged_tokens.Exchange | None] = lambda: None
    """Returns what exchanges callers' tokens; None if nothing does. Raises ConfigError."""
    flags: str = ""
    """The flags with which a command finds this server's plans, preceded by a space."""
    observers: list[evaluation.Observer] = field(default_factory=list)
    """Functions that are called with every evaluation."""


class Tenant:
    """The parts of one caller. Used by many threads at once."""

    def __init__(
        self,
        settings: config.Settings,
        shared: Shared,
        caller: user.User | None = None,
        route: str = "",
        author: plan.Identity | None = None,
        shelf: library.Library | None = None,
    ) -> None:
        """`settings` are this caller's; `caller` is None where callers are not authenticated, and `author` is the
        caller as plans name it. `route` is the endpoint. `shelf` lends saved clusters; None: nothing is on it yet."""
        self.settings = settings
        self.shelf = shelf or library.Library()
        """Lends the saved clusters to the callers, too."""
        self._shared = shared
        self._caller = caller
        self._author = author
        self._route = route
        engine = shared.redaction
        if caller is not None:
            # The engine has masks and maskers that this caller shares with no other.
            user = inspection.UserInfo(caller.name, caller.groups)
            engine = engine.of(caller.key, user)
        self._engine = engine
        known = directory.Directory(settings, shared.fleet)
        # Whatever is listed must be usable when the server starts; a caller's many clusters are opened by demand.
        is_checked = caller is None or not settings.is_several
        act = identities.find(settings, caller, shared.exchange)
        bearer = identities.find_bearer(settings, caller, shared.exchange)
        self._accesses = cluster_parts.open_all(
            settings, engine, known, shared.rates, self.shelf, act, bearer, checked=is_checked
        )
        kinds = cluster_parts.list_source_kinds(settings, self._accesses)
        self.contexts = contexts.Contexts(self._accesses, known, kinds, settings.source_kinds)
        self.planning = self._planning(self._accesses)
        """The planning; None where no cluster takes plans."""
        self.evaluator = self._evaluator(shared.executor, self.contexts, shared.places)

    def _planning(self, accesses: Mapping[str, writer.WritableAccess]) -> planning.Planning | None:
        if self._route == "openstack" or "plan" not in self.settings.modes:  # OpenStack has no plans
            return None
        from kubescript.changes import planning

        shared = self._shared

        def run(
            script: str, operation: operation.Operation, clusters: contexts.Contexts
        ) -> tuple[runs.Outcome, Callable[[str], str]]:
            # The evaluator needs the planning, so it is made later.
            return self.evaluator.run_aside(script, operation, clusters)

        return planning.Planning(
            self.settings,
            accesses,
            shared.audit,
            shared.keeper(),
            run,
            self._author,
            shared.flags,
            shared.authors,
            shared.approvers,
        )

    @functools.cached_property
    def _parts(self) -> builtin.Parts:
        from kubescript.toolsets import builtin

        return builtin.Parts(
            self.settings,
            self.contexts,
            self.evaluator,
            self._shared.processes,
            self._shared.executor.later,
            self._evaluator_of_commands,
            lambda: self._api_servers,
            self._route,
        )

    @functools.cached_property
    def _api_servers(self) -> api_servers.ApiServers:
        from kubescript.commands import api_servers

        return api_servers.ApiServers(cluster_parts.of_urls(self.settings, self._engine, self._shared.rates))

    def _evaluator_of_commands(self, runner: evaluator.Runner, handler: evaluator.CallHandler) -> evaluator.Evaluator:
        """Returns the caller's evaluator of command lines."""
        places = self._shared.processes.places
        return self._evaluator(runner, handler, places)

    def _evaluator(
        self, runner: evaluator.Runner, handler: evaluator.CallHandler, places: concurrency.Places
    ) -> evaluator.Evaluator:
        # A plan is applied to the clusters in the settings, not to one named by a request.
        planning = self.planning if handler is self.contexts else None
        shared = self._shared
        host = evaluator.Host(runner, shared.audit, places, observers=shared.observers, scripts=shared.executor)
        return evaluator.Evaluator(
            self.settings,
            host,
            handler,
            mask=self._engine.text,
            plans=planning.planner if planning is not None else None,
            owner=self._caller.person if self._caller is not None else "",
            runbooks=folder.Folder(self.settings.runbooks.folder) if handler is self.contexts else None,
        )

    @functools.cached_property
    def _toolsets(self) -> list[base.Toolset]:
        from kubescript.toolsets import builtin

        return builtin.load(self._parts)

    def tools(self) -> list[mcp_types.Tool]:
        """Returns the definitions of the caller's tools. Raises ConfigError."""
        tools = [tool for toolset in self._toolsets for tool in toolset.tools]
        return [tool.definition for tool in tools]

    def server(self) -> served.Served:
        """Returns the MCP server with the toolsets in the settings. Raises ConfigError."""
        from kubescript.server import served

        proven = self._caller.as_caller() if self._caller is not None else types.Caller()
        return served.Served(self.offer(), proven)

    def offer(self) -> offering.Offer:
        """Returns the offer under the settings. Raises ConfigError."""
        from kubescript.server import offering
        from kubescript.toolsets import builtin

        return offering.Offer(
            self._toolsets,
            builtin.completions(self._parts),
            self.warm_up,
            self.close,
            self.contexts.choosing,
            heartbeat_s=self.settings.output.heartbeat_s,
            saved=self.settings.snapshot is not None,
            asker=self._asker(),
        )

    def _asker(self) -> elicitation.Asker | None:
        """Returns what asks people about plans; None where no cluster takes plans."""
        if self.planning is None:
            return None
        from kubescript.changes.ask import elicitation

        return elicitation.Asker(
            approvals=self.planning.approvals,
            follow=self.follow,
            quote=self.evaluator.answers.quote,
            link=self.planning.link,
            has_page=self.planning.has_page,
            has_lasting_page=self.planning.has_lasting_page,
            tell=self.planning.tell,
            ask_s=self.settings.plans.ask_s,
            flags=self._shared.flags,
            caller=self._caller,
            identity=self._author,
            label=namesakes.label(self.settings, self._caller) if self._caller is not None else "",
            brings_token=self._caller is not None and self.settings.acts_as == "caller",
            by_argument=self.settings.approval == "argument",
            in_advance=self._in_advance(),
        )

    def _in_advance(self) -> preapproval.PreApproval | None:
        """Returns the plans of runbooks that need no person; None if the settings name none."""
        approved = self.settings.runbooks.approved
        if not approved:
            return None
        from kubescript.changes import planner
        from kubescript.runbooks import preapproval

        # The name of a cluster whose plans do not name it.
        context = "" if self.settings.names_clusters else next(iter(self.settings.context_names), "")
        if self._caller is not None:
            return preapproval.PreApproval(approved, self._caller, context)
        # Over stdio the client has started the server; elsewhere an unknown caller has no name.
        name = planner.local_name() if self.settings.transport == "stdio" else ""
        return preapproval.PreApproval(approved, user.User(name), context)

    async def follow(
        self, applied: record.Record, caller: types.Caller, on_progress: types.OnProgress | None
    ) -> types.Answer | None:
        """Follows the rollouts that a plan has started, with our own script, whose answer is the cluster's text."""
        seconds = self.settings.plans.follow_s
        script = rollouts.script(applied.plan, seconds)
        if not script or caller.tool in _NOT_FOLLOWED:
            return None
        return await self.evaluator.evaluate(script, None, on_progress, caller, waits_ms=seconds * 1000)

    def pin(self, settings: config.Settings) -> config.Settings:
        """Returns the settings of a caller with this operator's context, even if `kubectl config use-context` has
        changed the kubeconfig since: the moment at which a caller arrives must not decide which cluster it reaches."""
        from kubescript.cluster import live

        if settings.is_several:
            return settings
        cluster = self.contexts.default.cluster
        if settings.context_names or not isinstance(cluster, live.Live):
            return settings
        try:
            return settings.model_copy(update={"context": cluster.context})
        except errors.ClusterError:  # --kubeconfig-later: the first call reports the error
            return settings

    def warm_up(self) -> None:
        """Does the work that the first script would otherwise wait for. Raises WorkerError, RedactionError."""
        self.recover()
        self._shared.warm_up()

    def recover(self) -> None:
        """Resumes plans whose server died. The operator's tenant does so, for all callers."""
        if self.planning is not None and self._caller is None:
            self.planning.recover()

    def close(self) -> None:
        """Closes the connections to all clusters. A plan that is being applied is left to the next server."""
        with contextlib.ExitStack() as closing:
            closing.callback(self._accesses.close)
            # The API servers are made with the toolset `openshift`, if it has URLs.
            if "_api_servers" in vars(self):
                closing.callback(self._api_servers.close)
            if self.planning is not None:
                closing.callback(self.planning.close)
