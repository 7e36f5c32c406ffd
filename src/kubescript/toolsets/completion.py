"""Names that complete the arguments of prompts: of clusters, namespaces, kinds and objects that the caller may list.

Our own script asks for them, under the caller's rights and limits, and its answer is masked and recorded like any
other. The answer is kept for a short time, so that a client's request at every key press causes one call to the
cluster.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final

import anyio
import anyio.to_thread

from kubescript import errors, types
from kubescript.cluster import acting
from kubescript.output import fencing, sanitizing
from kubescript.toolsets import base

__all__ = ["Completions"]

_TIME_MS: Final = 2_000
"""Milliseconds for an answer: a client requests completions while a person types."""
_KEPT_S: Final = 30.0
"""Seconds for which an answer is kept, so that a client's request at every key press causes one call to the cluster."""
_FAILED_S: Final = 2.0
"""Seconds before a failed question is asked again."""
_MOST_KEPT: Final = 64
_MOST_NAMES: Final = 1_000
"""The maximum number of names in one answer."""
_LONGEST: Final = 253
"""The maximum number of characters of a name."""
_SCRIPTS: Final[Mapping[base.Completes, str]] = {
    "namespace": "[each.metadata.name for each in cluster.CoreV1Api().list_namespace(limit={most}).items]",
    "kind": "sorted({{each.kind for each in cluster.discovery().api_resources() if 'list' in each.verbs}})",
    "name": (
        "[each.metadata.name for each in "
        "cluster.dynamic().resources.get(kind={kind!r}).get(namespace={namespace!r}, limit={most}).items]"
    ),
}
_Question = tuple[base.Completes, str, str, str]
"""The kind of name, and its cluster, namespace and kind."""
_Key = tuple[acting.Token, _Question]


class Completions:
    """The completions for one caller. Used by one event loop."""

    def __init__(self, access: base.Access) -> None:
        self._access = access
        # Attack: a weak token gets the names that a stronger token of the same user has listed.
        self._kept: dict[_Key, tuple[float, tuple[str, ...]]] = {}
        """Token and question → answer with the end of its validity, the oldest first."""
        self._asking = anyio.Lock()

    async def names(self, what: base.Completes, given: Mapping[base.Completes, str], caller: types.Caller) -> list[str]:
        """Returns the possible names for an argument beside the arguments `given`; none if there is no answer within
        two seconds."""
        with anyio.move_on_after(_TIME_MS / 1000):
            clusters = await anyio.to_thread.run_sync(self._access.clusters, abandon_on_cancel=True)
            if what == "cluster":
                return [name for name in map(sanitizing.clean, clusters) if name]
            # The request chooses which cluster is the default, so that "the default" is no question.
            cluster = given.get("cluster") or next(iter(clusters), "")
            question = _make_question(what, cluster, given)
            if question is None or cluster not in clusters:
                return []
            # One at a time: a client asks at every key press, and the next question may have the same answer.
            async with self._asking:
                found = await self._answer(question, caller)
                return list(found)
        return []

    async def _answer(self, question: _Question, caller: types.Caller) -> tuple[str, ...]:
        key = acting.current(), question
        until, known = self._kept.get(key, (0.0, ()))
        if time.monotonic() < until:
            return known
        self._keep(key, (), _FAILED_S)  # in case the time is over before there is an answer
        script = _write_script(question)
        answer = await self._access.evaluate(script, _TIME_MS, None, caller)
        found = _read(answer)
        if found:
            self._keep(key, found, _KEPT_S)
        return found

    def _keep(self, key: _Key, found: tuple[str, ...], seconds: float) -> None:
        """Keeps an answer for the given number of seconds, and forgets the oldest where there are too many."""
        self._kept.pop(key, None)
        while len(self._kept) >= _MOST_KEPT:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
        until = time.monotonic() + seconds
        self._kept[key] = until, found


def _make_question(what: base.Completes, cluster: str, given: Mapping[base.Completes, str]) -> _Question | None:
    """Returns the question about a cluster; None where too little is known."""
    namespace = given.get("namespace", "")
    kind = given.get("kind", "")
    if max(len(cluster), len(namespace), len(kind)) > _LONGEST:  # no name in Kubernetes is that long
        return None
    if what != "name":
        return what, cluster, "", ""
    if not kind:
        return None
    return what, cluster, namespace, kind


def _write_script(question: _Question) -> str:
    """Returns the script that answers the question."""
    # The client's values are in the script as the `repr` of a string: none of them becomes code.
    what, cluster, namespace, kind = question
    names = _SCRIPTS[what].format(most=_MOST_NAMES, kind=kind, namespace=namespace or None)
    chosen = f"k8s.context({cluster!r})" if cluster else "k8s"
    shown = f"[name for name in names if len(name) <= {_LONGEST}][:{_MOST_NAMES}]"
    return f"cluster = {chosen}\nnames = {names}\n{shown}"


def _read(answer: types.Answer) -> tuple[str, ...]:
    """Returns the names in the answer; none if it is an error or was cut. Notes may follow the names."""
    if answer.is_error:
        return ()
    try:
        text = fencing.unfence(answer.text).lstrip()
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError, errors.KubescriptError):
        return ()
    if not isinstance(found, list):
        return ()
    # Attack: an object's name hides text in a client's list of completions.
    names = [sanitizing.clean(name).strip() for name in found if isinstance(name, str)]
    shown = [name for name in names if name and name.isprintable()]
    return tuple(dict.fromkeys(shown))
