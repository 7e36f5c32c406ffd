"""The kubectl command that comes with a refused write, run by a shell with the real kubectl on a real API server."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from tests.kit import app_objects, clients, kubectl, people
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

HOSTILE: Final = 'it\'s "$(touch pwned)" `touch pwned` \\n \n; touch pwned # \u202e%s'
WRITES: Final = {
    "a scaling": "k8s.scale('deployments/web', 5, namespace=NAMESPACE)",
    "a strategic patch": "k8s.set_image('deployments/web', web='web:2', namespace=NAMESPACE)",
    "a merge patch": "k8s.coreV1().patch_namespaced_config_map('kept', NAMESPACE, {'data': {'a': HOSTILE}}, "
    "_content_type='application/merge-patch+json')",
    "a JSON patch": "k8s.coreV1().patch_namespaced_config_map('kept', NAMESPACE, "
    "[{'op': 'add', 'path': '/data/b', 'value': HOSTILE}])",
    "a creation without a kind": "k8s.coreV1().create_namespaced_config_map(NAMESPACE, "
    "{'metadata': {'name': 'made'}, 'data': {'a': HOSTILE}})",
    "an apply": "k8s.apply({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'applied', "
    "'namespace': NAMESPACE}, 'data': {'a': HOSTILE}})",
    "a replacement": "k8s.coreV1().replace_namespaced_config_map('replaced', NAMESPACE, "
    "{'metadata': {'name': 'replaced'}, 'data': {'a': HOSTILE}})",
    "a deletion": "k8s.delete('jobs/once', namespace=NAMESPACE, propagation_policy='Orphan')",
    "an eviction": "k8s.evict('web-0', namespace=NAMESPACE)",
    "a dry run": "k8s.coreV1().delete_namespaced_config_map('kept', NAMESPACE, dry_run='All')",
}
"""What a script wants."""


@pytest.fixture(scope="module")
def kubeconfig(scratch: ControlPlane, namespace: str) -> Path:
    writer = Writer(scratch.kubeconfig)
    for name in ("kept", "replaced"):
        metadata = {"name": name, "namespace": namespace}
        writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "web:1"}]}}
    metadata = {"name": "once", "namespace": namespace}
    writer.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}})
    writer.create(app_objects.workload(namespace, "Deployment", "web"))
    writer.create(app_objects.pod(namespace, "web-0", "web"))
    return scratch.kubeconfig


@pytest.fixture(scope="module")
def talk(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[people.Talk]:
    """A client of a server that changes nothing."""
    flags = ("--toolsets", "code", "--kubeconfig", str(kubeconfig))
    with people.talk(flags, people.environment(tmp_path_factory.mktemp("refused"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], None]:
    """Runs a line in a shell that has kubectl, in an empty folder."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl").symlink_to(kubectl.program())
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}

    def run(line: str) -> None:
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, (line, done.stderr)
        assert [each.name for each in folder.iterdir()] == ["bin"], line

    return run


def test_the_command_with_a_refused_write_does_what_the_script_wanted(
    talk: people.Talk, run: Callable[[str], None], kubeconfig: Path, namespace: str
) -> None:
    """For each kind of write, whatever its values hold for a shell."""
    for case, write in WRITES.items():
        script = (
            f"NAMESPACE, HOSTILE = {namespace!r}, {HOSTILE!r}\n"
            f"try:\n    {write}\nexcept Exception as error:\n    told = error.hint\ntold"
        )
        answer = clients.whole(talk.ask(script))
        marked = re.search(r"\[untrusted (\d+)\]\n(.*)\n\[end \1\]", answer)
        assert marked, (case, answer)
        run(marked[2])
    core: Any = client.CoreV1Api(official_client.connect(kubeconfig))
    apps: Any = client.AppsV1Api(core.api_client)
    batch: Any = client.BatchV1Api(core.api_client)
    found = {each.metadata.name: each.data for each in core.list_namespaced_config_map(namespace).items}
    assert found["kept"] == {"a": HOSTILE, "b": HOSTILE}
    assert found["made"] == found["applied"] == found["replaced"] == {"a": HOSTILE}
    web = apps.read_namespaced_deployment("web", namespace).spec
    assert (web.replicas, web.template.spec.containers[0].image) == (5, "web:2")
    assert not [each for each in batch.list_namespaced_job(namespace).items if not each.metadata.deletion_timestamp]
    assert not core.list_namespaced_pod(namespace, label_selector="app=web").items
    assert clients.text(talk.ask("1 + 1")) == "2"
