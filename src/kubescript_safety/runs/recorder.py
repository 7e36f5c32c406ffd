"""Writes down what happens in a cluster during a run: a snapshot and what the audit log has got, every second."""

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
    """The recorder of one run. What the cluster holds without any run is left out."""

    def __init__(
        self, api: Api, pristine: Pristine, log: history.History, user: str, tell: Callable[[transcript.Record], None]
    ) -> None:
        self._api, self._pristine, self._log, self._user, self._tell = api, pristine, log, user, tell
        self._kinds = api.kinds()
        self._last: snapshot.Snapshot = dict(pristine.objects)
        self.objects: dict[str, Object] = {}
        """What the run's own objects are, as of the last snapshot."""
        self.before: dict[str, Object] = {}
        """The same, before the agent has begun."""
        self.changed: float | None = None
        """When a look has found something changed last (time.monotonic()); None as long as the agent has worked and
        everything is as it was."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)

    def begin(self) -> None:
        """Looks now, and every second from now on."""
        for _ in self._log.events(self._user):  # of the set-up: what it has made is known then, and is nobody's change
            continue
        self.look()
        self.before = dict(self.objects)
        self.changed = None
        self._thread.start()

    def close(self) -> None:
        """Looks no more."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Writes down what is there now. Raises ApiError when the cluster does not say, and TranscriptError when there
        is too much. What could not be written down is lost, and from then on every look fails."""
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
        self._log.know(now)
        changed, gone = snapshot.difference(self._last, now)
        self._last = now
        shown = {name: snapshot.hide_secrets(thing) for name, thing in changed.items()}
        for name in gone:
            self.objects.pop(name, None)
        self.objects |= shown
        if shown or gone:
            self._tell(transcript.Snapshot(at=at, objects=shown, gone=gone))
        events = list(self._log.events(self._user))
        for event in events:
            self._tell(event)
        if changed or gone or any(history.is_success(event) for event in events):
            self.changed = time.monotonic()

    def _work(self) -> None:
        while not self._ended.wait(_SECOND):
            with contextlib.suppress(Exception):  # whoever looks last hears of it
                self.look()
