"""Assembles one of our scenarios from the parts of an Evidra Bench scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kubescript_safety import scenario as ours
from kubescript_safety.autopsy import goal as evaluation
from kubescript_safety.evidra import checks, hints, model, steps
from kubescript_safety.evidra.files import Files, Problem

__all__ = ["NAMESPACE", "Assembly", "excess"]

NAMESPACE: Final = "bench"
"""The namespace that exists in every scenario."""
_MAX_PARTS: Final = 100
"""The maximum for each of a scenario's steps, checks, stages and hints."""


class Assembly:
    """A scenario being read: each part that cannot be run adds a reason, and reading continues."""

    def __init__(self, top: model.Top, files: Files, reader: steps.Reader) -> None:
        self._top = top
        self._files = files
        self._reader = reader
        self.reasons = list(_missing(top))
        self.left: list[str] = list(_list_ignored(top))
        self._names: set[str] = set()
        """The names of the checks so far."""

    def scenario(self) -> ours.Scenario:
        """Returns the scenario, which is complete if there are no reasons."""
        top = self._top
        prompt = ""
        with self._part("prompt"):
            prompt = self._files.text(top.prompt).strip()
        goal = self._goal("checks", top.checks)
        stages = self._stages(prompt)
        prepared = [
            *self._steps("bootstrap", top.bootstrap),
            *self._steps("break", [top.break_]),
            *self._steps("after_break", top.after_break),
        ]
        if stages:
            prepared += stages[0].steps
            # The first stage begins with the run: its steps are carried out before an agent can see them.
            stages[0] = msgspec.structs.replace(stages[0], steps=())
            goal = checks.join([goal[0], stages[-1].goal]), goal[1]
            self._look("checks", goal[0])
        within, forbidden = self._hints()
        # Evidra Bench's scenarios take the namespace for granted.
        return ours.Scenario(
            id=top.id,
            title=top.title,
            category=next(iter(top.categories), top.category),
            reason=f"Evidra Bench: {top.description.strip() or top.title}",
            task=prompt,
            setup=({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},),
            steps=tuple(prepared),
            goal=goal[0],
            checks=goal[1],
            stages=tuple(stages),
            namespaces=self._namespaces(prepared),
            within=within,
            forbidden=forbidden,
            failures=tuple(self._chaos()),
            timeout_s=self._seconds("timeout", top.timeout),
        )

    @contextlib.contextmanager
    def _part(self, place: str) -> Iterator[None]:
        """Turns a problem in this block into a reason."""
        try:
            yield
        except Problem as problem:
            self.reasons.append(f"{place}: {problem}")

    def _seconds(self, place: str, text: str) -> float:
        with self._part(place):
            return steps.seconds(text)
        return 0.0

    def _goal(self, place: str, given: Iterable[model.Check]) -> checks.Goal:
        """Returns the goal that all checks form together."""
        conditions: list[str] = []
        commands: list[ours.Command] = []
        for check in given:
            with self._part(place):
                condition, more = checks.read(check, self._reader, self._names)
                conditions.append(condition)
                commands += more
        # All checks form one condition, because they must hold at the same moment, not one after another.
        whole = checks.join(conditions)
        self._look(place, whole)
        return whole, tuple(commands)

    def _look(self, place: str, condition: str) -> None:
        """Adds a reason if a condition cannot be evaluated, for example because it is too long."""
        try:
            evaluation.Condition(condition)
        except evaluation.GoalError as error:
            self.reasons.append(f"{place}: together they are no condition that can be evaluated: {str(error)[:200]}")

    def _steps(self, place: str, given: Iterable[model.Step | None]) -> list[ours.Step]:
        """Returns the steps that can be read; the reasons of the others are kept."""
        found: list[ours.Step] = []
        # Each step is read by itself, so that all reasons are reported at once, not one per attempt.
        for step in filter(None, given):
            with self._part(place):
                found.append(self._reader.step(step))
        return found

    def _stages(self, prompt: str) -> list[ours.Stage]:
        """Returns the stages in their order."""
        stages = enumerate(self._top.stages, 1)
        return [self._stage(number, stage, prompt) for number, stage in stages]

    def _stage(self, number: int, stage: model.Stage, prompt: str) -> ours.Stage:
        """Returns one stage; the first has the task itself."""
        place = f"stage {stage.name[:100]}"
        goal, commands = self._goal(place, stage.verify)
        task = stage.agent_goal or prompt
        if number == 1 and stage.agent_goal:
            task = "\n\n".join(filter(None, (prompt, stage.agent_goal)))
        return ours.Stage(
            name=f"{number} {stage.name}",
            task=task,
            goal=goal,
            checks=commands,
            steps=tuple(self._steps(place, (stage.break_, *stage.after_break))),
            timeout_s=self._seconds(place, stage.timeout or self._top.timeout),
            goes_on=stage.on_fail == "continue",
        )

    def _chaos(self) -> Iterator[ours.Failure]:
        """Yields the failures that happen at a given time."""
        for given in self._top.chaos.steps:
            at = self._seconds("chaos", given.at)
            for step in self._steps("chaos", [given]):
                if step.apply or step.command:
                    yield ours.Failure(step.name, at=at, apply=step.apply, command=step.command)
                else:
                    self.left.append(f"chaos: {step.name[:100]}, which only waits")

    def _namespaces(self, prepared: Iterable[ours.Step]) -> tuple[str, ...]:
        """Returns the task's namespaces: those of the scope, or those that the checks use. Cluster-wide objects are
        included if the scenario applies or names one."""
        top = self._top
        checked = [check.namespace for check in _checks(top) if check.namespace]
        named = top.scope.namespaces or (NAMESPACE, *checked)
        found = [name for name in dict.fromkeys(named) if name not in top.scope.deny]
        if hints.is_about_cluster(self._words(prepared)):
            return (*found, "")
        return tuple(found)

    def _words(self, prepared: Iterable[ours.Step]) -> Iterator[str]:
        """Yields the words of a scenario that may be kinds."""
        for step in prepared:
            yield from (thing["kind"] for thing in step.apply)
            if step.command:
                yield from step.command.argv
        given = self._top.autopsy
        yield from map(str, given.root_cause_resources)
        for check in _checks(self._top):
            yield check.condition
        # Attack: a scenario has a hint of a megabyte.
        for hint in given.allowed_mutations:
            yield from hint.pattern[:1000].split()

    def _hints(self) -> tuple[tuple[ours.Mutation, ...], tuple[ours.Mutation, ...]]:
        """Returns the changes within the scope, and those that are forbidden."""
        given = self._top.autopsy
        within = hints.read_allowed(given.allowed_mutations)
        if within is None:
            self.left.append("autopsy.allowed_mutations, not all of which say what they allow")
        # A trap costs points in Evidra Bench's format; there are no points here, so a trap becomes a forbidden change.
        traps = [stage.trap.detect for stage in self._top.stages if stage.trap]
        patterns = [*given.forbidden_actions, *(model.Pattern("command_pattern", trap) for trap in traps)]
        found = []
        for pattern in patterns:
            mutation = hints.read_forbidden(pattern)
            if mutation is None:
                self.left.append(f"the pattern {pattern.pattern[:100]!r}, which does not say what it forbids")
            else:
                found.append(mutation)
        return within or (), tuple(found)


def _checks(top: model.Top) -> Iterator[model.Check]:
    yield from top.checks
    for stage in top.stages:
        yield from stage.verify


def excess(top: model.Top) -> Iterator[str]:
    """Yields a message if the scenario has too many parts."""
    hinted = (*top.autopsy.allowed_mutations, *top.autopsy.forbidden_actions)
    of_stages = [step for stage in top.stages for step in stage.after_break]
    prepared = (*top.bootstrap, *top.after_break, *top.chaos.steps, *of_stages)
    parts = (prepared, tuple(_checks(top)), top.stages, hinted)
    if max(map(len, parts)) > _MAX_PARTS:
        yield f"it has more than {_MAX_PARTS} steps, checks, stages or hints"


def _missing(top: model.Top) -> Iterator[str]:
    """Yields the scenario's requirements that are not met here."""
    if top.skip:
        why = f": {top.skip_reason[:300]}" if top.skip_reason else ""
        yield f"it is marked to be skipped{why}"
    # Without a check, nothing shows whether the task is done.
    if not any(_checks(top)):
        yield "it has no check"
    given = top.environment
    if given.profile not in {"", "default"}:
        yield f"its profile is {given.profile[:100]!r}, and only the profile `default` is here"
    if given.cloud != model.Cloud():
        yield f"it needs a cloud ({given.cloud.provider[:100] or 'of any provider'})"
    wanted = given.kubernetes
    # No container runs here, so none of these would have an effect.
    needs = {
        "the CNI plugin": [wanted.cni] if wanted.cni else [],
        "add-ons": wanted.addons,
        "features of nodes": wanted.features,
        "container runtimes": [one.get("name", "") for one in wanted.runtimes],
    }
    for what, names in needs.items():
        if names:
            yield f"it needs {what} {', '.join(names)[:200]}, and there are no containers here"


def _list_ignored(top: model.Top) -> Iterator[str]:
    """Yields the scenario's parts that have no effect here."""
    if top.autopsy.expected_diagnostics:
        yield "autopsy.expected_diagnostics: whether an agent reads what it changes is judged by BLIND_WRITE"
    if top.autopsy.root_cause_resources:
        yield "autopsy.root_cause_resources: no rule is about them"
    if top.chaos.steps and not top.chaos.stop_on_agent_done:
        yield "chaos.stop_on_agent_done: chaos always ends with the agent's work"
    if any(stage.break_ and stage.break_.memory for stage in top.stages):
        yield "break.memory: what an agent remembers is its own affair"
    if any(stage.trap for stage in top.stages):
        yield "trap.points: there are no points"
    if top.tools:
        yield "tools: an agent has those of the server under test"
    if top.environment.providers:
        yield "environment.providers: the cluster is neither kind nor k3d"
