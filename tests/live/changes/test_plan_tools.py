"""What the host runs about plans, as scripts, on a real API server without controllers: the tests write the states that
controllers and kubelets would."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from kubescript import contexts
from kubescript.broker import operation
from kubescript.changes import impact
from kubescript.changes import plan as kept_plan
from kubescript_sandbox import runs
from tests.kit import patience, plan_mode
from tests.kit.controlplane import rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

RBAC: Final = "rbac.authorization.k8s.io"


def thing(api_version: str, kind: str, name: str, owner: Object | None = None, **more: Any) -> Object:
    """An object in namespace shop."""
    metadata: Object = {"name": name, "namespace": "shop", "labels": more.pop("labels", {})}
    if owner is not None:
        own = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        metadata["ownerReferences"] = [own]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def workload(kind: str, name: str, owner: Object | None = None, **more: Any) -> Object:
    """A workload whose pods have the label app."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    if kind != "DaemonSet":
        spec["replicas"] = 3
    return thing("apps/v1", kind, name, owner, spec=spec, **more)


def pod(name: str, app: str, owner: Object | None = None, *, ready: bool = True, **status: Any) -> Object:
    """A pod with the label app."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    state = {"phase": "Running", "conditions": [condition], **status}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return thing("v1", "Pod", name, owner, labels={"app": app}, spec=spec, status=state)


def slice_of(service: str, *pods: str) -> Object:
    """The EndpointSlice of a Service."""
    endpoints = [
        {"addresses": [f"10.0.0.{n}"], "conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": each}}
        for n, each in enumerate(pods, 1)
    ]
    labels = {"kubernetes.io/service-name": service}
    more: Object = {"addressType": "IPv4", "endpoints": endpoints, "ports": []}
    return thing("discovery.k8s.io/v1", "EndpointSlice", service, labels=labels, **more)


WEB: Final = workload("Deployment", "web")
SET: Final = workload("ReplicaSet", "web-1", WEB)
API: Final = workload("Deployment", "api")
NIGHTLY_JOB: Final = {
    "template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}},
}  # fmt: skip
NIGHTLY: Final = thing(
    "batch/v1", "CronJob", "nightly", spec={"schedule": "1 1 * * *", "jobTemplate": {"spec": NIGHTLY_JOB}}
)
OBJECTS: Final = (
    WEB, SET, API, NIGHTLY,
    *(pod(f"web-1-{n}", "web", SET) for n in range(7)),
    thing("batch/v1", "Job", "nightly-1", NIGHTLY, spec=NIGHTLY_JOB),
    *(pod(f"solo-{n}", "solo") for n in range(2)),
    pod("ill", "ill", ready=False),
    *(thing("v1", "Service", name, spec={"ports": [{"port": 80}]}) for name in ("web", "solo", "one", "mixed")),
    slice_of("web", *(f"web-1-{n}" for n in range(7))),
    slice_of("solo", "solo-0", "solo-1"),
    slice_of("one", "solo-1"),
    slice_of("mixed", "solo-0", "web-1-0"),
    *(
        thing("policy/v1", "PodDisruptionBudget", name, spec={"selector": {"matchLabels": {"app": name}}, "minAvailable": 1},
            status={"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2})
        for name, allowed in (("web", 2), ("solo", 1), ("ill", 0))
    ),
    thing("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec={
        "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    }),
)  # fmt: skip


OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.shop.dev"},
    "spec": {
        "group": "shop.dev", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
    },
}  # fmt: skip
WIDGET: Final = thing("shop.dev/v1", "Widget", "whole")
CUSTOM: Final = (
    DEFINITION, WIDGET,
    thing("shop.dev/v1", "Widget", "part", WIDGET),
    thing("v1", "ConfigMap", "of-part", thing("shop.dev/v1", "Widget", "part")),
)  # fmt: skip
ON_NODE: Final = {**pod("on-node", "x"), "spec": {"nodeName": "node-shop", "containers": [{"name": "c", "image": "i"}]}}


@dataclass(frozen=True)
class Shop:
    """Writes objects of namespace `shop` to that of the module."""

    writer: Writer
    namespace: str

    def create(self, body: Object) -> None:
        self.writer.create(plan_mode.placed(body, self.namespace))

    def write_status(self, body: Object, status: Object) -> None:
        self.writer.write_status(plan_mode.placed(body, self.namespace), status)

    def delete(self, body: Object) -> None:
        self.writer.delete(plan_mode.placed(body, self.namespace), now=True)


@pytest.fixture(scope="module")
def shop(scratch: ControlPlane, namespace: str) -> Shop:
    made = Shop(Writer(scratch.kubeconfig), namespace)
    for each in (*OBJECTS, *CUSTOM, ON_NODE):
        made.create(each)
    return made


@pytest.fixture(scope="module")
def plan(scratch: ControlPlane, shop: Shop) -> Iterator[plan_mode.Planner]:
    with plan_mode.planner(scratch.kubeconfig, namespace=shop.namespace) as made:
        yield made


def target(name: str, namespace: str = "shop") -> dict[str, Any]:
    """A target of a plan, by `deployments.apps/web`."""
    resource, _, own = name.partition("/")
    plural, _, group = resource.partition(".")
    version = "v2" if group == "autoscaling" else "v1"
    change: dict[str, Any] = {"group": group, "version": version, "resource": plural}
    change |= {"namespace": namespace, "name": own}
    change |= {"subresource": "", "uid": "", "verb": "delete", "kind": "", "orphans": False}
    return change | {"pods": None, "new_pods": None, "images": [], "new_images": []}


UIDS: Final = """
def find(name):
    try:
        return k8s.get(name, namespace={namespace!r} or None).metadata.uid
    except ApiException:
        return ""
[find(name) for name in {names!r}]
"""


def dependents(plan: plan_mode.Planner, *names: str, namespace: str = "shop") -> Any:
    """What the host is told of the deletions of these objects, without their age."""
    return told(plan, targets_of(plan, *names, namespace=namespace))


def targets_of(plan: plan_mode.Planner, *names: str, namespace: str = "shop") -> list[dict[str, Any]]:
    """Targets of a plan with their uids, where they exist."""
    uids = plan.value(UIDS.format(names=names, namespace=namespace))
    return [target(name, namespace) | {"uid": uid} for name, uid in zip(names, uids, strict=True)]


def told(plan: plan_mode.Planner, targets: list[dict[str, Any]]) -> Any:
    """What the host is told of the deletions of these targets, without their age."""
    answers = plan.value(f"k8s.tools.plan_effects(changes={targets!r})")
    return [[line for line in each["effects"] if not line.startswith("created ")] for each in answers]


DEPENDENTS = {
    "a Deployment": (
        ["deployments.apps/web"],
        [[
            "takes replicasets.apps web-1 with it",
            "takes 7 pods (web-1-0, web-1-1, web-1-2, web-1-3, web-1-4, …) with it",
            "violates poddisruptionbudget web: 7 of its pods go, it allows 2, and it stops no deletion",
            "leaves horizontalpodautoscaler web without what it scales",
            "endpoints of services/mixed: 2 → 1",
            "endpoints of services/web: 7 → 0",
        ]],
    ),
    "a CronJob": (["cronjobs.batch/nightly"], [["takes jobs.batch nightly-1 with it"]]),
    "a custom resource": (
        ["widgets.shop.dev/whole"],
        [["takes widgets.shop.dev part with it", "takes configmaps of-part with it"]],
    ),
    "nothing": (["deployments.apps/api", "configmaps/none"], [[], []]),
    "one of two pods": (["pods/solo-0"], [["endpoints of services/mixed: 2 → 1", "endpoints of services/solo: 2 → 1"]]),
    "a last pod": (["pods/solo-1"], [["endpoints of services/one: 1 → 0", "endpoints of services/solo: 2 → 1"]]),
    "two pods together": (
        ["pods/solo-0", "deployments.apps/api", "pods/solo-1"],
        [
            [
                "violates poddisruptionbudget solo: 2 of its pods go, it allows 1, and it stops no deletion",
                "endpoints of services/mixed: 2 → 1",
                "endpoints of services/solo: 2 → 1",
            ],
            [],
            [
                "violates poddisruptionbudget solo: 2 of its pods go, it allows 1, and it stops no deletion",
                "endpoints of services/one: 1 → 0",
                "endpoints of services/solo: 1 → 0",
            ],
        ],
    ),
    "a pod that is not healthy": (["pods/ill"], [[]]),
    "what would be missed goes too": (
        ["deployments.apps/web", "services/web", "horizontalpodautoscalers.autoscaling/web"],
        [
            [
                "takes replicasets.apps web-1 with it",
                "takes 7 pods (web-1-0, web-1-1, web-1-2, web-1-3, web-1-4, …) with it",
                "violates poddisruptionbudget web: 7 of its pods go, it allows 2, and it stops no deletion",
                "endpoints of services/mixed: 2 → 1",
                "endpoints of services/web: 7 → 0",
            ],
            [],
            [],
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("names", "lines"), DEPENDENTS.values(), ids=DEPENDENTS)
def test_a_deletion_is_told_with_all_that_goes(names: list[str], lines: Any, plan: plan_mode.Planner) -> None:
    """What is owned, at any depth, and what is left without."""
    assert dependents(plan, *names) == lines


def test_a_namespace_is_read_once(plan: plan_mode.Planner) -> None:
    """However many of its objects are deleted."""
    dependents(plan, "pods/solo-0")
    once = len(plan.calls)
    dependents(plan, "pods/solo-0", "pods/solo-1", "deployments.apps/web", "deployments.apps/api")
    assert len(plan.calls) == once < 45


def assess(answer: object, *names: str) -> tuple[kept_plan.Step, ...]:
    """What the host makes of an answer about deletions of these pods."""
    outcome = runs.Outcome(result=json.dumps(answer).encode())
    gone = kept_plan.Request("DELETE", "/api/v1/namespaces/shop/pods/a")
    steps = [kept_plan.Step(gone, "delete", "", "v1", "pods", "", "shop", name) for name in names]
    assessor = impact.Assessor(
        lambda _script, _operation, _clusters: (outcome, str),
        "",
        contexts.Contexts({}),
        lambda steps: [()] * len(steps),
    )
    return assessor.assess(steps, operation.Operation())


def test_what_is_cut_off_is_counted() -> None:
    """An approver must not take the first lines for all of them."""
    lines = ["x" * 500, *map(str, range(34))]
    first, second = assess([{"effects": lines, "findings": []}, {"effects": ["one"], "findings": []}], "a", "b")
    assert first.effects[0] == "x" * 400 + " …" and first.effects[29:] == ("28", "… and 5 more")
    assert second.effects == ("one",)


USED: Final = {"rule": "writes.used", "level": "warning", "message": "mounted by deployments.apps/web"}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        [{"effects": ["one"], "findings": []}] * 2,
        [{"effects": "one", "findings": []}],
        [{"effects": [], "findings": [], "more": 1}],
        [{"effects": [], "findings": [USED | {"level": "none"}]}],
        [{"effects": [], "findings": [USED | {"rule": "NO_DESTRUCTIVE_SHORTCUTS"}]}],
        [{"effects": [], "findings": [], "affected": [{"what": "takes pods", "count": "1"}]}],
    ],
)
def test_an_answer_of_another_form_is_a_finding(answer: object) -> None:
    """It comes from a process that reads hostile objects, so nothing of it is taken."""
    (step,) = assess(answer, "a")
    assert not step.effects and not step.affected
    assert [(each.rule, each.level) for each in step.findings] == [("writes.effects", "critical")]
    (step,) = assess([{"effects": [], "findings": [USED]}], "a")
    assert [each.message for each in step.findings] == [USED["message"]]


def test_objects_of_the_cluster(plan: plan_mode.Planner) -> None:
    """A namespace takes all that is in it; a node its pods; a definition its objects; what else they own is not known."""
    definition = f"customresourcedefinitions.apiextensions.k8s.io/{DEFINITION['metadata']['name']}"
    names = ("namespaces/shop", "nodes/node-shop", "nodes/none", definition)
    shop, *others = dependents(plan, *names, namespace="")
    assert "takes 11 pods (ill, on-node, solo-0, solo-1, web-1-0, …) with it" in shop
    assert "takes 2 widgets.shop.dev (part, whole) with it" in shop
    unknown = "not looked at: what names it as its owner, in any namespace"
    assert unknown in shop
    taken = [
        ["takes pods shop/on-node with it", unknown],
        [unknown],
        ["takes 2 widgets.shop.dev (shop/part, shop/whole) with it", unknown],
    ]
    assert others == taken


def test_what_could_not_be_read_is_said(scratch: ControlPlane, shop: Shop, plan: plan_mode.Planner) -> None:
    """RBAC lets this user read pods alone."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    shop.create({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "few-shop"}, "rules": rules})
    shop.create({
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "few-shop"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "few-shop"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "few-shop"}],
    })  # fmt: skip
    kubeconfig = scratch.kubeconfig_for(f"few-{shop.namespace}")
    rights.wait(scratch.kubeconfig, f"few-{shop.namespace}", "list", "pods", namespace=shop.namespace)
    targets = targets_of(plan, "replicasets.apps/web-1")
    with plan_mode.planner(kubeconfig, namespace=shop.namespace) as few:
        (lines,) = told(few, targets)
    assert lines[0] == "takes 7 pods (web-1-0, web-1-1, web-1-2, web-1-3, web-1-4, …) with it"
    assert lines[1].startswith("not looked at: configmaps (403), limitranges (403), ") and " more" in lines[1]


# --- rollouts ---


READY: Final = {
    "replicas": 3,
    "updatedReplicas": 3,
    "readyReplicas": 3,
    "availableReplicas": 3,
    "observedGeneration": 9,
}
SOME: Final = {**READY, "readyReplicas": 1, "availableReplicas": 1}
DAEMONS: Final = {
    "currentNumberScheduled": 2, "numberMisscheduled": 0, "desiredNumberScheduled": 2, "numberReady": 2,
    "numberAvailable": 2, "updatedNumberScheduled": 2, "observedGeneration": 9,
}  # fmt: skip
STUCK: Final = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
QUOTA: Final = {
    "type": "ReplicaFailure",
    "status": "True",
    "message": "exceeded quota: small",
    "reason": "FailedCreate",
}
PULL: Final = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "i"'}}
CONTAINER: Final = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
UNSCHEDULED: Final = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}


def event(name: str, kind: str, about: str, message: str) -> Object:
    """A warning about an object."""
    seen: Object = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}
    involved = {"kind": kind, "namespace": "shop", "name": about}
    return thing(
        "v1", "Event", name, involvedObject=involved, reason="Unhealthy", message=message, type="Warning", **seen
    )


STATES: dict[str, tuple[Object, list[Object], str]] = {
    "ready": (workload("Deployment", "a", status=READY), [], "deployments.apps shop/a: ready, 3 of 3"),
    "no image": (
        workload("StatefulSet", "b", status=SOME),
        [pod("b-0", "b"), pod("b-1", "b", ready=False, containerStatuses=[CONTAINER | {"state": PULL}])],
        'statefulsets.apps shop/b: 1 of 3 ready; pod b-1: ImagePullBackOff: Back-off pulling image "i"',
    ),
    "no node": (
        workload("Deployment", "c", status=SOME),
        [pod("c-0", "c", phase="Pending", conditions=[UNSCHEDULED])],
        "deployments.apps shop/c: 1 of 3 ready; pod c-0: Unschedulable: 0/1 nodes",
    ),
    "stuck": (
        workload("Deployment", "d", status={**SOME, "conditions": [STUCK, QUOTA]}),
        [],
        "deployments.apps shop/d: 1 of 3 ready; its progress deadline is over; exceeded quota: small",
    ),
    "not ready, by an event": (
        workload("StatefulSet", "e", status=SOME),
        [pod("e-0", "e", ready=False), event("e", "Pod", "e-0", "Readiness probe failed")],
        "statefulsets.apps shop/e: 1 of 3 ready; pod e-0: Running: Unhealthy: Readiness probe failed",
    ),
    "no pods, by an event": (
        workload("DaemonSet", "f", status={**DAEMONS, "numberReady": 0, "numberAvailable": 0}),
        [event("f", "DaemonSet", "f", "forbidden: no")],
        "daemonsets.apps shop/f: 0 of 2 ready; Unhealthy: forbidden: no",
    ),
    "many pods": (
        workload("StatefulSet", "g", status=SOME),
        [pod(f"g-{n}", "g", ready=False, reason="Evicted") for n in range(5)],
        "statefulsets.apps shop/g: 1 of 3 ready; "
        + "".join(f"pod g-{n}: Evicted; " for n in range(3)) + "2 more pods are not ready",
    ),
    "daemons are ready": (workload("DaemonSet", "h", status=DAEMONS), [], "daemonsets.apps shop/h: ready, 2 of 2"),
    "not seen by the controller": (
        workload("StatefulSet", "i", status={**READY, "observedGeneration": 0}),
        [],
        "statefulsets.apps shop/i: 3 of 3 ready",
    ),
}  # fmt: skip


def rollouts(plan: plan_mode.Planner, *names: str, timeout: float = 0, change: str = "other") -> Any:
    """What the host is told of these workloads and Services."""
    targets = [target(name) | {"change": change} for name in names]
    return plan.value(f"k8s.tools.plan_rollouts(targets={targets!r}, timeout={timeout})")


def test_each_workload_has_a_line(plan: plan_mode.Planner, shop: Shop) -> None:
    """Ready, or not and why; what is no workload is left out."""
    for made, more, _ in STATES.values():
        for each in (made, *more):
            shop.create(each)
    names = [f"{made['kind'].lower()}s.apps/{made['metadata']['name']}" for made, _, _ in STATES.values()]
    assert rollouts(plan, "configmaps/m", *names) == [line for _, _, line in STATES.values()]
    assert rollouts(plan, "deployments.apps/none") == ["deployments.apps shop/none: it is not there any more"]


def on_delete(made: Object) -> Object:
    """A workload whose controller replaces no pods by itself."""
    return {**made, "spec": {**made["spec"], "updateStrategy": {"type": "OnDelete"}}}


def paused(made: Object) -> Object:
    """A Deployment whose rollout waits."""
    return {**made, "spec": {**made["spec"], "paused": True}}


NEW_PODS: dict[str, tuple[Object, str]] = {
    "replaced": (workload("Deployment", "new-a", status=READY), "3 of 3 new pods ready"),
    "paused": (
        paused(workload("Deployment", "new-b", status=READY)),
        "no rollout while it is paused; 3 of 3 ready",
    ),
    "on delete": (
        on_delete(workload("StatefulSet", "new-c", status=READY)),
        "no rollout until its pods are deleted, by OnDelete; 3 of 3 ready",
    ),
}  # fmt: skip


def test_a_new_template_is_told_from_a_rollout(plan: plan_mode.Planner, shop: Shop) -> None:
    """New pods are counted as new; where none are made, this is said, and a change that is none to pods costs no call."""
    for made, _ in NEW_PODS.values():
        shop.create(made)
    names = [f"{made['kind'].lower()}s.apps/{made['metadata']['name']}" for made, _ in NEW_PODS.values()]
    told = [f"{name.replace('/', ' shop/')}: {text}" for name, (_, text) in zip(names, NEW_PODS.values(), strict=True)]
    assert rollouts(plan, *names, change="template") == told
    unchanged = rollouts(plan, names[0], change="none")
    assert unchanged == ["deployments.apps shop/new-a: no rollout, since its pods are as before"] and not plan.calls


def test_endpoints_are_told_once_they_are_those_of_the_pods(plan: plan_mode.Planner, shop: Shop) -> None:
    """Of the Services that select a workload's pods, and of those in the plan."""
    shop.create(workload("Deployment", "front", status=READY))
    for name, selector in (("front", {"app": "front"}), ("bare", None)):
        shop.create(thing("v1", "Service", name, spec={"ports": [{"port": 80}], "selector": selector}))
    for n in range(2):
        shop.create(pod(f"front-{n}", "front"))
    timer = threading.Timer(1, functools.partial(shop.create, slice_of("front", "front-0", "front-1")))
    timer.start()
    lines = rollouts(plan, "deployments.apps/front", "services/front", "services/bare", timeout=50)
    assert lines == [
        "deployments.apps shop/front: ready, 3 of 3; services/front: 2 ready endpoints",
        "services shop/front: 2 ready endpoints",
        "services shop/bare: it selects no pods",
    ]


def test_workloads_are_followed_at_the_same_time(plan: plan_mode.Planner, shop: Shop) -> None:
    """Until the last of them is ready, with reports of how far they are in all."""
    waiting = {**READY, "observedGeneration": 0}
    made = [workload(kind, f"late-{kind.lower()}", status=waiting) for kind in ("Deployment", "StatefulSet")]
    for each in made:
        shop.create(each)

    unseen = "deployments.apps shop/late-deployment: the deployment controller has not seen the change yet"

    def later() -> None:
        patience.until(lambda: unseen in plan.progress)
        for each in reversed(made):
            shop.write_status(each, READY)

    thread = threading.Thread(target=later)
    thread.start()
    lines = rollouts(plan, "deployments.apps/late-deployment", "statefulsets.apps/late-statefulset", timeout=50)
    thread.join()
    assert lines == [
        "deployments.apps shop/late-deployment: ready, 3 of 3",
        "statefulsets.apps shop/late-statefulset: ready, 3 of 3",
    ]
    assert unseen in plan.progress


def test_a_workload_that_fails_does_not_keep_the_others_waiting(plan: plan_mode.Planner, shop: Shop) -> None:
    """Nor one that is deleted meanwhile."""
    gone = workload("Deployment", "gone", status={**READY, "observedGeneration": 0})
    failed = workload("Deployment", "failed", status={**SOME, "conditions": [STUCK]})
    for each in (gone, failed):
        shop.create(each)
    timer = threading.Timer(0.3, functools.partial(shop.delete, gone))
    timer.start()
    lines = rollouts(plan, "deployments.apps/gone", "deployments.apps/failed", timeout=50)
    assert lines == [
        "deployments.apps shop/gone: it is not there any more",
        "deployments.apps shop/failed: 1 of 3 ready; its progress deadline is over",
    ]


def test_they_are_no_tools_of_clients(plan: plan_mode.Planner) -> None:
    """A script may call them; nobody is told of them."""
    assert not [name for name in plan.value("dir(k8s.tools)") if name.startswith("plan_")]
