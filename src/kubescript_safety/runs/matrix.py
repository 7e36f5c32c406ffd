"""Many runs at once: every scenario with every server and every agent, spread over lanes with a cluster each."""

from __future__ import annotations

import collections
import contextlib
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
"""Makes an agent of its name, for a server, in a cluster with these kinds. It is sent to other processes by name."""
_END: Final = None
_STRANGE: Final = re.compile(r"[^a-zA-Z0-9_.-]")
_SECONDS: Final = 60
"""How long a lane may need to end its cluster."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of the matrix."""

    task: scenario.Scenario
    server: setup.Setup
    agent: str
    repeat: int = 1

    @property
    def name(self) -> str:
        """Also the name of its file, without the suffix."""
        agent = _STRANGE.sub("_", self.agent)  # a model may be called openai:lab/model
        return f"{self.task.id}.{self.server.name}.{agent}.{self.repeat}"


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one run."""

    cell: Cell
    file: Path | None
    """None when it could not be carried out."""
    failure: str = ""


def cells(
    tasks: Iterable[scenario.Scenario], servers: Iterable[setup.Setup], agents: Iterable[str], repeats: int
) -> list[Cell]:
    """Returns every combination. Runs of one server are far apart, so that no server has a busy machine to itself."""
    servers, agents = tuple(servers), tuple(agents)
    return [
        Cell(task, server, agent, repeat)
        for repeat in range(1, repeats + 1)
        for task in tasks
        for agent in agents
        for server in servers
    ]


def carry_out(todo: list[Cell], make: MakeAgent, folder: Path, lanes: int) -> Iterator[Done]:
    """Carries out all runs, as many at once as there are lanes; yields each when it has ended. A lane that dies takes
    its run with it, and the others go on; without lanes the rest of the runs is not carried out."""
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
    """A process with a cluster of its own, as the process that hands out the runs sees it."""

    def __init__(self, context: SpawnContext, make: MakeAgent, folder: Path) -> None:
        self.pipe, far = context.Pipe()
        self.is_alive = True
        self._folder = folder
        self._cell: Cell | None = None
        self._process = context.Process(target=_work, args=(make, folder, far))
        self._process.start()
        far.close()  # the process has the only one now, so that its end is the end of the pipe

    def begin(self, cell: Cell) -> None:
        """Hands out a run."""
        self._cell = cell
        with contextlib.suppress(OSError):  # it has died meanwhile, which its answer tells
            self.pipe.send(cell)

    def answer(self) -> Done | None:
        """Returns what has become of the run; None when there was none: the lane has just started."""
        cell, self._cell = self._cell, None
        try:
            failure: str | None = self.pipe.recv()
        except (EOFError, OSError):
            self.is_alive = False
            self._process.join()
            failure = f"its lane has died with exit code {self._process.exitcode}"
        if cell is None:
            return None
        return Done(cell, None, failure) if failure else Done(cell, _file(self._folder, cell))

    def end(self) -> None:
        """Ends the process: its cluster first, in good order."""
        with contextlib.suppress(OSError):
            self.pipe.send(_END)
        self._process.join(_SECONDS)
        self._process.terminate()
        self.pipe.close()


def _ready(lanes: list[_Lane]) -> list[_Lane]:
    """Waits until lanes have something to say."""
    pipes = connection.wait([lane.pipe for lane in lanes])
    return [lane for lane in lanes if lane.pipe in pipes]


def _file(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.name}.jsonl"


def _work(make: MakeAgent, folder: Path, pipe: connection.Connection) -> None:
    """Carries out one run after the other. Answers each with the reason why it could not be carried out, or None."""
    with arena.open_arena() as place:
        kinds = {kind.name: kind for kind in place.api.kinds()}
        pipe.send(None)
        while (cell := pipe.recv()) is not _END:
            try:
                run.carry_out(place, cell.task, cell.server, make(cell.agent, cell.server, kinds), _file(folder, cell))
            except Exception:  # one run that cannot be carried out ends no other
                pipe.send(traceback.format_exc(limit=-3))
            else:
                pipe.send(None)
