"""Objects of the hub, the API server that knows the fleet's clusters: listed, then watched. The sources call it.

A hub that does not answer keeps the objects of its last answer. All bytes are bounded, because whoever may write an
object there chooses its size.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from kubescript import errors, types
from kubescript.cluster import base, bodies
from kubescript.fleet import list_watch, nesting, objects
from kubescript.fleet.objects import Key, Kind, Metadata
from kubescript.fleet.places import Places
from kubescript.output import sanitizing
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Watch"]

log = logging.getLogger(__name__)

_PAGE: Final = 20
# etcd takes objects of 1.5 MiB; base64 and JSON make at most 2 MiB of them.
_MAX_PAGE_BYTES: Final = _PAGE * 2 * 1024 * 1024
_LIST_S: Final = 30.0
_LISTS_S: Final = 120.0
"""Seconds for all pages of a list, of which an API server forgets where the next one begins after 300."""
# So long a connection that died without a word stays unnoticed.
_WATCH_S: Final = 60
"""Seconds that the hub keeps a watch open."""
_MARGIN_S: Final = 10.0
_TICK_S: Final = 0.1
_FIRST_PAUSE_S: Final = 1.0
_LAST_PAUSE_S: Final = 60.0
_T = TypeVar("_T")


class Watch(Generic[_T]):
    """The objects of one kind, as `read` makes them of JSON."""

    def __init__(
        self,
        cluster: base.Cluster,
        kind: Kind,
        read: Callable[[bytes], _T | None],
        most: int,
        wanted: Callable[[], Collection[Key] | None] = frozenset,
    ) -> None:
        """`read` returns None for an object that is not needed, and raises ValueError, with no text of the object, for
        one that cannot be used. At most `most` objects are kept: first those that `wanted` names, which returns None
        while they are not known yet, then the oldest ones."""
        self.kind = kind
        self.changes = 0
        """Grows with each change; 0 before the first list."""
        self.problem = ""
        """Why the kind cannot be watched; empty if it can."""
        self._cluster = cluster
        self._read = read
        self._most = most
        self._lock = threading.Lock()
        self._wanted = wanted
        self._places: Places[_T] = Places(most)

    def objects(self) -> Mapping[Key, _T]:
        """Returns a copy of the objects."""
        with self._lock:
            return self._places.objects()

    @property
    def is_full(self) -> bool:
        """Whether objects were left out because there are too many."""
        return bool(self._places.surplus)

    def unread(self) -> Mapping[Key, str]:
        """Returns what is wrong with objects that are left out."""
        with self._lock:
            return dict(self._places.unread)

    def run(self, cancel: cancellation.Cancellation) -> None:
        """Keeps the objects up to date until cancelled."""
        while self._wanted() is None and not cancel.cancelled:
            cancel.wait(_TICK_S)
        pause_s = _FIRST_PAUSE_S
        while not cancel.cancelled:
            try:
                path = self._path(cancel)
                version = self._list(path, cancel)
                # What got no place is found by a new list: places may be free, or other objects wanted.
                while version:
                    begun = time.monotonic()
                    version = self._follow(path, version, cancel)
                    pause_s = _FIRST_PAUSE_S
                    # Attack: a hub ends each watch at once, and is asked two thousand times a second.
                    cancel.wait(max(0.0, begun + _FIRST_PAUSE_S - time.monotonic()))
            except errors.ClusterError as error:
                self._note_absence(error, cancel)
            # Replicas that lost the same hub do not ask it again at the same moment.
            cancel.wait(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)

    def _path(self, cancel: cancellation.Cancellation) -> str:
        """Returns the path of the collection, in the version that the hub prefers."""
        kind = self.kind
        root = "/api/v1"
        if kind.group:
            call = request.Request("GET", f"/apis/{kind.group}", (), verb="get", is_resource=False)
            found = list_watch.decode(self._body(call, cancel), list_watch.Group)
            root = f"/apis/{kind.group}/{found.preferred.version}"
        place = f"/namespaces/{kind.namespace}" if kind.namespace else ""
        return f"{root}{place}/{kind.resource}"

    def _list(self, path: str, cancel: cancellation.Cancellation) -> str:
        """Replaces the objects by a new list, and returns its version."""
        found: Places[_T] = Places(self._most, self._wanted)
        version = self._read_pages(path, found, cancel)
        found.prune()
        with self._lock:
            self._places = found
            self.changes += 1
        self._warn_of(found.surplus)
        return version

    def _read_pages(self, path: str, found: Places[_T], cancel: cancellation.Cancellation) -> str:
        """Reads a list, as far as there is time for it, and returns its version."""
        token = ""
        ends = time.monotonic() + _LISTS_S
        while True:
            options = [*self.kind.options(), ("limit", str(_PAGE))]
            if token:
                options.append(("continue", token))
            page = list_watch.decode(self._body(self._call(path, "list", options), cancel), list_watch.Page)
            for raw in page.items:
                content = bytes(raw)
                self._take(content, _read_metadata(content), found)
            token = page.metadata.token
            if not token:
                break
            if time.monotonic() > ends:
                text = f"the list takes more than {_LISTS_S:.0f} s"
                # Attack: so many objects are made that no list is read to its end.
                if self.changes:
                    raise errors.ClusterError(text, code="cluster.too_large")
                found.surplus = f"those at the end, as {text}"
                break
        return page.metadata.resource_version

    def _follow(self, path: str, version: str, cancel: cancellation.Cancellation) -> str:
        """Applies changes until the hub ends the watch; returns the last version, empty if it has to be listed anew."""
        options = [
            *self.kind.options(),
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(_WATCH_S)),
        ]
        response = self._cluster.perform(self._call(path, "watch", options), _WATCH_S + _MARGIN_S, cancel)
        try:
            if response.status == 410:
                return ""
            self._check(response)
            self._note_return()
            for line in list_watch.split_lines(response.chunks):
                event = list_watch.decode(line, list_watch.Event)
                if event.type == "ERROR":
                    if list_watch.decode(bytes(event.object), list_watch.Status).code == 410:
                        return ""
                    raise errors.ClusterError("the hub ended the watch with an error", code="cluster.broken")
                version = self._apply(event) or version
        finally:
            response.close()
        return "" if self._places.surplus else version

    def _apply(self, event: list_watch.Event) -> str:
        """Applies one event, and returns its version."""
        content = bytes(event.object)
        metadata = _read_metadata(content)
        if event.type == "BOOKMARK":
            return metadata.resource_version
        places = self._places
        with self._lock:
            before = places.surplus
            places.remove(metadata.key)
            if event.type != "DELETED":
                self._take(content, metadata, places)
                places.prune()
            self.changes += 1
        if not before:
            self._warn_of(places.surplus)
        return metadata.resource_version

    def _take(self, content: bytes, metadata: Metadata, places: Places[_T]) -> None:
        """Reads one object, or notes why it cannot be used: only what can be has a place."""
        try:
            # Attack: a Secret has 110,000 labels, which take 11 MiB.
            if len(metadata.labels) > objects.MAX_LABELS:
                raise ValueError(f"it has more than {objects.MAX_LABELS} labels")
            made = nesting.read(content, self._read)
        except msgspec.MsgspecError:
            problem = "it has not the fields of its kind"
        except ValueError as error:
            problem = str(error)
        except Exception:  # of any kind: no object stops the others; the text may be the object's
            problem = "it cannot be read"
        else:
            if made is not None:
                places.add(metadata.key, metadata.created, made)
            return
        places.refuse(metadata.key, problem)

    def _call(self, path: str, verb: str, options: Sequence[tuple[str, str]]) -> request.Request:
        return request.Request(
            "GET",
            path,
            tuple(options),
            verb=verb,
            is_resource=True,
            group=self.kind.group,
            resource=self.kind.resource,
            namespace=self.kind.namespace,
        )

    def _body(self, call: request.Request, cancel: cancellation.Cancellation) -> bytes:
        """Returns a whole body. Raises ClusterError."""
        too_large = errors.ClusterError("the hub's answer is implausibly large", code="cluster.too_large")
        with contextlib.closing(self._cluster.perform(call, _LIST_S, cancel)) as response:
            self._check(response)
            return bodies.read_whole(response.chunks, _MAX_PAGE_BYTES, too_large)

    def _check(self, response: types.Response) -> None:
        """Raises ClusterError unless the hub has answered."""
        if response.status == 200:
            return
        reasons = {
            403: f"RBAC does not let this server list and watch {self.kind}",
            404: f"the hub does not serve {self.kind}: is its CustomResourceDefinition installed?",
        }
        reason = reasons.get(response.status, f"the hub answers with status {response.status}")
        raise errors.ClusterError(reason, code="cluster.broken")

    def _note_absence(self, error: errors.ClusterError, cancel: cancellation.Cancellation) -> None:
        """Notes that the kind cannot be watched, and logs it once until it can again."""
        if cancel.cancelled:
            return
        before, self.problem = self.problem, f"{self.kind} cannot be watched: {error.message}"
        if not before:
            log.warning("the clusters found last stay: %s", self.problem, extra={"event": "fleet.away"})

    def _warn_of(self, surplus: str) -> None:
        """Logs which objects are left out, if any are."""
        if surplus:
            log.warning(
                "there are too many %s, and %d are kept: left out are %s",
                self.kind, self._most, sanitizing.printable(surplus), extra={"event": "fleet.max"},
            )  # fmt: skip

    def _note_return(self) -> None:
        if self.problem:
            log.info("%s can be watched again", self.kind, extra={"event": "fleet.back"})
        self.problem = ""


def _read_metadata(content: bytes) -> Metadata:
    """Returns the metadata of an object. Raises ClusterError."""
    return list_watch.decode(content, objects.Object).metadata
