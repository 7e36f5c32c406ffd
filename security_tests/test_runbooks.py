"""Runbooks that are called with foreign words, changed after their review, or used to change more than was reviewed. On a
real API server."""

from __future__ import annotations

import functools
import json
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest
from kubernetes import client

from kubescript import app, errors, evaluator, types
from kubescript import config as settings
from kubescript.auth import user
from kubescript.changes import plan, planner
from kubescript.changes.store import record
from kubescript.runbooks import folder, lock_file, preapproval
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.wire import protocol
from tests.kit import app_objects, clients, fork_servers, patience, people, trails
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19")]

NAMESPACE: Final = f"runbooks-{secrets.token_hex(3)}"
CALLER: Final = types.Caller("a-session", "a client", "1", "evaluate_script")
HEADER: Final = """\
# /// runbook
# description = "Writes a note"
#
# [arguments.name]
# type = "string"
# pattern = "[a-z-]{1,20}"
#
# [arguments.count]
# type = "integer"
# default = 1
# maximum = 3
#
# [arguments.quick]
# type = "boolean"
# default = false
# ///
"""
NOTE: Final = f"""\
k8s.coreV1().create_namespaced_config_map(
    "{NAMESPACE}", {{"metadata": {{"name": name}}, "data": {{"count": str(count)}}}}
)
"""
RUNBOOKS: Final = {
    "note": f"{HEADER}{NOTE}[name, count, quick]",
    "half": f"{HEADER}{NOTE}1 / 0",
    "nested": f'{HEADER}k8s.runbook("note", name=name)',
    "read": f"{HEADER}len(k8s.coreV1().list_namespaced_config_map({NAMESPACE!r}).items)",
    "greedy": f"{HEADER}for _ in range(40):\n    k8s.coreV1().read_namespace('default')\n1",
}


@dataclass
class Server:
    """A server with runbooks and an audit record."""

    application: app.Application
    folder: Path
    audit: Path

    def answer(self, script: str, *, by_caller: bool = True) -> types.Answer:
        """What a script answers."""
        evaluate = self.application.operator.evaluator.evaluate
        call = functools.partial(evaluate, script, 200_000, caller=CALLER, by_caller=by_caller)
        return anyio.run(call)

    def plan_of(self, script: str) -> plan.Plan:
        """The plan that a script leaves."""
        answer = self.answer(script)
        assert answer.plan, answer.text
        assert self.application.operator.planning is not None
        return self.application.operator.planning.approvals.get(answer.plan).plan

    def check_refused(self, script: str, code: str) -> None:
        """Fails unless a script's runbook is refused with this code, on record, and the next call works."""
        answer = self.answer(script)
        assert answer.is_error and code in answer.text and not answer.plan, answer.text
        assert trails.records(self.audit, "runbook")[-1]["code"] == code
        assert self.answer('k8s.runbook("read", name="a")').text


def write(path: Path, sources: dict[str, str]) -> None:
    """Makes a folder of runbooks and locks it."""
    for name, source in sources.items():
        (path / f"{name}.py").write_text(source)
    digests = {name: folder.digest(source.encode()) for name, source in sources.items()}
    (path / lock_file.NAME).write_bytes(lock_file.write(digests))


@pytest.fixture(scope="module")
def server(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    plane = logged.attach(run_folder, run_process).plane
    place = tmp_path_factory.mktemp("runbooks")
    books = place / "books"
    books.mkdir()
    write(books, RUNBOOKS)
    given: dict[str, Any] = {
        "kubeconfig": plane.kubeconfig,
        "writes": "plan",
        "audit": {"file": place / "audit.jsonl"},
        "plans": {"store": str(place / "plans.db"), "page": False},
        "runbooks": {"folder": books},
        "limits": {"api_calls": 60, "max_timeout_ms": 200_000},
    }
    with fork_servers.open_application(settings.Settings.model_validate(given)) as opened:
        yield Server(opened, books, place / "audit.jsonl")


@pytest.fixture(autouse=True)
def _whole(server: Server) -> Iterator[None]:
    """Puts the folder back as it was."""
    yield
    for entry in server.folder.iterdir():
        entry.unlink()
    write(server.folder, RUNBOOKS)


def test_a_runbook_runs_with_its_arguments(server: Server) -> None:
    """It is listed, gets its arguments as variables, and its value and its plan are those of the script."""
    assert '"name":"note","description":"Writes a note"' in server.answer("k8s.runbooks()").text
    script = 'k8s.runbook("note", name="first", count=2)'
    assert '["first",2,false]' in server.answer(script).text
    made = server.plan_of(script)
    sha256 = folder.digest(RUNBOOKS["note"].encode())
    assert made.runbook == plan.Runbook("note", sha256, {"name": "first", "count": 2, "quick": False})
    ran = trails.records(server.audit, "runbook")[-1]
    assert (ran["name"], ran["sha256"], ran["code"]) == ("note", sha256, "ok")
    assert ran["arguments"] == {"name": "first", "count": 2, "quick": False}


def test_one_changed_byte_is_not_run(server: Server) -> None:
    """A runbook that differs from the lock file, or is not in it, is refused on record, also while the server runs."""
    path = server.folder / "note.py"
    path.write_text(RUNBOOKS["note"].replace("str(count)", "str(coumt)"))
    server.check_refused('k8s.runbook("note", name="a")', "runbook.locked")
    (server.folder / "other.py").write_text(RUNBOOKS["note"])
    server.check_refused('k8s.runbook("other", name="a")', "runbook.locked")
    assert '"note"' not in server.answer("k8s.runbooks()").text
    path.write_text(RUNBOOKS["note"])
    assert server.plan_of('k8s.runbook("note", name="a")').runbook


@pytest.mark.parametrize(
    "name", ["../note", "/etc/passwd", "note.py", "..", "NOTE", "note\\x00", "a" * 64, "", "no te"]
)
def test_a_name_is_no_path(name: str, server: Server) -> None:
    """A name that is no DNS label is refused before any file is opened."""
    server.check_refused(f'k8s.runbook("{name}", name="a")', "runbook.name")


def test_a_link_leads_nowhere_else(server: Server, tmp_path: Path) -> None:
    """A file of the folder that is a link out of it, a pipe, or too large is not read."""
    path = server.folder / "note.py"
    outside = tmp_path / "note.py"
    outside.write_text(RUNBOOKS["note"])
    path.unlink()
    path.symlink_to(outside)
    server.check_refused('k8s.runbook("note", name="a")', "runbook.unreadable")
    path.unlink()
    os.mkfifo(path)
    server.check_refused('k8s.runbook("note", name="a")', "runbook.unreadable")
    path.unlink()
    path.write_text(RUNBOOKS["note"] + "#" * folder.MAX_BYTES)
    server.check_refused('k8s.runbook("note", name="a")', "runbook.unreadable")


ARGUMENTS: Final = {
    "missing": "count=1",
    "foreign": 'name="a", namespace="kube-system"',
    "of another type": 'name="a", count="1"',
    "a number for a boolean": 'name="a", quick=1',
    "a boolean for a number": 'name="a", count=True',
    "no value": "name=None",
    "a list": 'name=["a"]',
    "beyond the pattern": 'name="A"',
    "beyond the maximum": 'name="a", count=4',
    "code": 'name=\'a"); k8s.coreV1().delete_namespace("default") #\'',
    "a line end": 'name="a\\n"',
    "large": 'name="a" * 100_000',
    "many": '**{f"x{n}": 1 for n in range(1000)}',
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_arguments_are_checked_by_the_host(what: str, server: Server) -> None:
    """An argument that is foreign, missing, of another type or out of its bounds is refused, and nothing is run."""
    server.check_refused(f'k8s.runbook("note", {ARGUMENTS[what]})', "runbook.arguments")


def test_a_value_is_no_code(server: Server) -> None:
    """An argument that is a string stays one: a variable of the runbook, and no part of its text."""
    source = HEADER.replace('# pattern = "[a-z-]{1,20}"\n', "") + "name"
    write(server.folder, {**RUNBOOKS, "echo": source})
    value = '__import__(\'os\')#{namespace}\\\\"""'
    assert server.answer(f'k8s.runbook("echo", name={value!r}) == {value!r}').text == "true"


def test_half_of_a_runbook_is_not_planned(server: Server) -> None:
    """A script that catches the failure of a runbook which has tried changes leaves no plan."""
    caught = 'try:\n    k8s.runbook("half", name="a")\nexcept Exception as error:\n    text = str(error)\ntext'
    answer = server.answer(caught)
    assert "plan.runbook" in answer.text and not answer.plan
    server.check_refused('k8s.runbook("half", name="a")', "runbook.failed")


def test_what_else_a_script_plans_is_no_runbooks(server: Server) -> None:
    """A plan with a change of the script's own, or of two runs, is not that of a runbook."""
    call = 'k8s.runbook("note", name="{}")\n'
    own = NOTE.replace("name}", '"own"}').replace("str(count)", '"1"')
    for script in (call.format("a") + own + "1", own + call.format("a"), call.format("a") + call.format("b")):
        made = server.plan_of(script)
        assert not made.runbook and len(made.steps) == 2
    reads = 'k8s.runbook("read", name="a")\n'
    assert server.plan_of(reads + call.format("c")).runbook


LEAK: Final = "S3cr3t-Zq9wvT7xLpK2"
LEAKING: Final = {
    "leak": f'{{"API_PASSWORD": "{LEAK}"}}',
    "fail": f'raise ValueError("password={LEAK}")',
    "large": '"a" * 100_000',
    "endless": "while True:\n    pass",
}


def test_a_runbooks_value_is_masked_and_bounded(server: Server) -> None:
    """What passes from a runbook to its caller's worker, or in an error, is masked there already: the caller may turn it
    around. A value larger than an answer is refused, and a runbook has no more time than its script."""
    header = HEADER.split("# [arguments")[0] + "# ///\n"
    write(server.folder, {**RUNBOOKS, **{name: header + source for name, source in LEAKING.items()}})
    turned = server.answer('k8s.runbook("leak")["API_PASSWORD"][::-1]').text
    assert LEAK[::-1] not in turned and "detcader" in turned
    failed = server.answer(
        'try:\n    k8s.runbook("fail")\nexcept Exception as error:\n    text = str(error)[::-1]\ntext'
    )
    assert LEAK[::-1] not in failed.text and "ValueError"[::-1] in failed.text
    server.check_refused('k8s.runbook("large")', "runbook.output")
    caught = 'try:\n    k8s.runbook("endless")\nexcept Exception:\n    pass\nwhile True:\n    pass'
    evaluate = server.application.operator.evaluator.evaluate
    assert "limit.time" in anyio.run(functools.partial(evaluate, caught, 1_000, caller=CALLER, by_caller=True)).text
    assert server.plan_of('k8s.runbook("note", name="a")').runbook


def test_a_cancelled_script_ends_its_runbook(server: Server) -> None:
    """The runbook's process ends with the call, long before its time is over, and the next call works."""
    source = HEADER.split("# [arguments")[0] + "# ///\nwhile True:\n    pass"
    write(server.folder, {**RUNBOOKS, "endless": source})
    evaluate = server.application.operator.evaluator.evaluate

    async def cancel() -> None:
        with anyio.move_on_after(1):
            await evaluate('k8s.runbook("endless")', 200_000, caller=CALLER, by_caller=True)

    anyio.run(cancel)
    patience.until(lambda: trails.records(server.audit, "script")[-1]["code"] == "cancelled")
    assert server.plan_of('k8s.runbook("note", name="a")').runbook


def test_runbooks_are_not_nested_and_share_the_budget(server: Server) -> None:
    """A runbook calls no other; the calls of all runbooks count against the limit of the script."""
    server.check_refused('k8s.runbook("nested", name="a")', "runbook.failed")
    assert "runbook.nested" in server.answer('k8s.runbook("nested", name="a")').text
    assert "limit.calls" in server.answer('for _ in range(2):\n    k8s.runbook("greedy", name="a")\n1').text
    many = 'for _ in range(21):\n    k8s.runbook("read", name="a")\n1'
    server.check_refused(many, "runbook.limit")


def test_a_classic_tool_calls_no_runbook(server: Server) -> None:
    """The worker of a script that its caller did not write, such as that of a classic tool, has no runbooks."""
    answer = server.answer('k8s.runbook("note", name="a")', by_caller=False)
    assert answer.is_error and "runbook.none" in answer.text
    assert server.plan_of('k8s.runbook("note", name="a")').runbook


@dataclass
class Forger:
    """A worker that was taken over, and sends what it likes."""

    calls: list[exchanges.Call]
    replies: list[exchanges.Reply] = field(default_factory=list)

    def run(self, job: types.Job) -> runs.Outcome:
        """Sends the calls; returns a result."""
        for call in self.calls:
            reply, response = job.on_call(call, 30.0)
            self.replies.append(reply)
            if response is not None:
                list(response.chunks)
        return runs.Outcome(result=b"1")

    def later(self, chore: Callable[..., object], *args: object) -> None:
        """Does it now."""
        chore(*args)


def test_a_worker_cannot_say_that_its_write_is_a_runbooks(server: Server) -> None:
    """A call below the path of runbooks never reaches a cluster, a field that marks a write ends the worker, and its own
    write makes an ordinary plan."""
    operator = server.application.operator
    assert operator.planning is not None
    body = msgspec.Raw(b'{"metadata": {"name": "forged"}}')
    write_call = exchanges.Call("POST", ("api", "v1", "namespaces", NAMESPACE, "configmaps"), body=body)
    note = exchanges.Call("POST", (*exchanges.RUNBOOKS, "note"), body=msgspec.Raw(b'{"name": "a"}'))
    forged = [
        msgspec.structs.replace(write_call, path=(*exchanges.RUNBOOKS, "note", *write_call.path)),
        msgspec.structs.replace(write_call, path=exchanges.RUNBOOKS),
        msgspec.structs.replace(note, method="PUT"),
    ]
    forger = Forger([*forged, note, write_call])
    host = evaluator.Host(forger, server.application.audit, scripts=server.application.executor)
    taken = evaluator.Evaluator(
        server.application.settings, host, operator.contexts, plans=operator.planning.planner,
        runbooks=folder.Folder(server.folder),
    )  # fmt: skip
    answer = anyio.run(functools.partial(taken.evaluate, "1", None, caller=CALLER, by_caller=True))
    faults = [reply.fault.code for reply in forger.replies if reply.fault is not None]
    assert faults == ["runbook.name"] * 3
    made = operator.planning.approvals.get(answer.plan).plan
    assert not made.runbook and [step.name for step in made.steps] == ["a", "forged"]
    marked = json.dumps({"method": "POST", "path": write_call.path, "runbook": "note"}).encode()
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(marked, exchanges.Call)
    assert server.plan_of('k8s.runbook("note", name="a")').runbook


SCALE: Final = """\
# /// runbook
# description = "Sets a number of replicas"
# [arguments]
# place = { type = "string", default = "%s" }
# count = { type = "integer", default = 2 }
# ///
k8s.scale("deployments/web", count, namespace=place)
"""
IMAGE: Final = """\
# /// runbook
# description = "Gives the pods a folder of their node"
# ///
volume = {"name": "node", "hostPath": {"path": "/"}}
k8s.appsV1().patch_namespaced_deployment("web", "%s", {"spec": {"template": {"spec": {"volumes": [volume]}}}})
"""
CREATE: Final = """\
# /// runbook
# description = "Applies a ConfigMap"
# ///
k8s.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "%s"}})
"""
DELETE: Final = """\
# /// runbook
# description = "Deletes a Deployment"
# ///
k8s.delete("deployments/web", namespace="%s")
"""
SCALED: Final = {
    "namespaces": [f"{NAMESPACE}*"], "kinds": ["deployments.apps/scale", "deployments.apps", "configmaps"],
    "verbs": ["patch"], "replicas": [1, 3], "per_day": 100,
}  # fmt: skip
APPROVED: Final[dict[str, dict[str, Any]]] = {
    "scale": {},
    "scale-elsewhere": {"namespaces": ["team-*"]},
    "scale-other-kind": {"kinds": ["deployments.apps", "statefulsets.apps/scale"]},
    "scale-other-verb": {"verbs": ["create", "update", "delete"]},
    "scale-other-field": {"fields": ["spec.rep", "metadata"]},
    "scale-field": {"fields": ["spec.replicas"]},
    "scale-no-bound": {"replicas": None},
    "scale-others": {"users": ["somebody-else"]},
    "scale-group": {"groups": ["operators"]},
    "scale-once": {"per_day": 1},
    "host-path": {},
    "create": {},
    "delete": {},
}
TWICE: Final = f"{NAMESPACE}-twice"


@dataclass
class Team:
    """A server whose operator approves runbooks in advance; its client can ask nobody."""

    application: app.Application
    apps: Any
    audit: Path

    def ask(self, script: str) -> str:
        """What a client gets for a script."""
        with people.Server(self.application).talk() as talk:
            return clients.text(talk.ask(script))

    def newest(self) -> record.Record:
        """The plan that was made last."""
        assert self.application.operator.planning is not None
        return self.application.operator.planning.approvals.newest(1)[0]

    def check_asked(self, script: str, bound: str) -> None:
        """Fails unless a person is to decide on a script's plan, and the answer names the bound; then one within its
        bounds is applied."""
        text = self.ask(script)
        assert "waits for a person's approval" in text or "wait for a person's approval" in text, text
        assert bound in text, text
        assert self.newest().state == "pending" and not self.newest().decisions
        count = 1 if self.replicas() != 1 else 2
        assert "and applied" in self.ask(f'k8s.runbook("scale", count={count})')

    def replicas(self) -> int:
        """How many replicas the Deployment has."""
        found: int = self.apps.read_namespaced_deployment("web", NAMESPACE).spec.replicas
        return found


@pytest.fixture(scope="module", autouse=True)
def _deployments(run_folder: Path, run_process: int) -> None:
    """Makes the Deployments that runbooks scale."""
    writer = Writer(logged.attach(run_folder, run_process).plane.kubeconfig)
    for namespace in (NAMESPACE, TWICE):
        writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        writer.create(app_objects.workload(namespace, "Deployment", "web", replicas=1))


@pytest.fixture(scope="module")
def team(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    plane = logged.attach(run_folder, run_process).plane
    place = tmp_path_factory.mktemp("approved")
    books = place / "books"
    books.mkdir()
    sources = dict.fromkeys(APPROVED, SCALE) | {"host-path": IMAGE, "create": CREATE, "delete": DELETE}
    write(books, {name: source.replace("%s", NAMESPACE) for name, source in sources.items()})
    approved = {name: {"users": [planner.local_name()], **SCALED, **own} for name, own in APPROVED.items()}
    given: dict[str, Any] = {
        "kubeconfig": plane.kubeconfig,
        "writes": "plan",
        "toolsets": ["code"],
        "write_policy": {"approvals": [{"namespaces": [TWICE], "count": 2}]},
        "audit": {"file": place / "audit.jsonl"},
        "plans": {"store": str(place / "plans.db"), "page": False, "follow_s": 0},
        "runbooks": {"folder": books, "approved": approved},
    }
    with fork_servers.open_application(settings.Settings.model_validate(given)) as opened:
        opened.load_sdk()
        apps = client.AppsV1Api(official_client.connect(plane.kubeconfig))
        yield Team(opened, apps, place / "audit.jsonl")


def test_a_plan_within_its_bounds_needs_no_person(team: Team) -> None:
    """It is applied at once, and on record as approved by the runbook, with its hash."""
    count = 1 if team.replicas() != 1 else 2
    text = team.ask(f'k8s.runbook("scale", count={count})')
    (decision,) = team.newest().decisions
    assert decision.channel == "runbook" and decision.approver in text
    used = team.newest().plan.runbook
    assert used and decision.approver == f"runbook scale (sha256 {used.sha256})"
    assert team.replicas() == count
    recorded = trails.records(team.audit, "decision")[-1]
    assert (recorded["channel"], recorded["approver"]) == ("runbook", decision.approver)
    assert "and applied" in team.ask(f'k8s.runbook("scale-field", count={3 - count})')


OUTSIDE: Final = {
    "namespaces": 'k8s.runbook("scale-elsewhere", count=3)',
    "kinds": 'k8s.runbook("scale-other-kind", count=3)',
    "verbs": 'k8s.runbook("scale-other-verb", count=3)',
    "(fields)": 'k8s.runbook("scale-other-field", count=3)',
    "(replicas)": 'k8s.runbook("scale", count=4)',
    "no bound (replicas)": 'k8s.runbook("scale-no-bound", count=3)',
    "users": 'k8s.runbook("scale-others", count=3)',
    "groups": 'k8s.runbook("scale-group", count=3)',
    "2 people": f'k8s.runbook("scale", place="{TWICE}", count=3)',
    "critical finding": 'k8s.runbook("host-path")',
    "(verbs)": 'k8s.runbook("create")',
    "patch (verbs)": 'k8s.runbook("delete")',
    "approved in advance 1 times": 'k8s.runbook("scale-once", count=3)',
}
BESIDE: Final = {
    "a write of the script": f'k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {{"metadata": {{"name": "b"}}}})\n',
    "another runbook": f'k8s.runbook("scale", place="{TWICE}", count=3)\n',
    "no runbook": None,
}


@pytest.mark.parametrize("bound", OUTSIDE)
def test_a_plan_outside_a_bound_waits_for_a_person(bound: str, team: Team) -> None:
    """The answer says in the operator's words which bound it is."""
    if bound.startswith("approved in advance"):
        count = 1 if team.replicas() != 1 else 2
        assert "and applied" in team.ask(f'k8s.runbook("scale-once", count={count})')
    team.check_asked(OUTSIDE[bound], bound)
    refused = [each for each in trails.records(team.audit, "runbook") if each["code"] != "ok"]
    assert refused[-1]["code"] == "runbook.bounds" and bound in refused[-1]["text"]


@pytest.mark.parametrize("what", BESIDE)
def test_a_plan_of_more_than_one_runbook_waits_for_a_person(what: str, team: Team) -> None:
    """What a script changes beside the runbook, or as the runbook does, is not approved in advance."""
    beside = BESIDE[what]
    script = f'k8s.scale("deployments/web", 3, namespace="{NAMESPACE}")'
    if beside is not None:
        script = beside + 'k8s.runbook("scale", count=3)'
    team.check_asked(script, "")


def test_a_plan_that_would_do_otherwise_is_stopped(team: Team) -> None:
    """What changes between the runbook's dry run and the application stops the plan, as it stops any other; and no
    decision in a runbook's name counts for another plan."""
    planning = team.application.operator.planning
    assert planning is not None
    evaluate = team.application.operator.evaluator.evaluate
    call = functools.partial(evaluate, caller=CALLER, by_caller=True)
    made = planning.approvals.get(anyio.run(call, 'k8s.runbook("scale", count=3)', None).plan).plan
    decision = preapproval.PreApproval(team.application.settings.runbooks.approved, user.User("")).decide(made)
    planning.approvals.decide(made.id, decision, 100)
    team.apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": {"replicas": 7}})
    ended = planning.approvals.apply(made.id, lambda _done, _count, _text: None)
    assert ended.state == "stopped" and team.replicas() == 7
    own = planning.approvals.get(
        anyio.run(call, f'k8s.scale("deployments/web", 3, namespace="{NAMESPACE}")', None).plan
    )
    with pytest.raises(errors.PlanError, match="a person's approval"):
        planning.approvals.decide(own.plan.id, msgspec.structs.replace(decision, hash=own.plan.hash), 100)
    assert "and applied" in team.ask('k8s.runbook("scale", count=1)')
