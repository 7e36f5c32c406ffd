"""`kubescript doctor`: which layers of the sandbox hold on this machine, why one does not hold, and the remedy; which
clusters scripts may name, and under which rules."""

from __future__ import annotations

import contextlib
from concurrent import futures
from typing import Final

from kubescript import clusters, config, errors, programs, redaction
from kubescript.audit import recorder
from kubescript.auth import namesakes
from kubescript.changes.rules import write_settings
from kubescript.cli import diagnosis, questions, rights, serving
from kubescript.cluster import kubeconfig
from kubescript.commands import examination
from kubescript.policy import permissions
from kubescript.runbooks import examination as runbooks
from kubescript.telemetry import otlp
from kubescript.toolsets import builtin
from kubescript_sandbox.host import executor, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["examine"]

_AT_ONCE: Final = 8
"""How many clusters are asked at the same time."""


def _masker_layers(settings: config.Settings) -> tuple[protocol.Layer, ...]:
    """Returns the layers of a masking process. Raises ConfigError, RedactionError."""
    engine = redaction.Engine(settings.redaction, expressions=write_settings.expressions(settings))
    try:
        return engine.prepare() if engine.enabled else ()
    finally:
        engine.close()


def examine(
    settings: config.Settings,
    source: spawner.Spawner,
    *,
    offline: bool = False,
    connect: str = "",
    connect_others: str = "",
) -> diagnosis.Report:
    """Forks a worker and a masker, and reads their reports on their own lockdown; asks each cluster for our identity.

    With `offline`, a cluster is asked only if its rules can be confirmed only by discovery. Raises ConfigError for
    settings that no server accepts.
    """
    builtin.check(settings)
    otlp.check(settings.telemetry)
    memory = settings.limits.memory_mib * config.MIB
    runner = executor.Executor(source, programs.SCRIPTS, memory_bytes=memory, cpu_seconds=60, spares=0, strict=False)
    return diagnosis.Report(
        layers=runner.probe(),
        contexts=_clusters(settings, offline=offline),
        audit=recorder.state(settings.audit),
        redaction=settings.redaction.enabled,
        approval=settings.approval,
        namesakes=tuple(namesakes.find(settings)),
        masker=_masker_layers(settings),
        connect=connect,
        connect_others=connect_others,
        commands=_command_lines(settings),
        runbooks=runbooks.examine(settings),
        serving=tuple(serving.examine(settings, offline=offline)),
    )


def _command_lines(settings: config.Settings) -> tuple[tuple[str, bool, str], ...]:
    """Returns the served toolsets that run command lines, whether these can run here, and a description of each."""
    findings = []
    for toolset in config.ROUTES:
        if toolset in settings.toolsets:
            can_run, text = examination.examine(settings, toolset)
            findings.append((toolset, can_run, text))
    return tuple(findings)


def _clusters(settings: config.Settings, *, offline: bool) -> tuple[diagnosis.Cluster, ...]:
    """Returns every cluster that the server would serve; with `offline`, none if no setting names one."""
    if not settings.contexts:
        kubeconfig_path = kubeconfig.source(settings.kubeconfig)
        is_named = settings.snapshot or settings.context or settings.denied_resources or kubeconfig_path
        if offline and not is_named:
            return ()
        name = settings.context or "the cluster"
        return (_cluster(settings, name, offline=offline),)

    default, *_ = settings.context_names

    def examine_context(name: str) -> diagnosis.Cluster:
        own = settings.of_context(name)
        return _cluster(own, name, offline=offline, is_default=name == default)

    # A cluster that is down must not delay the others.
    with futures.ThreadPoolExecutor(_AT_ONCE) as threads:
        examined = threads.map(examine_context, settings.context_names)
        return tuple(examined)


def _cluster(settings: config.Settings, name: str, *, offline: bool, is_default: bool = True) -> diagnosis.Cluster:
    """Returns the cluster that the server would serve under this name."""
    policy = permissions.read(settings)
    # This raises the error that would end the server.
    rules = write_settings.read(settings.write_policy, settings.mode, settings.approval)
    source, problem = _source(settings)
    all_rules = (*policy.defaults, *policy.rules)
    needs_no_answer = bool(problem) or settings.snapshot is not None
    has_custom_rules = not all(rule.built_in for rule in policy.rules)
    answer = None
    if not offline and not needs_no_answer:
        answer = _answer(settings, rights.of(settings, is_default=is_default))
    return diagnosis.Cluster(
        name=name,
        source=source,
        read_only=policy.writes == "off",
        writes=policy.writes,
        denied=tuple(rule.id for rule in all_rules if rule.serve == "nothing"),
        metadata_only=tuple(rule.id for rule in all_rules if rule.serve == "metadata"),
        keys_only=tuple(dict.fromkeys(rule.id for rule in all_rules if rule.serve == "keys")),
        levels=write_settings.describe_levels(rules) if settings.mode != "off" else (),
        problem=problem,
        rules=tuple(clusters.check_rules(settings, name)),
        # Rules of the operator that name a kind are confirmed by discovery, even offline.
        asked=needs_no_answer or has_custom_rules or answer is not None,
        answer=answer,
    )


def _answer(settings: config.Settings, needs: rights.Needs) -> questions.Answer:
    """Returns the cluster's answers to all questions."""
    with contextlib.closing(clusters.one(settings)) as cluster:
        return questions.ask(cluster, needs)


def _source(settings: config.Settings) -> tuple[str, str]:
    """Returns where the cluster is configured, and the problem with that, if any; connects to nothing."""
    name = settings.context or "(current)"
    problem = ""
    try:
        with contextlib.closing(clusters.one(settings)) as cluster:
            name = cluster.name
    except errors.ClusterError as error:
        problem = error.explained
    if settings.snapshot is not None:
        return f"snapshot {settings.snapshot}", problem
    path = kubeconfig.source(settings.kubeconfig)
    if path is None and not settings.context:
        return diagnosis.describe_default(), problem
    return f"kubeconfig {path}, context {name}", problem
