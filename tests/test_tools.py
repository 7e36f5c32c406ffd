"""The classic tools: their definitions are the contract's, and what the contract refuses is refused in its words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clients, tools


@pytest.fixture(scope="module")
def call(kubeconfig: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(kubeconfig)) as made:
        yield made


def test_a_kind_is_listed(call: tools.Call) -> None:
    """kubectl_get lists objects of a namespace."""
    assert "shop" in tools.text(call("kubectl_get", resource="namespaces"))


def test_namespace_and_all_namespaces_exclude_each_other(call: tools.Call) -> None:
    """In the contract's words, and nothing is sent."""
    refused = call("kubectl_get", resource="pods", namespace="shop", allNamespaces=True)
    assert refused.is_error
    assert clients.whole(refused) == "Error: namespace and allNamespaces cannot be used together"
