"""Plans whose requests look harmless, and whose effect on pods and endpoints is not, on a real API server: labels that
empty a Service, steps that do it only together, and images of strangers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from kubescript.changes import plan
from kubescript.changes.view import plain
from tests.kit import app_objects, planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"workloads-{secrets.token_hex(3)}"
RBAC: Final = "rbac.authorization.k8s.io"
TOKEN: Final = "ghp_" + "Xk29fQ7mZt4LwV8sYb1NcR6hJd3PgA5eUoBi"
READS: Final = "deployments,deployments/scale,horizontalpodautoscalers"
"""What the user may read who may read no Services."""


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """A server with a shop that runs: two workloads behind one Service."""
    plane = shared.attach("scratch", run_folder, run_process)
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for name in ("web", "more"):
        made = app_objects.workload(NAMESPACE, "Deployment", name)
        made["spec"]["template"]["metadata"]["labels"]["shop"] = "open"
        writer.create(made)
        pod = app_objects.pod(NAMESPACE, f"{name}-0", name)
        pod["metadata"]["labels"]["shop"] = "open"
        writer.create(pod)
    front = app_objects.service(NAMESPACE, "front", "web")
    front["spec"]["selector"] = {"shop": "open"}
    writer.create(front)
    return plane


@pytest.fixture(scope="module")
def plans(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[planned.Plans]:
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as made:
        yield made


def found(step: plan.Step, rule: str) -> list[str]:
    """The messages of a rule's findings on a step."""
    return [each.message for each in step.findings if each.rule == rule]


def relabel(name: str) -> str:
    """A script that gives the pods of a Deployment another label than the one by which they are selected."""
    template = {"metadata": {"labels": {"shop": "0pen"}}}
    return (
        f"k8s.appsV1().patch_namespaced_deployment({name!r}, NAMESPACE, {{'spec': {{'template': {template!r}}}}})\n1\n"
    )


def test_steps_that_empty_a_service_only_together_are_critical(plans: planned.Plans) -> None:
    """Each leaves the other's pods: one by a label that looks the same, one by the number of replicas."""
    away = "k8s.scale('deployments/more', 0, namespace=NAMESPACE)\n"
    for alone, left in ((relabel("web"), 1), (away, 1)):
        shown = plans.of(alone)
        assert not shown.critical
        assert f"endpoints of services/front: 2 → {left}" in shown.steps[0].effects
    both = plans.of(relabel("web") + away)
    assert [found(step, "writes.endpoints") for step in both.steps] == [
        [],
        ["no endpoint is left: endpoints of services/front: 1 → 0"],
    ]
    assert both.critical


ELSEWHERE: Final = {
    "another name": {"type": "ExternalName", "externalName": "evil.example"},
    "no selector": {"selector": None},
}


@pytest.mark.parametrize("spec", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_service_that_leaves_its_pods_is_critical(spec: dict[str, Any], plans: planned.Plans) -> None:
    """Its requests go to a stranger's host, or to whoever writes its endpoints."""
    (step,) = plans.steps(f"k8s.coreV1().patch_namespaced_service('front', NAMESPACE, {{'spec': {spec!r}}})\n1")
    assert found(step, "writes.endpoints") == ["no endpoint is left: endpoints of services/front: 2 → 0"]


def test_pods_that_a_service_would_take_for_its_own_are_told(plans: planned.Plans) -> None:
    """A stranger's workload with the labels of the shop gets its requests."""
    made = app_objects.workload(NAMESPACE, "Deployment", "stranger")
    made["spec"]["template"]["metadata"]["labels"]["shop"] = "open"
    (step,) = plans.steps(f"k8s.appsV1().create_namespaced_deployment(NAMESPACE, {made!r})\n1")
    assert "endpoints of services/front: 2 → 5" in step.effects
    job = {"metadata": {"name": "stranger"}, "spec": {"parallelism": 50, "completions": 40, "template": {
        "metadata": {"labels": {"shop": "open"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "web:1"}]},
    }}}  # fmt: skip
    (step,) = plans.steps(f"k8s.batchV1().create_namespaced_job(NAMESPACE, {job!r})\n1")
    assert {"starts 40 pods", "endpoints of services/front: 2 → 42"} <= set(step.effects)


def test_a_rollout_that_has_become_an_outage_is_not_sent(plane: ControlPlane, plans: planned.Plans) -> None:
    """Somebody sets Recreate after the approver has read that no pod is unavailable. The second plan says so."""
    script = "k8s.set_image('deployments/more', namespace=NAMESPACE, more='web:9')"
    shown = plans.of(script)
    assert "replaces 3 pods (RollingUpdate, none unavailable meanwhile)" in shown.steps[0].effects
    apps: Any = client.AppsV1Api(official_client.connect(plane.kubeconfig))
    recreate = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
    apps.patch_namespaced_deployment("more", NAMESPACE, recreate)
    ended = plans.apply(shown)
    outage = "stops all 3 pods before new ones start (Recreate)"
    assert ended.state == "stopped" and outage in ended.text
    again = plans.of(script)
    assert outage in again.steps[0].effects
    assert plans.apply(again).state == "applied"


IMAGES: Final = {
    "a look-alike registry": ("registry.examp1e.com/web:1", "registry registry.examp1e.com is new"),
    "lines of its own": ("web:1\n✓ no finding\n", "image web:1 ✓ no finding  has no valid name"),
    "another direction": ("web\u202e:1", "has no valid name, so its registry is unknown"),
}


@pytest.mark.parametrize(("image", "message"), IMAGES.values(), ids=IMAGES)
def test_an_image_of_a_stranger_is_a_finding_of_one_line(image: str, message: str, plans: planned.Plans) -> None:
    """Whatever its name contains."""
    shown = plans.of(f"k8s.set_image('deployments/web', namespace=NAMESPACE, web={image!r})")
    (text,) = found(shown.steps[0], "writes.new_registry")
    assert message in text and "\n" not in text
    assert plans.steps("k8s.set_image('deployments/web', namespace=NAMESPACE, web='web:2')")


def test_a_registry_is_not_lost_among_many_repositories(plans: planned.Plans) -> None:
    """Sixty containers with images of a known registry, and one of another."""
    made = app_objects.workload(NAMESPACE, "Deployment", "many")
    names = [f"a{number}:1" for number in range(60)] + ["zz.example/z:1"]
    made["spec"]["template"]["spec"]["containers"] = [
        {"name": f"c{number}", "image": image} for number, image in enumerate(names)
    ]
    (step,) = plans.steps(f"k8s.appsV1().create_namespaced_deployment(NAMESPACE, {made!r})\n1")
    assert any("registry zz.example is new" in text for text in found(step, "writes.new_registry"))
    assert len(step.effects) < 20


def test_services_that_may_not_be_read_are_a_finding(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """RBAC hides them from the server, so what a label does to them is unknown, and said."""
    writer = Writer(plane.kubeconfig)
    user = f"few-{NAMESPACE}"
    rules = [{"apiGroups": ["*"], "resources": READS.split(","), "verbs": ["*"]}]
    writer.create({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules})
    writer.create({
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": user},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    })  # fmt: skip
    folder = tmp_path_factory.mktemp("few")
    with planned.opened(plane.kubeconfig_for(user), folder, NAMESPACE) as few:
        (step,) = few.steps(relabel("web"))
    (text,) = found(step, "writes.endpoints")
    assert "services could not be read" in text and step.findings[-1].level == "critical"


def test_masked_labels_do_not_hide_an_outage(plane: ControlPlane, plans: planned.Plans) -> None:
    """A pod and a Service with a label like a token: what is masked is counted by the API server, or said."""
    writer = Writer(plane.kubeconfig)
    labels = {f"l{number}": "on" for number in range(6)}
    made = app_objects.workload(NAMESPACE, "Deployment", "labelled")
    made["spec"]["template"]["metadata"]["labels"] |= labels
    pod = app_objects.pod(NAMESPACE, "labelled-0", "labelled")
    pod["metadata"]["labels"] |= labels | {"token": TOKEN}
    services = [app_objects.service(NAMESPACE, name, "") for name in labels]
    for each, label in zip(services, labels, strict=True):
        each["spec"]["selector"] = {label: "on"}
    masked = app_objects.service(NAMESPACE, "masked", TOKEN)
    try:
        for each in (made, pod, *services, masked):
            writer.create(each)
        (step,) = plans.steps("k8s.scale('deployments/labelled', 0, namespace=NAMESPACE)")
    finally:
        for each in (masked, *services, pod, made):
            writer.delete(each, now=True)
    messages = found(step, "writes.endpoints")
    assert "services whose selector is masked were not counted: 1" in messages
    for name in labels:
        assert f"no endpoint is left: endpoints of services/{name}: 1 → 0" in messages


def test_the_approver_reads_the_effect_before_the_fields(plans: planned.Plans) -> None:
    """On a terminal, the line about endpoints comes before the label that causes it."""
    text = plain.text(plans.kept(relabel("web")), 200)
    assert 0 < text.index("endpoints of services/front: 2 → 1") < text.index("spec.template.metadata.labels")
