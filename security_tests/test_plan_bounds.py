"""Plans outside of what an operator has bounded: a runbook's in a cluster for which it is not approved in advance, what a
deletion takes along, and a namespace by another name."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from kubernetes import client

from kubescript import config
from kubescript.auth import user
from kubescript.changes import plan, planner, requests
from kubescript.changes.page import rights
from kubescript.changes.rules import write_settings, writes
from kubescript.fleet import fleet
from kubescript.request import request
from kubescript.runbooks import folder, lock_file
from kubescript.wire import exchanges
from tests.kit import callers, clients, fork_servers, patience, people, planned
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAME: Final = f"bounds-{secrets.token_hex(3)}"
HEADER: Final = """\
# /// runbook
# description = "A runbook"
#
# [arguments.name]
# type = "string"
# ///
"""


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> ControlPlane:
    found = shared.attach("scratch", run_folder, run_process)
    Writer(found.kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    return found


@pytest.fixture(scope="module")
def core(plane: ControlPlane) -> Any:
    return client.CoreV1Api(official_client.connect(plane.kubeconfig))


def lock(place: Path, **sources: str) -> Path:
    """Makes a folder of locked runbooks."""
    place.mkdir()
    for name, source in sources.items():
        (place / f"{name}.py").write_text(HEADER + source)
    digests = {name: folder.digest((HEADER + source).encode()) for name, source in sources.items()}
    (place / lock_file.NAME).write_bytes(lock_file.write(digests))
    return place


NOTE: Final = (
    f'k8s.context("{{context}}").coreV1().create_namespaced_config_map("{NAME}", {{"metadata": {{"name": name}}}})\n1'
)
CLUSTERS: Final = """
writes = "plan"
[plans]
store = "{folder}/plans.db"
follow_s = 0
[contexts.staging]
context = "test"
[contexts.production]
context = "test"
[[access]]
users = ["bob"]
[[access]]
users = ["alice"]
contexts = ["production"]
[[access]]
users = ["eve"]
contexts = ["staging"]
[runbooks]
folder = "{folder}/books"
"""
APPROVED: Final = """
[runbooks.approved.{name}]
users = ["*"]
namespaces = ["bounds-*"]
kinds = ["configmaps"]
verbs = ["create"]
per_day = 10
{contexts}
"""


def test_a_caller_of_one_cluster_has_no_runbook_of_another(plane: ControlPlane, core: Any, tmp_path: Path) -> None:
    """Who may use one of the server's clusters plans there as anybody else does: in advance only what is approved for it."""
    notes = {context: NOTE.replace("{context}", context) for context in ("staging", "production")}
    lock(tmp_path / "books", anywhere=notes["production"], **notes)
    place = callers.Callers(plane.kubeconfig, tmp_path)
    staging = 'contexts = ["staging"]'
    approved = {"anywhere": "", "staging": staging, "production": staging}
    tables = [APPROVED.format(name=name, contexts=contexts) for name, contexts in approved.items()]

    async def ask(port: int, user: str, book: str) -> str:
        async with callers.connected(port, place.secrets[user]) as connected:
            script = f'k8s.runbook("{book}", name="{user}-{book}")'
            return clients.whole(await clients.evaluate(connected, script))

    settings = CLUSTERS.format(folder=tmp_path)
    with place.serving(settings, *tables, place.tokens(), flags=("--transport", "http")) as port:
        for user, book in (("bob", "production"), ("alice", "production"), ("alice", "anywhere")):
            assert "(contexts); a person decides" in anyio.run(ask, port, user, book)
        for user in ("bob", "eve"):
            assert "and applied" in anyio.run(ask, port, user, "staging")
    made = {each.metadata.name for each in core.list_namespaced_config_map(NAME).items}
    assert made >= {"bob-staging", "eve-staging"} and not made & {
        "bob-production",
        "alice-production",
        "alice-anywhere",
    }


DELETE: Final = 'k8s.delete(f"{kind}/{{name}}", namespace={place!r})\n1'
BOUNDS: Final = {"users": [planner.local_name()], "verbs": ["delete"], "per_day": 10}


@pytest.fixture(scope="module")
def owners(plane: ControlPlane) -> None:
    """Two ConfigMaps, one of which owns a Secret, a class that owns another one, and a node."""
    writer = Writer(plane.kubeconfig)
    for name in ("owner", "free"):
        writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAME}})
    writer.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": NAME}, "value": 1}
    )
    writer.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME}})
    api = official_client.connect(plane.kubeconfig)
    core: Any = client.CoreV1Api(api)
    classes: Any = client.SchedulingV1Api(api)
    found = {"v1/ConfigMap": core.read_namespaced_config_map("owner", NAME)}
    found["scheduling.k8s.io/v1/PriorityClass"] = classes.read_priority_class(NAME)
    for place, owner in found.items():
        version, _, kind = place.rpartition("/")
        reference = {"apiVersion": version, "kind": kind, "name": owner.metadata.name, "uid": owner.metadata.uid}
        metadata = {"name": f"of-{kind.lower()}", "namespace": NAME, "ownerReferences": [reference]}
        writer.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})


@pytest.mark.usefixtures("owners")
def test_what_a_runbooks_deletion_takes_along_is_within_its_bounds(
    plane: ControlPlane, core: Any, tmp_path: Path
) -> None:
    """Somebody makes what it deletes the owner of a Secret: a person decides; and so where owned objects may be anywhere."""
    maps = DELETE.format(kind="configmaps", place=NAME)
    books = lock(tmp_path / "books", map=maps, both=maps, other=DELETE.format(kind="priorityclasses", place=None))
    approved = {
        "map": {**BOUNDS, "namespaces": [NAME], "kinds": ["configmaps"]},
        "both": {**BOUNDS, "namespaces": [NAME], "kinds": ["configmaps", "secrets"]},
        "other": {**BOUNDS, "namespaces": ["", "*"], "kinds": ["priorityclasses.scheduling.k8s.io", "secrets"]},
    }
    given: dict[str, Any] = {
        "kubeconfig": plane.kubeconfig,
        "writes": "plan",
        "toolsets": ["code"],
        "plans": {"store": str(tmp_path / "plans.db"), "page": False, "follow_s": 0},
        "runbooks": {"folder": books, "approved": approved},
    }
    with fork_servers.open_application(config.Settings.model_validate(given)) as opened:
        opened.load_sdk()
        with people.Server(opened).talk() as talk:
            owned = clients.whole(talk.ask('k8s.runbook("map", name="owner")'))
            anywhere = clients.whole(talk.ask(f'k8s.runbook("other", name="{NAME}")'))
            assert core.read_namespaced_secret("of-configmap", NAME)
            for book, name in (("map", "free"), ("both", "owner")):
                assert "and applied" in clients.whole(talk.ask(f'k8s.runbook("{book}", name="{name}")'))
    assert "than configmaps (kinds); a person decides" in owned
    assert "any namespace (namespaces); a person decides" in anywhere


APPROVERS: Final = {
    "of-objects": [""], "of-namespaces": ["bounds-*"], "of-both": ["bounds-*", ""], "of-all": ["*"],
}  # fmt: skip


def may_decide(settings: config.Settings, name: str, planned: plan.Plan) -> bool:
    """Whether a person may decide on a plan."""
    return rights.may_decide(settings, fleet.Fleet(None, 1), user.User(name), planned)


@pytest.mark.usefixtures("owners")
def test_a_deletion_that_may_reach_a_namespace_needs_its_people(plane: ControlPlane, tmp_path: Path) -> None:
    """What an object of the cluster owns or defines, and a pod that a taint evicts, may be where two people must approve, so each of them is one for all
    namespaces, and none is missing where nobody is asked. The plan says what it does not know."""
    policy = {"approvals": [{"namespaces": [NAME], "count": 2}]}
    with planned.opened(plane.kubeconfig, tmp_path, NAME, write_policy=policy) as plans:
        shown = plans.of(f"k8s.delete('priorityclasses/{NAME}')")
        assert shown.approvals == 2
        assert "not looked at: what names it as its owner, in any namespace" in shown.steps[0].effects
        change = f"{{'metadata': {{'name': '{NAME}', 'labels': {{'a': 'b'}}}}, 'value': 1}}"
        changed = plans.of(f"k8s.schedulingV1().patch_priority_class('{NAME}', {change})")
        assert changed.approvals == 1
        evicts = {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}
        assert plans.of(f"k8s.coreV1().patch_node('{NAME}', {evicts!r})").approvals == 2
    tables = [{"users": [name], "namespaces": patterns} for name, patterns in APPROVERS.items()]
    settings = config.Settings.model_validate({"approvers": tables})
    able = [[name for name in APPROVERS if may_decide(settings, name, one)] for one in (changed, shown)]
    assert able == [["of-objects", "of-both", "of-all"], ["of-all"]]
    direct = write_settings.read(config.WritePolicy.model_validate(policy), "direct")
    target = ("apis", "scheduling.k8s.io", "v1", "priorityclasses", NAME)
    deletion = requests.canonical(request.parse(exchanges.Call("DELETE", target)))
    refused = writes.find_objection(deletion, direct)
    assert refused is not None and refused.rule == "writes.approvals"


@pytest.fixture(scope="module")
def _projects(plane: ControlPlane) -> Iterator[None]:
    """The API server serves namespaces by OpenShift's name as well."""
    api = official_client.connect(plane.kubeconfig)
    definitions: Any = client.ApiextensionsV1Api(api)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "projects", "singular": "project", "kind": "Project"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "project.openshift.io", "scope": "Cluster", "names": names, "versions": [version]}
    name = "projects.project.openshift.io"
    definitions.create_custom_resource_definition({"metadata": {"name": name}, "spec": spec})
    objects: Any = client.CustomObjectsApi(api)
    project = {"apiVersion": "project.openshift.io/v1", "kind": "Project", "metadata": {"name": NAME}}

    def is_made() -> bool:
        try:
            objects.create_cluster_custom_object("project.openshift.io", "v1", "projects", project)
        except client.ApiException:
            return False
        return True

    try:
        patience.until(is_made)
        yield
    finally:
        definitions.delete_custom_resource_definition(name)


APPLY: Final = (
    "k8s.apply({{'apiVersion': 'project.openshift.io/v1', 'kind': 'Project', "
    "'metadata': {{'name': '{name}', 'labels': {{'a': 'b'}}}}}})"
)
WRITES: Final = (f"k8s.delete('Project/{NAME}')", APPLY.format(name=NAME), APPLY.format(name=f"{NAME}-new"))


@pytest.mark.usefixtures("_projects")
def test_a_namespace_is_bounded_by_whatever_name(plane: ControlPlane, tmp_path: Path) -> None:
    """OpenShift's projects are the same objects: they need as many people, and are out of the same scope."""
    two = {"approvals": [{"namespaces": [f"{NAME}*"], "count": 2}]}
    with planned.opened(plane.kubeconfig, tmp_path, NAME, write_policy=two) as plans:
        for script in WRITES:
            assert plans.of(script).approvals == 2, script
    with planned.opened(plane.kubeconfig, tmp_path, NAME, write_policy={"namespaces": ["shop", ""]}) as plans:
        for script in WRITES:
            answer = plans.answer(script)
            assert "writes.scope" in answer.text and not answer.plan, answer.text
    with planned.opened(plane.kubeconfig, tmp_path, NAME) as plans:
        (step,) = plans.steps(WRITES[0])
        assert any("serviceaccounts" in line or "configmaps" in line for line in step.effects), step.effects
