"""The import contract cannot be sidestepped: planted breaches break it, and docs/architecture.md draws the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import grimp
import pytest

from tests.kit import paths

ROOT: Final = paths.ROOT
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CONTRACTS: Final[list[dict[str, Any]]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
    "importlinter"
]["contracts"]

UNTRUSTED_PACKAGES: Final = {"RestrictedPython", "greenlet", "msgspec", "pyseccomp", "tzdata"}
"""What runs beside the standard library in the untrusted process. A new one is looked at before it is added."""

MASKER_PACKAGES: Final = {"cel_expr_python", "hyperscan", "isal", "msgspec", "orjson", "re2"}
"""Likewise in the masking process."""


def lint(project: Path) -> str:
    """What import-linter prints about the project; "" when every contract is kept."""
    command = [
        sys.executable,
        "-c",
        "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()",
    ]
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        [*command, "--no-cache"], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the package and of its contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def plant(project: Path, module: str, line: str) -> None:
    """Adds a line to a module, which may be new."""
    path = project / "src" / module if module.startswith("kubescript_safety/") else project / "src/kubescript" / module
    old = path.read_text("utf-8") if path.exists() else ""
    path.write_text(f"{old}\n{line}\n", "utf-8")


MASKING: Final = "Nothing imports the masking process BROKEN"
UNTRUSTED: Final = "Nothing imports the untrusted process BROKEN"
PLACES: Final = "Imports point down this list, and every module has a place in it"
BREACHES: Final[dict[str, tuple[list[tuple[str, str]], str]]] = {
    "a host module imports a guard of the sandbox": (
        [("broker/summary.py", "from kubescript.worker.language import guards")],
        UNTRUSTED,
    ),
    "a host module imports it inside a function": (
        [("output/truncation.py", "def f() -> None:\n    import kubescript.worker.main")],
        UNTRUSTED,
    ),
    "a host module imports a rule of the masker": (
        [("redaction/engine.py", "from kubescript.masker import rules as _rules")],
        MASKING,
    ),
    "the worker imports the masker": ([("worker/channel.py", "from kubescript.masker import bodies")], MASKING),
    "the masker imports a module of the host": (
        [("masker/bodies.py", "from kubescript import errors")],
        f"{PLACES} BROKEN",
    ),
    "the masker imports a guard of the sandbox": (
        [("masker/bodies.py", "from kubescript.worker.language import guards")],
        UNTRUSTED,
    ),
    "another module uses the kubernetes package": (
        [("cluster/live.py", "import kubernetes")],
        "Only cluster.credentials uses the kubernetes package BROKEN",
    ),
    "the worker uses the kubernetes package": (
        [("worker/main.py", "from kubernetes import client as raw_client")],
        "Only cluster.credentials uses the kubernetes package BROKEN",
    ),
    "a host module evaluates a rule of the operator's": (
        [("policy/changes.py", "def f() -> None:\n    from cel_expr_python import cel")],
        "Only the masker knows the scanner, RE2, CEL and what decompresses BROKEN",
    ),
    "another module logs in to Google": (
        [("cluster/live.py", "from google.auth import transport")],
        "Only cluster.gke logs in to Google BROKEN",
    ),
    "another module of the plans uses the database library": (
        [("plans/plan.py", "import sqlalchemy")],
        "Only the plans' store knows SQLAlchemy BROKEN",
    ),
    "a new module is imported by both sides": (
        [
            ("shared.py", "X = 1"),
            ("worker/main.py", "from kubescript import shared"),
            ("evaluator.py", "from kubescript import shared"),
        ],
        PLACES,
    ),
    "a new module has no place": ([("extra.py", "X = 1")], PLACES),
    "the worker imports a module of the host": (
        [("worker/channel.py", "from kubescript import errors")],
        f"{PLACES} BROKEN",
    ),
    "the wire imports something of ours": ([("wire/framing.py", "from kubescript import types")], f"{PLACES} BROKEN"),
    "what Kubernetes is depends on the wire": (
        [("kube/kinds.py", "from kubescript.wire import protocol")],
        f"{PLACES} BROKEN",
    ),
    "two siblings import each other": (
        [("audit/chain.py", "from kubescript.audit import recorder as _up")],
        "No room of siblings has a cycle BROKEN",
    ),
    "the server imports the benchmark": (
        [("broker/summary.py", "from kubescript_safety import scenario")],
        "The server never imports the benchmark BROKEN",
    ),
    "the benchmark's data knows its programs": (
        [("kubescript_safety/scenario.py", "from kubescript_safety.cluster import api")],
        "The benchmark's imports point down this list BROKEN",
    ),
}


@pytest.mark.parametrize(("planted", "verdict"), BREACHES.values(), ids=BREACHES)
def test_a_planted_breach_breaks_its_contract(project: Path, planted: list[tuple[str, str]], verdict: str) -> None:
    """Each way round the boundary that once passed, and its cousins, are found by name."""
    for module, line in planted:
        plant(project, module, line)
    assert verdict in lint(project)


def test_the_tree_as_it_is_keeps_every_contract(project: Path) -> None:
    """The copy that the breaches are planted in is sound before that."""
    assert lint(project) == ""


def test_the_untrusted_process_imports_nothing_but_its_named_packages() -> None:
    """A package that nobody thought of, such as an HTTP client, does not slip into the worker."""
    graph = grimp.build_graph("kubescript", include_external_packages=True)
    rooms = ("kubescript.worker", "kubescript.wire", "kubescript.kube", "kubescript.confinement")
    modules = {module for module in graph.modules if module.startswith(rooms)}
    assert len(modules) > 60
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    foreign = {name for name in imported if not name.startswith("kubescript")} - set(sys.stdlib_module_names)
    assert foreign <= UNTRUSTED_PACKAGES


def test_the_masking_process_imports_nothing_but_its_named_packages() -> None:
    """What reads hostile bytes has no HTTP client, no YAML and no template engine at hand."""
    graph = grimp.build_graph("kubescript", include_external_packages=True)
    modules = {module for module in graph.modules if module.startswith("kubescript.masker")}
    assert len(modules) > 12
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    ours = {name for name in imported if name.startswith("kubescript")}
    rooms = ("kubescript.masker", "kubescript.wire", "kubescript.kube", "kubescript.confinement")
    assert all(name.startswith(rooms) for name in ours)
    assert imported - ours - set(sys.stdlib_module_names) <= MASKER_PACKAGES


def test_what_kubernetes_is_needs_nothing_but_msgspec() -> None:
    """Every side imports `kube` at its start, the untrusted process too: it stays small and knows no side."""
    graph = grimp.build_graph("kubescript", include_external_packages=True)
    modules = {module for module in graph.modules if module.startswith("kubescript.kube")}
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    assert imported - modules - set(sys.stdlib_module_names) <= {"msgspec"}


def test_the_benchmark_knows_the_rules_about_changes_and_kubernetes_and_nothing_else_of_the_server() -> None:
    """It can judge any server, since it is made of none."""
    graph = grimp.build_graph("kubescript", "kubescript_safety")
    modules = {module for module in graph.modules if module.startswith("kubescript_safety")}
    assert len(modules) > 80
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    rooms = ("kubescript.safety", "kubescript.kube")
    assert {name for name in imported - modules if not name.startswith(rooms)} == set()


@pytest.mark.parametrize(("title", "contract"), [("Who may import whom", 0), ("The safety benchmark", 1)])
def test_the_page_draws_the_layers_in_the_contract_s_order(title: str, contract: int) -> None:
    """Who may import whom stands in docs/architecture.md as lint-imports holds it."""
    drawing = PAGE.split(f"## {title}")[1].split("```")[1]
    drawn = [line.split("  ")[0] for line in drawing.strip().split("\n")[1:] if line and not line.startswith(" ")]
    assert drawn == CONTRACTS[contract]["layers"]


def test_every_file_that_the_page_names_exists() -> None:
    """A reader who follows the page finds what it names."""
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|json|toml|txt))`", PAGE))
    assert len(named) > 50
    assert {
        name
        for name in named
        if not any((ROOT / folder / name).exists() for folder in ("", "src/kubescript", "src/kubescript_safety"))
    } == set()
