"""The maskers of one server: forked ahead of time, used by one body or text at a time, killed when one does wrong.

A masker serves many bodies and texts, because to fork and confine one takes 5 ms of processor time, and a short text
75 µs. It is replaced after so many: what a body might do to the process that reads it does not last.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
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
"""Maskers that wait for work of one caller."""
_KEPT: Final = 12
"""Maskers that wait for work of all callers, 3 MiB each. A caller that finds none of its own has another one forked:
among eight callers with two maskers, that took a third of a short script's processor time and half of its wait."""
_FOR_BODIES: Final = 56
"""Maskers that bodies may hold at the same time; four for each script where there are many. A watch holds one as
long as it is open."""
_FOR_TEXTS: Final = 8
"""Maskers beside them that no body can take: answers and log lines are masked whatever the scripts watch."""
# Attack: four scripts, each with eight watches and eight answers that it does not read, hold all of them.
_SHARE: Final = 2
"""Of those for bodies, how many each script can have at any time, whatever the others hold."""
_USES: Final = 256
"""Bodies and texts that one masker serves."""
_MEMORY: Final = 1 << 30
"""Bytes that a masker may allocate: a part of 32 MiB, decoded, with all that is found in it."""
_CPU_S: Final = 3600
"""Processor seconds of one masker, should the host fail to end it; the host ends it at the deadline of a call."""
_WAIT_S: Final = 0.02
_NOTHING: Final[Mapping[str, str]] = {}


class Pool:
    """Lends maskers. Many threads use it at once."""

    def __init__(
        self,
        settings: bytes,
        source: spawner.Spawner,
        *,
        scripts: int = 8,
        strict: bool = False,
        why: Mapping[str, str] = _NOTHING,
    ) -> None:
        """`source` forks the maskers, which get the settings; `scripts` run at the same time at most; `why` is for each
        Masker."""
        self._why = why
        self._source = source
        self._source.give(settings)
        self._strict = strict
        self._changed = threading.Condition()
        self._idle: list[conversation.Masker] = []
        self._texts = 0
        """Maskers that mask a text."""
        self._bodies: dict[int, int] = {}
        """How many each script has for bodies."""
        self._scripts = scripts
        self._for_bodies = max(_FOR_BODIES, 2 * _SHARE * scripts)
        self._closed = False
        self._reporting = threading.local()

    def start(self) -> None:
        """Start the maskers that wait for work, and do not wait for them. Raises RedactionError."""
        with self._changed:
            self._refill()

    def prepare(self) -> tuple[protocol.Layer, ...]:
        """Wait until one masker is ready; returns the layers of its lockdown. Raises RedactionError."""
        self.start()
        with self.lend(lambda: None) as masker:
            return masker.layers or ()

    @contextlib.contextmanager
    def lend(
        self, check: conversation.Check, script: int | None = None, owner: str = ""
    ) -> Iterator[conversation.Masker]:
        """Lend a masker that is ready, for a body of a script or for a text, of this `owner`. It is killed when the
        caller fails while it has it. Raises RedactionError, and what `check` raises."""
        try:
            with self._borrow(check, script, owner) as masker:
                yield masker
        except (protocol.ProtocolError, OSError) as error:
            # The report is masked too, by another masker: no thread may wait for that one and hold this one.
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
        except GeneratorExit:  # the reader of a body has had enough of it
            healthy = not masker.waiting
            raise
        finally:
            self._give_back(masker, script, healthy=healthy)

    def _report(self, error: Exception) -> None:
        """Logs why a masker failed."""
        # The log line is masked too. When that fails as well, there would be a line about that, and so on.
        if getattr(self._reporting, "now", False):
            return
        self._reporting.now = True
        try:
            log.warning("a masking process failed: %s", error, extra={"event": "redaction.died"})
        finally:
            self._reporting.now = False

    def close(self) -> None:
        """End all maskers and start no more."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for masker in idle:
            masker.worker.close()
        self._source.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the fork server and of the maskers that wait for work."""
        return (self._source.pid, *(masker.worker.pid for masker in self._idle))

    def _take(self, check: conversation.Check, script: int | None, owner: str) -> conversation.Masker:
        check()
        with self._changed:
            while not self._is_free(script):
                self._changed.wait(_WAIT_S)
                check()
            while (masker := self._idle_for(owner)) is not None and not masker.is_fit:
                masker.worker.close()
            masker = masker or self._spawn()
            masker.owner = owner
            self._count(script, 1)
            return masker

    def _idle_for(self, owner: str) -> conversation.Masker | None:
        """Takes one that has read nothing of another owner, the one first that was used last."""
        # Attack: a body takes its masker over, which would then answer with it to another caller.
        for masker in reversed(self._idle):
            if masker.owner in {None, owner}:
                self._idle.remove(masker)
                return masker
        return None

    def _is_free(self, script: int | None) -> bool:
        """Says whether there is one for a body of the script, or for a text."""
        held = sum(self._bodies.values())
        if script is None:
            return held + self._texts < self._for_bodies + _FOR_TEXTS
        owed = 0
        if self._bodies.get(script, 0) >= _SHARE:
            owed = _SHARE * self._scripts - sum(min(count, _SHARE) for count in self._bodies.values())
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
            is_kept = healthy and masker.uses < _USES and not self._closed
            leaves = self._displace(masker) if is_kept else masker
            if leaves is not masker:
                self._idle.append(masker)
            with contextlib.suppress(errors.RedactionError):  # the next call meets the same error, and reports it
                if leaves is masker:
                    self._refill()
                if masker.owner:
                    self._provide()
            self._changed.notify()
        if leaves is not None:
            leaves.worker.close()

    def _displace(self, masker: conversation.Masker) -> conversation.Masker | None:
        """Takes the one that leaves so that this one can stay: this one itself where its caller has enough, or another
        caller's that was not used for longest. None where there is room for all."""
        others = [other for other in self._idle if other.owner not in {None, masker.owner}]
        if len(self._idle) - len(others) >= _SIZE:
            return masker
        if len(self._idle) < _KEPT or not others:
            return None
        self._idle.remove(others[0])
        return others[0]

    def _refill(self) -> None:
        while not self._closed and len(self._idle) < _SIZE:
            self._idle.insert(0, self._spawn())  # behind those that are ready

    def _provide(self) -> None:
        """Starts one for the next caller that has none, so that it need not wait."""
        if not self._closed and all(masker.owner is not None for masker in self._idle):
            self._idle.insert(0, self._spawn())

    def _spawn(self) -> conversation.Masker:
        if self._closed:
            raise errors.RedactionError("the server is shutting down")
        try:
            return conversation.Masker(self._source.spawn(_MEMORY, _CPU_S), self._why)
        except sandbox_errors.WorkerError as error:
            raise errors.RedactionError(f"no masking process: {error.message}", remedy=error.remedy) from None

    def _examine(self, masker: conversation.Masker) -> None:
        """Refuses a masker that is not locked down, or says once that it is not."""
        lacking = layers.missing(masker.layers or ())
        if lacking and self._strict:
            raise errors.RedactionError(
                "this machine cannot confine the masking process: " + ", ".join(lacking) + " missing",
                remedy=f"{layers.remedy(lacking)}; or set sandbox.strict = false and accept the risk",
            )
        if lacking:
            layers.warn(lacking)
