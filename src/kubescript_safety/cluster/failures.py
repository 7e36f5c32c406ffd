"""Failures that a scenario injects while an agent works: at a given time, or after one of the agent's requests."""

from __future__ import annotations

import fnmatch
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kubescript_safety import scenario, transcript
from kubescript_safety.cluster import requests, steps
from kubescript_safety.cluster.api import Api, ApiError, Kind
from kubescript_safety.cluster.gate import Gate

__all__ = ["Failures"]

_SECOND: Final = 1.0


@dataclass
class _Waiting:
    """A failure that happens after a number of requests."""

    failure: scenario.Failure
    left: int


class Failures:
    """The failures of one run."""

    def __init__(
        self,
        planned: tuple[scenario.Failure, ...],
        api: Api,
        gate: Gate,
        work: steps.Steps,
        renew_token: Callable[[], None],
        tell: Callable[[transcript.Failed], None],
    ) -> None:
        """`tell` is called for each failure that happens."""
        self._api = api
        self._gate = gate
        self._renew_token = renew_token
        self._tell = tell
        self._work = work
        self._kinds = {kind.name: kind for kind in api.kinds()}
        self._by_clock = [one for one in planned if one.after is None]
        self._waiting = [_Waiting(one, one.after.count) for one in planned if one.after is not None]
        # The lock protects the waiting failures, because the gate answers several requests at once.
        self._lock = threading.Lock()
        self._ended = threading.Event()
        # There is one thread for each failure that happens at a given time, or repeatedly.
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Starts the timed failures when the agent begins."""
        for failure in self._by_clock:
            self._start(failure, failure.at or 0.0, failure.times)

    def hear_request(self, asked: requests.Asked) -> None:
        """Notes an answered request of the agent; returns after the failures that it triggers have happened once."""
        # The gate answers several requests at once, but each failure must happen only once.
        due = []
        with self._lock:
            for one in list(self._waiting):
                if _is_meant(one.failure, asked):
                    one.left -= 1
                    if not one.left:
                        self._waiting.remove(one)
                        due.append(one.failure)
        # This happens outside the lock, because a failure may send requests of its own, and takes as long as they do.
        for failure in due:
            self._happen(failure)
            if failure.times > 1:
                self._start(failure, _SECOND, failure.times - 1)

    def end(self) -> None:
        """Stops all failures when the agent ends."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _start(self, failure: scenario.Failure, delay: float, times: int) -> None:
        """Makes a failure happen in a thread of its own."""
        thread = threading.Thread(target=self._repeat, args=(failure, delay, times), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _repeat(self, failure: scenario.Failure, delay: float, times: int) -> None:
        """Makes a failure happen repeatedly, until the agent has ended."""
        for number in range(times):
            pause = delay if number == 0 else _SECOND
            if self._ended.wait(pause):
                return
            self._happen(failure)

    def _happen(self, failure: scenario.Failure) -> None:
        try:
            what = self._do(failure)
        # The run continues, and its transcript says that this failure did not happen.
        except ApiError as error:
            what = f"it could not happen: {error}"
        self._tell(transcript.Failed(at=time.time(), name=failure.name, what=what))

    def _do(self, failure: scenario.Failure) -> str:
        """Carries out the failure; returns a description."""
        done = []
        gate = failure.gate
        if gate is not None:
            self._gate.add(gate)
            done.append(f"the next {gate.requests} requests are answered {gate.status or 'late'}")
        if failure.renew_token:
            self._renew_token()
            done.append("the token has ended, and its file has a new one")
        # The request is sent as another user, so that the audit log shows a change by somebody else, which STALE_WRITE
        # is about.
        headers = {"Impersonate-User": failure.user, "Impersonate-Group": "system:masters"}
        for thing in failure.apply:
            self._work.apply(thing, headers)
            done.append(f"applied {thing['kind']} {thing['metadata']['name']}")
        if failure.target is not None and (failure.delete or failure.patch is not None):
            done += self._change(failure, failure.target, headers)
        if failure.command is not None:
            ended = self._work.run(failure.command)
            how = "succeeded" if ended.passed else "failed"
            done.append(f"{failure.command.argv[0]} {how}: {ended.output}")
        return "; ".join(done)

    def _change(self, failure: scenario.Failure, target: scenario.Target, headers: dict[str, str]) -> list[str]:
        """Deletes or patches what a failure names; returns what was done."""
        kind = self._kinds[target.resource]
        done = []
        for namespace, name in self._list_names(kind, target):
            path = kind.path(namespace, name, failure.subresource)
            if failure.delete:
                how = "deleted"
                answer = self._api.send("DELETE", path, {"gracePeriodSeconds": 0}, headers=headers)
            else:
                how = "patched"
                answer = self._api.send(
                    "PATCH", path, failure.patch, content_type="application/merge-patch+json", headers=headers
                )
            done.append(f"{how} {kind.name} {namespace}/{name}: {answer.status}")
        return done

    def _list_names(self, kind: Kind, target: scenario.Target) -> list[tuple[str, str]]:
        """Returns the namespaces and names of the objects that currently match the target."""
        if "*" not in target.name and "*" not in target.namespace:
            return [(target.namespace, target.name)]
        # Names of pods are random, so scenarios contain patterns for them.
        spaces = target.namespace or "*"
        found = []
        for thing in self._api.get(kind.path())["items"]:
            namespace = thing["metadata"].get("namespace", "")
            name = thing["metadata"]["name"]
            if fnmatch.fnmatchcase(namespace, spaces) and fnmatch.fnmatchcase(name, target.name):
                found.append((namespace, name))
        return sorted(found)


def _is_meant(failure: scenario.Failure, asked: requests.Asked) -> bool:
    """Says whether a failure counts this request."""
    after = failure.after
    # Requests for a subresource do not count as requests for the object itself.
    if after is None or asked.subresource:
        return False
    if after.verb not in {"any", asked.verb}:
        return False
    return requests.covers(after.target, asked)
