"""One server's maskers: forked ahead of time, used by one body or text at a time, and killed when they misbehave.

A masker serves many bodies and texts, because forking and confining one takes 5 ms of processor time, and masking a
short text takes only 75 µs. After a number of uses a masker is replaced, so that a body's effects on the process do not
last.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final

from kubescript_masking import errors
from kubescript_masking.host import conversation
from kubescript_sandbox import errors as sandbox_errors
from kubescript_sandbox.host import layers, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["Pool"]

log = logging.getLogger(__name__)

_SIZE: Final = min(4, os.cpu_count() or 1)
"""How many idle maskers are started ahead of time, and always kept."""
# Each idle masker takes 4 MiB. A caller that finds none waits for a fork, which takes a fifth of the processor time of
# a short script.
_KEPT: Final = 24
"""How many idle maskers are kept while callers come."""
_REST_S: Final = 20.0
"""After how many seconds without a use a masker is ended, if more than `_SIZE` are idle."""
# A watch holds a masker while it is open.
_FOR_BODIES: Final = 56
"""How many maskers bodies may hold at the same time; four for each script where there are many."""
# Because of this reserve, answers and log lines can be masked however many watches are open.
_FOR_TEXTS: Final = 8
"""How many maskers are reserved for texts."""
# Attack: four scripts each open eight watches and eight answers that they do not read, to hold all maskers.
_SHARE: Final = 2
"""How many maskers each script can always have for bodies, however many the others hold."""
_USES: Final = 256
"""How many bodies and texts one masker serves."""
# Enough for a part of 32 MiB, decoded, with everything found in it.
_MEMORY: Final = 1 << 30
"""How many bytes a masker may allocate."""
# A limit in case the host fails to end a masker at a call's deadline.
_CPU_S: Final = 3600
"""How many seconds of processor time one masker may use."""
_WAIT_S: Final = 0.02
_NOTHING: Final[Mapping[str, str]] = {}


class Pool:
    """Lends maskers. Many threads may use it at once."""

    def __init__(
        self,
        settings: bytes,
        source: spawner.Spawner,
        *,
        scripts: int = 8,
        strict: bool = False,
        why: Mapping[str, str] = _NOTHING,
    ) -> None:
        """`source` forks the maskers, which get the settings; at most `scripts` run at the same time; `why` is for each
        Masker."""
        self._why = why
        self._source = source
        self._source.give(settings)
        self._strict = strict
        self._changed = threading.Condition()
        self._idle: list[conversation.Masker] = []
        self._texts = 0
        """How many maskers are masking a text."""
        self._bodies: dict[int, int] = {}
        """How many maskers each script holds for bodies."""
        self._timer: threading.Timer | None = None
        """Ends idle maskers later, if there are more than `_SIZE`."""
        self._scripts = scripts
        self._for_bodies = max(_FOR_BODIES, 2 * _SHARE * scripts)
        self._closed = False
        self._reporting = threading.local()

    def start(self) -> None:
        """Starts the idle maskers without waiting for them. Raises RedactionError."""
        with self._changed:
            self._refill()

    def prepare(self) -> tuple[protocol.Layer, ...]:
        """Waits until one masker is ready; returns the layers of its lockdown. Raises RedactionError."""
        self.start()
        with self.lend(lambda: None) as masker:
            return masker.layers or ()

    @contextlib.contextmanager
    def lend(
        self, check: conversation.Check, script: int | None = None, owner: str = ""
    ) -> Iterator[conversation.Masker]:
        """Lends a masker that is ready, for a script's body or for a text of this `owner`. The masker is killed when
        the caller fails while holding it. Raises RedactionError, and what `check` raises."""
        try:
            with self._borrow(check, script, owner) as masker:
                yield masker
        except (protocol.ProtocolError, OSError) as error:
            # The report is masked too, by another masker: no thread may wait for that one while holding this one.
            self._report(error)
            raise errors.RedactionError("the masking process failed, so the text was withheld; try again") from None

    @contextlib.contextmanager
    def _borrow(self, check: conversation.Check, script: int | None, owner: str) -> Iterator[conversation.Masker]:
        masker = self._take(check, script, owner)
        healthy = False
        try:
            if masker.layers is None:
                masker.greet(check)
                self._examine(masker)
            yield masker
            healthy = True
        except GeneratorExit:  # the body's reader has stopped reading
            healthy = not masker.waiting
            raise
        finally:
            self._give_back(masker, script, healthy=healthy)

    def _report(self, error: Exception) -> None:
        """Logs why a masker failed."""
        # The log line is masked too. If that also failed and were reported, this would never end.
        if getattr(self._reporting, "now", False):
            return
        self._reporting.now = True
        try:
            log.warning("a masking process failed: %s", error, extra={"event": "redaction.died"})
        finally:
            self._reporting.now = False

    def close(self) -> None:
        """Ends all maskers and starts no more."""
        with self._changed:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            idle, self._idle = self._idle, []
        for masker in idle:
            masker.worker.close()
        self._source.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the fork server and of the idle maskers."""
        idle = [masker.worker.pid for masker in self._idle]
        return (self._source.pid, *idle)

    def _take(self, check: conversation.Check, script: int | None, owner: str) -> conversation.Masker:
        """Waits until a masker may be lent, and takes an idle one or starts one."""
        check()
        with self._changed:
            while not self._is_free(script):
                self._changed.wait(_WAIT_S)
                check()
            masker = self._idle_for(owner)
            # A masker that died, or has sent something since its last answer, is replaced.
            while masker is not None and not masker.is_fit:
                masker.worker.close()
                masker = self._idle_for(owner)
            masker = masker or self._spawn()
            masker.owner = owner
            self._count(script, 1)
            return masker

    def _idle_for(self, owner: str) -> conversation.Masker | None:
        """Takes an idle masker that has read nothing of another owner's, the most recently used one first."""
        # Attack: a body takes its masker over, which would then answer with the body's content to another caller.
        for masker in reversed(self._idle):
            if masker.owner in {None, owner}:
                self._idle.remove(masker)
                return masker
        return None

    def _is_free(self, script: int | None) -> bool:
        """Says whether a masker is free for a body of the script, or for a text."""
        held = sum(self._bodies.values())
        if script is None:
            return held + self._texts < self._for_bodies + _FOR_TEXTS
        owed = 0
        if self._bodies.get(script, 0) >= _SHARE:
            # What the other scripts still lack of their shares stays free for them.
            taken = [min(count, _SHARE) for count in self._bodies.values()]
            owed = _SHARE * self._scripts - sum(taken)
        return held + owed < self._for_bodies

    def _count(self, script: int | None, change: int) -> None:
        if script is None:
            self._texts += change
            return
        count = self._bodies.pop(script, 0) + change
        if count:
            self._bodies[script] = count

    def _give_back(self, masker: conversation.Masker, script: int | None, *, healthy: bool) -> None:
        with self._changed:
            self._count(script, -1)
            leaves: conversation.Masker | None = masker
            if healthy and masker.uses < _USES and not self._closed:
                leaves = self._displace()
                masker.idle_since = time.monotonic()
                self._idle.append(masker)
            with contextlib.suppress(errors.RedactionError):  # the next call meets the same error, and reports it
                if leaves is masker:
                    self._refill()
                if masker.owner:
                    self._provide()
            self._reduce_later()
            self._changed.notify()
        if leaves is not None:
            leaves.worker.close()

    def _displace(self) -> conversation.Masker | None:
        """Takes the masker that has been unused for longest, where there is no room for another one."""
        used = [masker for masker in self._idle if masker.owner is not None]
        if len(used) < _KEPT:
            return None
        oldest = used[0]  # maskers that are given back go to the end of the list
        self._idle.remove(oldest)
        return oldest

    def _reduce_later(self) -> None:
        """Has the idle maskers reduced after `_REST_S`, if there are more than `_SIZE`."""
        if self._timer is not None or len(self._idle) <= _SIZE or self._closed:
            return
        timer = threading.Timer(_REST_S, self._reduce)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # no thread can be started now; the next call tries again
            return
        self._timer = timer

    def _reduce(self) -> None:
        """Ends the maskers that no caller has used for a while, and leaves `_SIZE` of the idle ones."""
        with self._changed:
            self._timer = None
            # Any caller can have the maskers without an owner, so these are ended last.
            owned_first = sorted(self._idle, key=lambda masker: masker.owner is None)
            unused_since = time.monotonic() - _REST_S
            ended = [masker for masker in owned_first[:-_SIZE] if masker.idle_since <= unused_since]
            for masker in ended:
                self._idle.remove(masker)
            self._reduce_later()
        for masker in ended:
            masker.worker.close()

    def _refill(self) -> None:
        """Starts the idle maskers that are missing."""
        while not self._closed and len(self._idle) < _SIZE:
            masker = self._spawn()
            # The maskers after it are ready, and are lent first.
            self._idle.insert(0, masker)

    def _provide(self) -> None:
        """Starts a masker for the next caller that has none."""
        # The caller would otherwise wait while one is forked and confined, which takes 5 ms of processor time.
        has_unused = any(masker.owner is None for masker in self._idle)
        if not self._closed and not has_unused:
            masker = self._spawn()
            self._idle.insert(0, masker)

    def _spawn(self) -> conversation.Masker:
        """Starts a masker. Raises RedactionError."""
        if self._closed:
            raise errors.RedactionError("the server is shutting down")
        try:
            worker = self._source.spawn(_MEMORY, _CPU_S)
        except sandbox_errors.WorkerError as error:
            raise errors.RedactionError(f"no masking process: {error.message}", remedy=error.remedy) from None
        return conversation.Masker(worker, self._why)

    def _examine(self, masker: conversation.Masker) -> None:
        """Refuses a masker that is not locked down, or warns once."""
        lacking = layers.missing(masker.layers or ())
        if lacking and self._strict:
            raise errors.RedactionError(
                "this machine cannot confine the masking process: " + ", ".join(lacking) + " missing",
                remedy=f"{layers.remedy(lacking)}; or set sandbox.strict = false and accept the risk",
            )
        if lacking:
            layers.warn(lacking)
