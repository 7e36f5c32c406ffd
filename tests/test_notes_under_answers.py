"""The line under an answer says what matters to it, and nothing under answers that lack nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubescript import types
from kubescript.broker import summary
from kubescript.output import render
from tests import trails

pytestmark = pytest.mark.slow

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
NOTE = "[redacted: 1 env-password]"
PODS = "k8s.coreV1().list_namespaced_pod('shop')"

UNTOLD = {
    "a count": f"len({PODS})",
    "names": f"[p.metadata.name for p in {PODS}]",
    "images": f"{{c.image for p in {PODS} for c in p.spec.containers}}",
    "a map": f"sorted({{p.metadata.name: p.status.phase for p in {PODS}}}.items())",
}
TOLD = {
    "a comparison": f"[p.metadata.name for p in {PODS} for c in p.spec.containers for e in c.env if e.value == 'hunter2']",
    "a swallowed search": f"any('hunter2' in str(p) for p in {PODS})",
    "a dump": f"import json\nsum('hunter2' in json.dumps(p.to_dict()) for p in {PODS})",
    "a walk": (
        "def walk(o):\n    return sum(map(walk, o.values() if isinstance(o, dict) else o)) if isinstance(o, (dict, list)) "
        f"else o == 'hunter2'\nwalk({PODS}.items[0])"
    ),
    "the mask itself": f"getattr(getattr({PODS}.items[0].spec.containers[0], 'e' + 'nv')[0], 'val' + 'ue')",
}


@pytest.fixture
def saved(tmp_path: Path) -> str:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, SETTINGS]}))
    return str(file)


@pytest.mark.parametrize("case", UNTOLD)
def test_a_question_that_has_nothing_to_do_with_variables_gets_no_line(case: str, saved: str) -> None:
    """Nearly every list of pods holds a masked variable; a question about something else does not say so, and the audit
    does."""
    file = Path(saved).with_name("audit.jsonl")
    done = trails.run("run", "-", "--snapshot", saved, "--audit", str(file), script=UNTOLD[case])
    assert done.returncode == 0 and "redacted" not in done.stdout, done.stdout
    assert trails.records(file, "script")[0]["redactions"] == {"env-password": 1}


@pytest.mark.parametrize("case", TOLD)
def test_a_script_that_may_have_looked_at_a_masked_value_is_told(case: str, saved: str) -> None:
    """A comparison with a masked value is false, a search finds nothing: the line says why."""
    done = trails.run("run", "-", "--snapshot", saved, script=TOLD[case])
    assert done.stdout.rstrip().endswith(NOTE), done.stdout + done.stderr


def test_what_is_masked_elsewhere_is_always_told(saved: str) -> None:
    """Few objects hold such values outside of variables, and who reads one should know."""
    script = "len(k8s.coreV1().list_namespaced_config_map('shop'))"
    assert "[redacted: 1 " in trails.run("run", "-", "--snapshot", saved, script=script).stdout


def test_many_things_of_a_kind_leave_room_for_the_others() -> None:
    """What differs in the namespace alone is told as one, of many the first eight are named, and no kind takes another's
    place."""
    tally = summary.Summary()
    for number in range(9):
        tally.note(tally.denied, f"list secrets in namespace team-{number} (policy.denied_resource)")
        tally.note(tally.failed, f"404 list {'x' * 60}{number}.example.com in namespace a")
    tally.note(tally.failed, "cluster.unreachable list pods")
    tally.note(tally.absent, "shpo")
    told = summary.notes(tally, "", types.Outcome())
    assert told[0] == "denied: list secrets in 9 namespaces (policy.denied_resource)"
    assert told[1].endswith(", and 2 more") and told[2] == "no such namespace: shpo"
    line = render.render(types.Outcome(result=b"0"), types.Limits(), told).text.splitlines()[-1]
    assert "in 9 namespaces" in line and "no such namespace: shpo]" in line and " …" in line
    assert len(line.encode()) <= 768
