"""Plans that would do something else than what they show, on a real API server: by a request whose change nobody sees, by
an object that another one takes the place of, and by options that are no field.
"""

from __future__ import annotations

import contextlib
import functools
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import app, errors, programs, types
from kubescript import config as settings
from kubescript.changes import plan, requests
from kubescript.changes.store import record
from kubescript.changes.view import plain
from kubescript.request import request
from kubescript_sandbox.host import cancellation, spawner
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19")]

NAMESPACE: Final = f"attacks-{secrets.token_hex(3)}"
DEPLOYMENT: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}, {"name": "proxy", "image": "proxy:1"}]},
        },
    },
}
CALLER: Final = types.Caller("a-session", "a client", "1", "evaluate_script")


class Plans:
    """Makes plans in a cluster, and applies them as a person's approval would."""

    def __init__(self, opened: app.Application, kubeconfig: Path) -> None:
        assert opened.operator.planning is not None
        self._app = opened
        self._approvals = opened.operator.planning.approvals
        api = official_client.connect(kubeconfig)
        self.core: Any = client.CoreV1Api(api)
        self.apps: Any = client.AppsV1Api(api)

    def answer(self, script: str) -> types.Answer:
        """What a script answers, which means the namespace of these tests by "default"."""
        script = script.replace('"default"', f'"{NAMESPACE}"')
        return anyio.run(functools.partial(self._app.operator.evaluator.evaluate, script, None, caller=CALLER))

    def get(self, plan_id: str) -> record.Record:
        """A plan, and what became of it."""
        return self._approvals.get(plan_id)

    def of(self, script: str) -> record.Record:
        """The plan that a script leaves."""
        answer = self.answer(script)
        assert answer.plan, answer.text
        return self.get(answer.plan)

    def apply(self, shown: record.Record) -> record.Record:
        """Approves and applies a plan."""
        self._approvals.decide(shown.plan.id, record.Decision("somebody", "terminal", True, shown.plan.hash))
        return self._approvals.apply(shown.plan.id, lambda _done, _count, _text: None)

    def send(self, call: request.Request) -> int:
        """Sends one request; returns the status."""
        answer = self._app.operator.contexts.default.cluster.perform(call, 30, cancellation.Cancellation())
        answer.close()
        return answer.status


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """The server for tests of plans: here it gets a default StorageClass for a while."""
    return logged.attach(run_folder, run_process).plane


@pytest.fixture(scope="module")
def plans(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plans]:
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    writer.create(DEPLOYMENT)
    file = str(tmp_path_factory.mktemp("plans") / "plans.db")
    chosen = settings.Settings.model_validate(
        {"kubeconfig": plane.kubeconfig, "writes": "plan", "plans": {"store": file, "page": False}}
    )
    source = spawner.Spawner(programs.WORKER)
    source.start()
    with contextlib.closing(source), app.opened(chosen, source) as opened:
        yield Plans(opened, plane.kubeconfig)


def own(step: plan.Step) -> dict[str, str | None]:
    """The fields that a step's request changes itself."""
    return {row.path: row.new for row in step.rows if not row.by_server}


def patch(operations: object) -> str:
    """A script that patches the Deployment."""
    return f'k8s.AppsV1Api().patch_namespaced_deployment("web", "default", {operations!r})\n1'


@pytest.mark.parametrize("place", ["-1", "+1", "01"])
def test_a_place_that_only_the_api_server_understands_hides_nothing(plans: Plans, place: str) -> None:
    """Where it takes such a place in a JSON patch, the change is one of the request's, and part of what is approved."""
    operations = [{"op": "replace", "path": f"/spec/template/spec/containers/{place}/image", "value": "evil:1"}]
    answer = plans.answer(patch(operations))
    if answer.plan:
        (step,) = plans.get(answer.plan).plan.steps
        assert own(step) == {"spec.template.spec.containers[proxy].image": '"evil:1"'}
    assert plans.of(patch([{"op": "replace", "path": "/spec/replicas", "value": 3}]))


def test_a_place_that_another_item_takes_is_not_written(plans: Plans) -> None:
    """Somebody puts another container where the patch means the second one."""
    operations = [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "proxy:2"}]
    shown = plans.of(patch(operations))
    added = {"op": "add", "path": "/spec/template/spec/containers/1", "value": {"name": "other", "image": "other:1"}}
    plans.apps.patch_namespaced_deployment("web", NAMESPACE, [added])
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "plan.changed" in ended.text
    found = plans.apps.read_namespaced_deployment("web", NAMESPACE).spec.template.spec.containers
    assert {each.name: each.image for each in found} == {"web": "web:1", "other": "other:1", "proxy": "proxy:1"}
    again = plans.of(patch(operations))
    assert plans.apply(again).state == "applied"


def test_what_an_apply_drops_is_a_change_of_its_own(plans: Plans) -> None:
    """A field that falls back to its default is not the API server's doing."""
    whole = {**DEPLOYMENT, "metadata": {"name": "applied", "namespace": NAMESPACE}}
    assert plans.apply(plans.of(f"k8s.apply({whole!r})\n1")).state == "applied"
    spec = {key: value for key, value in DEPLOYMENT["spec"].items() if key != "replicas"}
    (step,) = plans.of(f"k8s.apply({ {**whole, 'spec': spec}!r})\n1").plan.steps
    assert own(step) == {"spec.replicas": "1"}


def test_what_an_earlier_step_makes_the_api_server_add_is_not_applied(plans: Plans) -> None:
    """A default StorageClass of the plan's own would give its claim a class that nobody was shown."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    metadata = {"name": "evil", "annotations": annotations}
    made = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "x/y"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "claim", "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    shown = plans.of(f"k8s.apply({made!r})\nk8s.apply({claim!r})\n1")
    assert "spec.storageClassName" not in {row.path for row in shown.plan.steps[1].rows}
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "plan.changed" in ended.text
    assert not plans.core.list_namespaced_persistent_volume_claim(NAMESPACE).items
    again = plans.of(f"k8s.apply({claim!r})\n1")
    assert '"evil"' in {row.new for row in again.plan.steps[0].rows}
    assert plans.apply(again).state == "applied"
    client.StorageV1Api(plans.core.api_client).delete_storage_class("evil")


ADDED: Final = {
    "a Service": {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"type": "NodePort", "ports": [{"port": 80}], "selector": {"app": "web"}},
    },
    "a Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}},
    },
    "a Pod": {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "a:1"}]}},
}


@pytest.mark.parametrize("kind", ADDED)
def test_what_the_api_server_allots_anew_each_time_stops_no_plan(plans: Plans, kind: str) -> None:
    """Addresses, ports, the uid in a Job's labels and the volume of a pod are others in each dry run."""
    body = {**ADDED[kind], "metadata": {"name": "allotted", "namespace": NAMESPACE}}
    ended = plans.apply(plans.of(f"k8s.apply({body!r})\n1"))
    assert ended.state == "applied", ended.text


def test_a_version_that_the_script_has_read_stops_no_plan_that_is_as_it_was_shown(plans: Plans) -> None:
    """The plan's own earlier step, and a status, give an object a new version; another change of it stops the plan."""
    read = 'web = k8s.AppsV1Api().read_namespaced_deployment("web", "default")\n'
    replace = (
        'web.spec.revision_history_limit = {}\nk8s.AppsV1Api().replace_namespaced_deployment("web", "default", web)\n1'
    )
    shown = plans.of(read + replace.format(7))
    plans.apps.patch_namespaced_deployment_status("web", NAMESPACE, {"status": {"replicas": 1}})
    assert plans.apply(shown).state == "applied"
    shown = plans.of(read + replace.format(8))
    plans.apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": {"minReadySeconds": 9}})
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "spec.minReadySeconds" in ended.text
    assert plans.apps.read_namespaced_deployment("web", NAMESPACE).spec.min_ready_seconds == 9


def test_a_key_that_is_masked_is_in_no_reverse(plans: Plans) -> None:
    """A token as the name of a label's twin: the reverse of its change would tell it."""
    token = "ghp_" + "Xk29fQ7mZt4LwV8sYb1NcR6hJd3PgA5eUoBi"
    body = {"metadata": {"annotations": {f"example.com/{token}": "x"}}}
    plans.apps.patch_namespaced_deployment("web", NAMESPACE, body)
    script = 'k8s.AppsV1Api().patch_namespaced_deployment("web", "default", {"metadata": {"annotations": None}})\n1'
    (step,) = plans.of(script).plan.steps
    assert token not in repr(step) and step.undo is None


@pytest.mark.parametrize("verb", ["apply", "update"])
def test_what_is_made_takes_the_place_of_nothing(plans: Plans, verb: str) -> None:
    """Somebody else makes the object after the last look at it: the API server refuses ours."""
    name = f"raced-{verb}"
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {"holderIdentity": "us"},
    }
    call = _write(verb, f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}", body)
    assert plans.send(requests.guard(call, "", "")) == 201
    theirs = {**body, "spec": {"holderIdentity": "them"}}
    assert plans.send(requests.guard(replaced(call, theirs), "", "")) == 409
    # Without the precondition it would have changed; a PUT of a Lease needs one anyway.
    assert plans.send(replaced(call, theirs)) == {"apply": 200, "update": 422}[verb]


def test_who_owns_which_field_cannot_be_forged(plans: Plans) -> None:
    """No diff shows managedFields, so no write carries them."""
    before = plans.core.read_namespace(NAMESPACE).to_dict()
    forged = {"metadata": {"managedFields": [{}], "labels": {"forged": "yes"}}}
    shown = plans.of(patch(forged))
    assert "managedFields" not in (shown.plan.steps[0].request.body or "")
    for operations in (
        [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
        [{"op": "remove", "path": "/metadata/managedFields/0"}],
        [{"op": "move", "from": "/metadata/managedFields", "path": "/metadata/annotations"}],
        [{"op": "replace", "path": "/metadata", "value": {"name": "web", "managedFields": [{}]}}],
        [{"op": "replace", "path": "", "value": DEPLOYMENT}],
        [{"op": "copy", "from": "/spec/template/metadata", "path": "/metadata"}],
    ):
        answer = plans.answer(patch(operations))
        assert answer.is_error and "request.body" in answer.text, answer.text
    assert plans.apply(shown).state == "applied"
    found = plans.apps.read_namespaced_deployment("web", NAMESPACE, _preload_content=False)
    metadata = json.loads(found.data)["metadata"]
    assert metadata["labels"] == {"forged": "yes"} and metadata["managedFields"][0]["manager"]
    assert plans.core.read_namespace(NAMESPACE).to_dict() == before


@pytest.mark.parametrize("option", ["propagation_policy='Orphan'", "grace_period_seconds=0"])
def test_how_something_is_deleted_is_shown(plans: Plans, option: str) -> None:
    """An option decides what becomes of the pods, and is no field of any object."""
    shown = plans.of(f'k8s.AppsV1Api().delete_namespaced_deployment("web", "default", {option})\n1')
    (line,) = [line for line in plain.text(shown, 200).splitlines() if line.strip().startswith("request: DELETE ")]
    assert {"Orphan" in line, '"gracePeriodSeconds": 0' in line} == {True, False}


def test_a_dry_run_that_asks_in_the_wrong_place_deletes_nothing(plans: Plans) -> None:
    """An API server ignores the query of a deletion that has a body."""
    answer = plans.answer('k8s.AppsV1Api().delete_namespaced_deployment("web", "default", body={}, dry_run="All")\n1')
    assert not answer.is_error, answer.text
    assert plans.apps.read_namespaced_deployment("web", NAMESPACE).metadata.deletion_timestamp is None


def test_a_precondition_cannot_be_patched_away() -> None:
    """Whatever a JSON patch does to the version, the lock is put in last."""
    operations = [{"op": "add", "path": "/metadata/resourceVersion", "value": ""}, {"op": "remove", "path": "/spec/x"}]
    call = _write("patch", "/apis/apps/v1/namespaces/default/deployments/web", operations)
    sent = json.loads(requests.guard(call, "u", "42").body or b"")
    assert sent == [*operations, {"op": "add", "path": "/metadata/resourceVersion", "value": "42"}]


def test_an_option_that_is_no_dry_run_passes_for_none(plans: Plans) -> None:
    """`dryRun=all` looks like one, and is not what the API server compares with."""
    call = _write("update", "/apis/coordination.k8s.io/v1/namespaces/default/leases/x", {})
    for value in ("all", "ALL", "None", "true"):
        with pytest.raises(errors.RequestError) as raised:
            requests.canonical(request.Request(**{**_fields(call), "query": (("dryRun", value),)}))
        assert raised.value.code == "request.dry_run"
    assert plans.of(patch([{"op": "replace", "path": "/spec/replicas", "value": 5}]))


def _fields(call: request.Request) -> dict[str, Any]:
    return {name: getattr(call, name) for name in call.__dataclass_fields__}


def replaced(call: request.Request, body: object) -> request.Request:
    """The same write with another body."""
    return request.Request(**{**_fields(call), "body": json.dumps(body).encode()})


def _write(verb: str, path: str, body: object) -> request.Request:
    """A write of one object."""
    group, version, resource, name = path.split("/")[2], path.split("/")[3], path.split("/")[6], path.split("/")[7]
    method, content = {
        "apply": ("PATCH", "application/apply-patch+yaml"),
        "patch": ("PATCH", "application/json-patch+json"),
        "update": ("PUT", "application/json"),
    }[verb]
    return request.Request(
        method=method,
        path=path,
        query=(("fieldManager", "us"),),
        verb="update" if verb == "update" else "patch",
        is_resource=True,
        group=group,
        version=version,
        resource=resource,
        namespace=NAMESPACE,
        name=name,
        body=json.dumps(body).encode(),
        content_type=content,
        deadline=float("inf"),
    )


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)
