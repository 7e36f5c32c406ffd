"""Names that complete the arguments of prompts: of clusters, namespaces, kinds and objects that the caller may list.

A script of ours asks for them, under the caller's own rights and limits, and its answer is masked and recorded as any
other. It is kept for a short time, so that a client which asks at every key press asks the cluster once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final

import anyio
import anyio.to_thread

from kubescript import errors, types
from kubescript.output import fencing, sanitizing
from kubescript.toolsets import base

__all__ = ["Completions"]

_TIME_MS: Final = 2_000
"""Milliseconds for an answer: a client asks while a person types."""
_KEPT_S: Final = 30.0
"""Seconds for which an answer counts, so that a client that asks at every key press asks the cluster once."""
_FAILED_S: Final = 2.0
"""Seconds for which a failed question is not asked again."""
_MOST_KEPT: Final = 64
_MOST_NAMES: Final = 1_000
"""Names of one question."""
_LONGEST: Final = 253
"""Characters of a name."""
_SCRIPTS: Final[Mapping[base.Completes, str]] = {
    "namespace": "[each.metadata.name for each in cluster.CoreV1Api().list_namespace(limit={most}).items]",
    "kind": "sorted({{each.kind for each in cluster.discovery().api_resources() if 'list' in each.verbs}})",
    "name": (
        "[each.metadata.name for each in "
        "cluster.dynamic().resources.get(kind={kind!r}).get(namespace={namespace!r}, limit={most}).items]"
    ),
}
_Question = tuple[base.Completes, str, str, str]
"""What, and of which cluster, namespace and kind."""


class Completions:
    """The names of one caller. One event loop uses it."""

    def __init__(self, access: base.Access) -> None:
        self._access = access
        self._kept: dict[_Question, tuple[float, tuple[str, ...]]] = {}
        """Each with the time until which it counts, the oldest first."""
        self._asking = anyio.Lock()

    async def names(self, what: base.Completes, given: Mapping[base.Completes, str], caller: types.Caller) -> list[str]:
        """Returns the names that an argument may have beside the arguments that are `given`; none when there is no
        answer within two seconds."""
        with anyio.move_on_after(_TIME_MS / 1000):
            clusters = await anyio.to_thread.run_sync(self._access.clusters, abandon_on_cancel=True)
            if what == "cluster":
                return [name for name in map(sanitizing.clean, clusters) if name]
            question = _question(what, given)
            cluster = given.get("cluster")
            if question is None or (cluster and cluster not in clusters):
                return []
            async with self._asking:
                return list(await self._answer(question, caller))
        return []

    async def _answer(self, question: _Question, caller: types.Caller) -> tuple[str, ...]:
        until, known = self._kept.get(question, (0.0, ()))
        if time.monotonic() < until:
            return known
        self._keep(question, (), _FAILED_S)  # in case that the time is over before there is an answer
        answer = await self._access.evaluate(_script(question), _TIME_MS, None, caller)
        found = _read(answer)
        if found:
            self._keep(question, found, _KEPT_S)
        return found

    def _keep(self, question: _Question, found: tuple[str, ...], seconds: float) -> None:
        self._kept.pop(question, None)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[question] = time.monotonic() + seconds, found


def _question(what: base.Completes, given: Mapping[base.Completes, str]) -> _Question | None:
    """Returns what to ask; None where too little is known."""
    cluster, namespace, kind = (given.get(name, "") for name in _OF)
    if any(len(name) > _LONGEST for name in (cluster, namespace, kind)):
        return None
    if what != "name":
        return what, cluster, "", ""
    return (what, cluster, namespace, kind) if kind else None


_OF: Final[tuple[base.Completes, ...]] = ("cluster", "namespace", "kind")


def _script(question: _Question) -> str:
    # What a client has given stands in the script as the `repr` of a text: none of it becomes code.
    what, cluster, namespace, kind = question
    names = _SCRIPTS[what].format(most=_MOST_NAMES, kind=kind, namespace=namespace or None)
    chosen = f"k8s.context({cluster!r})" if cluster else "k8s"
    return f"cluster = {chosen}\nnames = {names}\n[name for name in names if len(name) <= {_LONGEST}][:{_MOST_NAMES}]"


def _read(answer: types.Answer) -> tuple[str, ...]:
    """Returns the names in the answer; none where it has an error or is cut. Notes may follow them."""
    if answer.is_error:
        return ()
    try:
        text = fencing.unfence(answer.text).lstrip()
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError, errors.KubescriptError):
        return ()
    if not isinstance(found, list):
        return ()
    names = (sanitizing.clean(name).strip() for name in found if isinstance(name, str))
    shown = (name for name in names if name and name.isprintable())
    return tuple(dict.fromkeys(shown))
