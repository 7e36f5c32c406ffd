"""Evaluates conditions on a cluster's state, in CEL: whether it is broken as a scenario says, and whether the goal is
reached.

`objects` and `before` contain the objects by resource and name: `objects["deployments.apps"]["shop/web"]`,
`objects["nodes"]["node-0"]`. `answer` is the agent's last text. A condition that cannot be evaluated is false.
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
"""How often a character may occur in an expression. The library limits only the iterations of loops. Attack: thirty
nested `.map(x, x + x)` or `[x + x].exists(y, …)` make a string of ten gigabytes. Each doubling needs one of these
characters."""
_GROWING: Final = re.compile(r"\b(format|join|quote|replace)\b")
"""Functions that may make a string many times longer."""
_MAX_EXPRESSION: Final = 10_000


_HOLDS, _HOLDS_NOT, _BROKEN = range(3)
_BOUNDS: Final = {resource.RLIMIT_CPU: 10, resource.RLIMIT_AS: 8 << 30, resource.RLIMIT_CORE: 0}
"""Limits for evaluating a goal from a transcript: seconds, and bytes including the process's own. Goals of the library
take milliseconds."""


class GoalError(Exception):
    """An expression that does not compile, or cannot be evaluated; the message says why."""


class Condition:
    """A boolean expression. Only one thread at a time may use it."""

    def __init__(self, expression: str) -> None:
        """Raises GoalError."""
        found = [sign for sign, most in _MOST.items() if expression.count(sign) > most]
        found += _GROWING.findall(expression)
        if found or len(expression) > _MAX_EXPRESSION:
            what = found[0] if found else "…"
            raise GoalError(f"an expression must be short, without `{what}` so often: it may not end")
        try:
            self._program = _ENVIRONMENT.compile(expression)
        except Exception as error:  # the library raises a different exception for each mistake
            raise GoalError(str(error)) from None

    def holds(self, objects: Mapping[str, Any], before: Mapping[str, Any], answer: str) -> bool:
        """Says whether the condition is true for a snapshot (key → object), an earlier one, and the agent's answer."""
        values = {"objects": group(objects), "before": group(before), "answer": answer.replace("\0", "")}
        try:
            result = self._program.eval(data=values)
        except Exception:  # any exception, as above; for example for a missing field
            return False
        return result.type() == cel.Type.BOOL and result.value() is True


def is_met(run: transcript.Transcript) -> bool:
    """Says whether the goal holds at the end and every check has passed.

    The goal does not hold if its expression does not compile, a snapshot or check is missing, or the server did not
    start. Raises GoalError for an expression that takes too long."""
    if not _are_passed(run):
        return False
    if not run.snapshots or (run.end is not None and run.end.reason == "error"):
        return False
    answer = run.texts[-1].text if run.texts else ""
    return _evaluate_apart(lambda: _holds(run.run.scenario.goal, run.snapshots, answer))


def _holds(expression: str, snapshots: tuple[transcript.Snapshot, ...], answer: str) -> bool:
    """Says whether an expression compiles and is true of the cluster at the end."""
    try:
        condition = Condition(expression)
    except GoalError:
        return False
    before = state_after(snapshots[:1])
    return condition.holds(state_after(snapshots), before, answer)


def _evaluate_apart(evaluate: Callable[[], bool]) -> bool:
    """Evaluates in a child process with limits on time and memory. Raises GoalError when a limit ends it.

    Attack: the library limits a loop's iterations but not their cost. Ten thousand comparisons of a whole cluster take
    hours, and a deeply nested expression crashes the process.
    """
    child = os.fork()
    if child == 0:
        code = _BROKEN
        try:
            for what, most in _BOUNDS.items():
                _, hard = resource.getrlimit(what)
                kept = most if hard == resource.RLIM_INFINITY else min(most, hard)  # a shell may have set a lower limit
                resource.setrlimit(what, (kept, kept))
            code = _HOLDS if evaluate() else _HOLDS_NOT
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in {_HOLDS, _HOLDS_NOT}:
        raise GoalError("the goal of its scenario takes more time or memory to evaluate than it may")
    return code == _HOLDS


def _are_passed(run: transcript.Transcript) -> bool:
    """Says whether every check and stage of the scenario passed and never failed."""
    wanted = run.run.scenario
    checks = {check.name for check in wanted.checks}
    stages = {name_of(stage.name) for stage in wanted.stages}
    passed = {check.name for check in run.checks if check.passed}
    failed = {check.name for check in run.checks if not check.passed}
    return checks | stages <= passed - failed


def name_of(stage: str) -> str:
    """Returns the name of the record that says whether a stage's goal was reached."""
    return f"stage {stage}"


def state_after(snapshots: Iterable[transcript.Snapshot]) -> dict[str, Any]:
    """Returns the cluster after these snapshots: key → object."""
    found: dict[str, Any] = {}
    # Each snapshot except the first contains only what is different from the previous one.
    for snapshot in snapshots:
        for key in snapshot.gone:
            found.pop(key, None)
        found |= snapshot.objects
    return found


def group(objects: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns a snapshot's objects by resource and name."""
    found: dict[str, dict[str, Any]] = {}
    for key, thing in objects.items():
        resource, _, name = key.partition("/")
        names = found.setdefault(resource, {})
        # The key of a cluster-wide object has no namespace, and so two slashes.
        names[name.removeprefix("/")] = thing
    return found
