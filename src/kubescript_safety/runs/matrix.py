"""Many runs at once: every scenario with every server and every agent, spread over lanes with a cluster each."""

from __future__ import annotations

import collections
import contextlib
import itertools
import multiprocessing
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Final

from kubescript_safety import scenario
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import agent, arena, run
from kubescript_safety.servers import setup

__all__ = ["Cell", "Done", "carry_out", "cells"]

MakeAgent = Callable[[str, setup.Setup, dict[str, Kind]], agent.Agent]
"""A function that creates an agent by name, for a server and a cluster's kinds. Only its name is pickled for the other
processes."""
_END: Final = None
_STRANGE: Final = re.compile(r"[^a-zA-Z0-9_.-]")
_SECONDS: Final = 60
"""How long a lane may take to stop its cluster."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of the matrix."""

    task: scenario.Scenario
    server: setup.Setup
    agent: str
    repeat: int = 1

    @property
    def name(self) -> str:
        """The name of the run, and of its file without the suffix."""
        agent = _STRANGE.sub("_", self.agent)  # a model's name may be openai:lab/model
        return f"{self.task.id}.{self.server.name}.{agent}.{self.repeat}"


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of one run."""

    cell: Cell
    file: Path | None
    """None: the run failed."""
    failure: str = ""


def cells(
    tasks: Iterable[scenario.Scenario], servers: Iterable[setup.Setup], agents: Iterable[str], repeats: int
) -> list[Cell]:
    """Returns all combinations. Servers alternate, so that a busy machine affects all of them."""
    numbers = range(1, repeats + 1)
    found = itertools.product(numbers, tasks, agents, servers)
    return [Cell(task, server, agent, number) for number, task, agent, server in found]


def carry_out(todo: list[Cell], make: MakeAgent, folder: Path, lanes: int) -> Iterator[Done]:
    """Carries out all runs in parallel lanes; yields each when it ends. If a lane dies, its run is lost and the others
    continue; when no lane is left, the remaining runs fail."""
    # A fork of a process that has threads may hang.
    context = multiprocessing.get_context("spawn")
    waiting = collections.deque(todo)
    working = [_Lane(context, make, folder) for _ in range(lanes)]
    try:
        while working:
            for lane in _ready(working):
                done = lane.answer()
                if done is not None:
                    yield done
                if not lane.is_alive or not waiting:
                    working.remove(lane)
                    lane.end()
                else:
                    lane.begin(waiting.popleft())
        for cell in waiting:
            yield Done(cell, None, "every lane has ended before its turn")
    finally:
        for lane in working:
            lane.end()


class _Lane:
    """The parent process's handle to a child process with its own cluster."""

    def __init__(self, context: SpawnContext, make: MakeAgent, folder: Path) -> None:
        self.pipe, far = context.Pipe()
        self.is_alive = True
        self._folder = folder
        self._cell: Cell | None = None
        self._process = context.Process(target=_work, args=(make, folder, far))
        self._process.start()
        far.close()  # only the child process has it open now, so that the pipe closes when the process ends

    def begin(self, cell: Cell) -> None:
        """Assigns a run to the lane."""
        self._cell = cell
        with contextlib.suppress(OSError):  # if the lane has died, `answer` will report it
            self.pipe.send(cell)

    def answer(self) -> Done | None:
        """Returns the outcome of the run; None if the lane has only just started."""
        cell = self._cell
        self._cell = None
        try:
            failure: str | None = self.pipe.recv()
        except (EOFError, OSError):
            self.is_alive = False
            self._process.join()
            failure = f"its lane has died with exit code {self._process.exitcode}"
        if cell is None:
            return None
        if failure:
            return Done(cell, None, failure)
        return Done(cell, _file(self._folder, cell))

    def end(self) -> None:
        """Ends the process after it has stopped its cluster."""
        with contextlib.suppress(OSError):
            self.pipe.send(_END)
        self._process.join(_SECONDS)
        self._process.terminate()
        self.pipe.close()


def _ready(lanes: list[_Lane]) -> list[_Lane]:
    """Waits until some lanes have an answer."""
    pipes = [lane.pipe for lane in lanes]
    ready = connection.wait(pipes)
    return [lane for lane in lanes if lane.pipe in ready]


def _file(folder: Path, cell: Cell) -> Path:
    """Returns where the transcript of a cell goes."""
    return folder / f"{cell.name}.jsonl"


def _work(make: MakeAgent, folder: Path, pipe: connection.Connection) -> None:
    """Carries out runs in sequence. Answers each with the reason for its failure, or None."""
    with arena.open_arena() as place:
        kinds = {kind.name: kind for kind in place.api.kinds()}
        pipe.send(None)
        while (cell := pipe.recv()) is not _END:
            try:
                worker = make(cell.agent, cell.server, kinds)
                run.carry_out(place, cell.task, cell.server, worker, _file(folder, cell))
            except Exception:  # a failed run must not end the others
                pipe.send(traceback.format_exc(limit=-3))
            else:
                pipe.send(None)
