"""What a release says of the packages that it depends on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

import kubescript
from tests.kit import paths

NAMES = ("kubescript", "kubescript-safety")


def constraints(file: Path) -> dict[str, str]:
    """Package -> version, with the names that package indexes use."""
    pairs = [line.split("==") for line in file.read_text().splitlines()]
    return {canonicalize_name(name): version for name, version in pairs}


def bill(dist: Path, name: str) -> dict[str, Any]:
    """The bill of a distribution."""
    read: dict[str, Any] = json.loads((dist / f"{name}.cdx.json").read_text())
    return read


def packages(bill: dict[str, Any]) -> dict[str, str]:
    """Package -> version."""
    return {canonicalize_name(one["name"]): one["version"] for one in bill["components"]}


def test_constraints_are_what_tests_run_under_and_no_tools_of_ours(dist: Path) -> None:
    """What users install has the versions that were tested."""
    ours, all_pins = constraints(dist / "constraints.txt"), constraints(paths.ROOT / "constraints.txt")
    assert ours.items() <= all_pins.items()
    assert {"mcp", "hyperscan", "restrictedpython", "psycopg-binary", "python-openstackclient", "plotly"} <= set(ours)
    assert not {"pytest", "ruff", "hatchling", "twine", "mkdocs", "selenium", *NAMES} & set(ours)


def test_bills_and_constraints_name_the_same_versions(dist: Path) -> None:
    """A scanner that reads the bills sees all that an installation under the constraints can have."""
    listed: dict[str, str] = {}
    for name in NAMES:
        read = bill(dist, name)
        component = read["metadata"]["component"]
        assert component["purl"] == f"pkg:pypi/{name}@{kubescript.__version__}"
        assert {one["ref"] for one in read["dependencies"]} >= {one["bom-ref"] for one in read["components"]}
        listed |= packages(read)
    assert listed.pop("kubescript") == kubescript.__version__  # the second distribution depends on it
    assert listed == {
        name.replace(".", "-"): version for name, version in constraints(dist / "constraints.txt").items()
    }
