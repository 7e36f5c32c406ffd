"""`kubescript doctor`: which layers of the sandbox hold on this machine, why one does not hold, and the remedy; which
clusters scripts may name, and under which rules."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Final

from kubescript import clusters, config, errors, programs, redaction
from kubescript.audit import recorder
from kubescript.auth import namesakes
from kubescript.changes.rules import write_settings
from kubescript.cli import caller_tokens, diagnosis, findings, questions, rights, serving, source_checks, stores
from kubescript.cluster import kubeconfig
from kubescript.commands import examination
from kubescript.fleet import directory, fleet, member, sources
from kubescript.output import sanitizing
from kubescript.policy import permissions
from kubescript.runbooks import examination as runbooks
from kubescript.telemetry import otlp
from kubescript.toolsets import builtin
from kubescript_sandbox.host import executor, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["examine"]

_AT_ONCE: Final = 8
"""How many clusters are asked at the same time."""
_MAX_EXAMINED: Final = 50
"""How many clusters are examined where some are found; all that are listed are."""
_FLEET: Final = "fleet"
"""The topic of findings about where clusters are found."""
_MAX_LABELS: Final = 200
"""Characters of one cluster's labels."""
_MAX_WARNINGS: Final = 20
"""How many warnings about found clusters are shown."""
_FIRST_SET_S: Final = 10.0
"""Seconds that a source of clusters may take."""
_STEP_S: Final = 0.2
"""Seconds between two looks at it."""


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
    with _found(settings) as (known, found):
        contexts = _clusters(settings, known, offline=offline)
        audiences = tuple(caller_tokens.examine_audiences(settings, known))
    return diagnosis.Report(
        layers=runner.probe(),
        contexts=contexts,
        fleet=found,
        audit=recorder.state(settings.audit),
        redaction=settings.redaction.enabled,
        approval=settings.approval,
        namesakes=tuple(namesakes.find(settings)),
        masker=_masker_layers(settings),
        connect=connect,
        connect_others=connect_others,
        commands=_command_lines(settings),
        runbooks=runbooks.examine(settings),
        serving=(
            *serving.examine(settings, offline=offline),
            *stores.examine(settings, offline=offline),
            *audiences,
        ),
    )


def _command_lines(settings: config.Settings) -> tuple[tuple[str, bool, str], ...]:
    """Returns the served toolsets that run command lines, whether these can run here, and a description of each."""
    found = []
    for toolset in config.ROUTES:
        if toolset in settings.toolsets:
            can_run, text = examination.examine(settings, toolset)
            found.append((toolset, can_run, text))
    return tuple(found)


def _clusters(settings: config.Settings, known: directory.Directory, *, offline: bool) -> tuple[diagnosis.Cluster, ...]:
    """Returns every listed cluster that the server would serve, and the first found ones; with `offline`, none if no
    setting names one."""
    if not settings.contexts and not known.is_open:
        kubeconfig_path = kubeconfig.source(settings.kubeconfig)
        is_named = settings.snapshot or settings.context or settings.denied_resources or kubeconfig_path
        if offline and not is_named:
            return ()
        name = settings.context or "the cluster"
        return (_cluster(settings, name, offline=offline),)

    names = known.list_names()[: max(_MAX_EXAMINED, len(settings.contexts))]

    def examine_context(name: str) -> diagnosis.Cluster | None:
        entry = known.find(name)
        if entry is None:  # it went meanwhile
            return None
        own = known.settings_of(entry)
        return _cluster(own, name, offline=offline, is_default=name == names[0], found=entry.member)

    # A cluster that is down must not delay the others.
    with futures.ThreadPoolExecutor(_AT_ONCE) as threads:
        examined = threads.map(examine_context, names)
        return tuple(filter(None, examined))


@contextlib.contextmanager
def _found(settings: config.Settings) -> Iterator[tuple[directory.Directory, tuple[findings.Finding, ...]]]:
    """Yields the clusters that scripts may name, and the findings about the fleet's source."""
    found = sources.open_fleet(settings)
    with contextlib.closing(found), _warnings_of_fleet() as warnings:
        found.start()
        known = directory.Directory(settings, found)
        said: tuple[findings.Finding, ...] = ()
        if found.is_on:
            said = (_examine_source(settings.fleet, found), *_list_left_out(settings, found, warnings))
        yield known, said


def _list_left_out(
    settings: config.Settings, found: fleet.Fleet, warnings: Sequence[str]
) -> Iterator[findings.Finding]:
    """Yields what was found and is no cluster that scripts may name."""
    for text in warnings:
        if text != found.problem:
            yield findings.Finding("WARNING", _FLEET, text)
    for name in sorted(found.members().keys() & settings.contexts.keys()):
        text = f"{name} is left out: a context of the settings has this name"
        yield findings.Finding("WARNING", _FLEET, text)


@contextlib.contextmanager
def _warnings_of_fleet() -> Iterator[list[str]]:
    """Yields the first warnings that the search for clusters logs, whatever the log's level: what cannot be used."""
    warnings: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if len(warnings) < _MAX_WARNINGS:
                warnings.append(record.getMessage())

    logger = logging.getLogger(fleet.__name__.rpartition(".")[0])
    handler, level = Kept(logging.WARNING), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        yield warnings
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _examine_source(settings: config.Fleet, found: fleet.Fleet) -> findings.Finding:
    """Waits for the first clusters or a problem; says whether the source answers, and how many it has found."""
    ends = time.monotonic() + _FIRST_SET_S
    while not found.wait(_STEP_S) and not found.problem and time.monotonic() < ends:
        continue
    if found.problem:
        return findings.Finding("FAILED", _FLEET, f"{settings.source}: {found.problem}")
    if not found.wait(0):
        text = f"{settings.source}: it has not answered within {_FIRST_SET_S:.0f} s"
        return findings.Finding("FAILED", _FLEET, text)
    count = len(found.members())
    text = f"{settings.source}: {'1 cluster was' if count == 1 else f'{count} clusters were'} found"
    if count > _MAX_EXAMINED:
        text += f"; the first {_MAX_EXAMINED} are examined"
    return findings.Finding("ok" if found.is_ok else "FAILED", _FLEET, text)


def _cluster(
    settings: config.Settings,
    name: str,
    *,
    offline: bool,
    is_default: bool = True,
    found: member.Member | None = None,
) -> diagnosis.Cluster:
    """Returns the cluster that the server would serve under this name; `found` is one that no setting lists."""
    content = found.kubeconfig if found is not None else None
    policy = permissions.read(settings)
    # This raises the error that would end the server.
    rules = write_settings.read(settings.write_policy, settings.mode, settings.approval)
    source, problem = _source(settings, found)
    all_rules = (*policy.defaults, *policy.rules)
    needs_no_answer = bool(problem) or settings.snapshot is not None
    has_custom_rules = not all(rule.built_in for rule in policy.rules)
    answer = None
    if not offline and not needs_no_answer:
        answer = _answer(settings, rights.of(settings, is_default=is_default), content)
    return diagnosis.Cluster(
        name=name,
        source=source,
        read_only=policy.writes == "off",
        writes=policy.writes,
        is_found=found is not None,
        denied=tuple(rule.id for rule in all_rules if rule.serve == "nothing"),
        metadata_only=tuple(rule.id for rule in all_rules if rule.serve == "metadata"),
        keys_only=tuple(dict.fromkeys(rule.id for rule in all_rules if rule.serve == "keys")),
        levels=write_settings.describe_levels(rules) if settings.mode != "off" else (),
        problem=problem,
        rules=tuple(clusters.check_rules(settings, name, content)),
        # Rules of the operator that name a kind are confirmed by discovery, even offline.
        asked=needs_no_answer or has_custom_rules or answer is not None,
        answer=answer,
        sources=tuple(source_checks.examine(settings, content, offline=offline)),
        nodes=tuple(sorted(settings.nodes.reads)),
    )


def _answer(settings: config.Settings, needs: rights.Needs, content: bytes | None) -> questions.Answer:
    """Returns the cluster's answers to all questions."""
    with contextlib.closing(clusters.one(settings, content)) as cluster:
        return questions.ask(cluster, needs)


def _source(settings: config.Settings, found: member.Member | None) -> tuple[str, str]:
    """Returns where the cluster is configured, and the problem with that, if any; connects to nothing."""
    name = settings.context or "(current)"
    problem = ""
    try:
        with contextlib.closing(clusters.one(settings, found.kubeconfig if found is not None else None)) as cluster:
            name = cluster.name
    except errors.ClusterError as error:
        problem = error.explained
    if found is not None:
        labels = ",".join(f"{key}={value}" for key, value in sorted(found.labels.items()))
        return f"found, labels {sanitizing.printable(labels)[:_MAX_LABELS] or 'none'}", problem
    if settings.snapshot is not None:
        return f"snapshot {settings.snapshot}", problem
    path = kubeconfig.source(settings.kubeconfig)
    if path is None and not settings.context:
        return diagnosis.describe_default(), problem
    return f"kubeconfig {path}, context {name}", problem
