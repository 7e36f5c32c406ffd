"""k8s.apply, scale, restart, set_image, delete and evict, on a real API server: what each sends, and what it says of a
call that it is not for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit import patience, plan_mode, tools
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

READ: Final = """
apps, core = k8s.appsV1(), k8s.coreV1()
d = apps.read_namespaced_deployment('web', 'shop')
"""
CONTAINERS: Final = [{"name": "web", "image": "web:1"}, {"name": "side-car", "image": "log:1"}]
TEMPLATE: Final = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": CONTAINERS, "initContainers": [{"name": "init", "image": "init:1"}]},
}
SELECTOR: Final = {"matchLabels": {"app": "x"}}


def thing(api_version: str, kind: str, name: str, spec: Object) -> Object:
    """An object in namespace shop."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


JOB: Final = {"template": {"spec": {"containers": CONTAINERS[:1], "restartPolicy": "Never"}}}
OBJECTS: Final = (
    thing("apps/v1", "Deployment", "web", {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}),
    thing("apps/v1", "StatefulSet", "db", {"selector": SELECTOR, "template": TEMPLATE}),
    thing("apps/v1", "DaemonSet", "agent", {"selector": SELECTOR, "template": TEMPLATE}),
    thing("batch/v1", "Job", "once", JOB),
    thing("batch/v1", "CronJob", "nightly", {"schedule": "1 1 * * *", "jobTemplate": {"spec": JOB}}),
    thing("v1", "Pod", "one", {"containers": CONTAINERS[:1]}),
    thing("demo.dev/v1", "Rollout", "web", {"replicas": 2, "template": TEMPLATE}),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "shop"}, "data": {"a": "1"}},
)  # fmt: skip
OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALE: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
DEFINITION: Final = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "rollouts.demo.dev"},
    "spec": {
        "group": "demo.dev", "scope": "Namespaced", "names": {"kind": "Rollout", "plural": "rollouts"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"scale": SCALE},
            "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": OPEN, "status": OPEN},
            }},
        }],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as made:
        yield made


@pytest.fixture(scope="module")
def loaded(plane: ControlPlane) -> Path:
    """The kubeconfig of a server with one object of each kind in namespace shop."""
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    writer.create(DEFINITION)
    for each in OBJECTS:
        writer.create(each)
    _await_description(plane.kubeconfig)
    return plane.kubeconfig


def _await_description(kubeconfig: Path) -> None:
    """The API server describes a new kind some time after it serves it; nothing is tried on it before."""
    deadline = time.monotonic() + patience.scaled(60)
    while "dryRun" not in tools.typed_by_kubectl(kubeconfig, "get", "--raw", "/openapi/v3/apis/demo.dev/v1"):
        assert time.monotonic() < deadline
        time.sleep(0.5)


@pytest.fixture(scope="module")
def plan(loaded: Path) -> Iterator[plan_mode.Planner]:
    with plan_mode.planner(loaded) as made:
        yield made


def sent(plan: plan_mode.Planner) -> list[tuple[str, str, Any]]:
    """Type, path and body of what is planned."""
    requests = [step.request for step in plan.steps]
    return [
        (each.content_type.removeprefix("application/"), each.path, json.loads(each.body or "null"))
        for each in requests
    ]


MERGE, STRATEGIC = "merge-patch+json", "strategic-merge-patch+json"
DEPLOYMENT = "/apis/apps/v1/namespaces/shop/deployments/web"
SCALED = (MERGE, f"{DEPLOYMENT}/scale", {"spec": {"replicas": 3}})
SCALES = (
    "k8s.scale(d, 3)",
    "k8s.scale(d, replicas=3)",
    "k8s.scale('deployment/web', replicas=3, namespace='shop')",
    "k8s.scale('deployments/web', 3, 'shop')",
    "k8s.scale('deploy', name='web', namespace='shop', replicas=3)",
    "k8s.scale('deployments.apps/web', 3, namespace='shop')",
    "k8s.scale(apps.list_namespaced_deployment('shop')[0], 3)",
    "k8s.scale(k8s.get('deployments', 'web', 'shop'), 3)",
    "k8s.scale(k8s.get('deployments', namespace='shop')[0], 3)",
    "k8s.scale(d.to_dict() | {'kind': 'Deployment'}, 3)",
)


@pytest.mark.parametrize("call", SCALES)
def test_a_scale_is_the_smallest_patch_of_the_subresource(call: str, plan: plan_mode.Planner) -> None:
    """By an object or by a name, in the spellings of kubectl; it returns the Scale."""
    assert plan.value(f"{READ}s = {call}\n[s.kind, s.spec.replicas]") == ["Scale", 3]
    assert sent(plan) == [SCALED]


def at(*path: str, value: Any) -> Any:
    """A value at a path."""
    for key in reversed(path):
        value = {key: value}
    return value


def images(**wanted: str) -> list[dict[str, str]]:
    """What a patch has of some containers."""
    return [{"name": name, "image": image} for name, image in wanted.items()]


POD = ("spec", "template", "spec")
WEB = at(*POD, "containers", value=images(web="web:2"))
IMAGES: dict[str, tuple[str, str, str, Any]] = {
    "by container": ("k8s.set_image(d, web='web:2')", STRATEGIC, DEPLOYMENT, WEB),
    "by name": ("k8s.set_image('deployments/web', web='web:2', namespace='shop')", STRATEGIC, DEPLOYMENT, WEB),
    "a pair": ("k8s.set_image(d, 'web', 'web:2')", STRATEGIC, DEPLOYMENT, WEB),
    "a named pair": ("k8s.set_image(d, container='web', image='web:2')", STRATEGIC, DEPLOYMENT, WEB),
    "a dict": (
        "k8s.set_image(d, {'side-car': 'log:2'}, web='web:2')", STRATEGIC, DEPLOYMENT,
        at(*POD, "containers", value=[*images(web="web:2"), {"name": "side-car", "image": "log:2"}]),
    ),
    "an init container": (
        "k8s.set_image(d, init='init:2')", STRATEGIC, DEPLOYMENT, at(*POD, "initContainers", value=images(init="init:2")),
    ),
    "the only container": (
        "k8s.set_image('cronjobs/nightly', 'web:2', namespace='shop')", STRATEGIC, "/apis/batch/v1/namespaces/shop/cronjobs/nightly",
        at("spec", "jobTemplate", *POD, "containers", value=images(web="web:2")),
    ),
    "of a pod": (
        "k8s.set_image('pod/one', image='web:2', namespace='shop')", STRATEGIC, "/api/v1/namespaces/shop/pods/one",
        at("spec", "containers", value=images(web="web:2")),
    ),
    "the word of the definition": (
        "k8s.set_image('pod/one', container='web:2', namespace='shop')", STRATEGIC, "/api/v1/namespaces/shop/pods/one",
        at("spec", "containers", value=images(web="web:2")),
    ),
    "of a custom resource": (
        "k8s.set_image('rollouts.demo.dev/web', web='web:2', namespace='shop')", "json-patch+json",
        "/apis/demo.dev/v1/namespaces/shop/rollouts/web",
        [
            {"op": "test", "path": "/spec/template/spec/containers/0/name", "value": "web"},
            {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"},
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "media", "path", "body"), IMAGES.values(), ids=IMAGES)
def test_an_image_is_set_by_the_name_of_its_container(
    call: str, media: str, path: str, body: Any, plan: plan_mode.Planner
) -> None:
    """And no other container is in the patch."""
    assert plan.value(f"{READ}json.dumps({call}.to_dict()).count(':2\"')") == json.dumps(body).count(':2"')
    assert sent(plan) == [(media, path, body)]


def test_a_restart_writes_what_kubectl_writes(plan: plan_mode.Planner) -> None:
    """The annotation of the template, with the time."""
    script = "k8s.restart(d)\nk8s.rollout_restart('sts/db', namespace='shop')\nk8s.restart('ds', 'agent', 'shop').spec.template.metadata.annotations"
    told = plan.value(READ + script)
    paths = []
    for media, path, body in sent(plan):
        paths.append(path.rpartition("/shop/")[2])
        at = body["spec"]["template"]["metadata"]["annotations"].pop("kubectl.kubernetes.io/restartedAt")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at)
        assert (media, body) == (STRATEGIC, {"spec": {"template": {"metadata": {"annotations": {}}}}})
    assert paths == ["deployments/web", "statefulsets/db", "daemonsets/agent"]
    assert told.keys() == {"kubectl.kubernetes.io/restartedAt"}


DELETIONS = {
    "a name": ("k8s.delete('configmaps/m', namespace='shop')", "/api/v1/namespaces/shop/configmaps/m", {}),
    "as k8s.get": ("k8s.delete('cm', 'm', 'shop')", "/api/v1/namespaces/shop/configmaps/m", {}),
    "a custom resource": (
        "k8s.delete('rollouts.demo.dev/web', namespace='shop')", "/apis/demo.dev/v1/namespaces/shop/rollouts/web", {},
    ),
    "without a namespace": ("k8s.delete('namespaces/shop')", "/api/v1/namespaces/shop", {}),
    "what it owns first": (
        "k8s.delete('jobs/once', namespace='shop', propagation_policy='Foreground', grace_period_seconds=0)",
        "/apis/batch/v1/namespaces/shop/jobs/once", {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "path", "options"), DELETIONS.values(), ids=DELETIONS)
def test_a_deletion_takes_what_the_object_owns_as_with_kubectl(
    call: str, path: str, options: dict[str, object], plan: plan_mode.Planner
) -> None:
    """In the background, unless the script says otherwise."""
    plan.run(f"{call}\n1")
    (write,) = sent(plan)
    assert write[1] == path
    assert write[2] == {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"} | options


def test_an_object_that_was_read_is_deleted_and_no_other_of_its_name(plan: plan_mode.Planner) -> None:
    """The uid is a precondition."""
    uid = plan.value(f"{READ}k8s.delete(d)\nd.metadata.uid")
    assert sent(plan)[0][2]["preconditions"] == {"uid": uid}


@pytest.mark.parametrize(
    "call", ["pod", "'one', namespace='shop'", "'pods/one', namespace='shop'", "'pod', 'one', 'shop'"]
)
def test_a_pod_is_evicted(call: str, plan: plan_mode.Planner) -> None:
    """By itself, its name, or its kind and name."""
    plan.value(f"{READ}pod = core.read_namespaced_pod('one', 'shop')\nk8s.evict({call})\n1")
    body = {"metadata": {"name": "one", "namespace": "shop"}}
    assert sent(plan) == [("json", "/api/v1/namespaces/shop/pods/one/eviction", body)]


MANIFEST: Final = "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': '%s'}, 'data': {'a': '2'}}"


def test_a_manifest_is_applied(plan: plan_mode.Planner) -> None:
    """By the field manager kubescript, without taking fields over; of a list each in its order."""
    first, second = MANIFEST % "n', 'namespace': 'shop", MANIFEST % "o"
    script = (
        f"m = k8s.apply({first})\nmore = k8s.apply([{second}], namespace='shop', force=True)\n"
        "[m.kind, m.data['a'], [x.metadata.name for x in more]]"
    )
    assert plan.value(script) == ["ConfigMap", "2", ["o"]]
    queries = [dict(call.query) for call in plan.calls]
    assert queries == [{"fieldManager": "kubescript"}, {"fieldManager": "kubescript", "force": "true"}]
    paths = [(media, path) for media, path, _ in sent(plan)]
    assert paths == [("apply-patch+yaml", f"/api/v1/namespaces/shop/configmaps/{name}") for name in "no"]


def test_a_conflict_of_an_apply_says_how_to_take_the_field_over(plan: plan_mode.Planner) -> None:
    """The ConfigMap of the test's own writer has a value that another manager owns."""
    manifest = MANIFEST % "m', 'namespace': 'shop"
    told = plan.error(f"k8s.apply({manifest})")
    assert 'conflict with "fixture"' in told
    assert "k8s.apply(..., force=True) takes these fields over" in told
    assert plan.value(f"k8s.apply({manifest}, force=True).data['a']") == "2"


REFUSED = {
    "k8s.scale(d)": "k8s.scale takes a whole number of replicas: k8s.scale('deployments/web', 3, namespace='shop')",
    "k8s.scale(d, 1.5)": "k8s.scale takes a whole number of replicas",
    "k8s.scale('deployments', 'web', 3)": "k8s.scale takes a whole number of replicas",
    "k8s.scale('deployments', 3)": "k8s.scale: which deployments? Write k8s.scale('deployments/web', 3, namespace='shop')",
    "k8s.scale('deployments/web', 3)": "Deployment lives in a namespace: add namespace='...'",
    "k8s.scale('daemonsets/agent', 3, 'shop')": "DaemonSet shop/agent is a DaemonSet; it has one pod on each node that it selects",
    "k8s.scale('jobs/once', 3, 'shop')": "patch its spec.parallelism",
    "k8s.scale('configmaps/m', 3, 'shop')": "Deployments, StatefulSets and ReplicaSets have replicas",
    "k8s.scale(d, 3, namespace='other')": "the object is in namespace 'shop', not in 'other'",
    "k8s.scale(apps.list_namespaced_deployment('shop'), 3)": "k8s.scale takes one object with its kind and metadata.name",
    "k8s.restart('pods/one', namespace='shop')": "k8s.delete(pod): what owns it makes another",
    "k8s.restart('cronjobs/nightly', namespace='shop')": "Deployments, StatefulSets and DaemonSets can be restarted",
    "k8s.restart('rollouts.demo.dev/web', namespace='shop')": "Deployments, StatefulSets and DaemonSets can be restarted",
    "k8s.restart()": "missing 1 required positional argument: 'subject'",
    "k8s.set_image(d, wep='x')": "Deployment shop/web has no container 'wep'; it has: web, side-car, init",
    "k8s.set_image(d, 'web:2')": "which container of Deployment shop/web? It has: web, side-car, init; write k8s.set_image(",
    "k8s.set_image('pod/one', container='web', namespace='shop')": "which container of Pod shop/one? It has: web",
    "k8s.set_image(d, container='web:2')": "which container of Deployment shop/web? It has: web, side-car, init",
    "k8s.set_image(d)": "k8s.set_image takes an image for each container",
    "k8s.set_image(d, web=None)": "k8s.set_image takes an image for each container",
    "k8s.set_image('configmaps/m', web='x', namespace='shop')": "what has containers, or a template of pods, has images",
    "k8s.delete(d.metadata)": "k8s.delete takes one object with its kind and metadata.name: k8s.delete('pods/web-0', namespace='shop')",
    "k8s.delete('pods', namespace='shop')": "k8s.delete: which pods? Write k8s.delete('pods/web-0', namespace='shop')",
    "k8s.delete('pods/one', namespace='shop', cascade=True)": "has no parameter 'cascade'",
    "k8s.evict(d)": "k8s.evict: Deployment shop/web is a Deployment; only a Pod can be evicted",
    "k8s.evict('one')": "a Pod lives in a namespace",
    "k8s.apply('kind: Pod')": "k8s.apply takes a dict, or a list of dicts, for there is no YAML here",
    "k8s.apply({'kind': 'Pod'})": "k8s.apply takes a manifest with apiVersion, kind and metadata.name",
    "k8s.apply(d)": "Write a manifest of those that change, or send the object back with replace_",
    "k8s.apply({'apiVersion': 'x.y/v1', 'kind': 'Z', 'metadata': {'name': 'z'}})": "no kind with",
    "k8s.patch(d, {})": "k8s has no 'patch'; write k8s.apply(manifest), or",
    "d.scale(3)": "write k8s.scale(obj, 3)",
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_a_wrong_call_says_what_to_write(call: str, plan: plan_mode.Planner) -> None:
    """And sends no write."""
    assert REFUSED[call] in plan.error(READ + call)
    assert not plan.steps


def test_intents_and_reads_go_together(plan: plan_mode.Planner) -> None:
    """What one intent plans, the next read shows."""
    script = (
        "k8s.scale(d, 5)\nk8s.set_image(d, web='web:2')\nk8s.delete('pods/one', namespace='shop')\n"
        "now = k8s.get('deployments', 'web', 'shop')\n"
        "[now.spec.replicas, [c.image for c in now.spec.template.spec.containers], len(core.list_namespaced_pod('shop'))]"
    )
    assert plan.value(READ + script) == [5, ["web:2", "log:1"], 0]


def test_a_custom_resource_is_scaled_by_its_subresource(plan: plan_mode.Planner) -> None:
    """Its definition says whether it has one."""
    script = "k8s.scale('rollouts.demo.dev/web', 4, namespace='shop')\nk8s.get('rollouts.demo.dev', 'web', 'shop').spec.replicas"
    assert plan.value(script) == 4
    assert sent(plan) == [(MERGE, "/apis/demo.dev/v1/namespaces/shop/rollouts/web/scale", {"spec": {"replicas": 4}})]


def test_help_names_them(plan: plan_mode.Planner) -> None:
    """Where a model looks for what it does not know."""
    outcome = plan.run(
        "help(k8s)\nhelp(k8s.scale)\nhelp(k8s.rollout_restart)\n[x for x in dir(k8s) if x in ('apply', 'scale')]"
    )
    assert "k8s.scale(obj, 3)" in outcome.printed
    assert "scale(subject, replicas=None, namespace=None, *, name=None): Set the number of replicas" in outcome.printed
    assert "restart(subject, name=None, namespace=None): Replace the pods" in outcome.printed
    assert json.loads(outcome.result or b"") == ["apply", "scale"]


ELSEWHERE: Final = ("k8s.scale(d, 3)", "k8s.restart(d)", "k8s.set_image(d, web='x')", "k8s.set_image(r, web='x')")


@pytest.fixture(scope="module")
def pair(loaded: Path) -> Iterator[plan_mode.Planner]:
    """A server of two clusters."""
    with plan_mode.planner(loaded, "test", "other") as made:
        yield made


@pytest.mark.parametrize("call", ELSEWHERE)
def test_an_object_of_another_cluster_is_not_taken_for_its_namesake(call: str, pair: plan_mode.Planner) -> None:
    """Where there are several clusters, a write names the uid of the object that the script has read."""
    read = f"{READ}r = k8s.get('rollouts.demo.dev', 'web', 'shop')\n"
    told = pair.error(f"{read}d.metadata.uid = r.metadata.uid = 'that-of-another'\n{call}")
    assert "an object that was read in another cluster is changed there: k8s.context(name)" in told
    assert not pair.steps
    pair.value(f"{read}{call}\n1")
    assert len(pair.steps) == 1
