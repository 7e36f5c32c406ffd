"""Follows one call: which files of all houses a script passes between its arrival and its answer, in the host.

The script makes one API call to the bundled snapshot, with default settings and the audit record on. The first
evaluation is not counted, for it makes what is made once. Of the next ones, a file counts when each of them entered it,
so nothing does that a thread in the background happened to enter. Workers and the fork server are other processes.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import anyio

import kubescript

# What the trace knows of the houses. `one_application` and `evaluate` are all that use it.
from kubescript import app, config, logs, programs
from kubescript.cli import demo
from kubescript_sandbox.host import spawner

HOUSES = Path(kubescript.__file__).parent.parent
"""The folder of all houses."""
SCRIPT = '[p.metadata.name for p in k8s.coreV1().list_namespaced_pod("default")]'
EVALUATIONS = 5
PAUSE_S = 0.5
"""Between evaluations: the background replaces the worker and writes what may be late."""
GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass
class Trace:
    """A profile function and what it saw: `sys.setprofile(trace.profile)`."""

    package: Path
    is_recording: bool = False
    files: list[str] = field(default_factory=list)
    """In order of first entry, relative to the package."""
    callbacks: list[str] = field(default_factory=list)
    """Calls back up, in order of the first of each."""

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Notes the file of each function of the package that is called."""
        if not self.is_recording or event != "call":
            return
        file = self._file(frame)
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are not
        if file is None or not is_function:
            return
        if file not in self.files:
            self.files.append(file)
        if not frame.f_code.co_flags & GENERATORS:  # to take a generator's next item is not to call its file
            self._note_callback(frame, file)

    def _note_callback(self, frame: FrameType, file: str) -> None:
        above = self._callers(frame)
        caller = next(above, file)
        if caller == file or file not in above:
            return
        line = f"{file}: {frame.f_code.co_qualname}, called by {caller}"
        if line not in self.callbacks:
            self.callbacks.append(line)

    def _callers(self, frame: FrameType) -> Iterator[str]:
        """The files of the package up the stack, the nearest first."""
        above = frame.f_back
        while above is not None:
            file = self._file(above)
            if file is not None:
                yield file
            above = above.f_back

    def _file(self, frame: FrameType) -> str | None:
        prefix = f"{self.package}/"
        name = frame.f_code.co_filename
        if not name.startswith(prefix):
            return None
        return name.removeprefix(prefix)


def trace() -> Trace:
    """What every one of several evaluations passed."""
    recorder = Trace(HOUSES)
    threading.setprofile(recorder.profile)  # holds for threads that start from here on
    sys.setprofile(recorder.profile)
    try:
        with one_application() as opened:
            seen = anyio.run(evaluate, opened, recorder)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return common(seen)


@contextlib.contextmanager
def one_application() -> Iterator[app.Application]:
    """The server put together as `kubescript run` does it, on the bundled snapshot."""
    source = spawner.Spawner(programs.WORKER)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        source.start()
        try:
            audit = {"file": Path(folder) / "audit.jsonl"}
            settings = config.load({"snapshot": demo.SNAPSHOT, "audit": audit}, None)
            logs.configure(settings.log_level)
            with app.opened(settings, source) as opened:
                yield opened
        finally:
            source.close()


async def evaluate(opened: app.Application, recorder: Trace) -> list[Trace]:
    """Evaluates the script once to warm up, then several times under the recorder."""
    seen = []
    for _ in range(1 + EVALUATIONS):
        recorder.files = []
        recorder.callbacks = []
        recorder.is_recording = True
        answer = await opened.operator.evaluator.evaluate(SCRIPT, None)
        recorder.is_recording = False
        if answer.is_error:
            raise SystemExit(answer.text)
        seen.append(Trace(recorder.package, files=recorder.files, callbacks=recorder.callbacks))
        await anyio.sleep(PAUSE_S)
    return seen[1:]


def common(seen: list[Trace]) -> Trace:
    """What all of them saw, in the order of the first."""
    first, *others = seen
    files = [file for file in first.files if all(file in other.files for other in others)]
    callbacks = [line for line in first.callbacks if all(line in other.callbacks for other in others)]
    return Trace(first.package, files=files, callbacks=callbacks)


if __name__ == "__main__":
    followed = trace()
    print("\n".join(followed.files), *followed.callbacks, sep="\n")
