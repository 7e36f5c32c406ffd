"""Many runs at once: every scenario with every server and every agent, spread over lanes with a cluster each."""

from __future__ import annotations

import multiprocessing
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Final

from kubescript_safety import scenario
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import agent, arena, run
from kubescript_safety.servers import setup

__all__ = ["Cell", "Done", "carried_out", "cells"]

MakeAgent = Callable[[str, setup.Setup, dict[str, Kind]], agent.Agent]
"""Makes an agent of its name, for a server, in a cluster with these kinds. It is sent to other processes by name."""
_END: Final = None
_STRANGE: Final = re.compile(r"[^a-zA-Z0-9_.-]")


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


def carried_out(todo: list[Cell], make: MakeAgent, folder: Path, lanes: int) -> Iterator[Done]:
    """Carries out all runs, as many at once as there are lanes; yields each when it has ended."""
    context = multiprocessing.get_context("spawn")
    waiting: Queue[Cell | None] = context.Queue()
    ended: Queue[Done] = context.Queue()
    for cell in [*todo, *[_END] * lanes]:
        waiting.put(cell)
    processes = [context.Process(target=_lane, args=(make, folder, waiting, ended)) for _ in range(lanes)]
    for process in processes:
        process.start()
    try:
        for _ in todo:
            yield ended.get()
    finally:
        for process in processes:
            process.join(60)
            process.terminate()


def _lane(make: MakeAgent, folder: Path, waiting: Queue[Cell | None], ended: Queue[Done]) -> None:
    """Carries out one run after the other in a cluster of its own."""
    with arena.opened() as place:
        kinds = {kind.name: kind for kind in place.api.kinds()}
        while (cell := waiting.get()) is not _END:
            file = folder / f"{cell.name}.jsonl"
            try:
                run.carried_out(place, cell.task, cell.server, make(cell.agent, cell.server, kinds), file)
            except Exception:  # one run that cannot be carried out ends no other
                ended.put(Done(cell, None, traceback.format_exc(limit=-3)))
            else:
                ended.put(Done(cell, file))
