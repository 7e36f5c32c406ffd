"""Follows a change until the cluster has carried it out, like `kubectl rollout status`: by a watch, without polling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import watch
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError

__all__ = ["MOST_WATCHES", "SPARE_S", "Progress", "Target", "follow", "watch_changes"]

# How many seconds one watch lasts. A connection that a firewall has dropped delivers nothing, which is noticed after
# this time.
_WINDOW_S: Final = 60
# The largest part of the script's time for one watch: with several clusters, the host ends a call after half of that
# time.
_SHARE: Final = 0.45
# How many seconds are reserved for the script to report the change's progress.
SPARE_S: Final = 2
# How many watches one change may take. The longest wait takes 30 watches of a minute each; a server that ends each
# watch at once causes more.
MOST_WATCHES: Final = 100
_GONE: Final = 410
"""The status for a watch from a version that the API server no longer has."""


class Progress(NamedTuple):
    """The progress of a change."""

    text: str
    done: int = 0
    total: int = 0
    finished: bool = False


class Target(NamedTuple):
    """The object that is changed."""

    kind: str
    namespace: str
    name: str
    read: Callable[[], Any]
    listing: Any
    """The method that lists the kind in a namespace, for the watch."""
    judge: Callable[[Any], Progress]
    """Returns the object's progress. Raises ToolError if it cannot finish."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def follow(k8s: client.K8s, target: Target, change: str, seconds: float, known: Any = None) -> Progress:
    """Returns the finished progress of a change. `change` is a sentence about the request, for errors; `known` is the
    object in the request's answer, if any.

    Raises ToolError on timeout, and if the change fails or can no longer be followed.
    """
    began = time.monotonic()
    deadline = min(began + seconds, k8s._session.deadline - SPARE_S)
    progress = Progress("")
    try:
        for found in _states(k8s, target, deadline, known):
            before = progress
            progress = target.judge(found)
            if progress.finished:
                return progress
            if progress != before:
                message = f"{target}: {progress.text}"
                k8s._session.report(progress.done, progress.total or None, message)
    except exceptions.ApiException as error:
        # The change was made, but can no longer be followed: the error says both.
        details = error.message or error.reason
        raise ToolError("rollout_lost", change=change, details=details) from None
    waited = round(time.monotonic() - began)
    raise ToolError("rollout_unfinished", change=change, seconds=waited, state=progress.text)


def _states(k8s: client.K8s, target: Target, deadline: float, known: Any) -> Iterator[Any]:
    """Yields the object as it is now and after each change, until the deadline."""
    for _ in range(MOST_WATCHES):
        left = deadline - time.monotonic()
        yield from watch_changes(k8s, target, left, known)
        # After a watch, the object is read again: if the watch broke off, it may have missed changes.
        known = None
        if left <= 0:
            return


def watch_changes(k8s: client.K8s, target: Target, seconds: float, known: Any = None) -> Iterator[Any]:
    """Yields the object as it is now, and after each change during one watch, for at most the given number of seconds.
    `known` is the object as it is now. Raises ToolError if it is deleted, and ApiException."""
    found = known or target.read()
    yield found
    share = _SHARE * k8s._session.seconds_left
    window = min(seconds, _WINDOW_S, share)
    if window > 0:
        yield from _changes(target, found.metadata.resource_version, window)


def _changes(target: Target, version: str, seconds: float) -> Iterator[Any]:
    """Yields the object after each change since this version. Ends early if the connection breaks."""
    # The version is given, because a watch without one may begin with an object older than the change.
    events = watch.Watch().stream(
        target.listing,
        target.namespace,
        field_selector=f"metadata.name={target.name}",
        resource_version=version,
        timeout_seconds=max(1, round(seconds)),
    )
    try:
        for event in events:
            if event["type"] == "DELETED":
                raise ToolError("rollout_deleted", target=target)
            yield event["object"]
    except exceptions.ApiException as error:
        if error.status not in {0, _GONE}:  # 0: the connection broke; reading the object again will show its state
            raise
