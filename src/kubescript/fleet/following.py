"""What the sources in a hub have in common: its objects are followed, and the members that they make published."""

from __future__ import annotations

import abc
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubescript import errors
from kubescript.fleet import hub, member
from kubescript.output import sanitizing
from kubescript_sandbox.host import cancellation

__all__ = ["Candidate", "Followed", "Problem"]

log = logging.getLogger(__name__)

_TICK_S: Final = 0.5
"""Seconds between two looks for changes, which are then published together."""
_SHOWN: Final = 20
"""How many problems one publication logs."""
_JOIN_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the hub says of one cluster, which is still to be checked."""

    name: str
    labels: Mapping[str, str]
    kubeconfig: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a cluster is left out."""

    name: str
    why: str


class Followed(abc.ABC):
    """A source of clusters that follows objects of the hub; see `fleet.Source`."""

    def __init__(self, *watches: hub.Watch[Any]) -> None:
        self._watches = watches
        self.left_out = 0
        """See `fleet.Source`."""

    @property
    def problem(self) -> str:
        """What keeps the hub from being followed, such as a right that is missing; empty if nothing does."""
        return "; ".join(each.problem for each in self._watches if each.problem)

    @property
    def is_full(self) -> bool:
        """See `fleet.Source`."""
        return any(each.is_full for each in self._watches)

    @abc.abstractmethod
    def find(self) -> Iterator[Candidate | Problem]:
        """Yields what the objects make of clusters, under different names."""

    def watch(self, publish: Callable[[Mapping[str, member.Member]], None], stop: threading.Event) -> None:
        """Publishes the members when all objects have been listed, and after each change; logs what is left out."""
        cancel = cancellation.Cancellation()
        threads = [
            threading.Thread(target=each.run, args=(cancel,), name="kubescript-hub", daemon=True)
            for each in self._watches
        ]
        for thread in threads:
            thread.start()
        published: list[int] = []
        found = _Found()
        try:
            # If a watch fell, `fleet.Fleet` starts all of them again.
            while not stop.wait(_TICK_S) and all(thread.is_alive() for thread in threads):
                changes = [each.changes for each in self._watches]
                if all(changes) and changes != published:
                    found.update([*self._list_unread(), *self.find()])
                    self.left_out = len(found.problems)
                    publish(found.members)
                    published = changes
        finally:
            cancel.cancel()
            for thread in threads:
                thread.join(_JOIN_S)

    def _list_unread(self) -> Iterator[Problem]:
        for each in self._watches:
            for key, why in each.unread().items():
                yield Problem(f"{each.kind.resource} {key}", why)


class _Found:
    """The members of the last publication, and what was left out."""

    def __init__(self) -> None:
        self.members: dict[str, member.Member] = {}
        self._checked: dict[str, tuple[Candidate, member.Member | Problem]] = {}
        self.problems: set[Problem] = set()

    def update(self, found: Iterable[Candidate | Problem]) -> None:
        """Checks the candidates, and logs the new problems."""
        checked: dict[str, tuple[Candidate, member.Member | Problem]] = {}
        problems: set[Problem] = set()
        for each in found:
            if isinstance(each, Problem):
                problems.add(each)
            else:
                checked[each.name] = (each, self._check(each))
        results = [result for _, result in checked.values()]
        problems.update(result for result in results if isinstance(result, Problem))
        _log(problems - self.problems)
        self.members = {result.name: result for result in results if isinstance(result, member.Member)}
        self._checked, self.problems = checked, problems

    def _check(self, found: Candidate) -> member.Member | Problem:
        # YAML takes milliseconds a kubeconfig: with 1,000 clusters, a change of one must not check all of them.
        known, result = self._checked.get(found.name, (None, None))
        if result is not None and known == found:
            return result
        try:
            return member.check(found.name, found.labels, found.kubeconfig)
        except errors.ClusterError as error:
            return Problem(found.name, error.message)
        except Exception:  # whatever it is, the other clusters are published; its text may be a token
            return Problem(found.name, member.UNREADABLE)


def _log(problems: Iterable[Problem]) -> None:
    """Logs the first of the problems, and how many there are besides."""
    first = sorted((each.name, each.why) for each in problems)
    for name, why in first[:_SHOWN]:
        log.warning(
            "%s is left out: %s", sanitizing.printable(name), sanitizing.printable(why),
            extra={"event": "fleet.unusable"},
        )  # fmt: skip
    if len(first) > _SHOWN:
        log.warning("%d more are left out", len(first) - _SHOWN, extra={"event": "fleet.unusable"})
