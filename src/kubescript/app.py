"""The composition root, where all parts are put together. The command line opens an `Application`.

flags, environment, file ─▶ Settings
Spawner ─▶ Executor, Redaction, Audit, Places ──▶ Shared ─┐
Cluster ─▶ Broker ─▶ Contexts ─▶ Evaluator ─▶ Toolsets ─▶ Tenant ─▶ Server ─▶ transport
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import kubescript
from kubescript import concurrency, config, errors, logs, programs, redaction, tenant
from kubescript.audit import recorder
from kubescript.broker import rate
from kubescript.changes import authors, recovery
from kubescript.changes.page import rights
from kubescript.changes.rules import write_settings
from kubescript.commands import processes
from kubescript.database import stores
from kubescript.fleet import sources
from kubescript.telemetry import evaluation, exports
from kubescript.toolsets import builtin
from kubescript_sandbox.host import executor, spawner

if TYPE_CHECKING:
    from kubescript.auth import authenticator, exchange, exchanged_tokens, user
    from kubescript.changes import approval, plan, planning
    from kubescript.server import served
    from kubescript.transports import backend, readiness

__all__ = ["Application", "opened"]

log = logging.getLogger(__name__)

_CPU_MARGIN_S: Final = 5
"""Processor seconds beyond the longest deadline; the kernel's limit matters only if the host fails."""
_FIRST_SET_S: Final = 5.0
"""Seconds for which a start waits for the first clusters of a fleet; later ones come while it serves."""


class Application:
    """The parts of one running server, which are closed together."""

    def __init__(
        self,
        settings: config.Settings,
        source: spawner.Spawner,
        masking: spawner.Spawner | None = None,
        flags: str = "",
    ) -> None:
        """`source` spawns the workers; `masking` spawns the maskers, where it has been started."""
        builtin.check(settings)
        self.flags = flags
        """The flags with which a command finds this application's plans, preceded by a space."""
        self._source, self._masking = source, masking
        self.redaction = _redaction_engine(settings, masking)
        self.audit = recorder.open_recorder(
            settings.audit, self.redaction.text_or_withheld, is_replica=bool(settings.replicas.store)
        )
        self.executor = executor.Executor(
            source,
            programs.SCRIPTS,
            memory_bytes=settings.limits.memory_mib * config.MIB,
            cpu_seconds=settings.limits.max_timeout_ms // 1000 + _CPU_MARGIN_S,
            spares=settings.sandbox.spare_workers,
            strict=settings.strict,
        )
        self.fleet = sources.open_fleet(settings)
        """The clusters that are found."""
        self.fleet.start()
        self.verifier: authenticator.Authenticator | None = None
        """What identifies the callers, once a transport serves some that must be known."""
        self._lock = threading.Lock()
        self._plans = settings.plans
        self._keeper: recovery.Keeper | None = None
        self._exchange: exchange.Endpoint | None = None
        self._exports = exports.Exports()
        self._shared = self._share(settings)
        self.operator = tenant.Tenant(settings, self._shared)
        """The tenant of the person who started the server, and of every caller where callers are not authenticated."""
        # Attack: a credential plugin puts the token in its error message. `kubescript run` once logged it unmasked.
        logs.mask_with(self.redaction.log_line)

    def _share(self, settings: config.Settings) -> tenant.Shared:
        """Returns the parts that all callers share."""
        sandbox = settings.sandbox
        return tenant.Shared(
            redaction=self.redaction,
            audit=self.audit,
            executor=self.executor,
            fleet=self.fleet,
            places=concurrency.Places(sandbox.max_scripts, sandbox.max_queue, shared=settings.knows_callers),
            processes=processes.Processes(settings),
            rates=rate.Rates(),
            keeper=self._open_keeper,
            authors=self._open_author,
            exchange=self._open_exchange,
            approvers=lambda person, planned: rights.may_still_decide(self.settings, self.fleet, person, planned),
            warm_up=self._warm_up,
            flags=self.flags,
        )

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self.operator.settings

    @property
    def load(self) -> evaluation.Load:
        """How busy the server is."""
        scripts = self._shared.places.scripts
        plans = self._keeper.waiting if self._keeper is not None else 0
        return evaluation.Load(
            running=scripts.running,
            waiting=scripts.waiting,
            spares=self.executor.spares,
            plans=plans,
            is_fleet_ok=self.fleet.is_ok,
            left_out=self.fleet.left_out,
        )

    def server(self) -> served.Served:
        """Returns the MCP server for callers that need not authenticate. Raises ConfigError."""
        self.load_sdk()
        return self.operator.server()

    def scrape(self, present: evaluation.Presence) -> bytes:
        """Returns the response body of /metrics."""
        return self._exports.scrape(present)

    def note_refusal(self, status: int) -> None:
        """Counts a request that was refused with an HTTP status."""
        self._exports.note_refusal(status)

    def ready(self) -> readiness.Readiness:
        """Returns whether scripts would be answered now: whether workers start and the default cluster answers."""
        from kubescript.transports import readiness

        callers = self.verifier.check() if self.verifier is not None else ""
        found = readiness.examine(self.settings, self.executor, self.fleet, self.operator.contexts, callers)
        self._exports.note_checks(found.all_checks)
        return found

    def plans(self) -> planning.Planning:
        """Returns the plans of the server's clusters. Raises PlanError if none takes any."""
        found = self.operator.planning
        if found is None:
            raise errors.PlanError("no cluster of this server takes plans", code="plan.policy")
        return found

    def page(self, verifier: authenticator.Authenticator, url: str) -> backend.WebApplication | None:
        """Returns the page on which callers approve plans; None if there is none."""
        if not self.settings.plans.page:
            return None
        from kubescript.changes.page import team
        from kubescript.transports import endpoints

        self._open_keeper().page = endpoints.page_url(url)
        return team.app(self, verifier)

    def drain(self) -> None:
        """Lets running scripts finish, and refuses those that wait."""
        self._shared.places.close()
        self._shared.processes.places.close()

    def load_sdk(self) -> None:
        """Loads the MCP SDK, and starts whatever else a server needs."""
        # The SDK takes most of a server's start time, so only serving imports it, and as little of it as possible.
        from kubescript.toolsets import sdk

        sdk.skip_conveniences()
        self._open_exchange()  # raises for a secret that cannot be read
        stores.check(self.settings)
        self._shared.processes.warm_up(self.settings.toolsets)  # first: openstackclient takes longest
        # One at a time: with three processes on two processors, this one would wait 0.2 s more for a processor.
        if self.settings.needs_cluster:  # else no script runs
            self._source.warm_up()
        with config.defer_models():
            import mcp_types  # noqa: F401 - half of it

            if self._masking is not None:
                self._masking.warm_up()
            from kubescript.server import served  # noqa: F401 - the other half
        observers = self._exports.start(
            self.settings, lambda: self.load, lambda text: self.redaction.text_or_withheld(text, lambda _: None)
        )
        self._shared.observers.extend(observers)
        if self.settings.transport == "http":
            self.operator.recover()  # the first call may come hours later

    def prepare(self, settings: config.Settings) -> tuple[tenant.Tenant, Callable[[], None]]:
        """Returns a new `operator` for other settings, and a function that installs it without closing the previous
        one. Raises ConfigError when the settings cannot take effect."""
        config.check_reload(self.settings, settings)
        # The masking process reads the expressions once, when it starts.
        if write_settings.expressions(settings) != write_settings.expressions(self.settings):
            raise errors.ConfigError("the expressions of write policies cannot change while the server runs")
        builtin.check(settings)
        if settings.auth.tokens_file is not None:
            from kubescript.auth import tokens_file

            tokens_file.read_users(settings.auth.tokens_file)  # raises for a file that cannot be used
        operator = tenant.Tenant(settings, self._shared)
        # Loads the operator's toolsets: if one fails, the present settings stay in force.
        try:
            operator.offer()
        except errors.ConfigError:
            operator.close()
            raise

        def adopt() -> None:
            logs.set_level(settings.log_level)
            self.operator = operator
            if settings.transport == "http":
                operator.recover()

        return operator, adopt

    def tenant(
        self, caller: user.User | None, settings: config.Settings, operator: backend.Tenant, route: str = ""
    ) -> tenant.Tenant:
        """Returns a caller's tenant at an endpoint, with the caller's settings, on the cluster that this operator has
        chosen. Raises ConfigError."""
        assert isinstance(operator, tenant.Tenant)
        return _make_tenant(self._shared, caller, settings, operator, route)

    @contextlib.contextmanager
    def _open_author(self, author: plan.Identity) -> Iterator[approval.Approvals]:
        """Yields the approvals of an author's own tenant under the settings in force. Raises PlanError (plan.author)
        when the author may not plan any more, and KubescriptError."""
        operator = self.operator
        caller, settings = authors.find_rights(author, operator.settings)
        # The caller's present tenant may have older settings: it finishes its calls under those.
        own = _make_tenant(replace(self._shared, authors=None), caller, settings, operator)
        try:
            if own.planning is None:
                raise authors.lose_rights(author, "the author may not plan changes of any cluster")
            yield own.planning.approvals
        finally:
            own.close()

    def start(self) -> None:
        """Requests the first worker and the first maskers without waiting for them. Raises WorkerError and
        RedactionError."""
        self.executor.start()
        self.redaction.start()

    def warm_up(self) -> None:
        """Does the work that the first script would otherwise wait for. Raises WorkerError, RedactionError."""
        self.operator.warm_up()

    def _warm_up(self) -> None:
        if self.settings.needs_cluster:
            self.executor.start()
        self.redaction.prepare()

    def _open_keeper(self) -> recovery.Keeper:
        """Returns the keeper of plans, which is made for the first tenant that needs it."""
        with self._lock:
            if self._keeper is None:
                self._keeper = recovery.Keeper(self._plans, self._open_notifier())
            return self._keeper

    def _open_exchange(self) -> exchanged_tokens.Exchange | None:
        """Returns what exchanges callers' tokens, which is made when it is first needed; None if the settings have no
        endpoint. Raises ConfigError."""
        settings = self.settings
        if settings.auth.exchange is None or not settings.knows_callers:
            return None
        from kubescript.auth import exchange

        with self._lock:
            if self._exchange is None:
                self._exchange = exchange.Endpoint(settings.auth)
            return self._exchange.exchange

    def _open_notifier(self) -> recovery.Notifier | None:
        """Returns what tells a team's chat of plans; None if there is no such chat. Raises ConfigError."""
        if self._plans.notify is None:
            return None
        from kubescript.changes import notices

        return notices.Notifier(self._plans.notify)

    def state(self) -> dict[str, object]:
        """Returns the server's version, toolsets and confinement; nothing about the cluster."""
        layers = {layer.name for layer in self.executor.layers}
        active = {layer.name for layer in self.executor.layers if layer.active}
        return {
            "name": "kubescript",
            "version": kubescript.__version__,
            "toolsets": self.settings.toolsets,
            "read_only": not self.settings.writable,
            "redaction": self.redaction.enabled,
            "sandbox": {
                "strict": self.settings.strict,
                "layers": sorted(active),
                "missing": sorted(layers - active),
            },
        }

    def close(self) -> None:
        """Stops workers and maskers, and closes connections, the audit record and telemetry."""
        if self._keeper is not None:  # first: a plan that is being applied is left to the next server
            self._keeper.close()
        self.executor.close()
        self._shared.processes.close()
        self.fleet.close()
        self.operator.close()
        if self.audit is not None:
            self.audit.close()
        if self._exchange is not None:
            self._exchange.close()
        # The exporter closes last, so that it can send the reports that the others make while closing.
        self._exports.close()
        logs.drain()
        self.redaction.close()


@contextlib.contextmanager
def opened(
    settings: config.Settings, source: spawner.Spawner, masking: spawner.Spawner | None = None, flags: str = ""
) -> Iterator[Application]:
    """Yields an application that runs scripts; `flags` are those with which a command finds the plans. Raises
    WorkerError when `strict` is on and a layer is missing."""
    application = Application(settings, source, masking, flags)
    try:
        if settings.strict:
            application.executor.probe()
        if settings.fleet.is_on:
            application.fleet.wait(_FIRST_SET_S)
        yield application
    finally:
        application.close()


def _make_tenant(
    shared: tenant.Shared,
    caller: user.User | None,
    settings: config.Settings,
    operator: tenant.Tenant,
    route: str = "",
) -> tenant.Tenant:
    author = authors.identify(caller, operator.settings) if caller is not None else None
    return tenant.Tenant(operator.pin(settings), shared, caller, route, author, operator.shelf)


def _redaction_engine(settings: config.Settings, source: spawner.Spawner | None) -> redaction.Engine:
    engine = redaction.Engine(
        settings.redaction,
        expressions=write_settings.expressions(settings),
        scripts=settings.sandbox.max_scripts,
        strict=settings.strict,
        source=source,
    )
    if not engine.enabled:
        log.warning(
            "REDACTION IS OFF: scripts and the model see every secret in what they may read; "
            "remove `enabled = false` from [redaction]",
            extra={"event": "redaction.off"},
        )
    return engine
