"""Names that the classic tools refuse by kind, beside those that the real API server refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.kube import object_names
from kubescript_safety.cluster import api
from tests.kit import clients, tools, trails
from tests.kit.controlplane.server import ControlPlane

NAMES: Final = ("web", "web.1", "a" * 64, "web_1", "Web", "system:web", "web-", "-web")
NOT_SENT: Final = ("a" * 254, "a/b", "a%20b", "..", "")


@pytest.fixture(scope="module")
def server(scratch: ControlPlane) -> api.Api:
    return api.Api(scratch.kubeconfig)


def _accepts(server: api.Api, kind: api.Kind, name: str) -> bool:
    """Whether the API server has nothing against the name of an object that it would create."""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    answer = server.send("POST", kind.path("default"), body, query={"dryRun": "All"})
    details = answer.content.get("details") or {}
    return all(cause["field"] != "metadata.name" for cause in details.get("causes", ()))


def test_no_name_that_an_object_can_have_is_refused(server: api.Api) -> None:
    """Every kind that the API server creates, with names of every form; a service has the rules of a label."""
    refused = {"service": 0, "other": 0}
    for kind in server.kinds():
        for name in NAMES:
            if object_names.is_name_of(kind.name, name):
                continue
            refused["service" if kind.name == "services" else "other"] += 1
            assert not _accepts(server, kind, name), f"{kind.name} {name}"
    assert refused["service"] == 7 and refused["other"] > 100
    assert not any(object_names.is_name_of("roles", name) for name in NOT_SENT)


def test_a_name_of_a_role_is_asked_for_and_that_of_a_pod_is_not(scratch: ControlPlane, tmp_path: Path) -> None:
    """A refusal leaves no record of a script or a call, and the next call works."""
    record = tmp_path / "audit.jsonl"
    with tools.calling("--kubeconfig", str(scratch.kubeconfig), "--audit", str(record)) as call:
        for given in ({"resource": "pods", "name": "system:node"}, {"resource": "nodes", "cluster": "a b"}):
            refused = call("kubectl_get", **given)
            assert refused.is_error and "does not conform to Kubernetes specifications" in clients.whole(refused)
        assert not trails.records(record, "script") and not trails.records(record, "call")
        found: Any = tools.told(call("kubectl_get", resource="clusterrole", name="system:node"))
        assert found["metadata"]["name"] == "system:node"
        assert trails.records(record, "call")
