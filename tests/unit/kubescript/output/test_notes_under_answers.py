"""The line under an answer says what matters to it, and nothing under answers that lack nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mcp_types
import pytest

from kubescript.broker import summary
from kubescript.output import notes, render
from kubescript_sandbox import runs
from tests.kit import clients, trails

PASSWORD = "hunter2-canary-receipt"
POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop"},
    "spec": {"containers": [{"name": "web", "image": "web:1", "env": [{"name": "DB_PASSWORD", "value": PASSWORD}]}]},
    "status": {"phase": "Running"},
}  # fmt: skip
SETTINGS = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"},
    "data": {"password": PASSWORD},
}  # fmt: skip
NOTE = "[redacted: the script read masked secrets, so trust no comparison, search or length of them, only whether they are set]"
PODS = "k8s.coreV1().list_namespaced_pod('shop')"
MAPS = "k8s.coreV1().list_namespaced_config_map('shop')"

UNTOLD = {
    "a count": f"len({PODS})",
    "names": f"[p.metadata.name for p in {PODS}]",
    "images": f"{{c.image for p in {PODS} for c in p.spec.containers}}",
    "a map": f"sorted({{p.metadata.name: p.status.phase for p in {PODS}}}.items())",
    "names of variables": f"[e.name for p in {PODS} for c in p.spec.containers for e in c.env]",
    "a pod's one line": f"str({PODS}[0])",
    "a copy": f"import copy\ncopy.deepcopy({PODS}[0]).metadata.name",
    "a count of maps": f"len({MAPS})",
    "keys of a map": f"sorted({MAPS}[0].data)",
    "whether a value is set": f"value = {PODS}[0].spec.containers[0].env[0].value\nif value: x = 1\nnot value",
    "whether a key is set": f"value = {MAPS}[0].data.get('password')\n'set' if value else 'empty'",
    "whether any is set": f"any(e.value for e in {PODS}[0].spec.containers[0].env)",
}
TOLD = {
    "a comparison": f"[p.metadata.name for p in {PODS} for c in p.spec.containers for e in c.env if e.value == 'hunter2']",
    "a length": f"len({PODS}[0].spec.containers[0].env[0].value)",
    "an item": f"{PODS}[0]['spec']['containers'][0]['env'][0]['value'] == 'hunter2'",
    "a get": f"{PODS}[0].spec.containers[0].env[0].get('value') == 'hunter2'",
    "a swallowed search": f"any('hunter2' in str(p.spec) for p in {PODS})",
    "a dump": f"import json\nsum('hunter2' in json.dumps(p.to_dict()) for p in {PODS})",
    "a dump of the object": f"import json\nsum('hunter2' in json.dumps(p) for p in {PODS})",
    "a comparison of maps": f"{PODS}[0].spec.containers[0].env[0] == {{'name': 'DB_PASSWORD', 'value': 'hunter2'}}",
    "a comparison with another part": f"{PODS}[0].metadata == {PODS}[0].spec.containers[0].env[0]",
    "values of a map": f"'hunter2' in {MAPS}[0].data.values()",
    "raw text": "'hunter2' in k8s.coreV1().list_namespaced_pod('shop', _preload_content=False).data.decode()",
    "a test of the script's own": f"def bool(v):\n    return len(v)\nbool({PODS}[0].spec.containers[0].env[0].value)",
    "a test by another function": f"any = max\nany(len(e.value) or e.value for e in {PODS}[0].spec.containers[0].env)",
    "a walk": (
        "def walk(o):\n    return sum(map(walk, o.values() if isinstance(o, dict) else o)) if isinstance(o, (dict, list)) "
        f"else o == 'hunter2'\nwalk({PODS}.items[0])"
    ),
}
COUNTED = {
    "a mask": (f"getattr(getattr({PODS}.items[0].spec.containers[0], 'e' + 'nv')[0], 'val' + 'ue')", "1 password"),
    "a print and a result": (f"v = {PODS}[0].spec.containers[0].env[0].value\nprint(v)\n[v]", "2 password"),
    "an object": (f"{PODS}[0].spec", "1 password"),
}


@dataclass(frozen=True)
class Server:
    """A server of a saved cluster, and its record."""

    ask: Callable[[str], mcp_types.CallToolResult]
    file: Path

    def answer(self, script: str) -> str:
        """The whole answer, with its notes."""
        return clients.whole(self.ask(script)).rstrip()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("notes")
    saved, audit = folder / "cluster.json", folder / "audit.jsonl"
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, SETTINGS]}))
    with clients.asking("--snapshot", str(saved), "--audit", str(audit), transport="memory") as ask:
        yield Server(ask, audit)


@pytest.mark.parametrize("case", UNTOLD)
def test_a_question_that_has_nothing_to_do_with_variables_gets_no_line(case: str, server: Server) -> None:
    """Nearly every list of pods holds a masked variable; a question about something else does not say so, and the audit
    does."""
    answer = server.ask(UNTOLD[case])
    assert not answer.is_error and "redacted" not in clients.whole(answer), answer
    assert sum(trails.records(server.file, "script")[-1]["redactions"].values()) == 1


@pytest.mark.parametrize("case", TOLD)
def test_a_script_that_may_have_looked_at_a_masked_value_is_told(case: str, server: Server) -> None:
    """A comparison with a masked value is false, a search finds nothing: the line says why."""
    answer = server.answer(TOLD[case])
    assert answer.endswith(NOTE), answer


@pytest.mark.parametrize("case", COUNTED)
def test_masks_in_the_answer_are_counted(case: str, server: Server) -> None:
    """Not what was masked in all that was read."""
    script, told = COUNTED[case]
    answer = server.answer(script)
    assert answer.endswith(f"[redacted: {told}]"), answer


CAUGHT = """
from kubernetes.client import ApiException
for name in "ab":
    try:
        k8s.coreV1().delete_namespaced_pod(name, "shop")
    except ApiException:
        pass
"""


def test_a_swallowed_denial_is_told_once(server: Server) -> None:
    """How many calls are missing, which, and what that means; an error that nobody caught says it itself."""
    told = "[2 calls denied: delete pods in namespace shop (policy.read_only) x2; the answer may be incomplete]"
    assert server.answer(CAUGHT + "0").splitlines()[-1] == told
    told = server.answer("k8s.coreV1().delete_namespaced_pod('a', 'shop')")
    assert "denied:" not in told and told.count("ForbiddenException: 403 policy.read_only") == 1, told


def test_many_things_of_a_kind_leave_room_for_the_others() -> None:
    """What differs in the namespace alone is told as one, of many the first eight are named, and no kind takes another's
    place."""
    tally = summary.Summary()
    for number in range(9):
        where = [(" in namespace ", True), (f"team-{number}", False)]
        tally.note(tally.denied, notes.of([("list secrets", True), *where, (" (policy.denied_resource)", True)]))
        tally.note(tally.failed, notes.of([("404 list ", True), (f"{'x' * 60}{number}.example.com", False), *where]))
    tally.note(tally.failed, notes.Note("cluster.unreachable list pods"))
    tally.note(tally.absent, notes.of([("shpo", False)]))
    missed = summary.missing(tally, runs.Outcome())
    told = list(map(str, missed))
    assert told[0] == "9 calls denied: list secrets in 9 namespaces (policy.denied_resource)"
    assert told[1].endswith(", and 2 more") and told[2] == "the answer may be incomplete"
    assert told[3] == "no such namespace: shpo"
    line = render.render(runs.Outcome(result=b"0"), runs.Limits(), missed).text.splitlines()[-1]
    assert "in 9 namespaces" in line and "no such namespace: shpo]" in line and " …" in line
    assert len(line.encode()) <= 768
