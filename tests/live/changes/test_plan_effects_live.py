"""What a plan says will happen to pods and endpoints, on a real API server without controllers: the tests write the
states that controllers and kubelets would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit import planned
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

RECREATE = {"strategy": {"type": "Recreate"}}
PAUSED = {"paused": True}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
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
    ):
        made.create(workload(namespace, kind, name, **spec))
    return made


@pytest.fixture(scope="module")
def plans(
    scratch: ControlPlane, writer: Writer, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[planned.Plans]:
    assert writer
    with planned.opened(scratch.kubeconfig, tmp_path_factory.mktemp("plans"), namespace) as made:
        yield made


def workload(namespace: str, kind: str, name: str, **spec: Any) -> Object:
    """A workload of three pods with the label app."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": name, "image": "web:1"}]}}
    whole = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    status: Object = {}
    if kind == "DaemonSet":
        status = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "numberReady"), 4)
        status["desiredNumberScheduled"] = 4
    else:
        whole["replicas"] = 3
    metadata = {"name": name, "namespace": namespace}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": whole}
    return {**made, "status": status} if status else made


REPLACEMENTS = {
    "deployments/web": "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
    "deployments/once": "stops all 3 pods before new ones start (Recreate)",
    "deployments/held": "no pod is replaced while it is paused",
    "statefulsets/manual": "no pod is replaced until it is deleted (OnDelete)",
    "statefulsets/parted": "replaces 1 of 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
    "daemonsets/agent": "replaces 4 pods (RollingUpdate, at most 1 unavailable meanwhile)",
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
