"""Plans that keep a finding or a rule from what it is about, on a real API server: by a harmless step beside it, by the
number of what is looked at, or by a new object in the place of another one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from kubescript.changes import plan
from tests.kit import app_objects, planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"findings-{secrets.token_hex(3)}"
OTHERS: Final = [f"{NAMESPACE}-{number}" for number in range(3)]
SHORTCUT: Final = "NO_DESTRUCTIVE_SHORTCUTS"
TARGETS: Final = "track!=canary"


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """A server with a Service and its pods, a Job, and namespaces with a ConfigMap each."""
    plane = shared.attach("scratch", run_folder, run_process)
    writer = Writer(plane.kubeconfig)
    for name in (NAMESPACE, *OTHERS):
        writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        writer.create(config_map(name, "settings"))
    pod = app_objects.pod(NAMESPACE, "web-0", "web")
    pod["spec"]["volumes"] = [{"name": "settings", "configMap": {"name": "settings"}}]
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "web:1"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "import", "namespace": NAMESPACE}}
    status = {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
    writer.create(pod)
    writer.create(app_objects.workload(NAMESPACE, "Deployment", "web"))
    writer.create(app_objects.service(NAMESPACE, "web", "web"))
    writer.create(job | {"spec": {"template": template}, "status": status})
    return plane


@pytest.fixture(scope="module")
def plans(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[planned.Plans]:
    """A server whose scripts may make few calls, and change only some objects."""
    given = {"limits": {"memory_mib": 256, "api_calls": 60}, "write_policy": {"targets": TARGETS}}
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE, **given) as made:
        yield made


def config_map(namespace: str, name: str) -> dict[str, Any]:
    """A ConfigMap with one key."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def levels(step: plan.Step, rule: str) -> list[str]:
    """The levels of a rule's findings on a step."""
    return [each.level for each in step.findings if each.rule == rule]


DELETE_BOTH: Final = (
    "k8s.delete('jobs.batch/import', namespace=NAMESPACE)\nk8s.delete('pods/web-0', namespace=NAMESPACE)\n1"
)
PATCH: Final = "k8s.coreV1().patch_namespaced_config_map('settings', NAMESPACE, {})\n"
BESIDE: Final = {
    "a new ConfigMap": "k8s.coreV1().create_namespaced_config_map(NAMESPACE, {'metadata': {'name': 'note'}})\n",
    "a new policy": (
        "k8s.networkingV1().create_namespaced_network_policy(NAMESPACE, {'metadata': {'name': 'note'}, "
        "'spec': {'podSelector': {}}})\n"
    ),
    "a label": PATCH.format({"metadata": {"labels": {"a": "b"}}}),
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_a_step_beside_a_deletion_does_not_excuse_it(beside: str, plans: planned.Plans) -> None:
    """Whether it makes an object, or gives a label to one that the pod mounts."""
    *_, job, pod = plans.steps(beside + DELETE_BOTH)
    assert levels(job, SHORTCUT) == levels(pod, SHORTCUT) == ["critical"]


def test_a_change_of_what_a_pod_mounts_excuses_its_deletion(plans: planned.Plans) -> None:
    """But not that of a Job, which does not mount it."""
    *_, job, pod = plans.steps(PATCH.format({"data": {"a": "2"}}) + DELETE_BOTH)
    assert levels(job, SHORTCUT) == ["critical"] and not levels(pod, SHORTCUT)


def test_deletions_elsewhere_do_not_hide_an_outage(plans: planned.Plans) -> None:
    """Together they need more calls than one look may make; each namespace is looked at by itself."""
    script = "".join(f"k8s.delete('configmaps/settings', namespace={name!r})\n" for name in OTHERS)
    *others, outage = plans.steps(f"{script}k8s.scale('deployments/web', 0, namespace=NAMESPACE)\n1")
    assert levels(outage, "writes.endpoints") == ["critical"]
    assert not any(levels(step, "writes.effects") for step in others)


def test_effects_that_cannot_be_found_out_are_critical(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An approver has to say why such a plan is applied."""
    given = {"limits": {"memory_mib": 256, "api_calls": 10}}
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("few"), NAMESPACE, **given) as few:
        (step,) = few.steps("k8s.delete('configmaps/settings', namespace=NAMESPACE)\n1")
    assert levels(step, "writes.effects") == ["critical"]


def test_no_replacement_leaves_the_targets(plans: planned.Plans) -> None:
    """Neither a change nor a new object of the same name gets a label that the rule excludes; one without it does."""
    made = config_map(NAMESPACE, "settings")
    replace = "k8s.delete('configmaps/settings', namespace=NAMESPACE)\nk8s.apply({})\n1"
    labelled = made | {"metadata": made["metadata"] | {"labels": {"track": "canary"}}}
    refused = plans.answer(replace.format(labelled))
    assert refused.is_error and "writes.targets" in refused.text
    assert len(plans.steps(replace.format(made))) == 2


def test_every_manager_that_loses_a_field_is_named(plane: ControlPlane, plans: planned.Plans) -> None:
    """Thirty of them; and more than a person can read are too many."""
    core: Any = client.CoreV1Api(official_client.connect(plane.kubeconfig))
    own = config_map(NAMESPACE, "shared")

    def own_by(first: int, last: int) -> None:
        for number in range(first, last):
            core.patch_namespaced_config_map(
                "shared", NAMESPACE, own, field_manager=f"team-{number}", force=True,
                _content_type="application/apply-patch+yaml",
            )  # fmt: skip

    script = f"k8s.apply({json.dumps(own | {'data': {'a': '2'}})}, force=True)\n1"
    own_by(0, 30)
    (step,) = plans.steps(script)
    named = [each.message.split(":")[0] for each in step.findings if each.rule == "writes.force"]
    assert sorted(named) == sorted(f"takes 1 field from the manager team-{number}" for number in range(30))
    own_by(30, 101)
    refused = plans.answer(script)
    assert refused.is_error and "more than 100 managers" in refused.text
