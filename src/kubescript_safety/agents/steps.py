"""Scripted agents: `scripts/` has a file for each scenario of the library, with five agents that are lists of steps.

A step is a line: a method of the hands, then its arguments; `-` is an empty one, and `with` adds one that is not a
word. `${name}` stands for a value of the file or for a result kept by `as`, `${name/field/0}` for a part of it. The
verbs that are not methods of the hands are `each`, `change`, `recreate`, `explain` and `wait`.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript_safety import plainyaml
from kubescript_safety.agents.hands.base import Base, Object, Refused

__all__ = ["BAD_ON_PURPOSE", "NAMES", "knows", "perform"]

BAD_ON_PURPOSE: Final = ("hasty", "broad", "destructive", "injected")
NAMES: Final = ("careful", *BAD_ON_PURPOSE)
_SCRIPTS: Final = Path(__file__).parent / "scripts"
_MAX_PARTS: Final = 10_000
_REFERENCE: Final = re.compile(r"\$\{([^}]+)\}")
_OWN: Final = frozenset({"change", "explain", "recreate", "wait"})
"""Verbs that are not methods of the hands."""
_TEXTS: Final = {"answer": 0, "explain": 1}
"""Verbs whose last argument is the rest of the line, and how many words precede it."""
_TRIES: Final = 4
_PAUSE_S: Final = 0.5
_DECLINED: Final = "declined by"
_SERVERS_OWN: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"given": "with", "result": "as"}):
    """A call, and what to do with its result or after its refusal. A step with only a call is written as a plain
    line."""

    call: str
    given: Any = None
    """A last argument, which need not be a word."""
    result: str = ""
    """The name under which the result is kept."""
    again: bool = False
    """Whether to retry the call, which an overloaded server may fail."""
    do: tuple[str | Step, ...] = ()
    """Steps for each object of `each`, or after any other call that succeeds."""
    refused: tuple[str | Step, ...] | None = None
    """Steps after a refusal, which is kept as `refusal`. None: a refusal ends the work."""


Steps = tuple[str | Step, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The agents for one scenario."""

    careful: Steps
    hasty: Steps
    broad: Steps
    destructive: Steps
    injected: Steps
    values: dict[str, Any] = {}


def knows(task: str) -> bool:
    """Says whether the scenario with this id has scripted agents."""
    known = {file.stem for file in _SCRIPTS.glob("*.yaml")}
    return task in known


def perform(task: str, agent: str, hands: Base) -> None:
    """Runs the agent's steps. Raises TimeoutError, and Unsupported when the server has no tool for a step."""
    text = (_SCRIPTS / f"{task}.yaml").read_bytes()
    (found,), _ = plainyaml.documents(text, _MAX_PARTS)
    file = msgspec.convert(found, _File)
    try:
        _Worker(hands, file.values, {}).work(getattr(file, agent))
    except Refused as error:  # the agent gives up
        hands.answer(_excuse(error))


class _Worker:
    """Carries out steps, and keeps their results."""

    def __init__(self, hands: Base, values: Mapping[str, Any], kept: dict[str, Any]) -> None:
        self._hands = hands
        self._values = values
        self._kept = kept

    def work(self, steps: Steps) -> None:
        """Carries out the steps in order. Raises Refused."""
        for step in steps:
            whole = Step(step) if isinstance(step, str) else step
            self._carry_out(whole)

    def _carry_out(self, step: Step) -> None:
        """Carries one step out."""
        verb, _, rest = step.call.partition(" ")
        arguments = [self._fill(word) for word in _split(rest, _TEXTS.get(verb, -1))]
        if step.given is not None:
            arguments.append(self._fill(step.given))
        if verb == "each":
            self._each(step.do, *arguments)
            return
        method = getattr(self, f"_{verb}") if verb in _OWN else getattr(self._hands, verb)
        try:
            result = _again(lambda: method(*arguments)) if step.again else method(*arguments)
        except Refused as error:
            if step.refused is None:
                raise
            self._with("refusal", error).work(step.refused)
            return
        if step.result:
            # A replace with the resourceVersion that was read would be refused once the object has changed.
            kept = _copy_of(result) if verb == "get" else result
            self._kept[step.result] = kept
        self.work(step.do)

    def _each(self, steps: Steps, resource: str, namespace: str, pattern: str = "", most: int | None = None) -> None:
        """Runs the steps for each object whose name matches the pattern; the object is kept as `one`."""
        listed = self._hands.list(resource, namespace)
        found = [one for one in listed if re.match(pattern, one["metadata"]["name"])]
        for one in found[:most]:
            self._with("one", one).work(steps)

    def _change(self, name: str, path: str, value: object) -> None:
        """Sets a field of a kept object."""
        *above, last = path.split("/")
        place = self._kept[name]
        for part in above:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        place[last] = value

    def _recreate(self, namespace: str, name: str, spec: Object | None = None) -> None:
        """Deletes a Deployment and creates it again, with some fields of its spec changed."""
        target = ("deployments.apps", namespace, name)
        found = _copy_of(_again(lambda: self._hands.get(*target)))
        _again(lambda: self._hands.delete(*target))
        found["spec"].update(spec or {})
        self._hands.create(found)

    def _explain(self, rule: str, text: str) -> None:
        """Answers with the text if the refusal names the rule, or else with the refusal."""
        refusal = self._kept["refusal"]
        self._hands.answer(text if rule in str(refusal) else _excuse(refusal))

    def _wait(self, seconds: int) -> None:
        time.sleep(seconds)

    def _with(self, name: str, value: object) -> _Worker:
        """Returns a worker with one more kept value."""
        # The values are copied, because the new one is forgotten after these steps.
        known = {**self._kept, name: value}
        return _Worker(self._hands, self._values, known)

    def _fill(self, given: Any) -> Any:
        """Returns an argument with its references replaced by values."""
        if isinstance(given, dict):
            return {name: self._fill(value) for name, value in given.items()}
        if isinstance(given, list):
            return [self._fill(value) for value in given]
        if not isinstance(given, str):
            return given
        # A reference alone stands for the value itself, which need not be a string.
        whole = _REFERENCE.fullmatch(given)
        if whole:
            return self._find(whole[1])
        return _REFERENCE.sub(lambda found: str(self._find(found[1])), given)

    def _find(self, path: str) -> Any:
        """Returns a kept result or a value of the file, or a part of it."""
        name, *parts = path.split("/")
        is_kept = name in self._kept
        found = self._kept[name] if is_kept else self._values[name]
        for part in parts:
            found = found[int(part)] if isinstance(found, list) else found[part]
        # Objects from the cluster are not expanded: text in them may look like a reference.
        return copy.deepcopy(found) if is_kept else self._fill(found)


def _split(rest: str, most: int) -> list[Any]:
    """Returns a line's arguments, with digits as numbers."""
    found: list[Any] = []
    for word in rest.split(" ", most) if rest else ():
        # An empty word would be lost between two spaces.
        if word == "-":
            found.append("")
        else:
            found.append(int(word) if word.isdecimal() else word)
    return found


def _again(step: Callable[[], Any]) -> Any:
    """Runs a step that an overloaded server may fail, at most four times, but only once if a person declines it. Raises
    Refused with the last answer."""
    for _ in range(_TRIES - 1):
        try:
            return step()
        except Refused as error:
            if _DECLINED in str(error):
                raise
            time.sleep(_PAUSE_S)
    return step()


def _copy_of(item: Object) -> Object:
    """Returns the object as in a manifest: without the status and the fields that the API server sets."""
    found = copy.deepcopy(item)
    found.pop("status", None)
    for name in _SERVERS_OWN:
        found["metadata"].pop(name, None)
    return found


def _excuse(refusal: Refused) -> str:
    """Returns the answer of an agent that gives up."""
    return f"I could not do it: {refusal}"[:500]
