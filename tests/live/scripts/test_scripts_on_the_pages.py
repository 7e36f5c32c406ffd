"""The scripts on the pages run on a real cluster that has what they name. A list of examples runs line by line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import mcp_types
import pytest

from tests.kit import app_objects, clients, commands, paths
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

Ask = Callable[[str], mcp_types.CallToolResult]
BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS: Final = {
    f"{page.relative_to(paths.ROOT)} {number}": block
    for page in sorted([*paths.ROOT.glob("*.md"), *paths.ROOT.glob("docs/*.md"), *paths.ROOT.glob("sdk_docs/*.md")])
    for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")), 1)
}
"""The scripts, by their page and their place on it."""
PROGRAMS: Final = {
    "docs/audit.md 1": "a program of the reader's: test_audit_docs.py",
    "docs/audit.md 2": "likewise: test_audit_cluster.py",
    "docs/runbooks.md 1": "a runbook, which `books` locks and a script of sdk_docs/runbooks.md runs",
    "sdk_docs/dynamic.md 2": "metrics of an adapter: test_custom_metrics.py",
    "sdk_docs/dynamic.md 3": "logs of nodes, which these settings do not permit: test_nodes.py",
    "sdk_docs/sources.md 1": "a script that needs a Prometheus: test_scripts_ask_sources.py",
    "docs/toolsets.md 1": "a package, as examples/toolset is: test_toolset_packages.py",
}
"""Blocks that are no scripts, and what tests them."""
GIVEN: Final = """\
pods = list(k8s.coreV1().list_namespaced_pod("shop"))
pod = k8s.coreV1().read_namespaced_pod("web", "shop")
cert = k8s.get("certificates.cert-manager.io", namespace="payments")[0]
deployments = k8s.get("deployments", namespace="shop")
deployment = k8s.get("deployments/web", namespace="shop")
rows = [{"name": "web", "count": 2}]
manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
"""
"""What an example calls by name and does not make itself."""


def web(namespace: str) -> Object:
    """A Deployment `web` with the containers of the examples."""
    spec = {"containers": [{"name": name, "image": "web:1"} for name in ("web", "app")]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    return app_objects.workload(namespace, "Deployment", "web", template=template)


def job() -> Object:
    """A Job `import-7` of the shop."""
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "web:1"}]}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "import-7", "namespace": "shop"},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def shop(written: ControlPlane) -> Path:
    """The kubeconfig of a cluster that has what the pages name."""
    writer = Writer(written.kubeconfig)
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
    api = app_objects.workload("shop", "Deployment", "api")
    pod = app_objects.pod("shop", "web", "web")
    for each in (web("team-a"), web("shop"), api, pod, job()):
        writer.create(each)
    return written.kubeconfig


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings that name a folder with the page's runbook, which is locked."""
    folder = tmp_path_factory.mktemp("books")
    (folder / "restart-web.py").write_text(BLOCKS["docs/runbooks.md 1"])
    file = folder / "kubescript.toml"
    file.write_text(
        f'writes = "plan"\n[runbooks]\nfolder = "{folder}"\n[plans]\npage = false\nstore = "{folder}/p.db"\n'
    )
    done = commands.run("runbooks", "lock", "--config", str(file), environment=commands.BARE)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def ask(shop: Path, books: Path) -> Iterator[Ask]:
    """A server whose scripts may plan changes."""
    with clients.asking("--toolsets", "code,helm", "--kubeconfig", str(shop), "--config", str(books)) as ask:
        yield ask


@pytest.mark.parametrize("name", sorted(set(BLOCKS) - set(PROGRAMS)))
def test_the_script_runs(name: str, ask: Ask) -> None:
    """It ends without an error, whether it only reads or leaves a plan."""
    for script in scripts(BLOCKS[name]):
        answer = ask(script)
        assert not answer.is_error, f"{script}\n{clients.whole(answer)}"
    assert clients.text(ask("1 + 1")) == "2"


def scripts(block: str) -> list[str]:
    """Returns the block; or each of its lines, where all are expressions and what they name is given."""
    body = ast.parse(block).body
    if len(body) > 1 and all(isinstance(each, ast.Expr) for each in body):
        return [f"{GIVEN}{ast.get_source_segment(block, each)}" for each in body]
    return [block]


def test_the_runbook_of_the_page_runs_as_a_command(shop: Path, books: Path) -> None:
    """By the page's own line, and leaves a plan."""
    words = ("runbooks", "run", "restart-web", "namespace=team-a", "name=web", "--config", str(books))
    done = commands.run(*words, "--kubeconfig", str(shop), environment=commands.BARE)
    assert done.returncode == 0 and "kubescript approve p-" in done.stderr, done.stderr


def test_the_table_names_blocks_that_are_there() -> None:
    assert set(PROGRAMS) <= set(BLOCKS) and len(BLOCKS) > 12
