"""Plans whose meaning changes between a person's approval and each request, on a real API server: more pods go, others
go, a Service is left without endpoints, or the API server warns of what it did not warn of.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from kubescript.changes import reassessment
from tests.kit import app_objects, planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"again-{secrets.token_hex(3)}"
RECEIVE: Final = "{'spec': {'selector': {'app': 'canary'}}}"
SWITCH: Final = f"k8s.coreV1().patch_namespaced_service('front', NAMESPACE, {RECEIVE})\n1"
"""A script that sends a Service's requests to other pods."""


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    plane = shared.attach("scratch", run_folder, run_process)
    Writer(plane.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return plane


@pytest.fixture(scope="module")
def plans(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[planned.Plans]:
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as made:
        yield made


@pytest.fixture(scope="module")
def writer(plane: ControlPlane) -> Writer:
    return Writer(plane.kubeconfig)


@pytest.fixture(scope="module")
def api(plane: ControlPlane) -> Any:
    return official_client.connect(plane.kubeconfig)


WORSE: Final = {
    "of more pods": ({"replicas": 90}, "replaces 90 pods (RollingUpdate, at most 22 unavailable meanwhile)"),
    "of more pods at a time": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": 1}}},
        "replaces 1 pod (RollingUpdate, at most 1 unavailable meanwhile)",
    ),
}


@pytest.mark.parametrize("name", WORSE)
def test_a_rollout_that_has_become_one_of_more_pods_is_not_sent(
    name: str, writer: Writer, plans: planned.Plans, api: Any
) -> None:
    """Of more pods, or of more of them at a time. The second plan says so, and is applied to fewer pods too."""
    worse, line = WORSE[name]
    made = app_objects.workload(NAMESPACE, "Deployment", "web", replicas=1)
    writer.create(made)
    script = "k8s.set_image('deployments/web', namespace=NAMESPACE, web='web:2')\n1"
    shown = plans.of(script)
    assert "replaces 1 pod (RollingUpdate, none unavailable meanwhile)" in shown.steps[0].effects
    apps: Any = client.AppsV1Api(api)
    apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": worse})
    ended = plans.apply(shown)
    assert ended.state == "stopped" and line in ended.text, ended.text
    again = plans.of(script)
    assert line in again.steps[0].effects
    apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": {"replicas": 0}})
    assert plans.apply(again).state == "applied"
    writer.delete(made, now=True)


@pytest.fixture
def front(writer: Writer, api: Any) -> Iterator[Any]:
    """Pods that receive a Service's requests, and others that may; the API of both."""
    core: Any = client.CoreV1Api(api)
    made: list[Object] = [app_objects.service(NAMESPACE, "front", "stable")]
    made += [app_objects.pod(NAMESPACE, f"{app}-0", app) for app in ("stable", "canary")]
    for each in made:
        writer.create(each)
    yield core
    for each in made:
        writer.delete(each, now=True)


def end_canary(core: Any) -> None:
    """The pod that is to receive the requests is no longer ready."""
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    core.patch_namespaced_pod_status("canary-0", NAMESPACE, {"status": status})


def first(name: str) -> str:
    """A script that makes a ConfigMap, and then sends a Service's requests to other pods."""
    return f"k8s.coreV1().create_namespaced_config_map(NAMESPACE, {{'metadata': {{'name': {name!r}}}}})\n{SWITCH}"


def test_an_outage_that_appears_between_two_steps_stops_the_second(
    front: Any, plans: planned.Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan may wait for minutes until an object is gone that it replaces. Here, any time counts as that long."""
    monkeypatch.setattr(reassessment, "_OLD_S", 0.0)
    shown = plans.of(first("waits"))
    assert "endpoints of services/front: 1 → 1" in shown.steps[1].effects
    ended = plans.apply(shown, lambda done: end_canary(front) if done == 1 else None)
    assert ended.state == "stopped" and "1 of 2" in ended.text, ended.text
    assert "critical writes.endpoints: no endpoint is left: endpoints of services/front: 1 → 0" in ended.text
    assert front.read_namespaced_service("front", NAMESPACE).spec.selector == {"app": "stable"}
    again = plans.of(SWITCH)
    assert again.critical and plans.apply(again).state == "applied"


def test_the_plans_own_rollout_is_no_outage(
    front: Any, plans: planned.Plans, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new pods count as ready when the Service that is to select them is judged again, although none is there."""
    monkeypatch.setattr(reassessment, "_OLD_S", 0.0)
    writer.create(app_objects.workload(NAMESPACE, "Deployment", "stable"))
    labels = {"metadata": {"labels": {"track": "new"}}}
    relabel = f"k8s.appsV1().patch_namespaced_deployment('stable', NAMESPACE, {{'spec': {{'template': {labels}}}}})\n"
    select = "k8s.coreV1().patch_namespaced_service('front', NAMESPACE, {'spec': {'selector': {'track': 'new'}}})\n1"
    shown = plans.of(relabel + select)
    assert "endpoints of services/front: 1 → 3" in shown.steps[0].effects
    assert "endpoints of services/front: 3 → 3" in shown.steps[1].effects
    assert plans.apply(shown).state == "applied"
    assert front.read_namespaced_service("front", NAMESPACE).spec.selector == {"app": "stable", "track": "new"}


def test_what_a_dead_server_has_left_is_judged_again(front: Any, plans: planned.Plans) -> None:
    """The server that goes on with a plan looks first at what its rest means by then; what was shown is no surprise."""
    for name, state in (("left", "stopped"), ("known", "applied")):
        shown = plans.of(first(name))
        metadata = {"metadata": {"name": name}}
        made = front.create_namespaced_config_map(NAMESPACE, metadata, field_manager=shown.manager)
        end_canary(front)
        ended = plans.take_over(shown, made.metadata.uid)
        assert ended.state == state, ended.text
        switched = front.read_namespaced_service("front", NAMESPACE).spec.selector == {"app": "canary"}
        assert switched == (state == "applied")
        assert switched or "critical writes.endpoints: no endpoint is left" in ended.text


def test_a_claim_does_not_go_in_the_place_of_another(writer: Writer, plans: planned.Plans, api: Any) -> None:
    """Its data is its own, also where a controller has made it."""
    core: Any = client.CoreV1Api(api)
    metadata = {"name": "release", "namespace": NAMESPACE}
    writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    writer.create(claim("scratch-cache"))
    script = "k8s.delete('configmaps/release', namespace=NAMESPACE)\n1"
    shown = plans.of(script)
    assert "takes persistentvolumeclaims scratch-cache with it" in shown.steps[0].effects
    assert [each.message for each in shown.critical] == ["takes persistentvolumeclaims with it, and their data"]
    core.patch_namespaced_persistent_volume_claim("scratch-cache", NAMESPACE, {"metadata": {"ownerReferences": None}})
    writer.create(claim("orders-database"))
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "takes persistentvolumeclaims (others than were shown)" in ended.text, (
        ended.text
    )
    again = plans.of(script)
    assert "takes persistentvolumeclaims orders-database with it" in again.steps[0].effects
    assert plans.apply(again).state == "applied"


def claim(name: str) -> Object:
    """A claim of a volume, which a controller has made."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "release", "controller": True}
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_a_warning_of_the_api_server_that_was_not_shown_stops_a_plan(plans: planned.Plans, api: Any) -> None:
    """The namespace wants other pods by then. A new plan shows the warning."""
    core: Any = client.CoreV1Api(api)
    made = app_objects.workload(NAMESPACE, "Deployment", "warned")
    script = f"k8s.appsV1().create_namespaced_deployment(NAMESPACE, {made!r})\n1"
    shown = plans.of(script)
    wanted = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    core.patch_namespace(NAMESPACE, wanted)
    try:
        ended = plans.apply(shown)
        assert ended.state == "stopped" and "would violate PodSecurity" in ended.text, ended.text
        again = plans.of(script)
        assert again.steps[0].warnings and plans.apply(again).state == "applied"
    finally:
        core.patch_namespace(NAMESPACE, {"metadata": {"labels": {"pod-security.kubernetes.io/warn": None}}})


def test_endpoints_that_have_become_fewer_stop_a_scaling(writer: Writer, plans: planned.Plans, api: Any) -> None:
    """Others of the same Service are gone, so that it leaves less than was shown; or more are there, and it does not."""
    core: Any = client.CoreV1Api(api)
    made: list[Object] = [app_objects.workload(NAMESPACE, "Deployment", "few", replicas=2)]
    made += [app_objects.pod(NAMESPACE, f"few-{number}", "few") for number in range(2)]
    for each in made:
        each["metadata"]["labels"] = {"shop": "open", "app": "few"}
    made[0]["spec"]["template"]["metadata"]["labels"]["shop"] = "open"
    made[0]["spec"]["selector"] = {"matchLabels": {"app": "few"}}
    service = app_objects.service(NAMESPACE, "shop", "few")
    service["spec"]["selector"] = {"shop": "open"}
    other = app_objects.pod(NAMESPACE, "other", "other")
    other["metadata"]["labels"]["shop"] = "open"
    for each in (*made, service, other):
        writer.create(each)
    script = "k8s.scale('deployments/few', 1, namespace=NAMESPACE)\n1"
    shown = plans.of(script)
    assert "endpoints of services/shop: 3 → 2" in shown.steps[0].effects
    core.delete_namespaced_pod("other", NAMESPACE, grace_period_seconds=0)
    ended = plans.apply(shown)
    assert ended.state == "stopped" and "endpoints of services/shop: 2 → 1" in ended.text, ended.text
    again = plans.of(script)
    writer.create(other)
    assert plans.apply(again).state == "applied"


def test_what_acts_on_a_scaling_stops_it_when_it_appears(writer: Writer, plans: planned.Plans) -> None:
    """An autoscaler that goes on from it, and a budget that it leaves without room. A plan may make one itself."""
    writer.create(app_objects.workload(NAMESPACE, "Deployment", "scaled", replicas=5))
    script = "k8s.scale('deployments/scaled', 3, namespace=NAMESPACE)\n1"
    shown = plans.of(script)
    for made in (app_objects.scaler(NAMESPACE, "scaled"), app_objects.budget(NAMESPACE, "scaled")):
        if made["kind"] == "PodDisruptionBudget":
            made["spec"]["minAvailable"] = 3
        writer.create(made)
        ended = plans.apply(shown)
        assert ended.state == "stopped", ended.text
        assert "may change this (1)" in ended.text or "then allows no eviction (1)" in ended.text, ended.text
        shown = plans.of(script)
    assert plans.apply(shown).state == "applied"


def test_a_scaling_that_deletes_claims_by_now_is_not_sent(writer: Writer, plans: planned.Plans, api: Any) -> None:
    """The StatefulSet's policy is another one by then. The new plan says that data is lost, also where it changes the
    policy itself."""
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": storage}]
    writer.create(app_objects.workload(NAMESPACE, "StatefulSet", "db", volumeClaimTemplates=claims))
    scale = "k8s.scale('statefulsets/db', 1, namespace=NAMESPACE)\n1"
    policy = {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}}
    lost = "deletes the claims of 2 pods (persistentVolumeClaimRetentionPolicy.whenScaled), and their data"
    shown = plans.of(scale)
    assert not shown.critical
    both = plans.of(f"k8s.appsV1().patch_namespaced_stateful_set('db', NAMESPACE, {policy!r})\n{scale}")
    assert [each.message for each in both.critical] == [lost]
    apps: Any = client.AppsV1Api(api)
    apps.patch_namespaced_stateful_set("db", NAMESPACE, policy)
    ended = plans.apply(shown)
    assert ended.state == "stopped" and f"critical writes.claims: {lost}" in ended.text, ended.text
    renamed = "k8s.appsV1().patch_namespaced_stateful_set('db', NAMESPACE, {'spec': {'ordinals': {'start': 2}}})\n1"
    (step,) = plans.of(renamed).steps
    assert {"starts 2 pods: 3 → 3", "stops 2 pods: 3 → 3"} <= set(step.effects)
    assert [each.message for each in step.findings if each.level == "critical"] == [lost]
    again = plans.of(scale)
    assert [each.message for each in again.critical] == [lost] and plans.apply(again).state == "applied"
