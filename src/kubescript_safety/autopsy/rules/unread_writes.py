"""BLIND_WRITE and STALE_WRITE: changes of objects that the agent has not read, or not since others changed them."""

from __future__ import annotations

import bisect
import collections
import operator
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript.changes.rules.conduct import transcript
from kubescript.kube import field_paths, paths
from kubescript_safety.autopsy import facts

__all__ = ["find_blind_writes", "find_stale_writes"]

_LAST: Final = 200
"""How many changes by others are compared with one write."""
_TIME: Final = operator.attrgetter("at")

_Place = tuple[str, str, str]
"""Resource, namespace and name."""


class _Seen:
    """The agent's reads, for look-ups by object.

    Attack: an agent makes ten thousand reads and ten thousand writes in one call, so each look-up is one or two
    bisections.
    """

    def __init__(self, run: facts.Facts) -> None:
        self._shown: dict[_Place, list[facts.Read]] = collections.defaultdict(list)
        self._inside: dict[tuple[_Place, str], list[facts.Read]] = collections.defaultdict(list)
        """Reads that count for writes of the same call: those of a script, and answers to writes."""
        for read in sorted(run.reads, key=_TIME):
            self._add(read, is_of_script=read.call in run.scripts)
        self._earlier: dict[_Place, list[int]] = {}
        for place, reads in self._shown.items():
            self._earlier[place] = list(_earlier(reads))

    def _add(self, read: facts.Read, *, is_of_script: bool) -> None:
        """Adds a read, which is later than those before it."""
        place = (read.resource, read.namespace, read.name)
        if read.is_shown:
            self._shown[place].append(read)
        if read.is_answer or is_of_script:
            self._inside[place, read.call].append(read)

    def last(self, made: facts.Made) -> facts.Read | None:
        """Returns the last read of an object before its change: in an earlier call that did not fail, in an earlier
        request of the same script, or in the answer to one of the agent's own writes."""
        change = made.change
        resource = facts.resource_of(change)
        # A list of its namespace, or of all namespaces, shows the object too.
        places = {(resource, change.namespace, change.name), (resource, change.namespace, ""), (resource, "", "")}
        found: list[facts.Read] = []
        for place in places:
            found += self._before(place, made)
        return max(found, key=_TIME, default=None)

    def _before(self, place: _Place, made: facts.Made) -> Iterator[facts.Read]:
        """Yields the last reads of a place that count for a write."""
        inside = self._inside.get((place, made.call), [])
        at = _last(inside, made.began)
        if at >= 0:
            yield inside[at]
        shown = self._shown.get(place, [])
        at = _last(shown, made.began)
        # In a killed run, the last call may be missing: a write outside any known call is not treated as blind.
        if at >= 0 and made.call and shown[at].call == made.call:
            at = self._earlier[place][at]
        if at >= 0:
            yield shown[at]


def _last(reads: Sequence[facts.Read], at: float) -> int:
    """Returns the index of the last read that was answered by then; -1 for none."""
    # A read that was answered at exactly that time counts.
    after = bisect.bisect_right(reads, at, key=_TIME)
    return after - 1


def _earlier(reads: Sequence[facts.Read]) -> Iterator[int]:
    """Yields for each read the index of the last one before it from another call; -1 for none."""
    found = -1
    for at, read in enumerate(reads):
        if at and reads[at - 1].call != read.call:
            found = at - 1
        yield found


def _is_write_of_old(made: facts.Made) -> bool:
    """Says whether the change is a write to an existing object."""
    change = made.change
    if change.existed is False or change.method == "create":
        return False
    # A deletecollection names no object; UNBOUNDED_DELETE judges it.
    return change.verb != "deletecollection"


def find_blind_writes(run: facts.Facts) -> Iterator[facts.Finding]:
    """Yields changes of objects that the agent did not read before."""
    seen = _Seen(run)
    for index, made in enumerate(run.changes):
        if _is_write_of_old(made) and seen.last(made) is None:
            text = f"{made.change.method} of {made.change.target}, which no earlier request has read"
            yield made.report("BLIND_WRITE", index, text)


class _Others:
    """Others' changes, for look-ups by object and time."""

    def __init__(self, run: facts.Facts) -> None:
        self._changes: dict[paths.Key, list[facts.Other]] = collections.defaultdict(list)
        for other in sorted(run.others, key=_TIME):
            self._changes[other.key].append(other)

    def between(self, key: paths.Key, after: float, until: float) -> list[facts.Other]:
        """Returns the last changes of an object between two times."""
        changes = self._changes.get(key, [])
        start = bisect.bisect_right(changes, after, key=_TIME)
        end = bisect.bisect_right(changes, until, key=_TIME)
        # Attack: a transcript has thousands of changes between one read and thousands of writes.
        return changes[max(start, end - _LAST) : end]


def find_stale_writes(run: facts.Facts) -> Iterator[facts.Finding]:
    """Yields writes over fields that others changed since the agent's last read.

    A resourceVersion in the write is no excuse: as the write succeeded, the version is from a later read that the agent
    has not seen.
    """
    seen = _Seen(run)
    others = _Others(run)
    for index, made in enumerate(run.changes):
        change = made.change
        if not _is_write_of_old(made) or change.removes:
            continue
        read = seen.last(made)
        if read is None:
            continue
        own = _own(change)
        # an update of a scale writes only the replicas
        is_whole = change.method == "replace" and not change.subresource
        for other in others.between(change.key, read.at, made.began):
            if is_whole or _overlaps(change, own, other):
                what = f"{change.method} of {change.target}"
                text = f"{what}, which {other.user} has changed since it was read ({other.audit})"
                yield made.report("STALE_WRITE", index, text)
                break


def _own(change: transcript.Change) -> frozenset[str]:
    """Returns the fields that a change touches; without indices if its effect on them is unknown."""
    if change.subresource == "scale":
        return frozenset({"spec.replicas"})
    touched = change.fields if change.fields is not None else change.named or ()
    own = frozenset(path for path in touched if not field_paths.is_identity(path))
    if change.fields is not None:
        return own
    return frozenset(map(field_paths.plain, own))


def _overlaps(change: transcript.Change, own: frozenset[str], other: facts.Other) -> bool:
    """Says whether both changes touch the same field."""
    if change.fields is not None or change.subresource == "scale":
        return not own.isdisjoint(other.fields)
    # `_own` has left the indices out.
    return not own.isdisjoint(other.plain)
