"""Small things that scripts of models stumbled over, each of which cost a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubescript.output import fencing
from kubescript_sandbox.library import stdlib
from tests.kit import clients
from tests.kit.two_pods import run

LONG = "x" * 100


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pod.kind, pod.api_version, pod.apiVersion, pod['kind'], pod.get('kind')", ("Pod", "v1", "v1", "Pod", "Pod")),
        ("[p.kind for p in core.list_namespaced_pod('shop')]", ["Pod", "Pod"]),
    ],
)  # fmt: skip
def test_it_is_there(script: str, expected: Any) -> None:
    """What a script asked for in vain."""
    found = run(script)
    assert found == expected


def test_a_reference_without_a_kind_has_none() -> None:
    """Only objects have a kind of their own; a part of one has the kind that it names, or none."""
    assert run("from kubernetes import client\nclient.V1ObjectReference(name='x').kind") is None
    assert run("from kubernetes import client\nclient.V1PodTemplateSpec().get('kind', 'none')") == "none"


def test_one_long_cell_does_not_push_other_rows_apart() -> None:
    """It ends in … at 60 characters, at 120 in the last column; width=0 gives all of it."""
    rows = f"rows = [{{'name': 'a', 'n': 1}}, {{'name': {LONG!r}, 'n': 2}}, {{'name': 'b', 'n': 3}}, {{'name': 'c', 'n': 4}}]\n"
    told = run(f"{rows}table(rows)").splitlines()
    assert told[1] == f"a{' ' * 29}  1" and told[2] == f"{LONG[:59]}…  2"
    assert LONG in run(f"{rows}table(rows, width=0)") and LONG in run(f"{rows}table(rows, ['n', 'name'])")
    assert LONG in run(f"{rows}table(rows, width=200)") and LONG in run(f"{rows}table(rows, tsv=True)")


# Each line is a script for the tests' API server, and what it must say.
LIVE = {
    "[s.metadata.namespace for s in k8s.discovery().list_endpoint_slice_for_all_namespaces()][:1]": '["default"]',
    "k8s.discovery().list_namespaced_endpoint_slice('default')[0].kind": "EndpointSlice",
    "r = k8s.dynamic().resources.get(api_version='apps/v1', kind='Deployment')\n[r.preferred, r.name, r.namespaced, r.short_names, r.shortNames, r.singular_name, r.categories, r.group_version, sorted(r.subresources), r.prefix, r.version, r.plural]": (
        '[true,"deployments",true,["deploy"],["deploy"],"deployment",["all"],"apps/v1",["scale","status"],"apis","v1","deployments"]'
    ),
    "r = k8s.dynamic().resources.get(api_version='v1', kind='Pod')\n[r.path(namespace='shop'), r.path(name='a', namespace='shop'), r.urls['base'], r.to_dict()['kind']]": (
        '["/api/v1/namespaces/shop/pods","/api/v1/namespaces/shop/pods/a","/api/v1/pods","Pod"]'
    ),
    "sorted({(d.kind, d.api_version) for d in k8s.appsV1().list_deployment_for_all_namespaces()})": '[["Deployment","apps/v1"]]',
    "{i.kind for i in k8s.coreV1().list_node()}": '["Node"]',
}  # fmt: skip


def test_on_a_real_api_server(kubeconfig: Path) -> None:
    """Each at the first call."""
    with clients.asking("--kubeconfig", str(kubeconfig), "--log-level", "error") as asked:
        for script, expected in LIVE.items():
            told = fencing.unfence(clients.whole(asked(script)))
            assert told == expected, script


def test_a_memoryview_is_a_copy() -> None:
    """It reads like Python's, and nothing that it was made of changes with it."""
    script = "data = bytearray(b'abc')\nwith memoryview(data) as view:\n    data[0] = 65\n"
    assert run(f"{script}(view[1:].tobytes(), view[0], view.nbytes, view.tolist())") == (b"bc", 97, 3, [97, 98, 99])
