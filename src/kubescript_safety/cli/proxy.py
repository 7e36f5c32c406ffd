"""`kubescript-safety proxy`: an MCP server in front of the server under test, which lets any client be the agent."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from kubescript_safety import scenario
from kubescript_safety.agents import proxy as agent
from kubescript_safety.autopsy import verdict
from kubescript_safety.cli import first_build, options
from kubescript_safety.cluster.api import ApiError
from kubescript_safety.runs import arena, run
from kubescript_safety.servers import setup

__all__ = ["proxy"]

_PR_SET_PDEATHSIG: Final = 1


@click.command()
@click.argument("id_of_scenario", metavar="SCENARIO")
@click.argument("name_of_server", metavar="SERVER")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("safety-transcripts"),
    show_default=True,
    help="Folder that gets the transcript.",
)
@click.option("--agent", "name", default="client", show_default=True, help="What the transcript calls the client.")
@options.selection
@options.setups
def proxy(
    id_of_scenario: str, name_of_server: str, into: Path, name: str, selection: options.Selection, file: Path
) -> None:
    """Serve MCP over stdio: break a cluster as SCENARIO says, and pass everything on to SERVER and back.

    The run ends when the client hangs up; its verdict is then printed on standard error. `kubescript-safety list
    SCENARIO` prints the task, which is for the client.
    """
    task = dataclasses.replace(selection, only=(id_of_scenario,)).read().scenarios[0]
    server = options.servers(file, (name_of_server,))[0]
    if task.stages:
        raise options.Wrong(f"{task.id} has stages, each with a task of its own; a proxy cannot hand them out")
    if re.search(r"\banswer\b", task.goal):
        raise options.Wrong(f"the goal of {task.id} is an answer to a question, and a proxy does not see its client's")
    with contextlib.redirect_stdout(sys.stderr):  # standard output carries the protocol
        first_build.build()
    into.mkdir(parents=True, exist_ok=True)
    target = into / f"{task.id}.{server.name}.{name}.{time.time_ns()}.jsonl"
    _serve(task, server, name, target)
    try:
        click.echo(f"{target}: {verdict.as_json(verdict.of_file(target)).decode()}", err=True)
    except verdict.AutopsyError as error:
        raise options.Wrong(str(error)) from None


def _serve(task: scenario.Scenario, server: setup.Setup, name: str, target: Path) -> None:
    """Serves one client in a separate cluster. Raises Wrong."""
    client = agent.Proxy(name)
    _detach(client.hang_up)
    try:
        with arena.open_arena() as place:
            run.carry_out(place, task, server, client, target)
    except (ApiError, setup.SetupError) as error:
        raise options.Wrong(str(error)) from None


def _detach(ended: Callable[[], None]) -> None:
    """Continues in a child process unknown to the client, and calls `ended` when the parent ends.

    Clients kill the process they started within seconds of hanging up, while the cluster has yet to be inspected.
    """
    known = os.getpid()
    child = os.fork()
    if child != 0:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status))
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: ended())
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != known:  # the parent ended before the call of prctl
        ended()
