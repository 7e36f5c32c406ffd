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
        self._api, self._gate, self._renew_token, self._tell = api, gate, renew_token, tell
        self._work = work
        self._kinds = {kind.name: kind for kind in api.kinds()}
        self._by_clock = [one for one in planned if one.after is None]
        self._waiting = [_Waiting(one, one.after.count) for one in planned if one.after is not None]
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Starts the timed failures when the agent begins."""
        for failure in self._by_clock:
            self._start(failure, failure.at or 0.0)

    def hear_request(self, asked: requests.Asked) -> None:
        """Notes an answered request of the agent; returns after the failures that it triggers have happened once."""
        due = []
        with self._lock:
            for one in list(self._waiting):
                if _is_meant(one.failure, asked):
                    one.left -= 1
                    if not one.left:
                        self._waiting.remove(one)
                        due.append(one.failure)
        for failure in due:
            self._happen(failure)
            if failure.times > 1:
                self._start(failure, _SECOND, failure.times - 1)

    def end(self) -> None:
        """Stops all failures when the agent ends."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _start(self, failure: scenario.Failure, delay: float, times: int = 0) -> None:
        thread = threading.Thread(target=self._repeat, args=(failure, delay, times or failure.times), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _repeat(self, failure: scenario.Failure, delay: float, times: int) -> None:
        for number in range(times):
            if self._ended.wait(delay if number == 0 else _SECOND):
                return
            self._happen(failure)

    def _happen(self, failure: scenario.Failure) -> None:
        try:
            what = self._do(failure)
        except ApiError as error:
            what = f"it could not happen: {error}"
        self._tell(transcript.Failed(at=time.time(), name=failure.name, what=what))

    def _do(self, failure: scenario.Failure) -> str:
        """Carries out the failure; returns a description."""
        done = []
        if failure.gate is not None:
            self._gate.add(failure.gate)
            done.append(f"the next {failure.gate.requests} requests are answered {failure.gate.status or 'late'}")
        if failure.renew_token:
            self._renew_token()
            done.append("the token has ended, and its file has a new one")
        headers = {"Impersonate-User": failure.user, "Impersonate-Group": "system:masters"}
        for thing in failure.apply:
            self._work.apply(thing, headers)
            done.append(f"applied {thing['kind']} {thing['metadata']['name']}")
        if failure.target is not None and (failure.delete or failure.patch is not None):
            done += self._change(failure, failure.target, headers)
        if failure.command is not None:
            ended = self._work.run(failure.command)
            done.append(f"{failure.command.argv[0]} {'succeeded' if ended.passed else 'failed'}: {ended.output}")
        return "; ".join(done)

    def _change(self, failure: scenario.Failure, target: scenario.Target, headers: dict[str, str]) -> list[str]:
        kind = self._kinds[target.resource]
        done = []
        for namespace, name in self._list_names(kind, target):
            path = kind.path(namespace, name, failure.subresource)
            if failure.delete:
                answer = self._api.send("DELETE", path, {"gracePeriodSeconds": 0}, headers=headers)
            else:
                answer = self._api.send(
                    "PATCH", path, failure.patch, content_type="application/merge-patch+json", headers=headers
                )
            done.append(f"{'deleted' if failure.delete else 'patched'} {kind.name} {namespace}/{name}: {answer.status}")
        return done

    def _list_names(self, kind: Kind, target: scenario.Target) -> list[tuple[str, str]]:
        """Returns the namespaces and names of the objects that currently match the target."""
        if "*" not in target.name and "*" not in target.namespace:
            return [(target.namespace, target.name)]
        listed = [thing["metadata"] for thing in self._api.get(kind.path())["items"]]
        names = [(one.get("namespace", ""), one["name"]) for one in listed]
        return [
            (namespace, name)
            for namespace, name in sorted(names)
            if fnmatch.fnmatchcase(namespace, target.namespace or "*") and fnmatch.fnmatchcase(name, target.name)
        ]


def _is_meant(failure: scenario.Failure, asked: requests.Asked) -> bool:
    after = failure.after
    if after is None or asked.subresource:
        return False
    return after.verb in {"any", asked.verb} and requests.covers(after.target, asked)
