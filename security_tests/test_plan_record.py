"""Plans of a server with an audit record, which others would bring to their end beside it: without a record, with another
one, or with a new one at the same path. On a real API server."""

from __future__ import annotations

import contextlib
import functools
import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest
from kubernetes import client

from kubescript import app, errors, types
from kubescript import config as settings
from kubescript.audit import chain, log, recorder, rotation
from kubescript.auth import user
from kubescript.changes import authors, plan, planning, recovery
from kubescript.changes.store import record
from kubescript.changes.writer import WritableAccess
from tests.kit import commands, fork_servers, trails, unfinished
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19")]

NAMESPACE: Final = f"records-{secrets.token_hex(3)}"
CALLER: Final = types.Caller("a-session", "a client", "1", "evaluate_script")


@dataclass
class Server:
    """A server with an audit record, and others that share its store."""

    application: app.Application
    file: Path
    core: Any
    opened: list[recorder.Recorder] = field(default_factory=list)

    def sharing(self, audit: recorder.Recorder | None, caller: plan.Identity | None = None) -> planning.Planning:
        """The part for plans of a server with this record, for one of several callers."""
        chosen = self.application.settings
        access = self.application.operator.contexts.default
        assert isinstance(access, WritableAccess)
        run = self.application.operator.evaluator.run_aside
        return planning.Planning(chosen, {"": access}, audit, recovery.Keeper(chosen.plans), run, caller)

    @property
    def own(self) -> planning.Planning:
        """Its own part for plans."""
        return self.sharing(self.application.audit)

    def recorder(self, file: Path) -> recorder.Recorder:
        """Another record."""
        made = recorder.open_recorder(settings.Audit(file=file), self.application.redaction.text_or_withheld)
        assert made is not None
        self.opened.append(made)
        return made

    def made(self, *names: str) -> record.Record:
        """The plan of a script that makes these ConfigMaps."""
        create = f"k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {{'metadata': {{'name': name}}}})"
        script = f"for name in {names!r}:\n    {create}\n1"
        answer = anyio.run(functools.partial(self.application.operator.evaluator.evaluate, script, None, caller=CALLER))
        assert answer.plan, answer.text
        return self.own.approvals.get(answer.plan)

    def abandoned(self, *names: str) -> record.Record:
        """Such a plan, whose server has died after it had begun."""
        made = self.made(*names)
        self.own.approvals.decide(made.plan.id, approval(made))
        self.own.store().claim(made.plan.id, "dead", lease_s=0)
        self.own.store().mark(made.plan.id, "dead", 0, record.Application())
        return made

    def finish(self, plan_id: str) -> record.Record:
        """Applies a plan as its own server does."""
        return self.own.approvals.apply(plan_id, told_nobody)

    def names(self) -> set[str]:
        """The ConfigMaps that there are."""
        return {each.metadata.name for each in self.core.list_namespaced_config_map(NAMESPACE).items}


def approval(shown: record.Record, *, approves: bool = True) -> record.Decision:
    """A person's decision."""
    return record.Decision("somebody", "terminal", approves, shown.plan.hash)


def told_nobody(_done: int, _count: int, _text: str) -> None:
    pass


@pytest.fixture(scope="module")
def server(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    plane = logged.attach(run_folder, run_process).plane
    Writer(plane.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    folder = tmp_path_factory.mktemp("record")
    given = {
        "kubeconfig": plane.kubeconfig,
        "writes": "plan",
        "audit": {"file": folder / "audit.jsonl"},
        "plans": {"store": str(folder / "plans.db"), "page": False},
    }
    core = client.CoreV1Api(official_client.connect(plane.kubeconfig))
    chosen = settings.Settings.model_validate(given)
    with fork_servers.open_application(chosen) as opened:
        made = Server(opened, folder / "audit.jsonl", core)
        yield made
        for each in made.opened:
            each.close()


OTHERS: Final[dict[str, Callable[[Server, Path], recorder.Recorder | None]]] = {
    "no record": lambda _server, _folder: None,
    "a record elsewhere": lambda server, folder: server.recorder(folder / "other.jsonl"),
    # Two hosts have a file of their own at the same path.
    "a record of the same name": lambda server, folder: server.recorder(folder / server.file.name),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_plan_ends_on_the_record_that_has_it(
    other: str, server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever cannot write there neither decides nor claims nor recovers, and says what it lacks; then its own server
    goes on, and all of it is on its record."""
    stranger = server.sharing(OTHERS[other](server, tmp_path))
    names = [f"{other.replace(' ', '-')}-{number}" for number in range(3)]
    waits, begun = server.made(names[0]), server.abandoned(*names[1:])
    for decides in (approval(waits), approval(waits, approves=False)):
        with pytest.raises(errors.PlanError, match=r"audit\.jsonl") as refused:
            stranger.approvals.decide(waits.plan.id, decides)
        assert refused.value.code == "plan.audit" and f"--audit {server.file}" in refused.value.remedy
    server.own.approvals.decide(waits.plan.id, approval(waits))
    with pytest.raises(errors.PlanError, match="applies it"):
        stranger.approvals.apply(waits.plan.id, told_nobody)
    with caplog.at_level(logging.WARNING):
        unfinished.resume(stranger.approvals)
        unfinished.resume(stranger.approvals)
    assert caplog.text.count(f"plan {begun.plan.id} is on the audit record") == 1
    assert server.own.approvals.get(begun.plan.id).state == "applying" and not server.names().intersection(names)

    assert server.finish(waits.plan.id).state == "applied"
    with pytest.raises(errors.PlanError, match="neither decides") as refused:
        stranger.undo(waits.plan.id, CALLER)
    assert refused.value.code == "plan.audit"
    unfinished.resume(server.own.approvals)
    assert server.own.approvals.get(begun.plan.id).state == "applied" and server.names().issuperset(names)
    told = trails.records(server.file)
    for made in (waits, begun):
        kinds = [each["type"] for each in told if each.get("plan") == made.plan.id and not each.get("dry_run")]
        assert {"plan", "decision", "sent", "applied"} <= set(kinds)
        assert kinds.count("sent") == len(made.plan.steps)


def test_nor_may_a_server_with_a_record_finish_what_is_on_none(server: Server) -> None:
    """Its record would begin in the middle."""
    made = server.made("unrecorded")
    stranger = server.sharing(None)
    copied = msgspec.structs.replace(made.plan, id=plan.new_id(), audit="", audit_place="")
    stranger.store().add(copied)
    with pytest.raises(errors.PlanError, match="is on no audit record") as refused:
        server.own.approvals.check(copied)
    assert refused.value.code == "plan.audit"
    stranger.approvals.check(copied)


def test_approve_without_the_record_says_which_flag_it_needs(server: Server, tmp_path: Path) -> None:
    """Before it asks anybody."""
    made = server.made("by-hand")
    file = tmp_path / "kubescript.toml"
    chosen = server.application.settings
    file.write_text(f'writes = "plan"\nkubeconfig = "{chosen.kubeconfig}"\n[plans]\nstore = "{chosen.plans.store}"\n')
    done = commands.run("approve", made.plan.id, "--config", str(file))
    assert done.returncode == 1 and f"--audit {server.file}" in done.stderr, done.stderr
    assert "Type `approve`" not in done.stdout and server.own.approvals.get(made.plan.id).state == "pending"
    done = commands.run("approve", made.plan.id, "--config", str(file), "--audit", str(server.file))
    assert "approved by a person at a terminal" in done.stderr, done.stderr  # all that is missing here


def test_an_answer_that_does_not_count_is_not_on_record(server: Server) -> None:
    """Neither the author's own approval where two others must approve, nor a second one of the same person, nor one of
    another plan than the stored one, nor one after the end; the answers that count are there, once each."""
    made = server.made("counted").plan
    shown = msgspec.structs.replace(made, id=plan.new_id(), approvals=2)
    server.own.store().add(shown)
    author = record.Decision(made.author.user, "terminal", True, shown.hash)
    alice, bob = (msgspec.structs.replace(author, approver=name) for name in ("alice", "bob"))
    stale = msgspec.structs.replace(bob, hash=made.hash)
    for given, counts in ((author, False), (alice, True), (alice, False), (stale, False), (bob, True), (bob, False)):
        with contextlib.nullcontext() if counts else pytest.raises(errors.PlanError):
            server.own.approvals.decide(shown.id, given)
    assert server.finish(shown.id).state == "applied"
    with pytest.raises(errors.PlanError, match="is applied already"):
        server.own.approvals.decide(shown.id, msgspec.structs.replace(bob, approves=False))
    told = [each for each in trails.records(server.file) if each.get("plan") == shown.id and each["type"] == "decision"]
    assert [(each["approver"], each["approves"]) for each in told] == [("alice", True), ("bob", True)]


def test_a_caller_is_not_on_record_for_requests_of_another_one_s_plan(server: Server) -> None:
    """The server of whoever connects first goes on with everybody's plans, and sends them as itself."""
    made = server.abandoned("somebody-s")
    bob = authors.identify(user.User("bob"), server.application.settings)
    unfinished.resume(server.sharing(server.application.audit, bob).approvals)
    assert server.own.approvals.get(made.plan.id).state == "applied"
    (sent,) = [
        each
        for each in trails.records(server.file, "sent")
        if each.get("plan") == made.plan.id and not each.get("dry_run")
    ]
    assert not sent["user"] and made.plan.id in sent["client"]


def test_nothing_more_of_a_plan_is_sent_once_its_record_is_moved(server: Server, tmp_path: Path) -> None:
    """The rest would be on the record that comes to be at its path. When it is back, the next plan is on it."""
    made = server.made("first", "second")
    server.own.approvals.decide(made.plan.id, approval(made))

    def move(done: int, _count: int, _text: str) -> None:
        if done:
            server.file.rename(tmp_path / "moved.jsonl")

    ended = server.own.approvals.apply(made.plan.id, move)
    assert ended.state == "stopped" and "1 of 2 changes were made" in ended.text, ended.text
    assert "another record is in the place" in ended.text and "the audit record does not have this end" in ended.text
    assert server.names().isdisjoint({"second"})
    assert not [each for each in trails.records(server.file) if each.get("plan") == made.plan.id]
    (tmp_path / "moved.jsonl").replace(server.file)
    following = server.made("third")
    server.own.approvals.decide(following.plan.id, approval(following))
    assert server.finish(following.plan.id).state == "applied"


@pytest.mark.parametrize("old", [False, True], ids=["new", "of an older version"])
def test_a_record_stays_the_same_when_its_file_is_rotated(old: bool, tmp_path: Path) -> None:
    """Also when the first files are gone; and no other record has its id."""
    file, fields = tmp_path / "audit.jsonl", {"type": "start", "time": chain.now(), "filler": "x" * 500}
    if old:
        first, head = chain.seal({"type": "file", "format": chain.FORMAT, "time": chain.now()}, chain.Head(), None)
        file.write_bytes(first + chain.seal(fields, head, None)[0])
        file.chmod(0o600)
    with contextlib.closing(log.AuditLog(file, max_bytes=1_000, keep=1)) as made:
        identity = made.identity()
        for _ in range(12):
            made.append(fields)
            assert made.identity() == identity
    assert rotation.first_record(file)  # the first of them is gone
    with contextlib.closing(log.AuditLog(tmp_path / "other.jsonl")) as other:
        assert other.identity() not in {identity, ""}


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)
