"""The toolset gateway: its contract's schemas, what its gate refuses, its reads, and its writes on a real API server
with each way to approve them. The contract is docs/toolsets.md; no controller runs here."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import pytest
from mcp.client.session import ElicitationFnT

from kubescript.cli import demo
from kubescript.output import fencing
from tests.kit import clients, tools, trails
from tests.kit.controlplane import cluster
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

KIND: Final = {"namespace", "group", "version", "plural"}
CONTRACT: Final[dict[str, tuple[set[str], set[str]]]] = {
    "k8s_list": (KIND, set()),
    "k8s_get": (KIND | {"name"}, set()),
    "k8s_list_events": ({"namespace"}, set()),
    "k8s_pod_logs": ({"namespace", "pod"}, {"container", "tail_lines"}),
    "k8s_delete": (KIND | {"name"}, {"approved"}),
    "k8s_patch": (KIND | {"name", "action"}, {"replicas", "image", "container", "approved"}),
}
"""What each tool requires, and what it takes besides."""
READS: Final = {"k8s_list", "k8s_get", "k8s_list_events", "k8s_pod_logs"}
SAVED: Final = ("--snapshot", str(demo.SNAPSHOT))
APPS: Final = {"group": "apps", "version": "v1"}
DEPLOYMENT: Final = {"namespace": "default", **APPS, "plural": "deployments"}
WEB: Final = {**DEPLOYMENT, "name": "gate"}
SCALE: Final = {**WEB, "action": "scale"}
PLAN: Final = r"plan p-\w+: "


def listed(*flags: str, toolset: str = "gateway", **environment: str) -> dict[str, mcp_types.Tool]:
    """The tools as a client gets them."""
    got: dict[str, mcp_types.Tool] = {}

    async def ask() -> None:
        given = ("--toolsets", toolset, *SAVED, *flags)
        async with clients.connect("memory", given, environment=environment) as client:
            got.update({tool.name: tool for tool in (await client.list_tools()).tools})

    anyio.run(ask)
    return got


@pytest.fixture(scope="module")
def offered() -> dict[str, mcp_types.Tool]:
    return listed("--no-read-only")


# --- the contract's schemas -------------------------------------------------------------------------------------------


def test_there_are_the_contract_s_tools(offered: Mapping[str, mcp_types.Tool]) -> None:
    """Six; without writes the four that read."""
    assert offered.keys() == CONTRACT.keys()
    assert listed().keys() == READS
    assert {name for name, tool in offered.items() if tool.annotations and tool.annotations.read_only_hint} == READS


@pytest.mark.parametrize("tool", CONTRACT)
def test_a_tool_takes_what_the_contract_names_and_nothing_else(
    tool: str, offered: Mapping[str, mcp_types.Tool]
) -> None:
    """No tool has a selector, and each a namespace."""
    schema = offered[tool].input_schema
    required, optional = CONTRACT[tool]
    assert set(schema["required"]) == required
    assert set(schema["properties"]) == required | optional
    assert schema["additionalProperties"] is False


def test_the_bounds_are_in_the_schemas(offered: Mapping[str, mcp_types.Tool]) -> None:
    """Of replicas and of lines; the actions are three."""
    patch, logs = (offered[tool].input_schema["properties"] for tool in ("k8s_patch", "k8s_pod_logs"))
    assert patch["replicas"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert patch["action"]["enum"] == ["scale", "update_image", "rollout_restart"]
    assert patch["approved"] == {"type": "boolean"}
    assert (logs["tail_lines"]["maximum"], logs["tail_lines"]["default"]) == (500, 100)


@pytest.mark.parametrize("toolset", ["code", "kubectl", "gateway"])
def test_only_where_it_approves_does_a_writing_tool_explain_the_argument_approved(toolset: str) -> None:
    """`approval = "argument"`, and plans to approve; no argument is ever required for it."""
    writing = {
        "code": {"evaluate_script"},
        "kubectl": {"kubectl_scale_deployment", "kubectl_restart_deployment", "kubectl_edit_hpa"},
    }
    expected = writing.get(toolset, CONTRACT.keys() - READS)
    by_argument = {"KUBESCRIPT_APPROVAL": "argument"}

    def explained(found: Mapping[str, mcp_types.Tool]) -> set[str]:
        approved = {name: tool.input_schema["properties"].get("approved", {}) for name, tool in found.items()}
        assert not any("approved" in tool.input_schema.get("required", ()) for tool in found.values())
        return {name for name, schema in approved.items() if "description" in schema}

    assert explained(listed("--no-read-only", toolset=toolset, **by_argument)) == expected
    assert explained(listed(toolset=toolset, **by_argument)) == set()
    assert explained(listed("--no-read-only", toolset=toolset)) == set()


# --- what the gate refuses --------------------------------------------------------------------------------------------

PODS: Final = {"namespace": "shop", "group": "", "version": "v1", "plural": "pods"}
REFUSED: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "no namespace": ("k8s_list", {**APPS, "plural": "pods"}, "'namespace' is a required property"),
    "a namespace of no name": ("k8s_list_events", {"namespace": ""}, "Resource name format .*: namespace "),
    "all namespaces": ("k8s_list_events", {"namespace": "*"}, r"Resource name format .*: namespace \*?"),
    "secrets": ("k8s_list", {**PODS, "plural": "secrets"}, "secrets are out of reach here"),
    "configmaps": ("k8s_get", {**PODS, "plural": "configmaps", "name": "web"}, "configmaps are out of reach here"),
    "secrets to delete": ("k8s_delete", {**PODS, "plural": "secrets", "name": "db"}, "secrets are out of reach here"),
    "a selector": ("k8s_list", {**PODS, "label_selector": "a=b"}, "Additional properties are not allowed .*"),
    "a patch": ("k8s_patch", {**SCALE, "patch": {"spec": {}}}, "Additional properties are not allowed .*"),
    "a subresource": ("k8s_get", {**PODS, "plural": "pods/log", "name": "web"}, "group, version and plural .*"),
    "a kind": ("k8s_list", {**PODS, "plural": "Pod"}, "group, version and plural .* not Pod"),
    "a path for a version": ("k8s_list", {**PODS, "version": "v1/pods"}, "group, version and plural .* not v1/pods"),
    "no version": ("k8s_list", {**PODS, "version": ""}, "group, version and plural .* not "),
    "no plural": ("k8s_list", {**PODS, "plural": ""}, "group, version and plural .* not "),
    "no such action": ("k8s_patch", {**WEB, "action": "exec"}, "argument `action`: 'exec' is not one of .*"),
    "101 replicas": ("k8s_patch", {**SCALE, "replicas": 101}, "argument `replicas`: 101 is greater than .* 100"),
    "-1 replicas": ("k8s_patch", {**SCALE, "replicas": -1}, "argument `replicas`: -1 is less than .* 0"),
    "half a replica": ("k8s_patch", {**SCALE, "replicas": 1.5}, "argument `replicas`: 1.5 is not of type 'integer'"),
    "no replicas": ("k8s_patch", SCALE, "arguments of scale: replicas; given: none"),
    "an image and no container": (
        "k8s_patch", {**WEB, "action": "update_image", "image": "web:2"},
        "arguments of update_image: container, image; given: image",
    ),
    "an image that is none": (
        "k8s_patch", {**WEB, "action": "update_image", "image": "web 2", "container": "c"}, "image is a reference .* not web 2",
    ),
    "replicas of a restart": (
        "k8s_patch", {**WEB, "action": "rollout_restart", "replicas": 2},
        "arguments of rollout_restart: none; given: replicas",
    ),
    "a daemonset to scale": (
        "k8s_patch", {**SCALE, "plural": "daemonsets", "replicas": 2},
        "scale is for deployments, statefulsets, replicasets of apps/v1, not for daemonsets of apps/v1",
    ),
    "a replicaset to restart": (
        "k8s_patch", {**WEB, "plural": "replicasets", "action": "rollout_restart"},
        "rollout_restart is for deployments, statefulsets, daemonsets of apps/v1, not for replicasets of apps/v1",
    ),
    "pods with another image": (
        "k8s_patch", {**PODS, "name": "web", "action": "update_image", "image": "web:2", "container": "c"},
        "update_image is for .*, not for pods of v1",
    ),
    "deployments of a stranger": (
        "k8s_patch", {**SCALE, "group": "example.com", "replicas": 2}, "scale is for .*, not for deployments of example.com/v1",
    ),
    "501 lines": (
        "k8s_pod_logs", {"namespace": "shop", "pod": "web", "tail_lines": 501}, "argument `tail_lines`: 501 is greater .*",
    ),
    "approval by a word": ("k8s_patch", {**SCALE, "replicas": 2, "approved": "true"}, "argument `approved`: 'true' is .*"),
}  # fmt: skip
"""Tool, arguments, and the text after `BLOCKED: `."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tools.Call, Path]]:
    """A server of the demo's cluster that takes plans, and its audit record."""
    record = tmp_path_factory.mktemp("gate") / "audit.jsonl"
    with tools.calling(*SAVED, "--no-read-only", "--audit", str(record), toolsets="gateway") as made:
        yield made, record


@pytest.mark.parametrize("case", REFUSED)
def test_the_gate_refuses_before_anything_is_sent(case: str, saved: tuple[tools.Call, Path]) -> None:
    """As `BLOCKED: …`, and no script runs."""
    call, record = saved
    tool, arguments, expected = REFUSED[case]
    before = record.read_bytes()
    result = call(tool, **arguments)
    assert result.is_error
    assert re.fullmatch(f"BLOCKED: {expected}", clients.whole(result)), clients.whole(result)
    assert record.read_bytes() == before


UNKNOWN: Final = {
    "no such group": {"group": "example.com", "version": "v1", "plural": "pods"},
    "no such version": {"group": "apps", "version": "v2", "plural": "deployments"},
    "no such plural": {"group": "apps", "version": "v1", "plural": "pods"},
    "a short name": {"group": "apps", "version": "v1", "plural": "deploy"},
    "a singular": {"group": "", "version": "v1", "plural": "pod"},
    "a kind without namespaces": {"group": "", "version": "v1", "plural": "nodes"},
    "the core group by a name": {"group": "core", "version": "v1", "plural": "pods"},
    "what Helm keeps": {"group": "helm.sh", "version": "secrets", "plural": "releases"},
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_discovery_does_not_know_is_refused(case: str, kubeconfig_call: tools.Call) -> None:
    """By its exact names; to read it as to delete it."""
    kind = UNKNOWN[case]
    for tool, name in (("k8s_list", {}), ("k8s_get", {"name": "web"}), ("k8s_delete", {"name": "web"})):
        result = kubeconfig_call(tool, namespace="shop", **kind, **name)
        assert result.is_error
        group_version = f"{kind['group']}/{kind['version']}".removeprefix("/")
        known = f"BLOCKED: discovery knows no {kind['plural']} of {group_version} that live in a namespace"
        assert clients.whole(result) == known


# --- reads ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kubeconfig_call(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tools.Call]:
    """A server of the shared cluster; each call is checked to make one API call besides discovery."""
    record = tmp_path_factory.mktemp("reads") / "audit.jsonl"
    flags = ("--kubeconfig", str(kubeconfig), "--no-read-only", "--audit", str(record))
    with tools.calling(*flags, toolsets="gateway") as made:

        def call(tool: str, /, **arguments: object) -> mcp_types.CallToolResult:
            before = len(trails.records(record, "call")) if record.exists() else 0
            result = made(tool, **arguments)
            every = [entry.get("resource", "") for entry in trails.records(record, "call")[before:]]
            # An empty answer says whether there is such a namespace.
            every = [resource for resource in every if resource != "namespaces"]
            assert len(every) <= 2 and len([resource for resource in every if resource]) <= 1, every
            return result

        yield call


def object_of(text: str) -> Any:
    """The JSON of an answer, without the notes under it."""
    return json.loads(text.partition("\n[")[0])


def test_the_objects_of_a_namespace_are_listed(kubeconfig_call: tools.Call, kubeconfig: Path) -> None:
    """All of them, pruned of what the API server keeps for itself."""
    found = object_of(tools.text(kubeconfig_call("k8s_list", namespace="shop", **APPS, plural="deployments")))
    words = ("get", "deployments", "-n", "shop", "-o", "jsonpath={.items[*].metadata.name}")
    assert [each["metadata"]["name"] for each in found["items"]] == tools.typed_by_kubectl(kubeconfig, *words).split()
    text = json.dumps(found)
    assert not any(field in text for field in ("managedFields", "resourceVersion", '"uid"'))


def test_a_long_list_has_whole_objects_first_and_then_names(kubeconfig_call: tools.Call, kubeconfig: Path) -> None:
    """None is missing, and each of the others can be shown."""
    found = object_of(tools.text(kubeconfig_call("k8s_list", **PODS)))
    names = [each["metadata"]["name"] for each in found["items"]] + found["others"]
    words = ("get", "pods", "-n", "shop", "-o", "jsonpath={.items[*].metadata.name}")
    assert names == tools.typed_by_kubectl(kubeconfig, *words).split()
    assert found["note"].startswith(f"{len(found['items'])} of {len(names)} objects are shown")
    assert object_of(tools.text(kubeconfig_call("k8s_get", **PODS, name=names[-1])))["kind"] == "Pod"


def test_one_object_is_shown(kubeconfig_call: tools.Call) -> None:
    """Of a built-in kind, and of one that discovery alone knows."""
    cart = object_of(
        tools.text(kubeconfig_call("k8s_get", namespace="shop", **APPS, plural="deployments", name="cart"))
    )
    assert (cart["kind"], cart["metadata"]["name"]) == ("Deployment", "cart")
    certificates = {"namespace": "shop", "group": "cert-manager.io", "version": "v1", "plural": "certificates"}
    (listed,) = object_of(tools.text(kubeconfig_call("k8s_list", **certificates)))["items"]
    shown = object_of(tools.text(kubeconfig_call("k8s_get", **certificates, name="storefront-tls")))
    assert (shown["kind"], shown["spec"]) == ("Certificate", listed["spec"])


def test_an_object_that_is_not_there_is_an_error(kubeconfig_call: tools.Call) -> None:
    """`ERROR: Type:`, and the API server's words behind a mark."""
    result = kubeconfig_call("k8s_get", namespace="shop", **APPS, plural="deployments", name="nope")
    first, rest = clients.whole(result).split("\n", 1)
    assert result.is_error and first == "ERROR: NotFoundException:"
    assert fencing.unfence(rest) == 'deployments.apps "nope" not found'


def test_events_come_with_warnings_first(kubeconfig_call: tools.Call) -> None:
    """At most a hundred."""
    events = object_of(tools.text(kubeconfig_call("k8s_list_events", namespace="shop")))["items"]
    kinds = [event["type"] for event in events]
    assert 0 < len(kinds) <= 100 and kinds == sorted(kinds, reverse=True)
    assert {"reason", "object", "message"} <= events[0].keys()


def test_the_last_lines_of_a_log_are_shown(kubeconfig_call: tools.Call, kubeconfig: Path) -> None:
    """As kubectl shows them; an answer has 500 lines at most."""
    if cluster.elsewhere():
        pytest.skip("needs the tests' own kubelets")
    words = ("get", "pods", "-n", "shop", "-l", "app=orders", "--no-headers", "-o", "wide")
    pods = tools.typed_by_kubectl(kubeconfig, *words).splitlines()
    pod = next(line.split()[0] for line in pods if facts.NODE_NOT_READY not in line)
    given = {"namespace": "shop", "pod": pod}
    for container in ({}, {"container": "orders"}):
        shown = tools.text(kubeconfig_call("k8s_pod_logs", **given, **container, tail_lines=5))
        assert shown == tools.typed_by_kubectl(kubeconfig, "logs", "-n", "shop", pod, "--tail", "5").rstrip("\n")
    assert len(tools.text(kubeconfig_call("k8s_pod_logs", **given)).splitlines()) == 100
    assert len(tools.text(kubeconfig_call("k8s_pod_logs", **given, tail_lines=500)).splitlines()) <= 500
    missing = kubeconfig_call("k8s_pod_logs", **given, container="nope")
    assert missing.is_error and clients.whole(missing).startswith("ERROR: BadRequestException:\n")


def test_a_saved_cluster_is_read_alike(saved: tuple[tools.Call, Path]) -> None:
    """Objects and events; what was not saved is an error."""
    call, _ = saved
    found = object_of(tools.text(call("k8s_list", namespace="shop", **APPS, plural="deployments")))["items"]
    name = found[0]["metadata"]["name"]
    shown = call("k8s_get", namespace="shop", **APPS, plural="deployments", name=name)
    assert object_of(tools.text(shown)) == found[0]
    assert object_of(tools.text(call("k8s_list_events", namespace="shop")))["items"]
    lost = call("k8s_get", namespace="shop", **APPS, plural="deployments", name="nope")
    assert lost.is_error and clients.whole(lost).startswith("ERROR: ")


# --- writes -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def writer(scratch: ControlPlane) -> Writer:
    return Writer(scratch.kubeconfig)


def workload(kind: str, name: str, **spec: object) -> Object:
    """A workload of two containers; nothing runs it."""
    containers = [{"name": "c", "image": "shop/web:1"}, {"name": "side-car", "image": "envoy:1"}]
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod} | spec,
    }  # fmt: skip


@pytest.fixture
def web(writer: Writer) -> Iterator[Object]:
    """A Deployment of three pods, gone after the test."""
    made = workload("Deployment", "gate", replicas=3)
    writer.create(made)
    yield made
    with contextlib.suppress(RuntimeError):
        writer.delete(made, now=True)


def stored(scratch: ControlPlane, what: str = "deployment gate") -> Any:
    """An object as the real kubectl reads it."""
    return json.loads(tools.typed_by_kubectl(scratch.kubeconfig, "get", *what.split(), "-o", "json"))


@contextlib.contextmanager
def served(
    scratch: ControlPlane,
    folder: Path,
    settings: str,
    mode: str = "auto",
    asked: ElicitationFnT | None = None,
    toolsets: str = "gateway",
) -> Iterator[tools.Call]:
    """A server of the plane with these settings, and a client of it."""
    file = folder / "kubescript.toml"
    store = f'[plans]\nstore = "{folder}/plans.db"\npage = false\nfollow_s = 0\n'
    file.write_text(f'kubeconfig = "{scratch.kubeconfig}"\n{settings}\n{store}')
    with tools.calling("--config", str(file), toolsets=toolsets, mode=mode, asked=asked) as call:
        yield call


@pytest.fixture(scope="module")
def by_argument(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tools.Call]:
    """A server where whoever calls a tool approves what it changes."""
    settings = 'writes = "plan"\napproval = "argument"'
    with served(scratch, tmp_path_factory.mktemp("argument"), settings, toolsets="gateway,code,kubectl") as call:
        yield call


def answered(result: mcp_types.CallToolResult) -> tuple[dict[str, Any], str]:
    """What a write says of itself, and what became of its plan."""
    assert not result.is_error, clients.whole(result)
    first, _, rest = clients.whole(result).partition("\n")
    return json.loads(first), rest


def test_a_workload_is_scaled(scratch: ControlPlane, by_argument: tools.Call, web: Object) -> None:
    """With approved=true at once, and the answer is the contract's."""
    said, plan = answered(by_argument("k8s_patch", **SCALE, replicas=5, approved=True))
    assert said == {
        "result": "patched", "action": "scale", "replicas": 5, "explain": "Scales Deployment default/gate to 5 replicas.",
    }  # fmt: skip
    assert re.fullmatch(f'{PLAN}approved by client "mcp", session .* and applied; 1 of 1 changes were made', plan)
    assert stored(scratch)["spec"]["replicas"] == 5
    answered(by_argument("k8s_patch", **SCALE, replicas=0.0, approved=True))
    assert stored(scratch)["spec"]["replicas"] == 0


def test_the_image_of_one_container_is_set(scratch: ControlPlane, by_argument: tools.Call, web: Object) -> None:
    """The other stays; no container is added."""
    update = {**WEB, "action": "update_image", "approved": True}
    said, _ = answered(by_argument("k8s_patch", **update, container="side-car", image="envoy:2@sha256:" + "a" * 64))
    assert (said["container"], said["result"]) == ("side-car", "patched")
    images = [each["image"] for each in stored(scratch)["spec"]["template"]["spec"]["containers"]]
    assert images == ["shop/web:1", "envoy:2@sha256:" + "a" * 64]
    added = by_argument("k8s_patch", **update, container="spy", image="spy:1")
    assert clients.whole(added).startswith("ERROR: ValueError:\n") and "has no container 'spy'" in clients.whole(added)
    assert len(stored(scratch)["spec"]["template"]["spec"]["containers"]) == 2


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_workload_is_restarted(kind: str, scratch: ControlPlane, writer: Writer, by_argument: tools.Call) -> None:
    """By kubectl's annotation."""
    made = workload(kind, "gate-again")
    writer.create(made)
    try:
        plural = f"{kind.lower()}s"
        restart = {"namespace": "default", **APPS, "plural": plural, "name": "gate-again", "action": "rollout_restart"}
        said, _ = answered(by_argument("k8s_patch", **restart, approved=True))
        assert said["explain"] == f"Restarts {kind} default/gate-again: its pods are replaced, some at a time."
        template = stored(scratch, f"{plural} gate-again")["spec"]["template"]
        assert list(template["metadata"]["annotations"]) == ["kubectl.kubernetes.io/restartedAt"]
    finally:
        writer.delete(made, now=True)


def test_an_object_is_deleted(scratch: ControlPlane, writer: Writer, by_argument: tools.Call) -> None:
    """One, by its name; a second time there is none."""
    port = {"port": 80}
    for name in ("gate-one", "gate-two"):
        metadata = {"name": name, "namespace": "default"}
        writer.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [port]}})
    service = {"namespace": "default", "group": "", "version": "v1", "plural": "services", "approved": True}
    said, _ = answered(by_argument("k8s_delete", **service, name="gate-one"))
    explain = "Deletes Service default/gate-one, and in the background what it owns."
    assert said == {"result": "deleted", "action": "delete", "explain": explain}
    assert "service/gate-one\n" not in tools.typed_by_kubectl(scratch.kubeconfig, "get", "services", "-o", "name")
    gone = by_argument("k8s_delete", **service, name="gate-one")
    assert gone.is_error and clients.whole(gone).startswith("ERROR: NotFoundException:\n")
    assert stored(scratch, "service gate-two")


def test_what_only_a_person_can_override_is_blocked(
    scratch: ControlPlane, writer: Writer, by_argument: tools.Call, web: Object
) -> None:
    """A deletion that takes down what runs needs a reason, which no argument gives."""
    writer.write_status(web, {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3})
    result = by_argument("k8s_delete", **WEB, approved=True)
    assert result.is_error and clients.whole(result).startswith("BLOCKED: plan p-")
    assert "NO_DESTRUCTIVE_SHORTCUTS" in clients.whole(result)
    assert stored(scratch)


@pytest.mark.parametrize("approved", [None, False])
def test_without_approval_nothing_is_sent(
    approved: bool | None, scratch: ControlPlane, by_argument: tools.Call, web: Object
) -> None:
    """Not even a dry run; the model is told what is missing."""
    for tool, arguments in (("k8s_patch", {**SCALE, "replicas": 9}), ("k8s_delete", WEB)):
        result = by_argument(tool, **arguments, approved=approved)
        assert result.is_error and clients.whole(result).startswith("BLOCKED: approval required")
    assert stored(scratch)["spec"]["replicas"] == 3


def test_other_tools_take_the_argument_too(scratch: ControlPlane, by_argument: tools.Call, web: Object) -> None:
    """Scripts and kubectl's tools; without it they are tried, and nothing is changed."""
    script = "k8s.scale('deployments/gate', 7, namespace='default').spec.replicas"
    tried = tools.text(by_argument("evaluate_script", script=script))
    assert tried.startswith("7\n") and "argument approved=true" in tried
    scale = {"deploymentName": "gate", "replicas": 8}
    assert "the argument approved=true" in tools.text(by_argument("kubectl_scale_deployment", **scale))
    assert stored(scratch)["spec"]["replicas"] == 3
    assert "and applied" in tools.text(by_argument("evaluate_script", script=script, approved=True))
    assert stored(scratch)["spec"]["replicas"] == 7
    assert "and applied" in tools.text(by_argument("kubectl_scale_deployment", **scale, approved=True))
    assert stored(scratch)["spec"]["replicas"] == 8


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_person_is_asked_and_approved_says_nothing(
    mode: str, scratch: ControlPlane, tmp_path: Path, web: Object
) -> None:
    """In both eras of the protocol, with the argument and without it; a client that asks nobody changes nothing."""
    answers = iter(["decline", "approve", "approve"])
    questions: list[str] = []

    async def asked(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        questions.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"decision": next(answers), "reason": "because"})

    with served(scratch, tmp_path, 'writes = "plan"', mode, asked) as call:
        declined = clients.whole(call("k8s_patch", **SCALE, replicas=4, approved=True))
        assert "because; nothing was changed" in declined and "patched" not in declined
        assert stored(scratch)["spec"]["replicas"] == 3
        said, plan = answered(call("k8s_patch", **SCALE, replicas=5, approved=True))
        assert said["result"] == "patched" and "and applied" in plan
        assert stored(scratch)["spec"]["replicas"] == 5
        answered(call("k8s_patch", **SCALE, replicas=6))
        assert stored(scratch)["spec"]["replicas"] == 6
    assert len(questions) == 3 and all("spec.replicas" in question for question in questions)
    with served(scratch, tmp_path, 'writes = "plan"', mode) as call:
        said, plan = answered(call("k8s_patch", **SCALE, replicas=7, approved=True))
        assert said["result"] == "planned" and "nothing is changed yet" in plan
    assert stored(scratch)["spec"]["replicas"] == 6


def test_writes_that_need_no_plan_are_sent_at_once(scratch: ControlPlane, tmp_path: Path, web: Object) -> None:
    """Unless approval is by argument, which is then needed as well."""
    with served(scratch, tmp_path, 'writes = "direct"') as call:
        said, rest = answered(call("k8s_patch", **SCALE, replicas=4))
        assert (said["result"], rest) == ("patched", "")
    with served(scratch, tmp_path, 'writes = "direct"\napproval = "argument"') as call:
        assert clients.whole(call("k8s_patch", **SCALE, replicas=5)).startswith("BLOCKED: approval required")
        assert stored(scratch)["spec"]["replicas"] == 4
        answered(call("k8s_patch", **SCALE, replicas=5, approved=True))
    assert stored(scratch)["spec"]["replicas"] == 5


POLICIES: Final[dict[str, tuple[str, str]]] = {
    "other namespaces": ('[write_policy]\nnamespaces = ["shop"]', "only namespaces shop may be changed"),
    "fewer replicas": ("[write_policy]\nreplicas = [1, 4]", ""),
    "no deployments": (
        '[[denied_resources]]\ngroup = "apps"\nkind = "Deployment"',
        "the operator denies apps/Deployment",
    ),
}


@pytest.mark.parametrize("case", POLICIES)
def test_what_the_policy_refuses_is_blocked(case: str, scratch: ControlPlane, tmp_path: Path, web: Object) -> None:
    """In the policy's words, whoever approves."""
    policy, reason = POLICIES[case]
    with served(scratch, tmp_path, f'writes = "plan"\napproval = "argument"\n{policy}') as call:
        result = call("k8s_patch", **SCALE, replicas=5, approved=True)
    assert result.is_error and clients.whole(result).startswith("BLOCKED: ") and reason in clients.whole(result)
    assert stored(scratch)["spec"]["replicas"] == 3


def test_two_approvals_are_more_than_one_argument(scratch: ControlPlane, tmp_path: Path, web: Object) -> None:
    """Whoever calls is one of them at most, and nothing is applied."""
    rule = '[[write_policy.approvals]]\nnamespaces = ["default"]\ncount = 2'
    with served(scratch, tmp_path, f'writes = "plan"\napproval = "argument"\n{rule}') as call:
        result = call("k8s_patch", **SCALE, replicas=5, approved=True)
    assert '"patched"' not in clients.whole(result)
    assert stored(scratch)["spec"]["replicas"] == 3


def test_warnings_of_the_api_server_stand_under_the_result(
    scratch: ControlPlane, writer: Writer, by_argument: tools.Call
) -> None:
    """Marked as its words, and the result of the dry run is gone."""
    made = workload("Deployment", "gate-twice", replicas=1)
    made["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "A", "value": "2"},
    ]
    writer.create(made)
    try:
        update = {**DEPLOYMENT, "name": "gate-twice", "action": "update_image", "container": "c", "image": "shop/web:2"}
        said, rest = answered(by_argument("k8s_patch", **update, approved=True))
    finally:
        writer.delete(made, now=True)
    assert said["result"] == "patched" and "hides previous definition" in rest and '"planned"' not in rest


def test_doctor_says_what_approval_by_argument_means(tmp_path: Path) -> None:
    """In one line, which is no fault; with a person's approval there is none."""
    command = ("doctor", "--offline", "--config", str(tmp_path / "kubescript.toml"))
    (tmp_path / "kubescript.toml").write_text('approval = "argument"\nwrites = "plan"\n')
    said = [line for line in trails.run(*command).stdout.splitlines() if line.startswith("WARNING")]
    assert said == [
        'WARNING approval      whoever calls a tool approves it, so a model approves its own changes (approval = "argument")'
    ]
    assert json.loads(trails.run(*command, "--json").stdout)["approval"] == "argument"
    (tmp_path / "kubescript.toml").write_text('writes = "plan"\n')
    assert "WARNING" not in trails.run(*command).stdout
