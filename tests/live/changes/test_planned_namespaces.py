"""A script that creates a namespace, and what goes into it, leaves one plan, which does both; on a real API server."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from kubernetes import client

from kubescript import types
from kubescript.changes import planned_namespace
from kubescript.changes.ask import form
from kubescript.cluster import live
from kubescript.request import request
from tests.kit import app_objects, planned
from tests.kit.controlplane import official_client, rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

TEAM: Final = f"team-{secrets.token_hex(3)}"
GROUP: Final = f"{TEAM}.dev"
MAKE: Final = f"k8s.coreV1().create_namespace({{'metadata': {{'name': '{TEAM}', 'labels': {{'team': 'a'}}}}}})\n"
CONTAINERS: Final = [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]
DEPLOYMENT: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": TEAM},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}},
    },
}
POD: Final[dict[str, Any]] = {"metadata": {"name": "one"}, "spec": {"containers": CONTAINERS}}
SERVICE: Final[dict[str, Any]] = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


@dataclass(frozen=True)
class Place:
    """Plans, and the cluster."""

    plans: planned.Plans
    api: Any

    @property
    def core(self) -> Any:
        return client.CoreV1Api(self.api)


@pytest.fixture(scope="module")
def place(scratch: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    writer = Writer(scratch.kubeconfig)
    for each in (app_objects.definition(GROUP), pool(namespace)):  # it waits until the kind is served
        writer.create(each)
    folder = tmp_path_factory.mktemp("plans")
    with planned.opened(scratch.kubeconfig, folder, TEAM) as plans:
        yield Place(plans, official_client.connect(scratch.kubeconfig))


def pool(namespace: str) -> Object:
    """An object of a custom resource."""
    metadata = {"name": "pool", "namespace": namespace}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Pool", "metadata": metadata, "spec": {"size": 1}}


def test_a_namespace_and_what_goes_into_it_are_one_plan(place: Place) -> None:
    """The script reads its own objects there, by name and in lists; a person is told once what is untried; all is made,
    and all is taken back."""
    script = (
        f"{MAKE}k8s.apply({DEPLOYMENT!r})\ncore = k8s.coreV1()\n"
        f"core.create_namespaced_service({TEAM!r}, {SERVICE!r})\nfound = k8s.get('deployments/web', namespace={TEAM!r})\n"
        f"services = [each.metadata.namespace for each in core.list_namespaced_service({TEAM!r})]\n"
        f"[found.metadata.namespace, found.spec.replicas, services, k8s.get('namespaces/{TEAM}').metadata.labels['team']]"
    )
    answer = place.plans.answer(script)
    assert f'["{TEAM}",1,["{TEAM}"],"a"]' in answer.text and "no such namespace" not in answer.text, answer.text
    shown = place.plans.of(script)
    namespace, deployment, _ = shown.steps
    assert [step.what for step in shown.steps] == [
        f"create namespaces {TEAM}", f"patch deployments.apps {TEAM}/web", f"create services {TEAM}/web",
    ]  # fmt: skip
    assert namespace.effects == ("changes 2, 3 need this",)
    values = {row.path: row.new for row in deployment.rows}
    assert (values["metadata.name"], values["metadata.namespace"]) == ('"web"', f'"{TEAM}"'), values
    (finding,) = [each for step in shown.steps for each in step.findings if each.rule == "writes.untried"]
    assert finding in deployment.findings and "was tried in namespace default" in finding.message
    ended = place.plans.apply(shown)
    assert (ended.state, ended.text) == ("applied", "3 of 3 changes were made")
    assert place.core.read_namespaced_service("web", TEAM).spec.selector == {"app": "web"}
    undone = place.plans.undo(ended)
    assert [step.what for step in undone.steps][-1] == f"delete namespaces {TEAM}"
    assert place.plans.apply(undone).state == "applied"


def test_rights_and_custom_resources_go_into_it_by_apply(place: Place) -> None:
    """As a team gets its namespace: with a Role, a RoleBinding of that, and objects of a custom resource. A client's form
    has room for it."""
    name = f"{TEAM}-rights"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": TEAM}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"}
    rights = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reads", "namespace": name}}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        {**rights, "kind": "Role", "rules": rules},
        {**rights, "kind": "RoleBinding", "subjects": [group], "roleRef": role},
        pool(name),
    ]
    kept = place.plans.kept(f"[each.metadata.namespace for each in k8s.apply({objects!r})]")
    shown = kept.plan
    assert form.compose(kept) is not None
    assert [step.namespace for step in shown.steps] == [name] * 4
    assert {row.path: row.new for row in shown.steps[3].rows}["metadata.namespace"] == f'"{name}"'
    ended = place.plans.apply(shown)
    assert (ended.state, ended.text) == ("applied", "4 of 4 changes were made")
    bound: Any = client.RbacAuthorizationV1Api(place.api)
    assert bound.read_namespaced_role_binding("reads", name).role_ref.name == "reads"


def test_what_a_new_namespace_refuses_at_first_is_tried_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Controllers make its service account and rights a moment later; here, somebody takes the label away that refuses
    the pod."""
    name = f"{TEAM}-soon"
    label = "pod-security.kubernetes.io/enforce"
    made = place.plans.of(
        f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {{'name': '{name}', 'labels': {{{label!r}: 'restricted'}}}}}})\n"
        f"core.create_namespaced_pod('{name}', {POD!r})\n1"
    )
    labels = {"metadata": {"labels": {label: None}}}
    perform = live.Live.perform
    refused: list[str] = []

    def performed(self: live.Live, call: request.Request, *arguments: Any) -> types.Response:
        answer = perform(self, call, *arguments)
        if call.namespace == name and call.resource == "pods" and answer.status == 403:
            refused.append(call.verb)
            place.core.patch_namespace(name, labels)
        return answer

    monkeypatch.setattr(live.Live, "perform", performed)
    monkeypatch.setattr(planned_namespace, "_SETTLE_S", 120)  # however slow this machine is
    ended = place.plans.apply(made)
    assert (ended.state, ended.text) == ("applied", "2 of 2 changes were made")
    assert set(refused) == {"create"}


def test_a_plan_whose_server_has_died_goes_on_in_the_namespace_that_it_has_made(place: Place) -> None:
    """The dead server has noted that it sends the namespace: it is there, or it is not."""
    for name in (f"{TEAM}-there", f"{TEAM}-not"):
        metadata = {"name": name}
        shown = place.plans.of(
            f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {metadata!r}}})\n"
            f"core.create_namespaced_config_map('{name}', {{'metadata': {{'name': 'a'}}}})\n1"
        )
        place.plans.begin(shown, 0)
        if name.endswith("there"):
            place.core.create_namespace({"metadata": metadata}, field_manager=shown.manager)
        ended = place.plans.resume(shown)
        assert (ended.state, ended.text) == ("applied", "2 of 2 changes were made"), ended.text
        assert place.core.read_namespaced_config_map("a", name).metadata.uid == ended.steps[1].uid


def test_what_only_the_new_namespace_changes_stops_the_plan(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range of limits, which the plan makes too, gives the pod other values; the namespace's label refuses the pod."""
    monkeypatch.setattr(planned_namespace, "_SETTLE_S", 0.3)
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    made = place.plans.of(
        f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {{'name': '{TEAM}-limits'}}}})\n"
        f"core.create_namespaced_limit_range('{TEAM}-limits', {{'metadata': {{'name': 'a'}}, 'spec': {limits!r}}})\n"
        f"core.create_namespaced_pod('{TEAM}-limits', {POD!r})\n1"
    )
    ended = place.plans.apply(made)
    assert ended.state == "stopped" and "2 of 3 changes were made" in ended.text, ended.text
    assert (
        "has changed since it was tried in another namespace" in ended.text and "limits.cpu: nothing → " in ended.text
    )
    enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
    made = place.plans.of(
        f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {{'name': '{TEAM}-secure', 'labels': {enforce!r}}}}})\n"
        f"core.create_namespaced_pod('{TEAM}-secure', {POD!r})\n1"
    )
    ended = place.plans.apply(made)
    assert ended.state == "stopped" and "violates PodSecurity" in ended.text, ended.text
    assert not place.core.list_namespaced_pod(f"{TEAM}-secure").items


def test_what_cannot_be_tried_ahead_is_refused(place: Place) -> None:
    """The refusal says where it was tried and what to do; a change of what is only planned says so too."""
    make = f"core = k8s.coreV1()\ncore.create_namespace({{'metadata': {{'name': '{TEAM}-x'}}}})\n"
    wrong = f"core.create_namespaced_config_map('{TEAM}-x', {{'metadata': {{'name': 'Wrong_1'}}}})"
    answer = place.plans.answer(make + wrong)
    assert answer.is_error and "was tried in namespace default" in answer.text, answer.text
    assert "Wrong_1" in answer.text and "create the namespace in one script" in answer.text, answer.text
    right = wrong.replace("Wrong_1", "a")
    answer = place.plans.answer(make + right.replace("'a'", "'a', 'namespace': 'default'"))
    assert answer.is_error and "must be the namespace of the request" in answer.text, answer.text
    answer = place.plans.answer(make + right.replace("'a'", "'a', 'generateName': 'a-'"))
    assert answer.is_error and "has not the usual form" in answer.text, answer.text
    patch = f"core.patch_namespaced_config_map('a', '{TEAM}-x', {{'data': {{'a': '1'}}}})"
    answer = place.plans.answer(f"{make}{right}\n{patch}")
    assert answer.is_error and "so far only the plan has this object" in answer.text, answer.text
    scaled = DEPLOYMENT | {"metadata": {"name": "web", "namespace": f"{TEAM}-x"}}
    answer = place.plans.answer(f"{make}k8s.apply({scaled!r})\nk8s.scale('deployments/web', 3, namespace='{TEAM}-x')")
    assert answer.is_error and "so far only the plan has this object" in answer.text, answer.text
    answer = place.plans.answer(f"{make}core.delete_namespace('{TEAM}-x')")
    assert answer.is_error and "leave the creation out" in answer.text, answer.text
    assert len(place.plans.steps(f"{make}{right}\n1")) == 2


def test_a_binding_of_a_planned_role_takes_a_plan_of_its_own_for_who_may_not_bind(
    scratch: ControlPlane, place: Place, namespace: str, tmp_path: Path
) -> None:
    """The API server looks for the Role's rules, which are not there yet, unless its caller has the verb `bind`. The
    refusal says what to do, and that does it."""
    name = f"{TEAM}-bound"
    named: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "reads", "namespace": name},
    }
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    of_rbac = {"apiGroup": "rbac.authorization.k8s.io"}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    role = {**named, "kind": "Role", "rules": rules}
    binding = {
        **named,
        "kind": "RoleBinding",
        "subjects": [{**of_rbac, "kind": "Group", "name": TEAM}],
        "roleRef": {**of_rbac, "kind": "Role", "name": "reads"},
    }
    with as_author(scratch, place, namespace, rules, tmp_path) as author:
        refused = author.answer(f"k8s.apply({[made, role, binding]!r})\n1")
        assert refused.is_error and "plan.untried" in refused.text, refused.text
        assert "create the namespace and the Role in one script, and the binding in the next" in refused.text, (
            refused.text
        )
        there = [{**each, "metadata": {"name": "reads", "namespace": namespace}} for each in (role, binding)]
        refused = author.answer(f"k8s.apply({there!r})\n1")
        assert refused.is_error and '"reads" not found' in refused.text, refused.text
        for objects in ([made, role], [binding]):
            ended = author.apply(author.of(f"k8s.apply({objects!r})\n1"))
            assert ended.state == "applied", ended.text


@contextlib.contextmanager
def as_author(
    plane: ControlPlane, place: Place, namespace: str, rules: list[Any], folder: Path
) -> Iterator[planned.Plans]:
    """Plans of a service account that may make namespaces, Roles and bindings, and has these rights itself."""
    place.core.create_namespaced_service_account(namespace, {"metadata": {"name": "author"}})
    all_verbs = ["get", "list", "create", "update", "patch", "delete"]
    mine = [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": all_verbs},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": all_verbs},
        *rules,
    ]
    rbac: Any = client.RbacAuthorizationV1Api(place.api)
    rbac.create_cluster_role({"metadata": {"name": f"{TEAM}-author"}, "rules": mine})
    subject = {"kind": "ServiceAccount", "name": "author", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{TEAM}-author"}
    rbac.create_cluster_role_binding(
        {"metadata": {"name": f"{TEAM}-author"}, "roleRef": reference, "subjects": [subject]}
    )
    rights.wait(plane.kubeconfig, f"system:serviceaccount:{namespace}:author", "create", "namespaces")
    body = {"spec": {"expirationSeconds": 600}}
    token = place.core.create_namespaced_service_account_token("author", namespace, body).status.token
    found = yaml.safe_load(plane.kubeconfig.read_text())
    found["users"] = [{"name": each["name"], "user": {"token": token}} for each in found["users"]]
    kubeconfig = folder / "author.yaml"
    kubeconfig.write_text(yaml.safe_dump(found))
    with planned.opened(kubeconfig, folder, TEAM) as plans:
        yield plans
