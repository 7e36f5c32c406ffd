"""The CustomResourceDefinition of Cluster API's Clusters, from the module that go.mod pins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.kit import gomodule

__all__ = ["definition"]

_HERE = Path(__file__).parent


def definition() -> Any:
    """The definition of `clusters.cluster.x-k8s.io`; the first call on a machine downloads the module, 12 MB."""
    module = gomodule.sources(_HERE, "sigs.k8s.io/cluster-api")
    return yaml.load((module / "core/config/crd/bases/cluster.x-k8s.io_clusters.yaml").read_text(), yaml.CSafeLoader)
