"""Each way to install kubescript that docs/install.md shows, on a machine that has nothing of it, from the wheels of a
release to the first answer, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kubescript
from tests.kit import bare_machines, debian, distributions, extent, pages, systems

pytestmark = pytest.mark.sampled

PAGE: Final = "install.md"
HEADINGS: Final = {"pipx": "pipx", "uv": "uv", "venv": "A plain venv"}
REMOVALS: Final = ("pipx", "uv", "venv")
"""The ways, in the order in which the page tells how to remove what they installed."""
SAFETY: Final = ("pipx", "uv", "venv")
"""The ways, in the order in which the page installs the safety benchmark."""
RULE: Final = """
[[write_policy.expressions]]
id = "few"
expression = "object.spec.replicas <= 5"
"""
"""A setting that needs the extra `cel`."""
CASE: Final = """
- request: {method: PATCH, path: /apis/apps/v1/namespaces/shop/deployments/web, body: {spec: {replicas: 7}}}
  before: {metadata: {name: web}, spec: {replicas: 2}}
  after: {metadata: {name: web}, spec: {replicas: 7}}
  expect: deny
  rule: writes.expressions.few
"""
TRY: Final = "kubescript policy test cases.yaml --config rules.toml --writes plan"
ANSWER: Final = "3 API calls"
"""What the demo's last line counts."""


FIRST, *OTHERS = systems.SYSTEMS
INSTALLS: Final = (*((FIRST, way) for way in HEADINGS), *((system, "venv") for system in OTHERS))
"""Every way on one system, and pip on the Pythons of the others."""


def name(value: object) -> str:
    """A case's name: the suite of its system, or its way."""
    return value.suite if isinstance(value, systems.System) else str(value)


@pytest.fixture(scope="module")
def machine(request: pytest.FixtureRequest) -> Iterator[bare_machines.Machine]:
    """A system as it is after `apt install` of the packages that the page names."""
    try:
        machine = bare_machines.Machine(request.param)
    except debian.Missing as error:
        if not request.param.name.startswith("Ubuntu"):
            raise
        pytest.skip(f"NOTHING IS INSTALLED ON {request.param.name}: {error}")
    with machine:
        yield machine


@pytest.fixture(scope="module")
def wheels(run_folder: Path) -> list[Path]:
    """What a user has downloaded."""
    return distributions.built(run_folder)


@pytest.fixture
def home(machine: bare_machines.Machine, wheels: list[Path], request: pytest.FixtureRequest) -> bare_machines.Home:
    """A new user with the wheels in the home folder, and with uv where the test's way needs it."""
    way = request.node.callspec.params.get("way", "uv")
    home = machine.home(f"{request.node.originalname.removeprefix('test_')[:12].strip('_')}-{way}")
    home.put(wheels)
    if way == "uv":
        home.do("pipx install uv")
    return home


@pytest.mark.parametrize(("machine", "way"), extent.some(INSTALLS, 2), indirect=["machine"], ids=name)
def test_installs_and_leaves_nothing(home: bare_machines.Home, way: str) -> None:
    """By each way the command is on PATH and answers, the command that a missing extra prints adds that extra, and the
    steps under "Remove" leave no file of it."""
    before = files(home)
    for block in pages.commands(PAGE, HEADINGS[way]):
        home.do(block)
    assert kubescript.__version__ in home.do("kubescript --version")
    assert ANSWER in home.do("kubescript demo")
    (home.folder / "rules.toml").write_text(RULE)
    (home.folder / "cases.yaml").write_text(CASE)
    refused = home.run(TRY)
    assert refused.returncode
    (hint,) = re.findall(r"to add it: (.*)", refused.stdout + refused.stderr)
    home.do(hint)
    home.do(TRY)
    home.do("kubescript client cursor --write --kubeconfig-later --kubeconfig ~/.kube/config")
    home.do("kubescript client cursor --remove")
    uninstalls = pages.commands(PAGE, "Remove")
    home.do(uninstalls[REMOVALS.index(way)])
    home.do(uninstalls[-1])
    left = files(home) - before
    assert not {path for path in left if "kubescript" in path}
    assert "kubescript" not in (home.folder / ".cursor/mcp.json").read_text()
    assert home.run("kubescript --version").returncode == 127


@pytest.mark.parametrize("machine", extent.some(systems.SYSTEMS, 1), indirect=True, ids=name)
def test_uvx_tries_it(home: bare_machines.Home) -> None:
    """`uvx` answers without installing a command."""
    (command,) = pages.commands(PAGE, "uvx")
    assert ANSWER in home.do(command)
    assert home.run("kubescript --version").returncode == 127


@pytest.mark.parametrize("machine", [FIRST], indirect=True, ids=name)
@pytest.mark.parametrize("way", extent.some(SAFETY, 1))
def test_the_safety_benchmark_is_on_the_path(home: bare_machines.Home, way: str) -> None:
    """After the page's commands, `kubescript-safety` runs, and kubescript beside it."""
    if way == "venv":
        for block in pages.commands(PAGE, HEADINGS[way]):
            home.do(block)
    home.do(pages.commands(PAGE, "The safety benchmark")[SAFETY.index(way)])
    assert "wrong-image" in home.do("kubescript-safety list")
    assert kubescript.__version__ in home.do("kubescript --version")


def files(home: bare_machines.Home) -> set[str]:
    """All paths under the home folder."""
    return {str(path.relative_to(home.folder)) for path in home.folder.rglob("*")}
