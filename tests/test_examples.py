"""Every example runs, on the real API server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kubescript import config
from tests import clients

EXAMPLES = Path(__file__).parent.parent / "examples"

EXPECTED = {
    "crashloops.py": '"why":"OOMKilled"',
    "node_pressure.py": "DiskPressure",
    "cluster_admins.py": "system:masters",
    "expiring_certificates.py": "payments/portal-tls",
    "warnings.py": "BackOff",
    "api_resources.py": "example.com/v1",
}


def test_every_example_has_an_expectation() -> None:
    """A new example comes with what its answer must contain."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_example_runs(name: str, kubeconfig: Path) -> None:
    """The example's answer on the broken cluster contains what it is there to find."""
    done = subprocess.run(
        [clients.KUBESCRIPT, "run", str(EXAMPLES / name), "--kubeconfig", str(kubeconfig)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert EXPECTED[name] in done.stdout
    assert done.stderr == ""


def test_the_example_configuration_is_valid() -> None:
    """examples/kubescript.toml is read without complaint and means what it says."""
    settings = config.load({}, EXAMPLES / "kubescript.toml")
    assert settings.toolsets == ("code",)
    assert settings.strict
    assert settings.denied_resources[1].group == ""
