"""The Helm chart of this repository, as the real Helm renders it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from kubescript import config
from tests.kit import helm, paths

__all__ = ["CHART", "VALUES", "Kubectl", "Objects", "by_kind", "render", "settings", "value_sets"]

CHART: Final = paths.ROOT / "charts" / "kubescript"
VALUES: Final = CHART / "values.yaml"
Kubectl = Callable[..., str]
"""Runs kubectl with these words and, as `text`, what it reads; returns what it prints."""
Objects = dict[str, dict[str, Any]]
_AT: Final = ("--kube-version", "1.30.0", "--namespace", "kubescript")
"""Helm by itself renders for a cluster that is older than what the chart takes."""


def render(home: Path, *flags: str, chart: Path = CHART, release: str = "kubescript", fails: bool = False) -> str:
    """The manifests of a release, or what is wrong with its values; of two equal flags the later one counts."""
    return helm.run(home / "none", home, "template", release, str(chart), *_AT, *flags, fails=fails)


def by_kind(text: str) -> Objects:
    """Kind -> its object; of the ConfigMaps that with the settings."""
    objects = [each for each in yaml.safe_load_all(text) if each]
    return {each["kind"]: each for each in objects if each["kind"] != "ConfigMap" or "server.yaml" in each["data"]}


def settings(objects: Objects, folder: Path) -> config.Settings:
    """The settings of the ConfigMap, as a server reads them."""
    file = folder / "server.yaml"
    file.write_text(objects["ConfigMap"]["data"][file.name])
    return config.load({}, file)


def value_sets() -> dict[str, Path]:
    """The sets of values beside the chart, by their names."""
    return {file.name.removesuffix("-values.yaml"): file for file in sorted((CHART / "ci").glob("*-values.yaml"))}
