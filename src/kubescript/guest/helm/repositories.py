"""helm_repo_list, as far as it is a script: the host has read the operator's file, and passes names and URLs on."""

from __future__ import annotations

from typing import Any

from kubescript.guest import yaml_text
from kubescript.guest.helm import text
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["helm_repo_list"]


def helm_repo_list(_k8s: client.K8s, repositories: list[dict[str, str]], *, output: str = "table") -> Any:
    """Write chart repositories as `helm repo list` does."""
    if output == "json":
        return repositories
    if output == "yaml":
        return yaml_text.written(repositories)
    if not repositories:
        return messages.text("no_repositories")
    return text.listed(("NAME", "URL"), repositories)
