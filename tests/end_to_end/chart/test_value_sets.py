"""The sets of values in charts/kubescript/ci: Helm finds no fault, kubeconform and a real API server take what they make,
and a server reads the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import chart, helm, kubeconform

_SETS = chart.value_sets()


@pytest.mark.parametrize("name", _SETS)
def test_a_set_makes_what_a_cluster_takes(
    name: str, administrator: chart.Kubectl, schemas: Path, tmp_path: Path
) -> None:
    """Strictly: a field that nobody knows is an error, and so is a setting that the server does not have."""
    flags = ("--values", str(_SETS[name]))
    helm.run(tmp_path / "none", tmp_path, "lint", str(chart.CHART), "--strict", *flags)
    text = chart.render(tmp_path, "--namespace", "default", *flags)
    assert not kubeconform.check(text, schemas)
    administrator("create", "--dry-run=server", "--validate=strict", "--filename=-", text=text)
    chart.settings(chart.by_kind(text), tmp_path)


def test_kubeconform_finds_what_is_wrong(schemas: Path, tmp_path: Path) -> None:
    """A field that a kind does not have, and a value of another type; what is right passes again."""
    text = chart.render(tmp_path)
    for right, wrong in (("minReadySeconds: 0", "minReadySecond: 0"), ("replicas: 1", "replicas: one")):
        planted = text.replace("  strategy:", f"  {wrong}\n  strategy:").replace("  replicas: 1\n", "")
        assert "Deployment: " in kubeconform.check(planted, schemas), right
    assert not kubeconform.check(text, schemas)
