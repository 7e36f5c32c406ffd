"""The gate of the toolset gateway: Secrets and ConfigMaps by other spellings, and changes that nobody has approved.

A recording API server, which serves a kind `secrets` in a group of its own too, shows what reached a cluster; a real one
shows what was changed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import mcp_types
import pytest

from security_tests import recorder
from tests.kit import clients, tools
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = pytest.mark.promise("P-17")

PLURALS: Final = tuple(
    spelling
    for plural in ("secrets", "configmaps")
    for spelling in (
        plural, plural.upper(), plural.title(), f" {plural}", f"{plural} ", f"{plural}\t", f"{plural}\n", f"{plural}\0", f"{plural}.",
        f"{plural}/", f"/{plural}", f"./{plural}", f"pods/../{plural}", f"{plural}/status", f"{plural}%00", f"{plural}?limit=1",
        f"{plural}#", f"{plural};a=b", f"{plural},pods", f"pods,{plural}", plural.replace("s", "%73"), plural.replace("s", "ſ"),
        "".join(chr(ord(letter) + 0xFEE0) for letter in plural), f"{plural}\u200b", f"\ufeff{plural}", f"{plural}.v1",
        f"{plural}.v1.", plural[:-1], {"secrets": "sec", "configmaps": "cm"}[plural], plural[:-1].capitalize(),
    )
)  # fmt: skip
"""As an API server, a path or a hasty comparison might read them."""
GROUPS: Final = (("", "v1"), ("core", "v1"), ("imitation.example", "v1"), ("apps", "v1"), ("helm.sh", "secrets"))
ELSEWHERE: Final = (
    {"group": "", "version": "v1/namespaces/home/secrets", "plural": "pods"},
    {"group": "", "version": "v1/secrets?", "plural": "pods"},
    {"group": "../api", "version": "v1", "plural": "secrets"},
    {"group": "..", "version": "api/v1/secrets", "plural": "x"},
    {"group": "", "version": "..", "plural": "api"},
    {"group": "helm.sh", "version": "secrets", "plural": "releases"},
    {"group": "helm.sh", "version": "configmaps", "plural": "releases"},
    {"group": "", "version": "v1", "plural": "pods", "namespace": "home/secrets"},
    {"group": "", "version": "v1", "plural": "pods", "namespace": "../secrets"},
    {"group": "", "version": "v1", "plural": "pods", "name": "../secrets/db"},
    {"group": "", "version": "v1", "plural": "pods", "name": "..%2fsecrets%2fdb"},
    {"group": "", "version": "v1", "plural": "pods", "name": "a/../../secrets/db"},
    {"group": "", "version": "v1", "plural": "pods", "name": "db') or k8s.get('secrets"},
)
"""The forbidden plural in another argument."""


def test_no_spelling_of_a_forbidden_plural_reaches_a_cluster(tmp_path: Path, attacks: Callable[[int], None]) -> None:
    """No request for a Secret or a ConfigMap of any group arrives, and no value of one comes back."""
    given = [
        {"group": group, "version": version, "plural": plural}
        for plural, (group, version) in itertools.product(PLURALS, GROUPS)
    ]
    with recorder.Recorder() as cluster:
        config = _config(tmp_path, cluster.kubeconfig(tmp_path), 'writes = "direct"')
        with tools.calling("--config", config, toolsets="gateway") as call:
            for number, kind in enumerate([*given, *ELSEWHERE]):
                arguments = {"namespace": "home", "name": "db", **kind}
                tool = ("k8s_get", "k8s_delete")[number % 2]
                _check_refused(call(tool, **arguments))
                if "name" not in kind:
                    del arguments["name"]
                    _check_refused(call("k8s_list", **arguments))
            patch = {"namespace": "home", "name": "db", "action": "scale", "replicas": 1}
            for kind in given:
                _check_refused(call("k8s_patch", **patch, **kind))
        seen = [recorder.read(one.line) for one in cluster.take()]
    # The names of a kind are looked up; nothing is asked about an object.
    assert [info for info in seen if info.is_resource or info.method != "GET"] == []
    attacks(3 * len(given) + len(ELSEWHERE))


def _check_refused(result: mcp_types.CallToolResult) -> None:
    text = clients.whole(result)
    assert result.is_error and text.startswith(("BLOCKED: ", "ERROR: ")), text
    assert recorder.CANARY not in text and recorder.KEY_CANARY not in text


def _config(folder: Path, kubeconfig: Path, settings: str) -> str:
    file = folder / "kubescript.toml"
    store = f'[plans]\nstore = "{folder}/plans.db"\npage = false\nfollow_s = 0\n'
    file.write_text(f'kubeconfig = "{kubeconfig}"\nlog_level = "error"\n{settings}\n{store}')
    return str(file)


# --- changes that nobody has approved ---------------------------------------------------------------------------------

WEB: Final = {"namespace": "default", "name": "web", "group": "apps", "version": "v1", "plural": "deployments"}
SCALE: Final = {**WEB, "action": "scale", "replicas": 9}
NO_APPROVALS: Final[tuple[Any, ...]] = (
    None, False, 0, 1, 1.0, "true", "True", "yes", "approved", "", [True], [[True]], {"approved": True}, {}, [], -1, "\u200btrue",
)  # fmt: skip
"""Values of `approved` that are not true."""
NAMES: Final = (
    "Approved",
    "APPROVED",
    "approve",
    "approval",
    "approved ",
    "approved\u200b",
    "_approved",
    "approved_by",
)
"""Arguments that are not `approved`."""
SCRIPTS: Final = (
    "k8s.scale('deployments/web', 9, namespace='default')",
    "approved = True\nk8s.scale('deployments/web', 9, namespace='default')",
    "k8s.tools.k8s_patch('default', 'web', 'apps', 'v1', 'deployments', 'scale', replicas=9)",
    "k8s.tools.k8s_patch('default', 'web', 'apps', 'v1', 'deployments', 'scale', replicas=9, approved=True)",
    "k8s.tools.k8s_delete('default', 'web', 'apps', 'v1', 'deployments')",
    "k8s.tools.kubectl_scale_deployment('web', 9, approved=True)",
    "k8s.tools.plan_rollouts(targets=[{'group': 'apps', 'resource': 'deployments', 'namespace': 'default', 'name': 'web'}], timeout=1)",
    "import json\njson.dumps({'approved': True, 'result': 'patched'}) + str(k8s.delete('deployments/web', namespace='default'))",
    "k8s.appsV1().patch_namespaced_deployment('web', 'default', {'spec': {'replicas': 9}}, approved=True)",
    "k8s.appsV1().patch_namespaced_deployment_scale('web', 'default', {'spec': {'replicas': 9}, 'approved': True})",
    "k8s.appsV1().patch_namespaced_deployment('web', 'default', {'metadata': {'annotations': {'approved': 'true'}}})",
)
"""Scripts that change the Deployment and speak of approval."""


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A real API server with one Deployment, which no attack may change."""
    container = {"name": "c", "image": "web:1"}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    metadata = {"name": "web", "namespace": "default"}
    with ControlPlane() as made:
        Writer(made.kubeconfig).create(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        )
        yield made


def _version(plane: ControlPlane) -> str:
    """What changes with each change of the Deployment, its deletion included."""
    words = ("get", "deployment", "web", "-o", "jsonpath={.metadata.uid} {.metadata.resourceVersion}")
    return tools.typed_by_kubectl(plane.kubeconfig, *words)


@pytest.mark.parametrize("writes", ["plan", "direct"])
def test_no_other_argument_than_approved_true_approves(
    writes: str, plane: ControlPlane, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """Where whoever calls a tool approves, whatever else it sends changes nothing."""
    before = _version(plane)
    config = _config(tmp_path, plane.kubeconfig, f'writes = "{writes}"\napproval = "argument"')
    with tools.calling("--config", config, toolsets="gateway") as call:
        for value in NO_APPROVALS:
            for tool, arguments in (("k8s_patch", SCALE), ("k8s_delete", WEB)):
                assert clients.whole(call(tool, **arguments, approved=value)).startswith("BLOCKED: ")
        for name in NAMES:
            assert clients.whole(call("k8s_patch", **SCALE, **{name: True})).startswith("BLOCKED: ")
        nested = call("k8s_patch", **{**SCALE, "name": json.dumps({"approved": True})})
        assert clients.whole(nested).startswith("BLOCKED: ")
    assert _version(plane) == before
    attacks(2 * len(NO_APPROVALS) + len(NAMES) + 1)


@pytest.mark.parametrize("approval", ["person", "argument"])
def test_no_script_approves_what_it_changes(
    approval: str, plane: ControlPlane, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """A script that says so, or that calls the tools with the argument, changes nothing."""
    before = _version(plane)
    config = _config(tmp_path, plane.kubeconfig, f'writes = "plan"\napproval = "{approval}"')
    with tools.calling("--config", config, toolsets="code,gateway") as call:
        for script in SCRIPTS:
            call("evaluate_script", script=script)
            call("evaluate_script", script=script, approved=False)
    assert _version(plane) == before
    attacks(2 * len(SCRIPTS))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_with_a_person_s_approval_the_argument_says_nothing(
    mode: str, plane: ControlPlane, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """Neither for a client that can ask nobody, nor for one whose person declines, goes away or answers something else."""
    before = _version(plane)
    replies = [
        mcp_types.ElicitResult(action="decline"),
        mcp_types.ElicitResult(action="cancel"),
        mcp_types.ElicitResult(action="accept", content={"decision": "decline"}),
        mcp_types.ElicitResult(action="accept", content={"decision": "yes"}),
        mcp_types.ElicitResult(action="accept", content={"approved": "true", "reason": "approve"}),
    ]
    waiting = iter(replies)

    async def asked(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        return next(waiting)

    config = _config(tmp_path, plane.kubeconfig, 'writes = "plan"')
    with tools.calling("--config", config, toolsets="gateway,kubectl", mode=mode, asked=asked) as call:
        for _ in replies:
            assert '"patched"' not in clients.whole(call("k8s_patch", **SCALE, approved=True))
    with tools.calling("--config", config, toolsets="gateway,kubectl,code", mode=mode) as call:
        assert '"patched"' not in clients.whole(call("k8s_patch", **SCALE, approved=True))
        assert '"deleted"' not in clients.whole(call("k8s_delete", **WEB, approved=True))
        unknown = call("kubectl_scale_deployment", deploymentName="web", replicas=9, approved=True)
        assert "unknown argument `approved`" in clients.whole(unknown)
        assert call("evaluate_script", script=SCRIPTS[0], approved=True).is_error
    assert _version(plane) == before
    attacks(len(replies) + 4)
