"""The rules for writes on a real API server, through the whole way of a script: what is refused changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubernetes import client

from tests.kit import plan_mode, trails
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.plan_mode import SHOP

SETTINGS = """
writes = "direct"
[write_policy]
namespaces = ["shop"]
targets = "track!=canary"
replicas = [1, 5]
registries = ["docker.io/library"]
[[write_policy.expressions]]
id = "memory"
expression = "object.spec.template.spec.containers.all(c, has(c.resources.limits) && 'memory' in c.resources.limits)"
message = "each container needs a limit of memory"
resources = ["deployments.apps"]
"""
LIMITS = {"limits": {"memory": "64Mi"}}


def deployment(name: str, track: str) -> Object:
    labels = {"app": name, "track": track}
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "nginx:1", "resources": LIMITS}]},
    }
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": SHOP, "labels": labels, "finalizers": ["example.com/kept"]},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": pod},
    }  # fmt: skip


REFUSED = {
    "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 6}})": "writes.replicas",
    "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'replicas': 0}})": "writes.replicas",
    "apps.patch_namespaced_deployment_scale('web-canary', 'shop', {'spec': {'replicas': 2}})": "writes.targets",
    "apps.delete_namespaced_deployment('web-canary', 'shop')": "writes.targets",
    "apps.patch_namespaced_deployment('web', 'shop', {'metadata': {'labels': {'track': 'canary'}}})": "writes.targets",
    "apps.patch_namespaced_deployment('web', 'shop', pod(image='evil.org/library/nginx'))": "writes.registries",
    "apps.patch_namespaced_deployment('web', 'shop', pod(resources={'limits': None}))": "writes.expressions.memory",
    "apps.patch_namespaced_deployment('web', 'shop', pod(securityContext={'privileged': True}))": "writes.privileged",
    "apps.patch_namespaced_deployment('web', 'shop', {'metadata': {'finalizers': None}})": "writes.finalizers",
    "apps.patch_namespaced_deployment('web', 'shop', {'spec': {'template': {'spec': {'hostPID': True}}}})":
        "writes.host_namespaces",
    "apps.patch_namespaced_deployment_status('web', 'shop', {'status': {'readyReplicas': 3}})": "writes.subresource",
    "apps.delete_collection_namespaced_deployment('shop', label_selector='app=web')": "writes.collections",
    "apps.delete_collection_namespaced_deployment('shop', label_selector='app=web', dry_run='All', body={})":
        "writes.collections",
    "apps.delete_namespaced_deployment('coredns', 'kube-system')": "writes.scope",
    "core.create_namespaced_pod('shop', {'metadata': {'generateName': 'a-'}, 'spec': {}})": "writes.generate_name",
    "k8s.rbacV1().create_cluster_role_binding({'metadata': {'name': 'a'}})": "writes.scope",
    "core.patch_namespaced_service_account('default', 'shop', {'secrets': []})": "writes.service_account",
}  # fmt: skip
MADE = (
    "apps.patch_namespaced_deployment_scale('web', 'shop', {'spec': {'replicas': 5}})",
    "apps.patch_namespaced_deployment('web', 'shop', pod(image='nginx:2'))",
    "core.create_namespaced_config_map('shop', {'metadata': {'name': 'made'}, 'data': {'a': 'b'}})",
)
SCRIPT = """
apps, core = k8s.appsV1(), k8s.coreV1()
def pod(**fields):
    return {'spec': {'template': {'spec': {'containers': [{'name': 'c', **fields}]}}}}
actions = {actions}
results = []
for action in actions:
    try:
        action()
        results.append('made')
    except Exception as error:
        results.append(str(error))
json.dumps(results)
"""


def versions(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """The version of each deployment."""
    found: Any = client.AppsV1Api(official_client.connect(plane.kubeconfig)).list_namespaced_deployment(namespace)
    return {each.metadata.name: each.metadata.resource_version for each in found.items}


def results(plane: ControlPlane, namespace: str, folder: Path, actions: list[str]) -> list[str]:
    """What became of each action of one script."""
    file = folder / "kubescript.toml"
    file.write_text(SETTINGS.replace(SHOP, namespace))
    listed = ", ".join(f"lambda: {action}" for action in actions)
    script = "import json\n" + SCRIPT.replace("{actions}", f"[{listed}]")
    done = trails.run(
        "run", "-c", script.replace(SHOP, namespace), "--kubeconfig", str(plane.kubeconfig), "--config", str(file)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[0])
    return found


def test_what_a_rule_refuses_changes_nothing_and_all_else_is_made(
    scratch: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Each rule refuses on the answer of the real dry run, by its id, and the objects stay in the versions they had."""
    for made in (deployment("web", "stable"), deployment("web-canary", "canary")):
        Writer(scratch.kubeconfig).create(plan_mode.placed(made, namespace))
    before = versions(scratch, namespace)
    said = results(scratch, namespace, tmp_path, list(REFUSED))
    for (action, rule), text in zip(REFUSED.items(), said, strict=True):
        assert rule in text, (action, text)
    assert versions(scratch, namespace) == before and len(before) == 2
    assert results(scratch, namespace, tmp_path, list(MADE)) == ["made"] * len(MADE)
