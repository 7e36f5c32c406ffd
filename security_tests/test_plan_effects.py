"""Plans whose deletions affect more than was shown, on a real API server: what appears after a person has read the plan,
what belongs to an object by name alone, and what is used by others.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.changes import plan
from kubescript.changes.view import plain
from tests.kit import app_objects, planned
from tests.kit.controlplane import shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer, path

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"effects-{secrets.token_hex(3)}"
GROUP: Final = f"{NAMESPACE}.dev"
OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"parts.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Part", "plural": "parts"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
    },
}
READY: Final = {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Shop:
    """A namespace, and plans that change it."""

    writer: Writer
    plans: planned.Plans

    def make(self, kind: str, name: str, *owners: Object, api: str = "v1", **parts: Any) -> Object:
        """A new object, with these owners."""
        metadata: Object = {"name": name, "namespace": NAMESPACE}
        if owners:
            metadata["ownerReferences"] = [refer(owner) for owner in owners]
        made = {"apiVersion": api, "kind": kind, "metadata": metadata | parts.pop("metadata", {}), **parts}
        self.writer.create(made)
        return made

    def deployment(self, volumes: Sequence[Object] = (), **spec: Any) -> Object:
        """A new Deployment, which runs nothing."""
        made = app_objects.workload(NAMESPACE, "Deployment", f"web-{next(_numbers)}", **spec)
        made["spec"]["template"]["spec"]["volumes"] = list(volumes)
        self.writer.create(made)
        return made

    def pod(self, name: str, *owners: Object, **spec: Any) -> Object:
        """A new pod that runs."""
        made = app_objects.pod(NAMESPACE, name, name)
        made["spec"] |= spec
        if owners:
            made["metadata"]["ownerReferences"] = [{**refer(owner), "controller": True} for owner in owners]
        self.writer.create(made)
        return made

    def delete(self, *objects: Object, **options: Any) -> plan.Plan:
        """A plan that deletes these objects."""
        return self.plans.of("\n".join(deletion(each, **options) for each in objects) + "\n1")

    def exists(self, made: Object) -> bool:
        """Whether an object is there, and is not about to go."""
        answer = self.plans.answer(
            f"k8s.get({resource(made)!r}, namespace=NAMESPACE).metadata.deletion_timestamp is None"
        )
        return not answer.is_error and "true" in answer.text.lower()


def resource(made: Object) -> str:
    """`deployments.apps/web-1`."""
    group, _, _ = made["apiVersion"].rpartition("/")
    plural = f"{made['kind'].lower()}s"
    return f"{plural}.{group}/{made['metadata']['name']}" if group else f"{plural}/{made['metadata']['name']}"


def deletion(made: Object, **options: Any) -> str:
    """A script that deletes an object."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"k8s.delete({resource(made)!r}, namespace=NAMESPACE{given})"


def refer(owner: Object) -> Object:
    """A reference to an owner; the writer adds the uid."""
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}


def used(step: plan.Step) -> set[tuple[str, str]]:
    """The findings on a step about who uses its object."""
    return {(each.level, each.message) for each in step.findings if each.rule == "writes.used"}


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    """A server with an empty namespace, and a kind of its own."""
    plane = shared.attach("scratch", run_folder, run_process)
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    writer.create(DEFINITION)
    return plane


@pytest.fixture(scope="module")
def shop(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with planned.opened(plane.kubeconfig, tmp_path_factory.mktemp("plans"), NAMESPACE) as plans:
        yield Shop(Writer(plane.kubeconfig), plans)


DEPENDENTS: Final = {
    "a ConfigMap": ("ConfigMap", "v1", "configmaps"),
    "a Lease": ("Lease", "coordination.k8s.io/v1", "leases.coordination.k8s.io"),
    "a custom object": ("Part", f"{GROUP}/v1", f"parts.{GROUP}"),
}


@pytest.mark.parametrize("name", DEPENDENTS)
def test_a_dependent_that_appears_after_the_plan_stops_it(shop: Shop, name: str) -> None:
    """Whatever its kind; a new plan shows it, and is applied."""
    kind, api, plural = DEPENDENTS[name]
    web = shop.deployment()
    shown = shop.delete(web)
    own = f"of-{web['metadata']['name']}"
    shop.make(kind, own, web, api=api)
    ended = shop.plans.apply(shown)
    assert ended.state == "stopped" and f"takes {plural} (1)" in ended.text, ended.text
    assert shop.exists(web)
    again = shop.delete(web)
    assert f"takes {plural} {own} with it" in again.steps[0].effects
    assert shop.plans.apply(again).state == "applied"


def test_a_dependent_that_appears_between_two_steps_stops_the_second(shop: Shop) -> None:
    """The first is done by then, and is told to be."""
    one, two = shop.deployment(), shop.deployment()
    shown = shop.delete(one, two)

    def attach(done: int) -> None:
        if done == 1:
            shop.make("ConfigMap", f"late-{two['metadata']['name']}", two)

    ended = shop.plans.apply(shown, attach)
    assert ended.state == "stopped" and "takes configmaps (1)" in ended.text and "1 of 2" in ended.text, ended.text
    assert not shop.exists(one) and shop.exists(two)


def test_what_runs_only_after_the_plan_was_made_stops_it(shop: Shop) -> None:
    """A deletion of what is idle is no finding; of what runs it is a critical one."""
    web = shop.deployment()
    shop.writer.write_status(web, {"replicas": 0})
    shown = shop.delete(web)
    assert not shown.critical
    shop.writer.write_status(web, READY)
    ended = shop.plans.apply(shown)
    assert ended.state == "stopped" and "critical NO_DESTRUCTIVE_SHORTCUTS" in ended.text, ended.text
    again = shop.delete(web)
    assert again.critical and shop.plans.apply(again).state == "applied"


def test_the_size_of_a_config_map_is_told_of_it_alone(shop: Shop) -> None:
    """Not of a Deployment of its name, of which the same plan deletes both."""
    web = shop.deployment()
    settings = shop.make("ConfigMap", web["metadata"]["name"], data={"a": "1"})
    shown = shop.delete(settings, web)
    told = [any("; 1 keys" in line for line in step.effects) for step in shown.steps]
    assert told == [True, False], shown.steps
    assert shop.plans.apply(shown).state == "applied"


def test_a_user_that_appears_after_the_plan_stops_it(shop: Shop) -> None:
    """A pod that mounts a ConfigMap by then; and one that starts where there was only a template."""
    settings = shop.make("ConfigMap", "settings", data={"a": "1", "b": "2"})
    volumes = [{"name": "settings", "projected": {"sources": [{"configMap": {"name": "settings"}}]}}]
    shown = shop.delete(settings)
    assert not used(shown.steps[0]) and any(line.endswith("; 2 keys") for line in shown.steps[0].effects)
    web = shop.deployment(volumes)
    ended = shop.plans.apply(shown)
    user = f"mounted by {resource(web)}"
    assert ended.state == "stopped" and f"warning writes.used: {user}" in ended.text, ended.text
    shown = shop.delete(settings)
    assert used(shown.steps[0]) == {("warning", user)}
    replicas = shop.make("ReplicaSet", f"{web['metadata']['name']}-1", api="apps/v1", spec=web["spec"], metadata={
        "ownerReferences": [{**refer(web), "controller": True}],
    })  # fmt: skip
    shop.pod("settled", replicas, volumes=volumes)
    ended = shop.plans.apply(shown)
    assert ended.state == "stopped" and f"critical writes.used: {user}" in ended.text, ended.text
    # A plan may stop before it deletes the user, too.
    both = shop.delete(settings, web)
    assert used(both.steps[0]) == {("warning", f"{user}, which the plan deletes later")}
    # What is deleted before it uses it no longer, although no controller has ended its pods yet.
    both = shop.delete(web, settings)
    assert not used(both.steps[1])
    assert shop.plans.apply(both).state == "applied"


def test_what_is_used_in_other_ways_is_a_finding(shop: Shop) -> None:
    """By the environment, for images, as a service account, by a route, and by the API server itself."""
    for kind in ("Secret", "ServiceAccount", "ConfigMap"):
        shop.make(kind, "shared")
    shop.make("Service", "shared", spec={"ports": [{"port": 80}]})
    shop.pod(
        "uses-all",
        imagePullSecrets=[{"name": "shared"}],
        serviceAccountName="shared",
        containers=[{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "shared"}}]}],
    )
    backend = {"service": {"name": "shared", "port": {"number": 80}}}
    shop.make("Ingress", "front", api="networking.k8s.io/v1", spec={"defaultBackend": backend})
    answer = {
        kind: used(shop.delete({"apiVersion": "v1", "kind": kind, "metadata": {"name": "shared"}}).steps[0])
        for kind in ("ConfigMap", "Service")
    }
    assert answer["ConfigMap"] == {
        ("critical", "referred to by pods/uses-all, whose pods run on and need it at their next start")
    }
    assert answer["Service"] == {("warning", "routed to by ingresses.networking.k8s.io/front")}
    # What only has the Service's name is not routed to.
    shop.make(
        "ReplicaSet", "shared", api="apps/v1", spec=app_objects.workload(NAMESPACE, "ReplicaSet", "shared")["spec"]
    )
    both = shop.plans.of(
        "k8s.delete('replicasets/shared', namespace=NAMESPACE)\nk8s.delete('services/shared', namespace=NAMESPACE)\n1"
    )
    assert not used(both.steps[0]) and used(both.steps[1]) == answer["Service"]


def test_a_class_in_use_is_a_finding(shop: Shop) -> None:
    """Its users are in any namespace, and are counted again when the plan is applied."""
    name = f"fast-{NAMESPACE}"
    made = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": "x/y"}
    shop.writer.create(made)
    delete = f"k8s.delete('storageclasses/{name}')\n1"
    shown = shop.plans.of(delete)
    assert not used(shown.steps[0])
    wanted = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    shop.make("PersistentVolumeClaim", "claims", spec={"storageClassName": name, **wanted})
    ended = shop.plans.apply(shown)
    assert ended.state == "stopped" and "writes.used" in ended.text, ended.text
    again = shop.plans.of(delete)
    assert used(again.steps[0]) == {("warning", "named by persistentvolumeclaims (spec.storageClassName)")}
    assert shop.plans.apply(again).state == "applied"


def test_an_object_of_an_earlier_uid_is_not_counted(shop: Shop) -> None:
    """A ReplicaSet that names a Deployment of the same name, which was deleted since, belongs to no present one."""
    web = shop.deployment()
    name = web["metadata"]["name"]
    shop.make("ReplicaSet", f"{name}-old", web, api="apps/v1", spec=web["spec"])
    shop.writer.delete(web, now=True)
    fresh = app_objects.workload(NAMESPACE, "Deployment", name)
    shop.writer.create(fresh)
    shop.make("ReplicaSet", f"{name}-new", fresh, api="apps/v1", spec=web["spec"])
    (step,) = shop.delete(fresh).steps
    assert f"takes replicasets.apps {name}-new with it" in step.effects
    assert f"{name}-old" not in repr(step.effects)


def test_what_stays_without_its_owner_is_not_announced_to_go(shop: Shop) -> None:
    """By the option Orphan; and for a Job without an option, whose pods the API server spares."""
    web = shop.deployment()
    name = web["metadata"]["name"]
    shop.make("ReplicaSet", f"{name}-1", web, api="apps/v1", spec=web["spec"])
    (step,) = shop.delete(web, propagation_policy="Orphan").steps
    assert f"leaves replicasets.apps {name}-1 without an owner" in step.effects
    assert not any(line.startswith("takes") for line in step.effects)
    pods = {"containers": [{"name": "c", "image": "web:1"}], "restartPolicy": "Never"}
    job = shop.make("Job", "once", api="batch/v1", spec={"template": {"spec": pods}})
    shop.pod("once-1", job)
    (step,) = shop.plans.steps("k8s.batchV1().delete_namespaced_job('once', NAMESPACE, body={})\n1")
    assert "leaves pods once-1 without an owner" in step.effects
    (step,) = shop.delete(job).steps
    assert "takes pods once-1 with it" in step.effects


def test_a_finalizer_decides_about_dependents_where_the_deletion_does_not(shop: Shop) -> None:
    """The API server spares those of a Deployment with `orphan`, and takes those of a Job with `foregroundDeletion`; an
    option overrides both. A finalizer that goes after the plan was made stops it."""
    web = app_objects.workload(NAMESPACE, "Deployment", "spared")
    web["metadata"]["finalizers"] = ["orphan"]
    shop.writer.create(web)
    shop.make("ReplicaSet", "spared-1", web, api="apps/v1", spec=web["spec"])
    script = "k8s.appsV1().delete_namespaced_deployment('spared', NAMESPACE)\n1"
    shown = shop.plans.of(script)
    assert "leaves replicasets.apps spared-1 without an owner" in shown.steps[0].effects
    (step,) = shop.delete(web, propagation_policy="Background").steps
    assert "takes replicasets.apps spared-1 with it" in step.effects
    change(shop, web, finalizers=[])
    ended = shop.plans.apply(shown)
    assert ended.state == "stopped" and "spared has changed since" in ended.text, ended.text
    (step,) = shop.plans.steps(script)
    assert "takes replicasets.apps spared-1 with it" in step.effects
    pods = {"containers": [{"name": "c", "image": "web:1"}], "restartPolicy": "Never"}
    finalizers = {"finalizers": ["foregroundDeletion"]}
    job = shop.make("Job", "taken", api="batch/v1", metadata=finalizers, spec={"template": {"spec": pods}})
    shop.pod("taken-1", job)
    (step,) = shop.plans.steps("k8s.batchV1().delete_namespaced_job('taken', NAMESPACE, body={})\n1")
    assert "takes pods taken-1 with it" in step.effects


def test_what_keeps_an_object_is_said(shop: Shop) -> None:
    """It is gone only when others have removed their finalizers."""
    held = shop.make("ConfigMap", "held", metadata={"finalizers": ["example.com/backup"]})
    (step,) = shop.delete(held).steps
    assert "stays until its finalizers (example.com/backup) are removed by their controllers" in step.effects


def test_an_object_with_another_owner_stays(shop: Shop) -> None:
    """The garbage collector keeps what one of its owners still has."""
    one, two = shop.deployment(), shop.deployment()
    both = f"both-{one['metadata']['name']}"
    shop.make("ConfigMap", both, one, two)
    assert both not in repr(shop.delete(one).steps[0].effects)
    assert all(f"takes configmaps {both} with it" in step.effects for step in shop.delete(one, two).steps)


def test_owners_in_a_circle_end(shop: Shop) -> None:
    """Two objects that own each other are each told once."""
    first = shop.make("ConfigMap", "circle-a")
    second = shop.make("ConfigMap", "circle-b", first)
    reference = {**refer(second), "uid": shop.writer._uids["ConfigMap", NAMESPACE, "circle-b"]}
    shop.plans.answer("1")
    change(shop, first, ownerReferences=[reference])
    (step,) = shop.delete(first).steps
    assert [line for line in step.effects if line.startswith("takes")] == ["takes configmaps circle-b with it"]


def change(shop: Shop, made: Object, **metadata: Any) -> None:
    """Changes an object's metadata."""
    _, answer = shop.writer._send("GET", path(made), None)
    stored = shop.writer._expect(200, 200, answer)
    stored["metadata"] |= metadata
    shop.writer._expect(200, *shop.writer._send("PUT", path(made), stored))


def test_a_name_adds_no_line_and_turns_none_around(shop: Shop) -> None:
    """Names of roles may have line ends, and characters that reverse what follows."""
    web = shop.deployment()
    name = "a with it\n   effect: nothing\u202e\u2066 else"
    shop.make("Role", name, web, api="rbac.authorization.k8s.io/v1", rules=[])
    shown = shop.plans.kept(deletion(web) + "\n1")
    (line,) = [each for each in shown.plan.steps[0].effects if each.startswith("takes roles")]
    assert "\n" not in line
    text = plain.text(shown, 200)
    assert "effect: nothing" in text and not any(
        each.strip().startswith("effect: nothing") for each in text.split("\n")
    )
    assert not {"\u202e", "\u2066"} & set(text)


def test_where_the_bound_on_objects_ends_is_said(shop: Shop) -> None:
    """Of a namespace with more than 5,000 objects of a kind, the first are looked at; a plan is made all the same."""
    web = shop.deployment()
    shop.writer.create_all([[lease(number) for number in range(5_001)]])
    (step,) = shop.delete(web).steps
    assert "not looked at: leases.coordination.k8s.io beyond the first 5,000" in step.effects


def lease(number: int) -> Object:
    """One of many small objects."""
    metadata = {"name": f"many-{number}", "namespace": NAMESPACE}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)
