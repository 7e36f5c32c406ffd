"""What became of a command line: an exit code of zero is a success of what ended by itself, and of nothing else."""

from __future__ import annotations

import pytest

from kubescript import types
from kubescript.commands import command_outcome, confined_process
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation


def no_cluster(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
    raise AssertionError("no call is made")


JOB = conversation.Job(
    "get pods -w", runs.Limits(timeout_ms=4_000), exchanges.Parameters("default", "test"), no_cluster
)


def code(output: confined_process.Output, refused: int | None = None) -> str:
    """The code of the fault, "" for a success."""
    fault = command_outcome.outcome(JOB, output, runs.Usage(), refused=refused).fault
    return fault.code if fault is not None else ""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (confined_process.Output("", "", 0, status=0), ""),
        (confined_process.Output("", "", 0, status=0, cancelled=True), ""),
        (confined_process.Output("", "", 0, status=0, is_over=True), "limit.time"),
        (confined_process.Output("", "", 0, status=0, is_over=True, cancelled=True), "cancelled"),
        (confined_process.Output("", "", 0, status=-9, is_over=True), "limit.time"),
        (confined_process.Output("", "", 0, status=-9, cancelled=True), "cancelled"),
        (confined_process.Output("", "", 0, status=-9), "limit.memory"),
        (confined_process.Output("", "", 0, status=-11), "worker.died"),
        (confined_process.Output("", "", 0), "worker.died"),
        (confined_process.Output("", "", 0, status=1), "command.failed"),
        (confined_process.Output("", "", 0, status=3), "policy.command"),
    ],
)
def test_an_ending_has_the_code_of_its_cause(output: confined_process.Output, expected: str) -> None:
    """A command that ended with 0 at its deadline has lost what it had to say: it is over, and no success."""
    assert code(output, refused=3) == expected


def test_what_was_written_until_the_deadline_is_kept() -> None:
    told = command_outcome.outcome(JOB, confined_process.Output("pod/a\n", "", 0, status=0, is_over=True), runs.Usage())
    assert told.printed == "pod/a\n"
    assert (
        told.fault is not None
        and told.fault.message == "the command was ended at its 4 s deadline; ask for less at once"
    )
