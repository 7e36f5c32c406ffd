"""docs/architecture.md and the import contract say the same, and no module stands outside them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "kubescript"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
HOST, UNTRUSTED = (contract["layers"] for contract in CONTRACTS[:2])


def named(layers: list[str]) -> list[str]:
    """The modules of a layers contract, top first."""
    return [part.strip() for layer in layers for part in layer.split("|")]


@pytest.mark.parametrize("layers", [HOST, UNTRUSTED], ids=["host", "untrusted"])
def test_the_page_lists_the_layers_in_the_contracts_order(layers: list[str]) -> None:
    """The drawing of who may import whom is the contract that lint-imports holds."""
    drawing = PAGE.split("## Who may import whom")[1].split("## Life spans")[0]
    lines = [f" {line} " for line in drawing.split("\n")]
    at = []
    for layer in layers:
        names = [part.strip().removeprefix("kubescript.") for part in layer.split("|")]
        at.append(next(n for n, line in enumerate(lines) if all(f" {name} " in line for name in names)))
    *above_the_wire, _, _ = at  # the wires are drawn between the two sides
    assert above_the_wire == sorted(above_the_wire)


SHARED = ("kubescript.wire", "kubescript.confinement")
WORKER = "kubescript.worker"


def modules() -> set[str]:
    """Every module of the package."""
    files = (path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    return {".".join(path.with_suffix("").parts) for path in files}


def below(module: str, *packages: str) -> bool:
    """Whether the module is one of these, or inside one."""
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def test_every_host_module_has_its_layer() -> None:
    """A new module of the package must say where it stands."""
    outside = {module for module in modules() if not below(module, *SHARED, WORKER)}
    assert {module for module in outside if not below(module, *named(HOST))} == set()


def test_every_module_is_on_one_side() -> None:
    """What is neither the worker's nor shared is the host's, and is named in the contract of the worker."""
    forbidden = CONTRACTS[2]["forbidden_modules"]
    theirs = {module for module in modules() if below(module, *SHARED, WORKER)}
    assert {module for module in theirs if below(module, *forbidden)} == set()
    assert {module for module in modules() - theirs if not below(module, *forbidden)} == set()
