"""The cluster in which rollouts happen keeps its own promises."""

from __future__ import annotations

from typing import Any

import pytest

from kubescript_safety.controlplane import live
from tests.kit import rollouts
from tests.kit.controlplane.writer import Writer


@pytest.fixture
def opened(live_cluster: live.Cluster) -> rollouts.Shop:
    made = rollouts.Shop(live_cluster)
    made.open()
    return made


def test_a_new_image_rolls_out(opened: rollouts.Shop) -> None:
    """The controllers replace the pods, the scheduler gives them nodes, and kwok runs them."""
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
    opened.apps.patch_namespaced_deployment("web", opened.namespace, patch)
    opened.wait_for(lambda: opened.is_rolled_out("web") and opened.images("web") == {"web:2"})
    pods = opened.core.list_namespaced_pod(opened.namespace, label_selector="app=web").items
    assert {pod.status.phase for pod in pods} == {"Running"} and {pod.spec.node_name for pod in pods} <= {*live.NODES}


def test_a_missing_image_is_not_pulled(opened: rollouts.Shop) -> None:
    """The new pod waits, and the old ones stay."""

    def reasons() -> set[str]:
        pods = opened.core.list_namespaced_pod(opened.namespace, label_selector="app=web").items
        states: list[Any] = [status.state for pod in pods for status in pod.status.container_statuses or ()]
        return {state.waiting.reason if state.waiting else "" for state in states}

    patch = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:missing"}]}}}}
    opened.apps.patch_namespaced_deployment("web", opened.namespace, patch)
    opened.wait_for(lambda: reasons() == {"", "ImagePullBackOff"})


def test_what_belongs_to_a_deployment_goes_with_it(opened: rollouts.Shop) -> None:
    opened.apps.delete_namespaced_deployment("web", opened.namespace)
    opened.wait_for(lambda: not opened.images("web"))


def test_the_audit_log_has_the_bodies_of_writes(opened: rollouts.Shop, live_cluster: live.Cluster) -> None:
    """Of everybody's, with the answers; a dry run is told from what was sent in earnest."""
    writer = Writer(opened.kubeconfig)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "noted", "namespace": opened.namespace}}
    writer.create(body | {"data": {"a": "<é>"}})
    opened.core.delete_namespaced_config_map("noted", opened.namespace, dry_run="All")
    made, *more = opened.events()
    assert not more and made.verb == "create" and made.status == 201
    assert made.body["data"] == {"a": "<é>"}
    assert made.answer["metadata"]["resourceVersion"]
    dry = [event for event in live_cluster.log.events("admin") if event.verb == "delete" and event.is_dry_run]
    assert [event.path for event in dry] == [f"/api/v1/namespaces/{opened.namespace}/configmaps/noted"]
