"""Plans whose later steps hide what the earlier ones do, on a real API server. Each beginning of a plan really happens,
and stays where a later step fails, which the author of a plan can arrange.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from kubescript.changes import plan
from tests.kit import app_objects, planned
from tests.kit.controlplane import shared
from tests.kit.controlplane.writer import Object, Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"prefixes-{secrets.token_hex(3)}"
ROLLING: Final = {"strategy": {"type": "RollingUpdate"}}
RECREATE: Final = {"strategy": {"type": "Recreate", "rollingUpdate": None}}
ON_DELETE: Final = {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}
WORKLOADS: Final[tuple[tuple[str, str, Object], ...]] = (
    ("Deployment", "rolling", {}),
    ("Deployment", "once", {"strategy": {"type": "Recreate"}}),
    ("StatefulSet", "set", {}),
    ("DaemonSet", "agent", {}),
)


JOB: Final[Object] = {
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "namespace": NAMESPACE},
    "spec": {"parallelism": 5, "completions": 50, "template": {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "web:1"}]},
    }},
    "status": {"startTime": "2026-01-01T00:00:00Z"},
}  # fmt: skip
EXTERNAL: Final[Object] = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "outside", "namespace": NAMESPACE},
    "spec": {"ports": [{"port": 80}]},
}  # fmt: skip
LISTED: Final[Object] = {
    "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
    "metadata": {
        "name": "outside-1", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "outside"},
        "finalizers": ["example.com/backup"],
    },
    "addressType": "IPv4", "ports": [],
    "endpoints": [{"addresses": ["10.1.2.3"]}, {"addresses": ["10.1.2.4"], "conditions": {"ready": False}}],
}  # fmt: skip


@pytest.fixture(scope="module")
def writer(run_folder: Path, run_process: int) -> Writer:
    made = Writer(shared.attach("scratch", run_folder, run_process).kubeconfig)
    made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for kind, name, spec in WORKLOADS:
        made.create(app_objects.workload(NAMESPACE, kind, name, **spec))
    for each in (JOB, EXTERNAL, LISTED):
        made.create(each)
    dead = app_objects.pod(NAMESPACE, "dead", "dead", ready="False")
    made.create(dead)
    for app in ("agent", "web"):
        made.create(app_objects.service(NAMESPACE, app, app))
        for number in range(2):
            made.create(app_objects.pod(NAMESPACE, f"{app}-{number}", app))
    return made


@pytest.fixture(scope="module")
def plans(
    writer: Writer, run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[planned.Plans]:
    assert writer
    plane = shared.attach("scratch", run_folder, run_process)
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as made:
        yield made


def image(name: str) -> str:
    """A script that gives a workload another image."""
    own = name.partition("/")[2]
    return f"k8s.set_image({name!r}, namespace=NAMESPACE, {own}='web:2')\n"


def patch(api: str, kind: str, name: str, spec: Object) -> str:
    """A script that patches the spec of an object."""
    return f"k8s.{api}().patch_namespaced_{kind}({name!r}, NAMESPACE, {{'spec': {spec!r}}})\n1\n"


def create(api: str, made: Object) -> str:
    """A script that creates an object."""
    kind = made["kind"].lower()
    return f"k8s.{api}().create_namespaced_{kind}(NAMESPACE, {made!r})\n1\n"


def outages(steps: Sequence[plan.Step]) -> list[list[str]]:
    """What is critical about the endpoints of each step."""
    return [
        [each.message for each in step.findings if (each.rule, each.level) == ("writes.endpoints", "critical")]
        for step in steps
    ]


HIDING: Final = {
    "Recreate until the last step": (
        image("deployments/once"), patch("appsV1", "deployment", "once", ROLLING),
        "stops all 3 pods before new ones start (Recreate)",
        "the rollout of an earlier change: replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
    ),
    "Recreate in the last step": (
        image("deployments/rolling"), patch("appsV1", "deployment", "rolling", RECREATE),
        "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
        "the rollout of an earlier change: stops all 3 pods before new ones start (Recreate)",
    ),
    "paused by the last step": (
        image("deployments/rolling"), patch("appsV1", "deployment", "rolling", {"paused": True}),
        "replaces 3 pods (RollingUpdate, none unavailable meanwhile)",
        "the rollout of an earlier change: no pod is replaced while it is paused",
    ),
    "OnDelete by the last step": (
        image("statefulsets/set"), patch("appsV1", "stateful_set", "set", ON_DELETE),
        "replaces 3 pods (RollingUpdate, at most 1 unavailable meanwhile)",
        "the rollout of an earlier change: no pod is replaced until it is deleted (OnDelete)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "last", "told", "then"), HIDING.values(), ids=HIDING)
def test_a_step_is_told_as_it_is_sent(first: str, last: str, told: str, then: str, plans: planned.Plans) -> None:
    """Not as it would be after a later step, which may fail; the later one says what it does to the rollout."""
    begun, ended = plans.steps(first + last)
    assert begun.effects == (told,)
    assert ended.effects == (then,)


def test_pods_that_a_daemon_set_leaves_are_told(plans: planned.Plans) -> None:
    """A node selector stops pods at once, whatever the strategy is; how many is unknown."""
    elsewhere = {"template": {"spec": {"nodeSelector": {"none": "x"}}}}
    (step,) = plans.steps(patch("appsV1", "daemon_set", "agent", elsewhere))
    assert step.effects[0] == "stops the pods on nodes that the new template does not fit, all at once"
    assert outages([step]) == [["endpoints of services/agent: 2 → unknown, since its pods get other nodes"]]


def test_what_is_made_paused_starts_nothing(plans: planned.Plans) -> None:
    """A paused Deployment makes no pods."""
    made = app_objects.workload(NAMESPACE, "Deployment", "new", paused=True)
    (step,) = plans.steps(create("appsV1", made))
    assert step.effects == ("starts no pods while it is paused",)


AGED: Final = "stops all pods of the Job when it is as old as that (activeDeadlineSeconds)"
ENDS: Final[dict[str, tuple[Object, tuple[str, ...]]]] = {
    "suspended": ({"suspend": True}, ("stops 5 pods: 5 → 0",)),
    "without parallel pods": ({"parallelism": 0}, ("stops 5 pods: 5 → 0",)),
    "a deadline that has passed": ({"activeDeadlineSeconds": 1}, ("stops 5 pods: 5 → 0", AGED)),
    "a deadline": ({"activeDeadlineSeconds": 2_000_000_000}, (AGED,)),
    "a lifetime": (
        {"ttlSecondsAfterFinished": 0},
        ("deletes the Job and its pods that long after its end (ttlSecondsAfterFinished)",),
    ),
}


@pytest.mark.parametrize(("spec", "told"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_jobs_pods_is_told(spec: Object, told: tuple[str, ...], plans: planned.Plans) -> None:
    """Now or later, whichever field it is."""
    (step,) = plans.steps(patch("batchV1", "job", "job", spec))
    assert step.effects == told


def relabel(pod: str, labels: dict[str, str]) -> str:
    """A script that gives a pod labels."""
    return f"k8s.coreV1().patch_namespaced_pod({pod!r}, NAMESPACE, {{'metadata': {{'labels': {labels!r}}}}})\n1\n"


def relist(change: Object) -> str:
    """A script that changes a list of endpoints."""
    return f"k8s.discoveryV1().patch_namespaced_endpoint_slice('outside-1', NAMESPACE, {change!r})\n1\n"


AWAY: Final = patch("coreV1", "service", "web", {"selector": {"app": "web", "tier": "x"}})
NOTE: Final = "k8s.coreV1().create_namespaced_config_map(NAMESPACE, {'metadata': {'name': 'note'}})\n"
OUTAGES: Final = {
    "a selector whose pods come later": (
        AWAY + NOTE + relabel("web-0", {"tier": "x"}) + relabel("web-1", {"tier": "x"}),
        [["no endpoint is left: endpoints of services/web: 2 → 0"], [], [], []],
    ),
    "deletions of one pod after another": (
        NOTE + "k8s.delete('pods/web-0', namespace=NAMESPACE)\nk8s.delete('pods/web-1', namespace=NAMESPACE)\n1",
        [[], [], ["no endpoint is left: endpoints of services/web: 1 → 0"]],
    ),
    "one pod is deleted, and another one leaves": (
        relabel("web-0", {"app": "none"}) + "k8s.delete('pods/web-1', namespace=NAMESPACE)\n1",
        [[], ["no endpoint is left: endpoints of services/web: 1 → 0"]],
    ),
    "a pod that serves nothing": (
        relabel("dead", {"app": "web"}) + AWAY,
        [[], ["no endpoint is left: endpoints of services/web: 2 → 0"]],
    ),
    "pods that are not there yet": (
        create("appsV1", app_objects.workload(NAMESPACE, "Deployment", "web"))
        + "k8s.delete('pods/web-0', namespace=NAMESPACE)\nk8s.delete('pods/web-1', namespace=NAMESPACE)\n1",
        [[], [], ["no endpoint is left until new pods are ready: endpoints of services/web: 4 → 3"]],
    ),
    "a list of endpoints that is deleted": (
        "k8s.delete('endpointslices.discovery.k8s.io/outside-1', namespace=NAMESPACE)\n1",
        [["no endpoint is left: endpoints of services/outside: 1 → 0"]],
    ),
    "a list of endpoints that another Service gets": (
        relist({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
        [["no endpoint is left: endpoints of services/outside: 1 → 0"]],
    ),
    "a list of endpoints that is emptied": (
        relist({"endpoints": []}),
        [["no endpoint is left: endpoints of services/outside: 1 → 0"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("script", "found"), OUTAGES.values(), ids=OUTAGES)
def test_an_outage_is_critical_where_it_begins(script: str, found: list[list[str]], plans: planned.Plans) -> None:
    """Whatever a later step gives back, and whether pods are relabelled, deleted or only promised."""
    assert outages(plans.steps(script)) == found


def test_what_goes_with_a_list_of_endpoints_is_told(writer: Writer, plans: planned.Plans) -> None:
    """It owns a claim, and belongs to a Service. Such lists are not looked at otherwise."""
    owner = {"apiVersion": "v1", "kind": "Service", "name": "outside"}
    middle = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "name": "outside-2"}
    made = {**LISTED, "metadata": {"name": "outside-2", "namespace": NAMESPACE, "ownerReferences": [owner]}}
    writer.create(made | {"endpoints": []})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "data", "namespace": NAMESPACE, "ownerReferences": [middle]}
    writer.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim})
    (step,) = plans.steps("k8s.delete('services/outside', namespace=NAMESPACE)\n1")
    assert "takes persistentvolumeclaims data with it" in step.effects
    (listed,) = plans.steps("k8s.delete('endpointslices.discovery.k8s.io/outside-1', namespace=NAMESPACE)\n1")
    assert "stays until its finalizers (example.com/backup) are removed by their controllers" in listed.effects
