"""What a plan says will happen to pods and endpoints, on a real API server without controllers: the tests write the
states that controllers and kubelets would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubescript.changes import plan
from tests.kit import app_objects, planned
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

RECREATE = {"strategy": {"type": "Recreate"}}
PAUSED = {"paused": True}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
A_QUARTER = {"replicas": 10, "strategy": {"rollingUpdate": {"maxUnavailable": "25%"}}}
NO_SURGE = {"strategy": {"rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}}}
LATER = {"ordinals": {"start": 5}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 6}}}
A_THIRD = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "30%"}}}
PARTED = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}


@pytest.fixture(scope="module")
def writer(scratch: ControlPlane, namespace: str) -> Writer:
    made = Writer(scratch.kubeconfig)
    for kind, name, spec in (
        ("Deployment", "web", {}),
        ("Deployment", "once", RECREATE),
        ("Deployment", "held", PAUSED),
        ("StatefulSet", "manual", ON_DELETE),
        ("StatefulSet", "parted", PARTED),
        ("DaemonSet", "agent", {}),
        ("Deployment", "wide", A_QUARTER),
        ("Deployment", "tight", NO_SURGE),
        ("StatefulSet", "later", LATER),
        ("DaemonSet", "agents", A_THIRD),
        ("Deployment", "front", {}),
        ("Deployment", "blue", {}),
        ("Deployment", "green", {}),
    ):
        made.create(app_objects.workload(namespace, kind, name, **spec))
    for name, selected in (("front", "front"), ("colour", "blue")):
        made.create(app_objects.service(namespace, name, selected))
    for app in ("front", "blue", "green"):
        for number in range(2):
            made.create(app_objects.pod(namespace, f"{app}-{number}", app))
    made.create(app_objects.pod(namespace, "front-starting", "front", ready="False"))
    made.create(app_objects.scaler(namespace, "front"))
    made.create(app_objects.budget(namespace, "front"))
    return made


@pytest.fixture(scope="module")
def plans(
    scratch: ControlPlane, writer: Writer, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[planned.Plans]:
    assert writer
    with planned.opened(scratch.kubeconfig, tmp_path_factory.mktemp("plans"), namespace) as made:
        yield made


REPLACEMENTS = {
    "deployments/web": "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
    "deployments/once": "stops all 3 pods before new ones start (Recreate)",
    "deployments/held": "no pod is replaced while it is paused",
    "statefulsets/manual": "no pod is replaced until it is deleted (OnDelete)",
    "statefulsets/parted": "replaces 1 of 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
    "daemonsets/agent": "replaces 4 pods (RollingUpdate, at most 1 unavailable meanwhile)",
    # A Deployment rounds a percentage down, a DaemonSet up; without any spare pod, one may be missing.
    "deployments/wide": "replaces 10 pods (RollingUpdate, at most 2 unavailable meanwhile)",
    "deployments/tight": "replaces 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
    "statefulsets/later": "replaces 2 of 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
    "daemonsets/agents": "replaces 4 pods (RollingUpdate, at most 2 unavailable meanwhile)",
}


def test_a_new_template_is_told_as_what_becomes_of_the_pods(plans: planned.Plans) -> None:
    """By the strategy of each kind, and without a call beside the dry runs."""
    steps = plans.steps(
        f"for name in {list(REPLACEMENTS)}:\n"
        "    k8s.set_image(name, namespace=NAMESPACE, **{name.partition('/')[2]: 'web:2'})\n"
    )
    assert [step.effects for step in steps] == [(line,) for line in REPLACEMENTS.values()]
    assert not [finding for step in steps for finding in step.findings]


def test_what_begins_no_rollout_is_told_before_and_after(plans: planned.Plans) -> None:
    """A label of the object itself concerns no pod, and nothing is followed."""
    script = "k8s.appsV1().patch_namespaced_deployment('web', NAMESPACE, {'metadata': {'labels': {'team': 'a'}}})"
    shown = plans.of(script)
    assert [step.effects for step in shown.steps] == [("no pod is replaced",)]
    ended = plans.apply(shown)
    assert ended.state == "applied"
    assert "web: no rollout, since its pods are as before" in plans.follow(ended)


ORDER = """
core, apps = k8s.coreV1(), k8s.appsV1()
core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "settings"}, "data": {"a": "1"}})
container = {"name": "c", "image": "web:1", "envFrom": [{"configMapRef": {"name": "settings"}}]}
template = {"metadata": {"labels": {"app": "new"}}, "spec": {"containers": [container]}}
spec = {"replicas": 2, "selector": {"matchLabels": {"app": "new"}}, "template": template}
apps.create_namespaced_deployment(NAMESPACE, {"metadata": {"name": "new"}, "spec": spec})
core.create_namespaced_service(
    NAMESPACE, {"metadata": {"name": "new"}, "spec": {"selector": {"app": "new"}, "ports": [{"port": 80}]}}
)
core.create_namespaced_persistent_volume_claim(
    NAMESPACE, {"metadata": {"name": "unneeded"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
)
1
"""


def test_steps_that_others_need_say_so(plans: planned.Plans) -> None:
    """What a workload mounts or reads, and the pods behind a Service."""
    settings, new, _, unneeded = plans.steps(ORDER)
    assert settings.effects == ("change 2 needs this",)
    assert new.effects[:2] == ("starts 2 pods", "change 3 needs this")
    assert unneeded.effects == ()


def told(step: plan.Step) -> list[tuple[str, str, str]]:
    """The findings of a step."""
    return [(each.rule, each.level, each.message) for each in step.findings]


def test_a_scaling_is_told_with_its_endpoints_and_who_undoes_it(plans: planned.Plans) -> None:
    """Ready pods count before, wanted ones after; an autoscaler and a budget have their own say."""
    (down,) = plans.steps("k8s.scale('deployments/front', 2, namespace=NAMESPACE)")
    assert down.effects == (
        "stops 1 pod: 3 → 2",
        "poddisruptionbudgets/front then allows no eviction: 2 remain, 2 must be available",
    )
    assert told(down) == [
        ("writes.undone", "warning", "horizontalpodautoscalers/front undoes this: it keeps at least 3 replicas")
    ]
    (up,) = plans.steps("k8s.scale('deployments/front', 5, namespace=NAMESPACE)")
    assert up.effects == (
        "starts 2 pods: 3 → 5",
        "endpoints of services/front: 2 → 5",
        "horizontalpodautoscalers/front may change this: 3 to 5 replicas",
    )
    assert told(up) == []
    (none,) = plans.steps("k8s.scale('deployments/front', 0, namespace=NAMESPACE)")
    assert none.effects[:2] == ("stops 3 pods: 3 → 0", "endpoints of services/front: 2 → 0")
    assert ("writes.endpoints", "critical", "no endpoint is left: endpoints of services/front: 2 → 0") in told(none)


def test_a_service_is_told_with_the_pods_that_it_selects(plans: planned.Plans) -> None:
    """By each step: the earlier ones are done, and the later ones may fail."""
    select = "k8s.coreV1().patch_namespaced_service('colour', NAMESPACE, {'spec': {'selector': {'app': %r}}})\n"
    scale = "k8s.scale('deployments/green', 4, namespace=NAMESPACE)\n"
    moved, scaled = plans.steps(select % "green" + scale)
    assert moved.effects == ("endpoints of services/colour: 2 → 2",)
    assert scaled.effects == (
        "starts 1 pod: 3 → 4",
        "endpoints of services/colour: 2 → 4",
    )
    (lost,) = plans.steps(select % "gren")
    assert lost.effects == ("endpoints of services/colour: 2 → 0",)
    assert [level for _, level, _ in told(lost)] == ["critical"]


def test_pods_that_leave_a_service_by_their_labels_are_told(plans: planned.Plans) -> None:
    """A label of a pod counts at once, and one of a template when its pods are replaced."""
    (step,) = plans.steps(
        "k8s.coreV1().patch_namespaced_pod('blue-0', NAMESPACE, {'metadata': {'labels': {'app': 'held'}}})\n1"
    )
    assert step.effects == ("endpoints of services/colour: 2 → 1",)


def test_a_custom_resource_is_scaled_with_its_autoscaler(plans: planned.Plans, writer: Writer, namespace: str) -> None:
    """Whatever its field for the number of replicas is; what becomes of its pods is not known."""
    group = f"{namespace}.example"
    writer.create(app_objects.definition(group))
    metadata = {"name": "pool", "namespace": namespace}
    writer.create({"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": metadata, "spec": {"size": 3}})
    made = app_objects.scaler(namespace, "pool")
    made["spec"]["scaleTargetRef"] = {"apiVersion": f"{group}/v1", "kind": "Pool", "name": "pool"}
    writer.create(made)
    (step,) = plans.steps("k8s.scale('pools/pool', 2, namespace=NAMESPACE)")
    assert step.effects == ()
    assert told(step) == [
        ("writes.undone", "warning", "horizontalpodautoscalers/pool undoes this: it keeps at least 3 replicas")
    ]


def test_containers_of_a_custom_resource_have_images_too(plans: planned.Plans, writer: Writer, namespace: str) -> None:
    """An image of a new registry is found wherever there are containers."""
    group = f"{namespace}.example"
    writer.create(app_objects.definition(group))
    spec = {"size": 1, "template": {"spec": {"containers": [{"name": "c", "image": "quay.io/them/web:1"}]}}}
    made = {"apiVersion": f"{group}/v1", "kind": "Pool", "metadata": {"name": "other"}, "spec": spec}
    (step,) = plans.steps(f"k8s.apply({made!r}, namespace=NAMESPACE)")
    assert [(rule, message.partition(":")[0]) for rule, _, message in told(step)] == [
        ("writes.new_registry", "registry quay.io is new")
    ]


def test_two_changes_of_one_workload_count_together(plans: planned.Plans) -> None:
    """One sets the number of its pods, another their labels."""
    template = {"metadata": {"labels": {"app": "blue", "tier": "a"}}}
    scaled, labelled = plans.steps(
        "k8s.scale('deployments/blue', 5, namespace=NAMESPACE)\n"
        f"k8s.appsV1().patch_namespaced_deployment('blue', NAMESPACE, {{'spec': {{'template': {template!r}}}}})\n1"
    )
    assert "endpoints of services/colour: 2 → 5" in scaled.effects
    assert labelled.effects == ("replaces 5 pods (RollingUpdate, none unavailable meanwhile)",)


def test_a_strategy_of_the_same_plan_counts(plans: planned.Plans) -> None:
    """Its own step replaces nothing; the other one is told as it will be."""
    strategy = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
    changed, replaced = plans.steps(
        f"k8s.appsV1().patch_namespaced_deployment('green', NAMESPACE, {strategy!r})\n"
        "k8s.set_image('deployments/green', namespace=NAMESPACE, green='web:2')"
    )
    assert changed.effects == ("no pod is replaced",)
    assert replaced.effects == ("stops all 3 pods before new ones start (Recreate)",)


IMAGES = """
k8s.set_image("deployments/web", namespace=NAMESPACE, web="web:3")
k8s.set_image("deployments/once", namespace=NAMESPACE, once="other:1")
k8s.set_image("deployments/front", namespace=NAMESPACE, front="ghcr.io/them/web:1")
"""


def test_an_image_of_a_new_registry_is_a_finding(plans: planned.Plans) -> None:
    """Another tag is not worth a word, another repository a line."""
    tag, repository, registry = plans.steps(IMAGES)
    assert len(tag.effects) == 1 and not told(tag)
    assert any(line.startswith("first image of docker.io/library/other: no pod in ") for line in repository.effects)
    assert not told(repository)
    ((rule, level, message),) = told(registry)
    assert (rule, level) == ("writes.new_registry", "warning") and message.startswith("registry ghcr.io is new")
