"""Of a write that is tried: the warnings that a person reads, dry runs that a script asks for by itself, and the lock
that no operation of a script takes away; on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from kubernetes import client
from kubernetes.client import exceptions

from kubescript.changes import requests
from kubescript.request import request
from tests.kit import plan_mode
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer

TOKEN: Final = "ghp_" + "Xk29fQ7mZt4LwV8sYb1NcR6hJd3PgA5eUoBi"
EVICTION: Final = {"metadata": {"name": "one", "namespace": "shop"}}
DRY: Final = EVICTION | {"deleteOptions": {"dryRun": ["All"]}}
TRIED_BY_ITSELF: Final = {
    "in the query": f"evict('one', 'shop', {EVICTION!r}, dry_run='All')",
    "in the body": f"evict('one', 'shop', {DRY!r})",
    "in both": f"evict('one', 'shop', {DRY!r}, dry_run='All')",
}


@pytest.fixture(scope="module")
def core(scratch: ControlPlane) -> Any:
    return client.CoreV1Api(official_client.connect(scratch.kubeconfig))


@pytest.fixture(scope="module")
def plan(scratch: ControlPlane, namespace: str) -> Iterator[plan_mode.Planner]:
    Writer(scratch.kubeconfig).create(plan_mode.placed(pod("one"), namespace))
    with plan_mode.planner(scratch.kubeconfig, namespace=namespace) as made:
        yield made


def pod(name: str, *variables: str) -> Object:
    """A pod with these variables."""
    container = {"name": "web", "image": "web:1", "env": [{"name": each, "value": "1"} for each in variables]}
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def test_each_warning_of_the_api_server_stands_by_itself_and_masked(plan: plan_mode.Planner) -> None:
    """Without HTTP's own words around it. The API server quotes names, of which one is a token here."""
    made = pod("twice", "A", "A", TOKEN, TOKEN)
    plan.value(f"k8s.coreV1().create_namespaced_pod('shop', {made!r})\n1")
    first, second = plan.steps[0].warnings
    assert (
        first == 'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    ), first
    assert second.startswith("spec.containers[0].env[3]: hides") and TOKEN not in second and "«redacted:" in second


@pytest.mark.parametrize("where", TRIED_BY_ITSELF)
def test_an_eviction_that_is_a_dry_run_by_itself_is_no_part_of_a_plan(
    where: str, core: Any, namespace: str, plan: plan_mode.Planner
) -> None:
    """It evicts nobody, however it is asked for; without it the eviction is planned."""
    evict = "evict = k8s.coreV1().create_namespaced_pod_eviction\n"
    plan.value(f"{evict}{TRIED_BY_ITSELF[where]}\n1")
    assert not plan.steps
    plan.value(f"{evict}evict('one', 'shop', {EVICTION!r})\n1")
    assert [step.subresource for step in plan.steps] == ["eviction"]
    assert core.read_namespaced_pod("one", namespace).metadata.deletion_timestamp is None


def test_no_operation_of_a_json_patch_takes_its_lock_away(core: Any, namespace: str) -> None:
    """The API server refuses the patch once its object has another version, whatever its operations say of that."""
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "locked"}, "data": {"a": "1"}})
    before = core.patch_namespaced_config_map("locked", namespace, {"data": {"a": "2"}}).metadata
    now = core.patch_namespaced_config_map("locked", namespace, {"data": {"a": "3"}}).metadata
    operations = [
        {"op": "remove", "path": "/metadata/resourceVersion"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/metadata/uid"},
    ]
    assert now.resource_version != before.resource_version
    with pytest.raises(exceptions.ApiException) as caught:
        core.patch_namespaced_config_map("locked", namespace, locked(operations, before))
    assert caught.value.status == 409
    assert core.patch_namespaced_config_map("locked", namespace, locked(operations, now)).data == {"a": "9"}


def locked(operations: list[Object], metadata: Any) -> Any:
    """The operations of a patch as they are sent, for an object in this version."""
    body = json.dumps(operations).encode()
    call = request.Request(
        "PATCH", "/api/v1/namespaces/shop/configmaps/locked", (), "patch", True, "", "v1", "configmaps", "", "shop",
        "locked", body=body, content_type="application/json-patch+json",
    )  # fmt: skip
    return json.loads(requests.guard(call, metadata.uid, metadata.resource_version).body or b"")
