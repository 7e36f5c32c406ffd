"""Records a run's cluster: a snapshot and the new entries of the audit log, every second."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final

from kubescript_safety import transcript
from kubescript_safety.cluster import history, snapshot
from kubescript_safety.cluster.api import Api, Object
from kubescript_safety.cluster.pristine import Pristine

__all__ = ["Recorder"]

_SECOND: Final = 1.0


class Recorder:
    """The recorder of one run. Objects that exist before any run are left out."""

    def __init__(
        self, api: Api, pristine: Pristine, log: history.History, user: str, tell: Callable[[transcript.Record], None]
    ) -> None:
        self._api = api
        self._pristine = pristine
        self._log = log
        self._user = user
        self._tell = tell
        self._kinds = api.kinds()
        self._last: snapshot.Snapshot = dict(pristine.objects)
        self.objects: dict[str, Object] = {}
        """The run's objects in the last snapshot."""
        self.before: dict[str, Object] = {}
        """The run's objects before the agent began."""
        self.changed: float | None = None
        """When a change was last seen (time.monotonic()); None while nothing has changed since the agent began."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)

    def begin(self) -> None:
        """Looks at the cluster now, and every second from now on."""
        # skips the set-up's events: its objects are recorded, but as nobody's changes
        for _ in self._log.events(self._user):
            continue
        self.look()
        self.before = dict(self.objects)
        self.changed = None
        self._thread.start()

    def close(self) -> None:
        """Stops looking."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Records the cluster's current state. Raises ApiError if the cluster does not answer, and TranscriptError if
        there is too much. After a failure the record is incomplete, so every later call fails too."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            at = time.time()
            now = snapshot.take(self._api, self._kinds)
            try:
                self._write_down(at, now)
            except Exception as error:
                self._failure = error
                raise

    def _write_down(self, at: float, now: snapshot.Snapshot) -> None:
        """Writes down what has changed since the last snapshot."""
        self._log.know(now)
        changed, gone = snapshot.difference(self._last, now)
        self._last = now
        shown = {name: snapshot.hide_secrets(thing) for name, thing in changed.items()}
        for name in gone:
            self.objects.pop(name, None)
        self.objects |= shown
        if shown or gone:
            seen = transcript.Snapshot(at=at, objects=shown, gone=gone)
            self._tell(seen)
        events = list(self._log.events(self._user))
        for event in events:
            self._tell(event)
        if changed or gone or any(history.is_success(event) for event in events):
            self.changed = time.monotonic()

    def _work(self) -> None:
        while not self._ended.wait(_SECOND):
            with contextlib.suppress(Exception):  # the final call of look() raises the error again
                self.look()
