"""The one place where the parts are put together. The command line opens an `Application`.

flags, environment, file ─▶ Settings
Spawner ─▶ Executor ───────────┐
Cluster ─▶ Broker ─▶ Contexts ─┴─▶ Evaluator ─▶ Toolsets ─▶ Server ─▶ transport
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import kubescript
from kubescript import cancellation, config, contexts, errors, evaluator, logs, redaction, spawner
from kubescript.audit import recorder
from kubescript.broker import broker
from kubescript.cluster import base as cluster_base
from kubescript.executor import executor
from kubescript.plans import rollouts
from kubescript.policy import discovery, policy, write_settings
from kubescript.policy import rules as policy_rules
from kubescript.telemetry import evaluation

if TYPE_CHECKING:
    from concurrent import futures

    from mcp.server.lowlevel import server as lowlevel

    from kubescript import planning, types
    from kubescript.approvals import elicitation
    from kubescript.plans import approval, record
    from kubescript.telemetry import otlp
    from kubescript.toolsets import base

__all__ = ["TOOLSETS", "Application", "check_rules", "check_toolsets", "open_cluster", "opened", "policy_of"]

log = logging.getLogger(__name__)

_NOT_FOLLOWED: Final = frozenset({"k8s_patch"})
"""Tools that promise one API call: the rollouts that their plans begin are not followed."""
_MASK_LOG_S: Final = 0.5
_DISCOVERY_S: Final = 10.0
"""Seconds that a cluster may take to say what the rules for it name."""
_CPU_MARGIN_S: Final = 5
"""Processor seconds beyond the longest deadline; the kernel's limit is only there should the host fail."""


class Application:
    """The parts of one running server, and their common end."""

    def __init__(
        self,
        settings: config.Settings,
        source: spawner.Spawner,
        masking: spawner.Spawner | None = None,
        flags: str = "",
    ) -> None:
        """`source` is the workers' spawner and `masking` the maskers', where that has been started."""
        check_toolsets(settings)
        self.settings = settings
        self.flags = flags
        """Those with which a command finds this application's plans, with a blank before."""
        self._source, self._masking = source, masking
        self.redaction = _redaction_engine(settings, masking)
        self.audit = recorder.opened(settings.audit, self.redaction.text_or_withheld)
        accesses = _cluster_accesses(settings, self.redaction)
        self.contexts = contexts.Contexts(accesses)
        self.cluster, self.broker = self.contexts.default.cluster, self.contexts.default.broker
        self.executor = executor.Executor(
            source,
            memory_bytes=settings.limits.memory_mib * config.MIB,
            cpu_seconds=settings.limits.max_timeout_ms // 1000 + _CPU_MARGIN_S,
            spares=settings.sandbox.spare_workers,
            strict=settings.strict,
        )
        self.planning = _planning(settings, accesses, self.audit)
        """None where no cluster takes plans."""
        self.evaluator = evaluator.Evaluator(
            settings,
            self.executor,
            self.contexts,
            self.audit,
            mask=self.redaction.text,
            plans=self.planning.planner if self.planning is not None else None,
        )
        self.scrape: Callable[[], bytes] | None = None
        """Returns what /metrics answers; None where nobody can ask."""
        self._exporter: otlp.Exporter | None = None

    def server(self) -> lowlevel.Server[Any]:
        """Returns the MCP server with the toolsets that the settings name."""
        # The SDK takes most of a server's start. It is imported by what serves, and as little of it as can be.
        from kubescript.toolsets import sdk

        sdk.skip_conveniences()
        # One at a time: of three processes on two processors, this one would wait 0.2 s more for its own.
        self._source.warm_up()
        with config.deferred_models():
            import mcp_types  # noqa: F401 - half of it

            if self._masking is not None:
                self._masking.warm_up()
            from kubescript import server
        self._start_telemetry()
        if self.planning is not None and self.settings.transport == "http":
            self.planning.recover()  # nobody may call this server for hours
        toolsets = _load_toolsets(self)
        return server.build(
            toolsets,
            self.warm_up,
            self.settings.output.heartbeat_s,
            saved=self.settings.snapshot is not None,
            asker=self._asker(),
        )

    def _asker(self) -> elicitation.Asker | None:
        """Returns who asks people about plans; None where no cluster takes plans."""
        if self.planning is None:
            return None
        from kubescript.approvals import elicitation

        return elicitation.Asker(
            approvals=self.planning.approvals,
            follow=self.follow,
            quote=self.evaluator.quoted,
            link=self.planning.link,
            has_page=self.planning.has_page,
            ask_s=self.settings.plans.ask_s,
            flags=self.flags,
            by_argument=self.settings.approval == "argument",
        )

    async def follow(
        self, applied: record.Record, caller: types.Caller, on_progress: evaluator.OnProgress | None
    ) -> types.Answer | None:
        """Follows the rollouts that a plan has begun, by a script of ours: it reads what the cluster says."""
        seconds = self.settings.plans.follow_s
        script = rollouts.script(applied.plan, seconds)
        if not script or caller.tool in _NOT_FOLLOWED:
            return None
        return await self.evaluator.evaluate(script, None, on_progress, caller, waits_ms=seconds * 1000)

    def start(self) -> None:
        """Asks for the first worker and the first maskers, and does not wait for them. Raises WorkerError,
        RedactionError."""
        self.executor.start()
        self.redaction.start()

    def warm_up(self) -> None:
        """Does what the first script would otherwise wait for. Raises WorkerError, RedactionError."""
        if self.planning is not None:
            self.planning.recover()
        self.executor.start()
        self.redaction.prepare()
        logs.mask_with(self._mask_log_line)

    def _mask_log_line(self, line: str) -> str:
        """Returns a line of the log, masked. Raises LimitExceeded, RedactionError: the line is not logged then.

        The time is short, since other lines wait behind this one.
        """
        return self.redaction.text(line, lambda _: None, cancellation.Patience(_MASK_LOG_S))

    def _start_telemetry(self) -> None:
        """Starts Prometheus metrics and the OTLP exporter where they are asked for. Loads nothing otherwise."""
        if self.settings.transport == "http":
            from kubescript.telemetry import prometheus

            metrics = prometheus.Metrics(lambda: self.evaluator.load)
            self.evaluator.observers.append(metrics.observe)
            self.scrape = metrics.text
        if evaluation.otlp_source(self.settings.telemetry):
            from kubescript.telemetry import otlp

            self._exporter = otlp.Exporter(
                self.settings.telemetry,
                lambda: self.evaluator.load,
                lambda text: self.redaction.text_or_withheld(text, lambda _: None),
            )
            self.evaluator.observers.append(self._exporter.observe)

    def state(self) -> dict[str, object]:
        """Returns what the server is and how well it confines scripts; nothing about the cluster."""
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
        if self.planning is not None:  # first: a plan that is being applied is left to the next server
            self.planning.close()
        self.executor.close()
        self.contexts.close()
        if self.audit is not None:
            self.audit.close()
        # The exporter closes last, so that it sends what the others report while they close.
        if self._exporter is not None:
            self._exporter.close()
        logs.drain()
        self.redaction.close()


@contextlib.contextmanager
def opened(
    settings: config.Settings, source: spawner.Spawner, masking: spawner.Spawner | None = None, flags: str = ""
) -> Iterator[Application]:
    """Yields an application that runs scripts; `flags` are those with which a command finds its plans. Raises
    WorkerError when `strict` is on and a layer is missing."""
    application = Application(settings, source, masking, flags)
    try:
        if settings.strict:
            application.executor.probe()
        yield application
    finally:
        application.close()


def _code(application: Application) -> base.Toolset:
    from kubescript.toolsets import code

    return code.toolset(application.settings, application.evaluator)


def _kubectl(application: Application) -> base.Toolset:
    from kubescript.toolsets import kubectl

    def follow(
        script: str, waits_ms: int, on_progress: evaluator.OnProgress | None, caller: types.Caller
    ) -> Coroutine[None, None, types.Answer]:
        return application.evaluator.evaluate(script, None, on_progress, caller, waits_ms=waits_ms)

    settings = application.settings
    return kubectl.toolset(
        _access(application), follow=follow if settings.writable else None, by_argument=settings.by_argument
    )


def _helm(application: Application) -> base.Toolset:
    from kubescript.toolsets import helm

    return helm.toolset(_access(application))


def _clusters(application: Application) -> base.Toolset:
    from kubescript.toolsets import cluster

    def log_in(name: str) -> futures.Future[None]:
        from kubescript.cluster import live
        from kubescript.wire import messages

        chosen = application.contexts.cluster(name)
        if not isinstance(chosen, live.Live):
            raise errors.ClusterError(messages.text("gke_saved", cluster=name), remedy=messages.text("action_saved"))
        return chosen.log_in()

    return cluster.toolset(_access(application), log_in)


def _gateway(application: Application) -> base.Toolset:
    from kubescript.toolsets import gateway

    settings = application.settings
    names = settings.context_names
    own = settings.of_context(names[0]) if names else settings
    return gateway.toolset(
        _access(application), writable=own.mode != "off", by_argument=settings.approval == "argument"
    )


def _access(application: Application) -> base.Access:
    """Returns all that a toolset may know of a server. The functions are closures, so that no attribute of theirs leads
    to the parts of the application."""
    from kubescript.toolsets import base

    async def evaluate(
        script: str, timeout_ms: int | None, on_progress: evaluator.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        return await application.evaluator.evaluate(script, timeout_ms, on_progress, caller)

    settings = application.settings
    return base.Access(evaluate, lambda: application.contexts.names, settings.language, settings.by_argument)


def _load_toolsets(application: Application) -> list[base.Toolset]:
    """Returns the toolsets that the settings name. Raises ConfigError when an installed one cannot be used."""
    from kubescript.toolsets import installed
    from kubescript.wire import messages

    messages.choose(application.settings.language)
    toolsets = []
    for name in _enabled_toolsets(application.settings):
        if name in TOOLSETS:
            toolsets.append(TOOLSETS[name](application))
        else:
            toolsets.append(installed.load(name, _access(application)))
    installed.check_clashes(toolsets)
    return toolsets


TOOLSETS: Final[dict[str, Callable[[Application], base.Toolset]]] = {
    "code": _code,
    "kubectl": _kubectl,
    "helm": _helm,
    "cluster": _clusters,
    "gateway": _gateway,
}
"""Toolsets by the names that `--toolsets` takes."""
_FOREIGN_TOOLSETS: Final = frozenset(
    {"config", "core", "kcp", "kiali", "kubevirt", "metrics", "netobserv", "openshift", "tekton"}
)
"""Those of kubernetes-mcp-server."""


def check_toolsets(settings: config.Settings) -> None:
    """Checks that every toolset that the settings name exists. Raises ConfigError."""
    for name in settings.toolsets:
        if name not in TOOLSETS:
            _check_installed(name)


def _check_installed(name: str) -> None:
    """Checks that a toolset that is not built in is installed; loads nothing. Raises ConfigError."""
    from kubescript.toolsets import installed

    if installed.find(name) is not None:
        return
    remedy = ""
    if name in _FOREIGN_TOOLSETS:
        remedy = (
            f"`{name}` is a toolset of kubernetes-mcp-server; use --toolsets kubectl for tools that work like kubectl, "
            "or code for one tool that runs scripts"
        )
    there = ", ".join((*TOOLSETS, *installed.names()))
    raise errors.ConfigError(f"unknown toolset `{name}`; there is: {there}", remedy=remedy)


def _enabled_toolsets(settings: config.Settings) -> tuple[str, ...]:
    if not settings.toolsets:
        log.warning(
            "no toolset is enabled, so no tool is offered; pass --toolsets code", extra={"event": "toolsets.none"}
        )
    return tuple(dict.fromkeys(settings.toolsets))


def _planning(
    settings: config.Settings, accesses: Mapping[str, contexts.ClusterAccess], ledger: approval.Ledger | None
) -> planning.Planning | None:
    """Returns what plans need; None where no cluster takes plans, so that nothing of it is loaded."""
    if "plan" not in settings.modes:
        return None
    from kubescript import planning

    return planning.Planning(settings, accesses, ledger)


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


def _cluster_accesses(settings: config.Settings, masking: redaction.Engine) -> dict[str, contexts.ClusterAccess]:
    """Returns a cluster and its broker for each of `contexts`, the default one first; "" names the only one."""
    accesses: dict[str, contexts.ClusterAccess] = {}
    with contextlib.ExitStack() as opened:
        for name in settings.context_names or ("",):
            accesses[name] = _cluster_access(settings, name, masking)
            opened.callback(accesses[name].cluster.close)
        opened.pop_all()
    return accesses


def _cluster_access(settings: config.Settings, name: str, masking: redaction.Engine) -> contexts.ClusterAccess:
    own = settings.of_context(name) if name else settings
    several = len(settings.contexts) > 1
    rules = policy_of(own)  # first: no cluster is needed to find out that a rule can never match
    # With several clusters, one that is down must not use up the time of a script that asks all of them.
    patience_s = own.limits.patience_ms / 1000 if several else None
    try:
        cluster = _cluster(own, checked=not own.kubeconfig_later, patience_s=patience_s)
    except errors.ClusterError as error:
        where = f"context {name}: " if name else ""
        raise errors.ConfigError(f"{where}{error.message}", remedy=error.remedy) from None
    resolve = discovery.KindResolver(cluster)
    cluster_broker = broker.Broker(
        cluster,
        rules,
        resolve=resolve,
        redact=masking.body,
        redact_echo=masking.echo,
        mask=masking.text,
        compare=masking.changes,
        write_rules=write_settings.read(own.write_policy),
        gzip=masking.enabled,
        context=name if several else "",
    )
    # Only the operator's own rules may name nothing.
    own_rules = [rule for rule in rules.rules if not rule.built_in]
    denials = policy_rules.Denials(own_rules, resolve, name if several else "") if own_rules else None
    return contexts.ClusterAccess(cluster, cluster_broker, denials)


def policy_of(settings: config.Settings) -> policy.Policy:
    """Returns the policy for one cluster's settings. Raises ConfigError when a rule can never name anything."""
    rules = tuple(policy_rules.read(rule) for rule in settings.denied_resources)
    defaults = policy.DEFAULT_RULES if settings.deny_defaults else ()
    return policy.Policy(settings.mode, rules, defaults, releases="helm" in settings.toolsets)


def open_cluster(settings: config.Settings) -> cluster_base.Cluster:
    """Returns one cluster without a policy, for the command line's own questions. Raises ClusterError when its
    configuration cannot be used."""
    return _cluster(settings, checked=True, patience_s=None)


def check_rules(settings: config.Settings, name: str) -> list[policy_rules.Finding]:
    """Returns the findings about the rules for one cluster. Asks the cluster only for rules that are not built in."""
    rules = [rule for rule in policy_of(settings).rules if not rule.built_in]
    if not rules:
        return []
    try:
        cluster = _cluster(settings, checked=False, patience_s=None)
    except errors.ClusterError:  # `doctor` reports what is wrong with the cluster by itself
        return []
    with contextlib.closing(cluster):
        return policy_rules.examine(rules, discovery.KindResolver(cluster), _DISCOVERY_S, name)


def _cluster(settings: config.Settings, *, checked: bool, patience_s: float | None) -> cluster_base.Cluster:
    """Returns the cluster of these settings, not connected yet. Raises ClusterError when `checked` and its kubeconfig
    or context cannot be used."""
    if settings.snapshot is not None:
        from kubescript.cluster import snapshot

        return snapshot.Snapshot(settings.snapshot)
    from kubescript.cluster import live

    cluster = live.Live(settings.kubeconfig, settings.context, patience_s)
    if checked:
        cluster.choose()
    return cluster
