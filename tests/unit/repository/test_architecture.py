"""The import contract cannot be sidestepped: planted breaches break it, and docs/architecture.md draws the same."""

from __future__ import annotations

import copy
import functools
import re
import sys
from typing import Any, Final

import grimp
import pytest
from importlinter import configuration
from importlinter.application import use_cases
from importlinter.contracts import acyclic_siblings, forbidden, layers, protected

from tests.kit import paths

ROOT: Final = paths.ROOT
configuration.configure()
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SANDBOXED: Final = ("guest", "library", "language", "confinement", "wire")
"""The rooms of the sandbox whose code runs in the untrusted process."""

UNTRUSTED_PACKAGES: Final = {"RestrictedPython", "greenlet", "msgspec", "pyseccomp", "tzdata"}
"""What runs beside the standard library in the untrusted process. A new one is looked at before it is added."""

MASKER_ROOMS: Final = (
    "kubescript.inspection",
    "kubescript.installation",
    "kubescript.kube",
    "kubescript.wire",
    "kubescript_masking.engine",
    "kubescript_masking.rules",
    "kubescript_masking.text",
    "kubescript_masking.wire",
    "kubescript_sandbox.confinement",
    "kubescript_sandbox.wire",
)
MASKER_PACKAGES: Final = {"cel_expr_python", "hyperscan", "isal", "msgspec", "orjson", "re2"}
"""Likewise in the masking process."""


CONTRACTS: Final = use_cases.read_user_options(str(ROOT / "pyproject.toml"))
ROOTS: Final[list[str]] = CONTRACTS.session_options["root_packages"]


KINDS: Final = {
    "acyclic_siblings": acyclic_siblings.AcyclicSiblingsContract,
    "forbidden": forbidden.ForbiddenContract,
    "layers": layers.LayersContract,
    "protected": protected.ProtectedContract,
}


@functools.cache
def read_graph() -> grimp.ImportGraph:
    """The imports of all houses as they are."""
    return grimp.build_graph(*ROOTS, include_external_packages=True, cache_dir=None)


def broken(graph: grimp.ImportGraph) -> set[str]:
    """The names of the contracts that a graph breaks."""
    found = set()
    for options in CONTRACTS.contracts_options:
        kind: Any = KINDS[options["type"]]
        contract = kind(name=options["name"], session_options=CONTRACTS.session_options, contract_options=options)
        if not contract.check(copy.deepcopy(graph), verbose=False).kept:
            found.add(options["name"])
    return found


MASKING: Final = "Nothing imports the masking process"
UNTRUSTED: Final = "Nothing imports the untrusted process"
PLACES: Final = "Imports point down this list, and every module has a place in it"
ALONE: Final = "The sandbox knows no other house"
BREACHES: Final[dict[str, tuple[list[tuple[str, str]], str]]] = {
    "a host module imports a guard of the sandbox": (
        [("kubescript.broker.summary", "kubescript_sandbox.language.guards")],
        UNTRUSTED,
    ),
    "the host's side of the sandbox imports the worker": (
        [("kubescript_sandbox.host.executor", "kubescript_sandbox.guest.main")],
        UNTRUSTED,
    ),
    "a host module imports a rule of the masker": (
        [("kubescript.redaction.redactor", "kubescript_masking.rules.shapes")],
        MASKING,
    ),
    "the worker imports the masker": ([("kubescript.guest.entry", "kubescript_masking.engine.bodies")], MASKING),
    "masking knows a module of the server": (
        [("kubescript_masking.engine.bodies", "kubescript.errors")],
        "Masking knows the sandbox and nothing else",
    ),
    "what inspects imports a module of the host": ([("kubescript.inspection.facts", "kubescript.errors")], PLACES),
    "masking's wire knows its host": (
        [("kubescript_masking.wire.masking", "kubescript_masking.host.pool")],
        "The masking house's imports point down this list",
    ),
    "a rule of masking knows what scans": (
        [("kubescript_masking.rules.patterns", "kubescript_masking.engine.scanner")],
        "The masking house's imports point down this list",
    ),
    "what reads text in masking knows what is secret": (
        [("kubescript_masking.text.extents", "kubescript_masking.rules.values")],
        "The masking house's imports point down this list",
    ),
    "the masker imports a guard of the sandbox": (
        [("kubescript_masking.engine.bodies", "kubescript_sandbox.language.guards")],
        UNTRUSTED,
    ),
    "the worker starts processes": (
        [("kubescript.guest.sdk.calls.session", "kubescript_sandbox.host.spawner")],
        "Confined processes know nothing of the host's side",
    ),
    "the sandbox knows a module of Kubernetes": (
        [("kubescript_sandbox.guest.main", "kubescript.guest.sdk.client")],
        ALONE,
    ),
    "the sandbox's wire knows its host": (
        [("kubescript_sandbox.wire.framing", "kubescript_sandbox.host.layers")],
        "The sandbox's imports point down this list",
    ),
    "another module uses the kubernetes package": (
        [("kubescript.cluster.live", "kubernetes")],
        "Only cluster.credentials uses the kubernetes package",
    ),
    "the worker uses the kubernetes package": (
        [("kubescript.guest.entry", "kubernetes")],
        "Only cluster.credentials uses the kubernetes package",
    ),
    "a host module evaluates a rule of the operator's": (
        [("kubescript.changes.rules.effects", "cel_expr_python")],
        "Only the masker knows the scanner, RE2, CEL and what decompresses",
    ),
    "another module logs in to Google": ([("kubescript.cluster.live", "google")], "Only cluster.gke logs in to Google"),
    "another module of the plans uses the database library": (
        [("kubescript.changes.plan", "sqlalchemy")],
        "Only the database and the plans in it know SQLAlchemy",
    ),
    "a new module is imported by both sides": (
        [("kubescript.guest.entry", "kubescript.shared"), ("kubescript.evaluator.evaluator", "kubescript.shared")],
        PLACES,
    ),
    "the values of the SDK know its calls": (
        [("kubescript.guest.sdk.values.names", "kubescript.guest.sdk.calls.session")],
        "The SDK's imports point down this list",
    ),
    "the SDK knows a classic tool": (
        [("kubescript.guest.sdk.client", "kubescript.guest.kubectl.get")],
        "What a script sees imports down this list",
    ),
    "a new module has no place": ([("kubescript.extra", "json")], PLACES),
    "the worker imports a module of the host": ([("kubescript.guest.entry", "kubescript.errors")], PLACES),
    "the wire imports something of ours": ([("kubescript.wire.exchanges", "kubescript.types")], PLACES),
    "what Kubernetes is depends on the wire": ([("kubescript.kube.kinds", "kubescript.wire.exchanges")], PLACES),
    "a plan knows who approves it": (
        [("kubescript.changes.plan", "kubescript.changes.approval")],
        "The story of a change points down this list",
    ),
    "two siblings import each other": (
        [("kubescript.audit.chain", "kubescript.audit.recorder")],
        "No room of siblings has a cycle",
    ),
    "the server imports the benchmark": (
        [("kubescript.broker.summary", "kubescript_safety.scenario")],
        "The server never imports the benchmark",
    ),
    "the benchmark's data knows its programs": (
        [("kubescript_safety.scenario", "kubescript_safety.cluster.api")],
        "The benchmark's imports point down this list",
    ),
}


@pytest.mark.parametrize(("planted", "verdict"), BREACHES.values(), ids=BREACHES)
def test_a_planted_breach_breaks_its_contract(planted: list[tuple[str, str]], verdict: str) -> None:
    """Each way round the boundary that once passed, and its cousins, are found by name."""
    graph = copy.deepcopy(read_graph())
    for importer, imported in planted:
        graph.add_import(importer=importer, imported=imported)
    assert verdict in broken(graph)


def test_the_tree_as_it_is_keeps_every_contract() -> None:
    """The graph that the breaches are planted in is sound before that, and has the imports inside functions."""
    assert broken(read_graph()) == set()
    assert read_graph().direct_import_exists(importer="kubescript.cli.audit", imported="kubescript.audit.reader")


def test_the_untrusted_process_imports_nothing_but_its_named_packages() -> None:
    """A package that nobody thought of, such as an HTTP client, does not slip into the worker."""
    graph = read_graph()
    rooms = (
        "kubescript.guest",
        "kubescript.wire",
        "kubescript.kube",
        *(f"kubescript_sandbox.{room}" for room in SANDBOXED),
    )
    modules = {module for module in graph.modules if module.startswith(rooms)}
    assert len(modules) > 60
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    foreign = {name for name in imported if not name.startswith("kubescript")} - set(sys.stdlib_module_names)
    assert foreign <= UNTRUSTED_PACKAGES


def test_the_masking_process_imports_nothing_but_its_named_packages() -> None:
    """What reads hostile bytes has no HTTP client, no YAML and no template engine at hand."""
    graph = read_graph()
    rooms = ("kubescript.inspection", *(f"kubescript_masking.{room}" for room in ("engine", "rules", "text")))
    modules = {module for module in graph.modules if module.startswith(rooms)}
    assert len(modules) > 40
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    ours = {name for name in imported if name.startswith("kubescript")}
    assert all(name.startswith(MASKER_ROOMS) for name in ours)
    assert imported - ours - set(sys.stdlib_module_names) <= MASKER_PACKAGES


def test_what_kubernetes_is_needs_nothing_but_msgspec() -> None:
    """Every side imports `kube` at its start, the untrusted process too: it stays small and knows no side."""
    graph = read_graph()
    modules = {module for module in graph.modules if module.startswith("kubescript.kube")}
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    assert imported - modules - set(sys.stdlib_module_names) <= {"msgspec"}


def test_the_benchmark_knows_the_rules_about_changes_and_kubernetes_and_nothing_else_of_the_server() -> None:
    """It can judge any server, since it is made of none."""
    graph = read_graph()
    modules = {module for module in graph.modules if module.startswith("kubescript_safety")}
    assert len(modules) > 80
    imported = {found for module in modules for found in graph.find_modules_directly_imported_by(module)}
    ours = {name for name in imported - modules if name.startswith("kubescript")}
    assert {
        name for name in ours if not name.startswith(("kubescript.kube", "kubescript.changes.rules.conduct"))
    } == set()


DRAWN: Final = {
    "Who may import whom": "kubescript",
    "What a script sees": "kubescript.guest",
    "The SDK": "kubescript.guest.sdk",
    "A change, from a script to its undo": "kubescript.changes",
    "The sandbox": "kubescript_sandbox",
    "Masking": "kubescript_masking",
    "The safety benchmark": "kubescript_safety",
}
"""The packages whose layers the page draws, by the section."""


@pytest.mark.parametrize(("title", "container"), DRAWN.items(), ids=DRAWN)
def test_the_page_draws_the_layers_in_the_contract_s_order(title: str, container: str) -> None:
    """Who may import whom stands in docs/architecture.md as lint-imports holds it."""
    drawing = PAGE.split(f"## {title}\n")[1].split("```")[1]
    drawn = [line.split("  ")[0] for line in drawing.strip().split("\n")[1:] if line and not line.startswith(" ")]
    layered = {options["containers"][0]: options for options in CONTRACTS.contracts_options if "containers" in options}
    assert drawn == layered[container]["layers"]
    assert sorted(DRAWN.values()) == sorted(layered)


def test_every_file_that_the_page_names_exists() -> None:
    """A reader who follows the page finds what it names."""
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|json|toml|txt))`", PAGE))
    assert len(named) > 50
    assert {
        name
        for name in named
        if not any(
            (ROOT / folder / name).exists()
            for folder in (
                "",
                "src",
                "src/kubescript",
                "src/kubescript_safety",
                "src/kubescript_sandbox",
                "src/kubescript_masking",
            )
        )
    } == set()
