"""Runbooks that are called with foreign words, changed after their review, or used to change more than was reviewed. On a
real API server."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from kubescript import app, types
from kubescript import config as settings
from kubescript.changes import plan
from kubescript.runbooks import folder, lock_file
from tests.kit import fork_servers, trails
from tests.kit.controlplane import logged
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
        call = functools.partial(evaluate, script, None, caller=CALLER, by_caller=by_caller)
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
    Writer(plane.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
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
        "limits": {"api_calls": 60},
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
        assert made.runbook is None and len(made.steps) == 2
    reads = 'k8s.runbook("read", name="a")\n'
    assert server.plan_of(reads + call.format("c")).runbook


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
