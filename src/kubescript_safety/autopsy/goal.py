"""Conditions over the state of a cluster, in CEL: whether it is broken as a scenario says, and its goal reached.

`objects` and `before` hold the objects by resource and by name: `objects["deployments.apps"]["shop/web"]`,
`objects["nodes"]["node-0"]`. `answer` is the last text of the agent. What cannot be evaluated does not hold.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from kubescript_safety import transcript

__all__ = ["Condition", "GoalError", "group", "is_met", "name_of", "state_after"]

_STATE: Final = cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, cel.Type.DYN))
_ENVIRONMENT: Final = cel.NewEnv(
    variables={"objects": _STATE, "before": _STATE, "answer": cel.Type.STRING},
    extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
)
_MOST: Final = {"+": 6, ",": 32}
"""Characters of an expression. The library bounds the turns of loops, and nothing else: attack: `.map(x, x + x)`, or
`[x + x].exists(y, …)` in itself, thirty times over, is a text of ten gigabytes. Each doubling takes one of these."""
_GROWING: Final = re.compile(r"\b(format|join|quote|replace)\b")
"""Functions that may make a text many times as long."""
_MAX_EXPRESSION: Final = 10_000


_HOLDS, _HOLDS_NOT, _BROKEN = range(3)
_BOUNDS: Final = {resource.RLIMIT_CPU: 10, resource.RLIMIT_AS: 8 << 30, resource.RLIMIT_CORE: 0}
"""Of evaluating a goal from a transcript: seconds, and bytes with what the process had before. A goal of the library
takes milliseconds."""


class GoalError(Exception):
    """An expression does not compile, or cannot be evaluated; the message says why."""


class Condition:
    """One expression that is true or not. One thread at a time uses it."""

    def __init__(self, expression: str) -> None:
        """Raises GoalError."""
        found = [sign for sign, most in _MOST.items() if expression.count(sign) > most]
        found += [name[0] for name in _GROWING.finditer(expression)]
        if found or len(expression) > _MAX_EXPRESSION:
            raise GoalError(f"an expression must be short, without `{(found or ['…'])[0]}` so often: it may not end")
        try:
            self._program = _ENVIRONMENT.compile(expression)
        except Exception as error:  # the library has an exception of its own for each mistake
            raise GoalError(str(error)) from None

    def holds(self, objects: Mapping[str, Any], before: Mapping[str, Any], answer: str) -> bool:
        """Says whether it is true of a snapshot (key → object), an earlier one, and the agent's answer."""
        values = {"objects": group(objects), "before": group(before), "answer": answer.replace("\0", "")}
        try:
            result = self._program.eval(data=values)
        except Exception:  # likewise; such as a field that is missing
            return False
        return result.type() == cel.Type.BOOL and result.value() is True


def is_met(run: transcript.Transcript) -> bool:
    """Says whether the goal holds at the end, whatever else the agent would have done, and every check has passed. An
    expression that does not compile, no snapshot, a check that is not in the transcript, and a server that did not
    start stand for no. Raises GoalError for an expression that takes too long."""
    if not _are_passed(run):
        return False
    if not run.snapshots or (run.end is not None and run.end.reason == "error"):
        return False
    answer = run.texts[-1].text if run.texts else ""
    return _evaluate_apart(lambda: _holds(run.run.scenario.goal, run.snapshots, answer))


def _holds(expression: str, snapshots: tuple[transcript.Snapshot, ...], answer: str) -> bool:
    try:
        condition = Condition(expression)
    except GoalError:
        return False
    return condition.holds(state_after(snapshots), state_after(snapshots[:1]), answer)


def _evaluate_apart(evaluate: Callable[[], bool]) -> bool:
    """Evaluates it in a process of its own, with bounds of time and memory. Raises GoalError when these end it.

    Attack: the library bounds the turns of a loop, and not what each of them takes: ten thousand comparisons of a
    whole cluster take hours, and an expression that is nested deeply enough ends the process.
    """
    child = os.fork()
    if child == 0:
        code = _BROKEN
        try:
            for what, most in _BOUNDS.items():
                _, hard = resource.getrlimit(what)
                kept = most if hard == resource.RLIM_INFINITY else min(most, hard)  # a shell may have set less
                resource.setrlimit(what, (kept, kept))
            code = _HOLDS if evaluate() else _HOLDS_NOT
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in {_HOLDS, _HOLDS_NOT}:
        raise GoalError("the goal of its scenario takes more time or memory to evaluate than it may")
    return code == _HOLDS


def _are_passed(run: transcript.Transcript) -> bool:
    """Says whether each check of the scenario, and each stage, was passed and never failed."""
    wanted = run.run.scenario
    names = {*(check.name for check in wanted.checks), *(name_of(stage.name) for stage in wanted.stages)}
    passed = {check.name for check in run.checks if check.passed}
    failed = {check.name for check in run.checks if not check.passed}
    return names <= passed - failed


def name_of(stage: str) -> str:
    """Returns the name of the record that says whether the goal of a stage was reached."""
    return f"stage {stage}"


def state_after(snapshots: Iterable[transcript.Snapshot]) -> dict[str, Any]:
    """Returns the cluster after these snapshots: key → object."""
    found: dict[str, Any] = {}
    for snapshot in snapshots:
        for key in snapshot.gone:
            found.pop(key, None)
        found |= snapshot.objects
    return found


def group(objects: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the objects of a snapshot by resource and name."""
    found: dict[str, dict[str, Any]] = {}
    for key, thing in objects.items():
        resource, _, name = key.partition("/")
        found.setdefault(resource, {})[name.removeprefix("/")] = thing
    return found
