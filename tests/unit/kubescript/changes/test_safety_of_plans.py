"""The safety rules on plans as they are made, and on the audit record: real maskers compare the objects, and the record
is a real chain."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubescript import config, errors, redaction, types
from kubescript.audit import recorded_changes, recorder
from kubescript.audit import script_records as audit_record
from kubescript.broker import records
from kubescript.changes import attempt, draft, plan, review
from kubescript.changes.rules.conduct import configuration, transcript
from kubescript.kube import state
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from tests.kit import trails

PASSWORD = "hunter2-Zq8!vL3p"

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "5f0e",
        "resourceVersion": "41",
        "generation": 2,
        "labels": {"app": "web", "track": "stable"},
    },
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "web:1",
                        "env": [{"name": "DB_PASSWORD", "value": PASSWORD}, {"name": "LEVEL", "value": "info"}],
                        "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "1"}},
                        "livenessProbe": {"httpGet": {"path": "/live", "port": 80}},
                    }
                ]
            },
        },
    },
    "status": {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-7d4b9c6f5-x2x1z",
        "namespace": "shop",
        "uid": "77aa",
        "resourceVersion": "9",
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web-7d4b9c6f5", "controller": True}],
    },
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
}
PATCH, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
BUDGETS = {"": 50}


@dataclass
class Write:
    """A write of a script, with what its dry run would show."""

    call: request.Request
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def write(
    verb: str, before: dict[str, Any] | None, after: dict[str, Any] | None, body: Any = None, *, by: str = PATCH
) -> Write:
    """A write on one of the objects above."""
    target = before or after
    assert target is not None
    group = "apps" if target["kind"] == "Deployment" else ""
    call = request.Request(
        method={"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}[verb],
        path="/",
        query=(),
        verb=verb,
        is_resource=True,
        group=group,
        version="v1",
        resource=target["kind"].lower() + "s",
        namespace="shop",
        name="" if verb == "create" else target["metadata"]["name"],
        body=None if body is None else json.dumps(body).encode(),
        content_type=by if verb == "patch" else "application/json",
    )
    return Write(call, before, after)


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The object with another value; None takes the field away."""
    new = copy.deepcopy(document)
    place: Any = new
    *above, last = path.split(".")
    for step in above:
        place = place[int(step)] if step.isdigit() else place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return new


@pytest.fixture(scope="module")
def engine() -> redaction.Engine:
    """A redactor with its masking processes."""
    return redaction.Engine(config.Redaction())


def planned(engine: redaction.Engine, *writes: Write) -> tuple[plan.Step, ...]:
    """The steps of a plan of these writes."""
    drafted = draft.Draft(BUDGETS.__getitem__)
    for one in writes:
        before, after = (json.dumps(each).encode() if each else b"" for each in (one.before, one.after))
        difference = engine.changes(one.call, before, after, lambda _: None)
        drafted.add(attempt.Attempt(one.call, difference, types.Response(200, "OK", "", iter(()), lambda: None)), "")
    return drafted.close()


def found(steps: tuple[plan.Step, ...], **settings: Any) -> list[list[str]]:
    """The rules that each step breaks."""
    findings = review.review(steps, configuration.Configuration(**settings))
    return [[one.rule for one in each] for each in findings]


IMAGE = "spec.template.spec.containers.0.image"
NEW = changed(DEPLOYMENT, IMAGE, "web:2")
SMALL = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
PARTIAL = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:2"}]},
        },
    },
}
HALF = changed(DEPLOYMENT, "spec.template.spec.containers", PARTIAL["spec"]["template"]["spec"]["containers"])  # type: ignore[index]
OPERATIONS = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"}]
UNREADY = changed(DEPLOYMENT, "status.readyReplicas", 1)


def without_version(document: dict[str, Any]) -> dict[str, Any]:
    """The object as somebody sends it who does not hold it to its version."""
    return changed(document, "metadata.resourceVersion", None)


MANIFESTS = {
    "the image alone": (write("patch", DEPLOYMENT, NEW, SMALL), []),
    "one operation of a JSON patch": (write("patch", DEPLOYMENT, NEW, OPERATIONS, by="application/json-patch+json"), []),
    "a manifest as a patch": (write("patch", DEPLOYMENT, NEW, PARTIAL), ["NO_BROAD_PARTIAL_MANIFESTS"]),
    "a manifest as an apply": (write("patch", DEPLOYMENT, NEW, PARTIAL, by=APPLY), []),
    "an object read and patched back": (write("patch", DEPLOYMENT, NEW, NEW), []),
    "an object read and replaced": (write("update", DEPLOYMENT, NEW, NEW), []),
    "an object replaced in any version": (
        write("update", DEPLOYMENT, NEW, without_version(NEW)),
        ["NO_BROAD_PARTIAL_MANIFESTS"],
    ),
    "a replace with half a manifest": (write("update", DEPLOYMENT, HALF, PARTIAL), ["NO_BROAD_PARTIAL_MANIFESTS"]),
    "an apply that drops one field": (
        write("patch", DEPLOYMENT, changed(NEW, "spec.template.spec.containers.0.resources.requests", None), PARTIAL, by=APPLY),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("one", "rules"), MANIFESTS.values(), ids=MANIFESTS)
def test_manifests_are_judged_by_what_they_name_and_change(
    one: Write, rules: list[str], engine: redaction.Engine
) -> None:
    """The rows of a real comparison, and the fields that the request's body names."""
    assert found(planned(engine, one)) == [rules]


def test_fields_beside_the_task_are_told_from_the_item_s_name(engine: redaction.Engine) -> None:
    """Where the task's fields are known, a small patch is within them and a manifest is not."""
    goal = ("spec.template.spec.containers.image",)
    assert found(planned(engine, write("patch", DEPLOYMENT, NEW, SMALL)), goal=goal) == [[]]
    apply = write("patch", DEPLOYMENT, NEW, PARTIAL, by=APPLY)
    assert found(planned(engine, apply), goal=goal) == [["NO_BROAD_PARTIAL_MANIFESTS"]]


def test_a_running_pod_is_known_by_its_status_and_its_owner(engine: redaction.Engine) -> None:
    """A pod that runs is not deleted to restart it, unless its Deployment was changed before; one that is finished or on
    its way out may be."""
    deletion = write("delete", POD, None)
    shortcut = ["NO_DESTRUCTIVE_SHORTCUTS"]
    assert found(planned(engine, deletion)) == [shortcut]
    assert found(planned(engine, write("patch", DEPLOYMENT, NEW, SMALL), deletion)) == [[], []]
    assert found(planned(engine, deletion, write("patch", DEPLOYMENT, NEW, SMALL))) == [shortcut, []]
    finished = changed(POD, "status.phase", "Succeeded")
    leaving = changed(POD, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
    assert found(planned(engine, write("delete", finished, None))) == [[]]
    assert found(planned(engine, write("delete", leaving, None))) == [[]]


def test_a_deployment_is_deleted_with_or_without_what_belongs_to_it(engine: redaction.Engine) -> None:
    """The options of a deletion say whether its pods stay; at zero replicas nothing is lost."""
    orphan = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
    idle = changed(changed(DEPLOYMENT, "spec.replicas", 0), "status.readyReplicas", None)
    assert found(planned(engine, write("delete", DEPLOYMENT, None))) == [["NO_DESTRUCTIVE_SHORTCUTS"]]
    assert found(planned(engine, write("delete", DEPLOYMENT, None, orphan))) == [[]]
    assert found(planned(engine, write("delete", idle, None))) == [[]]


def test_fields_below_long_keys_do_not_take_the_host_s_memory(engine: redaction.Engine) -> None:
    """The paths of this body have forty thousand times the length of its key."""
    (step,) = planned(engine, write("patch", DEPLOYMENT, NEW, SMALL))

    def reviewed(body: Any) -> transcript.Change:
        asked = msgspec.structs.replace(step.request, body=json.dumps(body))
        return review.change_of(msgspec.structs.replace(step, request=asked))

    many = {f"k{number}": 1 for number in range(40_000)}
    assert reviewed({"a" * 1_000_000: many}).named == ("a" * 1_000_000,)
    with pytest.raises(errors.PlanError, match="more fields than a person can read") as refused:
        reviewed({"a" * 1_990: many})
    assert refused.value.code == "plan.too_large"


def test_finalizers_are_counted_by_what_goes(engine: redaction.Engine) -> None:
    """The first of two finalizers goes, and the second moves up; another one is added."""
    two = changed(DEPLOYMENT, "metadata.finalizers", ["a.example/x", "b.example/y"])
    one = changed(DEPLOYMENT, "metadata.finalizers", ["b.example/y"])
    removal = write("patch", two, one, {"metadata": {"finalizers": ["b.example/y"]}}, by="application/merge-patch+json")
    (step,) = planned(engine, removal)
    assert review.change_of(step).finalizers == ("a.example/x",)
    assert found((step,)) == [["NO_DESTRUCTIVE_SHORTCUTS"]]
    addition = write("patch", one, two, {"metadata": {"finalizers": ["a.example/x", "b.example/y"]}})
    assert found(planned(engine, addition)) == [[]]


def test_a_canary_is_healthy_by_its_status(engine: redaction.Engine) -> None:
    """The status of a Deployment says whether a canary is to be left alone."""
    stable = write("patch", UNREADY, changed(UNREADY, "spec.paused", True), {"spec": {"paused": True}})
    canary = changed(changed(DEPLOYMENT, "metadata.name", "web-canary"), "metadata.labels", {"track": "canary"})
    ill = changed(canary, "status.readyReplicas", 2)
    rolling = changed(canary, "metadata.generation", 3)
    for one, rules in ((canary, ["CANARY_CONTAMINATION"]), (ill, []), (rolling, [])):
        change = write("patch", one, changed(one, "spec.paused", True), {"spec": {"paused": True}})
        assert found(planned(engine, stable, change)) == [[], rules]


def test_what_is_created_has_the_labels_of_its_manifest(engine: redaction.Engine) -> None:
    """An object that is not there yet is within the scope by the labels that it gets."""
    create = write("create", None, DEPLOYMENT, DEPLOYMENT)
    assert found(planned(engine, create), labels={"track": "stable"}) == [[]]
    assert found(planned(engine, create), labels={"track": "canary"}) == [["SCOPE_ENFORCEMENT"]]
    assert found(planned(engine, create), namespaces=("prod",)) == [["SCOPE_ENFORCEMENT"]]


def test_no_plan_creates_an_object_and_changes_it(engine: redaction.Engine) -> None:
    """Somebody else makes it, or takes it away, between the two dry runs: neither shows what both do together."""
    create = write("create", None, DEPLOYMENT, DEPLOYMENT)
    pause = write("patch", DEPLOYMENT, changed(DEPLOYMENT, "spec.paused", True), {"spec": {"paused": True}})
    for both in ((create, pause), (pause, create)):
        with pytest.raises(errors.PlanError, match=r"already changes deployments\.apps shop/web;") as caught:
            planned(engine, *both)
        assert caught.value.code == "plan.overlap"
    assert len(planned(engine, pause, write("patch", DEPLOYMENT, NEW, SMALL))) == 2


def test_a_status_of_another_shape_says_nothing() -> None:
    """Whoever wrote the object: a value of another type than the API has is no state, and no error."""
    for strange in ([], {}, 7, "x", None, [7, {"type": []}], {"phase": ["Running"]}, True):
        for kind in ("Pod", "Deployment", "DaemonSet", "Job", 7, ["Pod"], None):
            metadata = {"ownerReferences": strange, "generation": strange}
            spec = {"replicas": strange, "suspend": strange}
            status = {"phase": strange, "conditions": strange, "readyReplicas": strange, "active": strange}
            for document in (
                {"kind": kind, "metadata": strange, "spec": strange, "status": strange},
                {"kind": kind, "metadata": metadata, "spec": spec, "status": status},
            ):
                found = state.of(document)
                assert found.owner == "" and not found.terminating
                assert not found.running or strange == 7  # which is a number of replicas


# --- the record -------------------------------------------------------------------------------------------------------


def as_plan(steps: tuple[plan.Step, ...], session: str = "s1") -> plan.Plan:
    """A plan of these steps."""
    author = plan.Author("alice", session)
    return plan.Plan("p-1", author, "", "c1", "0" * 64, "0" * 64, steps, (), created=1.0, expires=2.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def record(file: Path, engine: redaction.Engine) -> recorder.Recorder:
    """The recorder of a server."""
    opened = recorder.open_recorder(config.Audit(file=file), engine.text)
    assert opened is not None
    return opened


CALLER = types.Caller(session="s1", client="test", tool="evaluate_script")


def done(call: request.Request, status: int = 200, verdict: str = "allow") -> records.Record:
    """A call that has ended."""
    return records.Record(request.describe(call), verdict, status=status, call=call)


def audited(file: Path, *flags: str) -> tuple[int, str]:
    """What `audit rules` says."""
    ran = trails.run("audit", "rules", str(file), *flags)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout


def test_direct_writes_are_judged_as_far_as_their_record_goes(file: Path, record: recorder.Recorder) -> None:
    """A namespace is deleted, and a claim twice: once refused, once tried. What the record does not tell is said."""
    entry = record.journal(CALLER)
    claim = replace(write("delete", POD, None).call, resource="persistentvolumeclaims", name="data")
    entry.record(done(replace(claim, resource="namespaces", name="shop", namespace="")))
    entry.record(done(claim, status=403))
    entry.record(done(replace(claim, dry_run=True)))
    entry.record(done(write("delete", POD, None).call))
    entry.record(done(write("patch", DEPLOYMENT, NEW, SMALL).call))
    entry.record(done(replace(write("delete", POD, None).call, verb="list", name="")))
    record.close()
    code, text = audited(file)
    assert code == 1
    first, *rest = text.splitlines()
    assert " evaluate_script critical NO_DESTRUCTIVE_SHORTCUTS: deletes namespaces shop: everything" in first
    assert rest == [
        "not judged: NO_BROAD_PARTIAL_MANIFESTS of 1 change; not known: which fields the request names and which it changes",
        "not judged: NO_DESTRUCTIVE_SHORTCUTS of 1 change; not known: whether what is deleted was running",
        "not judged: SCOPE_ENFORCEMENT of 3 changes; not known: allowedNamespaces or allowedLabels of the configuration",
        "3 changes: 1 critical, 0 warnings",
    ]


def test_a_plan_is_judged_once_it_was_applied(file: Path, record: recorder.Recorder, engine: redaction.Engine) -> None:
    """Its record tells what its requests change; whoever approved them, its author made them. A plan that nobody has
    approved changes nothing, unless it is asked for."""
    steps = planned(engine, write("delete", POD, None), write("patch", DEPLOYMENT, NEW, PARTIAL))
    record.begin("1", CALLER, runs.Limits(), exchanges.Parameters("", "")).record_plan(as_plan(steps))
    assert audited(file)[1] == "0 changes: 0 critical, 0 warnings\n"
    code, text = audited(file, "--planned")
    assert code == 1 and "plan p-1 critical NO_DESTRUCTIVE_SHORTCUTS" in text
    application = record.application(as_plan(steps), types.Caller())
    application.record(done(replace(write("patch", DEPLOYMENT, NEW, PARTIAL).call, plan="p-1")))
    record.close()
    code, text = audited(file, "--json")
    judged = json.loads(text)
    assert code == 1 and judged["changes"] == 1
    (one,) = judged["findings"]
    assert (one["rule"], one["severity"], one["origin"]) == ("NO_BROAD_PARTIAL_MANIFESTS", "critical", "plan p-1")
    assert "changes spec.template.spec.containers[web].image and also names" in one["message"]


def test_the_configuration_decides_what_counts(file: Path, record: recorder.Recorder, tmp_path: Path) -> None:
    """A warning does not fail the command; a mistake in the file does, by its name."""
    record.journal(CALLER).record(done(write("delete", POD, None).call))
    record.close()
    rules = tmp_path / "safety.json"
    rules.write_text(
        json.dumps({
            "safetyRules": [{"id": "SCOPE_ENFORCEMENT", "enabled": True, "severity": "warning", "description": "mine"}],
            "allowedNamespaces": ["prod"],
            "benchmarkConfig": {"colour": "red"},
        })
    )  # fmt: skip
    code, text = audited(file, "--config", str(rules))
    assert code == 0
    assert "warning SCOPE_ENFORCEMENT: delete of pods shop/web-7d4b9c6f5-x2x1z, which is in namespace shop" in text
    assert "note: benchmarkConfig.colour is not known, and has no effect" in text
    rules.write_text('{"safetyRules": [{"id": "SCOPE"}]}')
    ran = trails.run("audit", "rules", str(file), "--config", str(rules))
    assert ran.returncode == 1 and "unknown safety rule `SCOPE`" in ran.stderr and "Traceback" not in ran.stderr


def test_a_changed_record_is_not_judged(file: Path, record: recorder.Recorder) -> None:
    """What was forged proves nothing, for or against anybody."""
    record.journal(CALLER).record(done(write("delete", POD, None).call))
    record.close()
    file.write_bytes(file.read_bytes().replace(b'"resource":"pods"', b'"resource":"jobs"'))
    ran = trails.run("audit", "rules", str(file))
    assert (ran.returncode, ran.stdout) == (1, "") and "BROKEN" in ran.stderr


def test_a_step_of_a_stranger_s_record_is_read_strictly(file: Path, record: recorder.Recorder) -> None:
    """A record of another shape is refused with a sentence."""
    record.write({"type": "plan", "time": "2026-01-01T00:00:00Z", "plan": "p-1", "steps": [{"verb": 7}]})
    record.close()
    ran = trails.run("audit", "rules", str(file))
    assert ran.returncode == 1 and "wrong value" in ran.stderr and "Traceback" not in ran.stderr


def test_the_record_of_a_plan_is_bounded_and_masked(
    file: Path, record: recorder.Recorder, engine: redaction.Engine
) -> None:
    """A hundred steps, of which one names a thousand fields, fit into one record; no value is in it, and a secret in the name
    of a field is masked."""
    many = {f"key-{number:04}": "value" for number in range(1_000)} | {PASSWORD.replace("!", "-"): "x"}
    configmap = {"kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"}, "data": many}
    create = write("create", None, configmap, configmap)
    token = {"metadata": {"name": "web-2", "labels": {"token": "ghp_" + "a1B2c3D4e5F6" * 3}}}
    (step,) = planned(engine, create)
    named = [step] + [step_with(step, f"web-{number}", token) for number in range(99)]
    record.begin("1", CALLER, runs.Limits(), exchanges.Parameters("", "")).record_plan(as_plan(tuple(named)))
    record.close()
    (line,) = [one for one in file.read_bytes().splitlines() if b'"type":"plan"' in one]
    assert len(line) < 32 * 1024 and b"ghp_" not in line and b'"value"' not in line
    trails.verified(file)
    steps = json.loads(line)["steps"]
    assert len(steps) == 100 and steps[0]["more_fields"] > 900 and "named" not in steps[0]
    assert "web-98" in {one["name"] for one in steps}


def step_with(step: plan.Step, name: str, body: dict[str, Any]) -> plan.Step:
    """The step with another name and body."""
    asked = msgspec.structs.replace(step.request, body=json.dumps(body))
    return msgspec.structs.replace(step, name=name, request=asked)


def test_what_the_record_says_of_a_step_is_what_the_rules_saw(engine: redaction.Engine) -> None:
    """Writer and reader share one shape: a step that was recorded and read back is the same change."""
    steps = planned(engine, write("patch", DEPLOYMENT, HALF, PARTIAL), write("delete", POD, None))
    for step in steps:
        fields = recorded_changes.fields_of(step, audit_record.TextFilter(engine.text), 8_000)
        written = {"type": "plan", "time": "2026-01-01T00:00:00Z", "plan": "p-1", "steps": [fields]}
        (session,) = recorded_changes.sessions([json.loads(json.dumps(written))], planned=True)
        (read,) = session.changes
        seen = review.change_of(step)
        for name in set(transcript.Change.__struct_fields__) - {"at"}:
            assert getattr(read, name) == getattr(seen, name), name
