"""The ClusterRoles of the chart before a real API server: a service account that has only one of them runs every
operation that its toolset may ask for, and `audit role` of the record is that role."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import anyio
import kubernetes.client
import mcp_types
import pytest
import yaml

from kubescript.guest.sdk.values import operations
from kubescript.kube import kinds
from kubescript.toolsets import gateway
from tests.kit import clients, identities, paths, tools, trails
from tests.kit.controlplane import official_client, rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.helm import releases

ROLES: Final = paths.ROOT / "charts" / "kubescript" / "files" / "roles"
Grants = set[tuple[str, str, str]]
"""Group, resource and verb."""


def grants(rules: list[dict[str, Any]]) -> Grants:
    """What rules grant, one by one."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def granted(*files: str) -> list[dict[str, Any]]:
    """The rules of these files."""
    return [rule for file in files for rule in yaml.safe_load((ROLES / f"{file}.yaml").read_text("utf-8"))]


def recorded(file: Path) -> Grants:
    """What `audit role` makes of a record, whatever the names and namespaces."""
    done = trails.run("audit", "role", "--metadata", str(file))
    assert done.returncode == 0, done.stderr
    roles = [role for role in yaml.safe_load_all(done.stdout) if role]
    return {each for role in roles for each in grants(role["rules"])}


class Account:
    """A service account with the rules of some files, and nothing else but what every account has."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path, name: str, *files: str) -> None:
        api = official_client.connect(plane.kubeconfig)
        client: Any = kubernetes.client
        core, rbac = client.CoreV1Api(api), client.RbacAuthorizationV1Api(api)
        core.create_namespaced_service_account(namespace, {"metadata": {"name": name}})
        role = f"{namespace}-{name}"
        rbac.create_cluster_role({"metadata": {"name": role}, "rules": granted(*files)})
        rbac.create_cluster_role_binding({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        })  # fmt: skip
        self.granted = grants(granted(*files))
        group, resource, verb = min(self.granted)
        resource, _, subresource = resource.partition("/")
        user = f"system:serviceaccount:{namespace}:{name}"
        rights.wait(plane.kubeconfig, user, verb, resource, group=group, subresource=subresource)
        asked = core.create_namespaced_service_account_token(name, namespace, {"spec": {"expirationSeconds": 3600}})
        self.kubeconfig = identities.kubeconfig(plane, folder / "kubeconfig", {name: {"token": asked.status.token}})
        self.record = folder / "audit.jsonl"
        """A kubeconfig with its token."""
        self.settings = folder / "kubescript.toml"

    def write_settings(self, text: str = "") -> tuple[str, str]:
        """The flags of a server of this account, which keeps a record."""
        store = f'[plans]\nstore = "{self.settings.parent}/plans.db"\npage = false\nfollow_s = 1\n'
        audit = f'[audit]\nfile = "{self.record}"\n'
        self.settings.write_text(f'kubeconfig = "{self.kubeconfig}"\n{text}\n{store}{audit}')
        return "--config", str(self.settings)

    def refused(self) -> list[str]:
        """The calls that RBAC has refused."""
        calls = trails.records(self.record, "call")
        return [f"{call['verb']} {call['resource']}.{call['group']}" for call in calls if call["status"] in {401, 403}]


def list_methods(verbs: tuple[str, ...], parameter: str = "") -> list[tuple[str, str, tuple[str, ...]]]:
    """The methods of the client with one of these verbs and this parameter, and what they must be given."""
    found = []
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            # A tunnel never passes, and the group of a custom resource is an argument.
            if name.startswith("connect_") or "{group}" in operation.path:
                continue
            if operation.verb in verbs and (not parameter or parameter in operation.parameters):
                found.append((api, name, operation.parameters[: operation.required]))
    return found


CALLS: Final = """
from kubernetes import watch
# No API server stores an object with such a label, but it asks RBAC first.
role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "name"}
body = {"metadata": {"name": "name", "labels": {"no label": ""}}, "roleRef": role}
given = {"name": "name", "namespace": "default", "body": body}

def call(api, name, required):
    method = getattr(k8s.api(api), name)
    arguments = {each: given.get(each, "name") for each in required}
    try:
        if watched:
            # No selector reads so: the API server asks RBAC, and refuses at once.
            for event in watch.Watch().stream(method, label_selector="=", timeout_seconds=1, **arguments):
                pass
        else:
            method(**arguments)
    except ApiException as error:
        return error.status

{each[1]: call(*each) for each in calls}
"""


def ask_everything(flags: tuple[str, ...], *verbs: str, watched: bool = False) -> mcp_types.CallToolResult:
    """One script that calls every method of the client with these verbs, or watches by each that can."""
    methods = list_methods(verbs, "watch" if watched else "")
    script = f"calls = {methods!r}\nwatched = {watched}\n{CALLS}"

    async def talk() -> mcp_types.CallToolResult:
        async with clients.connect("memory", flags) as client:
            return await clients.evaluate(client, script, timeout=100_000)

    return anyio.run(talk)


def test_scripts_read_with_the_role_of_code_and_need_all_of_it(
    scratch: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Each method of the client that reads, watches or asks of rights: none is refused that the policy permits, and each verb of the role is used."""
    account = Account(scratch, namespace, tmp_path, "reader", "code-read", "code-secrets")
    flags = account.write_settings()
    for answer in (
        ask_everything(flags, "GET"),
        ask_everything(flags, "GET", watched=True),
        ask_everything(flags, "POST"),
    ):
        assert not answer.is_error, clients.whole(answer)
    assert account.refused() == []
    assert recorded(account.record) == account.granted


@pytest.mark.parametrize("mode", ["plan", "direct"])
def test_scripts_write_with_the_role_of_their_mode_and_need_all_of_it(
    mode: str, scratch: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Each method of the client that writes is tried or refused by the policy, never by RBAC."""
    account = Account(scratch, namespace, tmp_path, f"writer-{mode}", "code-read", f"code-{mode}")
    flags = account.write_settings(f'writes = "{mode}"\n[write_policy]\nper_minute = 10000\n')
    for verb in ("POST", "PUT", "PATCH", "DELETE"):
        answer = ask_everything(flags, verb)
        assert not answer.is_error, clients.whole(answer)
    assert account.refused() == []
    reads = grants(granted("code-read"))
    assert recorded(account.record) - reads == account.granted - reads


# --- the classic tools ------------------------------------------------------------------------------------------------

TOOLS: Final = """
def use(tool, **given):
    try:
        return getattr(k8s.tools, tool)(**given)
    except Exception as error:
        return str(error)
"""


def workload(kind: str, namespace: str) -> Object:
    """A workload, of which nothing runs."""
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "shop/web:1"}]}}
    status = {"replicas": 3, "readyReplicas": 3, "observedGeneration": 1}
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": pod}, "status": status,
    }  # fmt: skip


CLAIM: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def place(kind: str, namespace: str, name: str, spec: Object) -> Object:
    """An object of the core group."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def loaded(scratch: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The namespace, with a workload of each kind, its pod, what scales it, and a Service."""
    writer = Writer(scratch.kubeconfig)
    metadata = {"name": "web", "namespace": namespace}
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"minReplicas": 2, "maxReplicas": 5, "scaleTargetRef": scaled}
    pod = {"containers": [{"name": "c", "image": "shop/web:1"}]}
    writer.create_all([
        [workload(kind, namespace) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")],
        [
            *(place("Pod", namespace, name, pod) for name in ("web", "plan", "direct")),
            *(place("Service", namespace, name, {"ports": [{"port": 80}]}) for name in ("plan", "direct")),
            *(place("PersistentVolumeClaim", namespace, name, CLAIM) for name in ("plan", "direct")),
            {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": scaler,
             "status": {"currentReplicas": 3, "desiredReplicas": 3}},
        ],
    ])  # fmt: skip
    return namespace


def run(account: Account, settings: str, script: str, *flags: str, **arguments: object) -> str:
    """The answer to a script that calls tools."""

    async def talk() -> str:
        async with clients.connect("memory", (*account.write_settings(settings), *flags)) as client:
            answer = await clients.evaluate(client, TOOLS + script, timeout=100_000, **arguments)
            assert not answer.is_error, clients.whole(answer)
            return clients.text(answer)

    return anyio.run(talk)


SHOWN: Final = """
for each in resources:
    use("kubectl_get", resource=each, all_namespaces=True)
    use("kubectl_get", resource=each, name="name", namespace="default")
for tool in ("kubectl_top_nodes", "kubectl_top_pods", "kubectl_top_containers"):
    use(tool)
use("kubectl_logs", pod="web", namespace=where)
use("kubectl_cluster_info", dump=True)
[use("kubectl_describe", resource=each, name="web", namespace=where)[:5] for each in ("pod", "deployment", "hpa")]
"""
CHANGED_BY_KUBECTL: Final = """
[
    use("kubectl_scale_deployment", deployment_name="web", replicas=count, namespace=where, **wait),
    use("kubectl_restart_deployment", deployment_name="web", namespace=where, **wait),
    use("kubectl_edit_hpa", hpa_name="web", max_replicas=most, namespace=where, **wait),
]
"""


def test_the_tools_of_kubectl_read_with_their_role_and_need_all_of_it(
    scratch: ControlPlane, loaded: str, tmp_path: Path
) -> None:
    """Each kind is listed and got, and each tool reads what it is for."""
    account = Account(scratch, loaded, tmp_path, "kubectl", "kubectl-read", "kubectl-secrets")
    names = sorted({f"{name}.{group}" if group else name for group, name, verb in account.granted if verb == "list"})
    shown = run(account, "", f"where = {loaded!r}\nresources = {names!r}\n{SHOWN}")
    assert json.loads(shown.splitlines()[0]) == ["Name:"] * 3, shown
    assert account.refused() == []
    assert recorded(account.record) == account.granted


@pytest.mark.parametrize("mode", ["plan", "direct"])
def test_the_tools_of_kubectl_write_with_the_role_of_their_mode_and_need_all_of_it(
    mode: str, scratch: ControlPlane, loaded: str, tmp_path: Path
) -> None:
    """A plan is shown, approved, applied, and its reverse is tried; what is sent at once is followed."""
    account = Account(scratch, loaded, tmp_path, f"kubectl-{mode}", "kubectl-read", f"kubectl-{mode}")
    count, most, wait = {"plan": (7, 4, {}), "direct": (8, 2, {"wait": True, "timeout": 1})}[mode]
    settings = f'writes = "{mode}"\n' + ('approval = "argument"\n' if mode == "plan" else "")
    approved = {"approved": True} if mode == "plan" else {}
    said = run(
        account,
        settings,
        f"where, count, most, wait = {(loaded, count, most, wait)!r}\n{CHANGED_BY_KUBECTL}",
        **approved,
    )
    assert ("3 of 3 changes were made" in said) == (mode == "plan"), said
    stored = tools.typed_by_kubectl(scratch.kubeconfig, "get", "deployment", "web", "-n", loaded, "-o", "json")
    assert json.loads(stored)["spec"]["replicas"] == count
    if mode == "plan":
        (plan,) = re.findall(r"plan (p-\w+): approved", said)
        undone = trails.run("plans", "undo", plan, "--config", str(account.settings))
        assert "A person approves the plan" in undone.stderr, undone.stderr
    assert account.refused() == []
    assert recorded(account.record) <= account.granted
    assert grants(granted(f"kubectl-{mode}")) <= recorded(account.record)


BEHIND_THE_GATEWAY: Final = """
def show(tool, **given):
    return use(tool, namespace=where, **given)

for each in k8s.discovery().preferred():
    group, _, version = each.group_version.rpartition("/")
    # Other tests have made custom kinds in this cluster, which a role names by `rbac.customGroups`.
    if group in built_in and each.namespaced and "list" in each.verbs and each.name not in forbidden:
        show("k8s_list", group=group, version=version, plural=each.name)
        show("k8s_get", group=group, version=version, plural=each.name, name="web")
show("k8s_list_events")
show("k8s_pod_logs", pod="web")
"""
CHANGED_BY_THE_GATEWAY: Final = """
def change(plural, group="apps", tool="k8s_patch", name="web", **given):
    return use(tool, namespace=where, group=group, version="v1", plural=plural, name=name, **given)

[
    *(change(plural, action="scale", replicas=5) for plural in ("deployments", "statefulsets", "replicasets")),
    *(change(plural, action="rollout_restart") for plural in ("deployments", "daemonsets")),
    change("statefulsets", action="update_image", container="c", image="shop/web:2"),
    *(change(plural, "", "k8s_delete", mode) for plural in ("pods", "services", "persistentvolumeclaims")),
]
"""


@pytest.mark.parametrize("mode", ["plan", "direct"])
def test_the_tools_of_gateway_work_with_the_role_of_their_mode(
    mode: str, scratch: ControlPlane, loaded: str, tmp_path: Path
) -> None:
    """Each built-in kind in namespaces but those that the gate forbids is read; workloads are changed, and objects deleted."""
    files = ("gateway-read", f"gateway-{mode}", *(["gateway-secrets"] if mode == "plan" else []))
    account = Account(scratch, loaded, tmp_path, f"gateway-{mode}", *files)
    given = (loaded, tuple(gateway.FORBIDDEN), tuple(kinds.BUILT_IN))
    run(account, "", f"where, forbidden, built_in = {given!r}\n{BEHIND_THE_GATEWAY}")
    settings = f'writes = "{mode}"\n' + ('approval = "argument"\n' if mode == "plan" else "")
    approved = {"approved": True} if mode == "plan" else {}
    said = run(account, settings, f"where, mode = {(loaded, mode)!r}\n{CHANGED_BY_THE_GATEWAY}", **approved)
    assert ("9 of 9 changes were made" in said) == (mode == "plan"), said
    # Deletions are looked at in all kinds; for custom ones of other tests, a role has `rbac.customGroups`.
    assert [each for each in account.refused() if each.partition(".")[2] in kinds.BUILT_IN] == []
    assert recorded(account.record) <= account.granted


RELEASES: Final = """
[
    use("helm_status", release_name="release", namespace=where, show_resources=True),
    use("helm_list", all_namespaces=True),
    use("helm_get_values", release_name="release", namespace=where),
    use("helm_history", release_name="release", namespace=where),
]
"""


def test_releases_and_clusters_are_read_with_the_roles_of_their_toolsets(
    scratch: ControlPlane, loaded: str, tmp_path: Path, helm_program: Path
) -> None:
    """A release of the real Helm with its objects, and the number of nodes and pods."""
    releases.install_web(scratch.kubeconfig, tmp_path, loaded)
    account = Account(scratch, loaded, tmp_path, "helm", "helm-read")
    said = run(account, "", f"where = {loaded!r}\n{RELEASES}", "--toolsets", "code,helm")
    assert "release-auth" in json.loads(said.splitlines()[0])[0], said
    assert account.refused() == []
    assert recorded(account.record) <= account.granted
    counting = tmp_path / "cluster"
    counting.mkdir()
    account = Account(scratch, loaded, counting, "cluster", "cluster-read")
    said = run(account, "", 'use("cluster_list", format="json", include_stats=True)')
    assert json.loads(said.splitlines()[0])[0]["pods"] >= 1, said
    assert account.refused() == []
    assert recorded(account.record) == account.granted
