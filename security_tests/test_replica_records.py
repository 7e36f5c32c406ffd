"""The audit records of several replicas, each with a file of its own: `audit verify` of all of them, and what an attacker
with some of the files could hide. The files are made by the log itself; real replicas are in
tests/end_to_end/plans/test_plans_survive_a_kill.py."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.audit import log
from tests.kit import commands

pytestmark = pytest.mark.promise("A-11")

NOW: Final = "2026-11-27T10:00:00.000Z"


@dataclass
class Replica:
    """One replica's record."""

    file: Path

    def write(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Adds a record; returns what names it."""
        audit_log = log.AuditLog(self.file)
        head = audit_log.append({"type": kind, "time": NOW, **fields})
        chain = audit_log.identity()
        audit_log.close()
        return {"chain": chain, "seq": head.seq - 1, "hash": head.hash, "place": f"host:{self.file}"}

    def write_plan(self, plan: str, approvals: int = 1) -> dict[str, Any]:
        return self.write("plan", plan=plan, plan_hash=plan * 2, approvals=approvals)

    def decide(self, plan: str, *, approves: bool = True) -> dict[str, Any]:
        return self.write("decision", plan=plan, plan_hash=plan * 2, approves=approves, approver="alice")

    def start(
        self, plan: str, made: dict[str, Any], *decisions: dict[str, Any], starts: tuple[dict[str, Any], ...] = ()
    ) -> dict[str, Any]:
        home = {"audit": made["chain"], "place": made["place"]}
        rest = {"decisions": list(decisions), "starts": list(starts)}
        return self.write("applying", plan=plan, plan_hash=plan * 2, **home, **rest)

    def send(self, plan: str, audit_id: str) -> None:
        self.write("call", plan=plan, audit_id=audit_id, verb="create", status=201)

    def end(self, plan: str, *audit_ids: str, starts: tuple[dict[str, Any], ...] = ()) -> None:
        steps = [{"state": "done", "audit_id": each} for each in audit_ids]
        rest = {"steps": steps, "more_steps": 0, "starts": list(starts)}
        self.write("applied", plan=plan, plan_hash=plan * 2, state="applied", **rest)


@pytest.fixture
def replicas(tmp_path: Path) -> list[Replica]:
    """Three replicas: the first one has made a plan, the second one has decided, and the third one has applied it."""
    made = [Replica(tmp_path / f"{name}.jsonl") for name in "abc"]
    first, second, third = made
    second.write("start")  # so that equal numbers are not equal records
    planned = first.write_plan("p-1")
    begun = third.start("p-1", planned, second.decide("p-1"))
    third.send("p-1", "request-1")
    third.end("p-1", "request-1", starts=(begun,))
    return made


def verify(*replicas: Replica) -> tuple[int, str]:
    """The exit code of `audit verify`, and what it says."""
    return run(*(str(each.file) for each in replicas))


def run(*words: str) -> tuple[int, str]:
    """Likewise of other words."""
    done = commands.run("audit", "verify", *words)
    return done.returncode, done.stdout + done.stderr


def test_records_of_replicas_verify_together_in_any_order(replicas: list[Replica]) -> None:
    """Also where a replica has died after it had recorded the end, so that the next one has recorded it again."""
    replicas[0].end("p-1", "request-1")
    for order in (replicas, replicas[::-1]):
        code, text = verify(*order)
        assert code == 0 and "applied plans: 1;" in text, text
    assert verify(replicas[2])[0] == 0  # alone it is a chain


def test_files_removed_on_purpose_are_told_from_hidden_ones(replicas: list[Replica]) -> None:
    """Without the decision's file `verify` names it and `--since`; with that, plans that were applied before then are left
    out, and those that were applied later are not."""
    _, second, third = replicas
    files = [str(replicas[0].file), str(third.file)]
    code, text = run(*files)
    assert code == 1 and str(second.file) in text and "--since" in text, text
    code, text = run(*files, "--since", "2026-11-27T11:00:00+01:00")
    assert code == 1, text
    code, text = run(*files, "--since", "2026-11-27T10:00:00.001Z")
    assert code == 0 and "applied plans: 0;" in text and "1 earlier ones were not compared" in text, text


def _hide_decision(replicas: list[Replica]) -> list[Replica]:
    return [replicas[0], replicas[2]]


def _hide_plan(replicas: list[Replica]) -> list[Replica]:
    return replicas[1:]


def _copy(replicas: list[Replica]) -> list[Replica]:
    copied = Replica(replicas[1].file.with_name("copied.jsonl"))
    shutil.copy(replicas[1].file, copied.file)
    return [*replicas, copied]


def _rewrite(replicas: list[Replica]) -> list[Replica]:
    # Whoever may write to the file makes another chain in its place, with a decision of its own.
    replicas[1].file.unlink()
    replicas[1].write("start")
    replicas[1].decide("p-1")
    return replicas


def _refer_to_decline(replicas: list[Replica]) -> list[Replica]:
    planned = replicas[0].write_plan("p-2")
    replicas[2].start("p-2", planned, replicas[1].decide("p-2", approves=False))
    return replicas


def _refer_to_other_plan(replicas: list[Replica]) -> list[Replica]:
    planned = replicas[0].write_plan("p-2")
    replicas[2].start("p-2", planned, replicas[1].decide("p-3"))
    return replicas


def _count_one_approval_twice(replicas: list[Replica]) -> list[Replica]:
    planned = replicas[0].write_plan("p-2", approvals=2)
    approval = replicas[1].decide("p-2")
    replicas[2].start("p-2", planned, approval, approval)
    return replicas


def _apply_again(replicas: list[Replica]) -> list[Replica]:
    replicas[1].send("p-1", "request-2")
    replicas[1].end("p-1", "request-2")
    return replicas


def _send_again(replicas: list[Replica]) -> list[Replica]:
    replicas[1].send("p-1", "request-2")
    return replicas


def _send_unapproved(replicas: list[Replica]) -> list[Replica]:
    replicas[0].write_plan("p-2")
    replicas[2].send("p-2", "request-2")
    return replicas


def _take_over(replicas: list[Replica]) -> list[Replica]:
    """A fourth replica begins with a plan, sends a change and dies, and the third one ends the plan."""
    fourth = Replica(replicas[0].file.with_name("d.jsonl"))
    planned, approval = replicas[0].write_plan("p-2"), replicas[1].decide("p-2")
    first = fourth.start("p-2", planned, approval)
    fourth.write("sent", plan="p-2", audit_id="request-2", verb="create")
    second = replicas[2].start("p-2", planned, approval, starts=(first,))
    replicas[2].end("p-2", "request-2", starts=(first, second))
    assert verify(*replicas, fourth)[0] == 0
    return [*replicas, fourth]


def _hide_first_sender(replicas: list[Replica]) -> list[Replica]:
    return _take_over(replicas)[:3]


def _cut_first_sender(replicas: list[Replica], records: int = 1) -> list[Replica]:
    every = _take_over(replicas)
    lines = every[3].file.read_bytes().splitlines(keepends=True)
    every[3].file.write_bytes(b"".join(lines[:records]))
    return every


def _cut_request(replicas: list[Replica]) -> list[Replica]:
    return _cut_first_sender(replicas, records=2)


def _forge_place(replicas: list[Replica]) -> list[Replica]:
    planned = replicas[0].write_plan("p-2")
    hidden = {"chain": "none", "seq": 1, "hash": "none", "place": "\x1b[2Jall is whole\nBROKEN"}
    replicas[2].start("p-2", planned, hidden)
    return replicas


ATTACKS: Final[dict[Callable[[list[Replica]], list[Replica]], str]] = {
    _hide_decision: "b.jsonl (chain",
    _hide_plan: "a.jsonl (chain",
    _copy: "are the same chain",
    _rewrite: "which is not given",
    _refer_to_decline: "not an approval of this plan",
    _refer_to_other_plan: "not an approval of this plan",
    _count_one_approval_twice: "with 1 of 2 approvals",
    _apply_again: "p-1 was applied twice",
    _send_again: "p-1 was applied twice",
    _send_unapproved: "plan p-2 was applied, and has no approval",
    _hide_first_sender: "d.jsonl (chain",
    _cut_first_sender: "d.jsonl, which has no such record",
    _cut_request: "1 of its requests count as done, and are on no given file",
    _forge_place: "which is not given",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_what_is_hidden_forged_or_applied_twice_is_named(
    attack: Callable[[list[Replica]], list[Replica]], replicas: list[Replica]
) -> None:
    """Each chain is whole by itself; together they are not. Without the attack they are."""
    assert verify(*replicas)[0] == 0
    code, text = verify(*attack(replicas))
    faults = [line for line in text.splitlines() if line.startswith("BROKEN")]
    assert code == 1 and len(faults) == 1 and ATTACKS[attack] in faults[0] and "\x1b" not in text, text
