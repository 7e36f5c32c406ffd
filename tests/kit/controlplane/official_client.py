"""The official client, as a test uses it to see what a cluster has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubernetes import config

__all__ = ["connect"]


def connect(kubeconfig: Path) -> Any:
    """The official client with the API server and the user of this kubeconfig."""
    load: Any = config.new_client_from_config  # the client leaves it untyped
    return load(str(kubeconfig))
