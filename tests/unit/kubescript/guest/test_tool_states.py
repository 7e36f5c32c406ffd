"""What kubectl_get shows first: the objects that are not as they should be, in saved clusters that hold many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit import tools

BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Deployment": ({"spec": {"replicas": 2}}, {"readyReplicas": 2}),
    "StatefulSet": ({"spec": {"replicas": 2}}, {"readyReplicas": 2}),
    "ReplicaSet": ({"spec": {"replicas": 2}}, {"replicas": 2, "readyReplicas": 2}),
    "DaemonSet": ({"status": {"desiredNumberScheduled": 9}}, {"desiredNumberScheduled": 10, "numberReady": 10}),
    "PersistentVolumeClaim": ({"status": {"phase": "Pending"}}, {"phase": "Bound"}),
    "Job": ({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, {}),
}
"""Kinds with an object that is not as it should be, and the status of those that are."""
VERSIONS = {"PersistentVolumeClaim": "v1", "Job": "batch/v1"}
"""Of those that are not in apps/v1."""


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_as_it_should_be_comes_first(kind: str, tmp_path: Path) -> None:
    """Also the last one of a hundred and more; nothing is hidden that is broken."""
    odd, usual = BROKEN[kind]
    spec = {"spec": odd["spec"]} if "spec" in odd else {}
    named = [{"name": f"a-{at:03}", "namespace": ("shop", "web")[at % 2]} for at in range(120)]
    objects: list[dict[str, Any]] = [{"metadata": each, **spec, "status": usual} for each in named]
    objects.append({**odd, "metadata": {"name": "z", "namespace": "shop"}})
    items = [{"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, **each} for each in objects]
    file = tmp_path / "many.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with tools.calling("--snapshot", str(file)) as ask:
        answer = tools.told(ask("kubectl_get", resource=kind, allNamespaces=True))
        names = [each["name"] for each in answer["items"]]
        assert names == ["z", *(each["name"] for each in named if each["namespace"] == "shop"), *names[61:]]
        assert answer["note"].endswith("Not shown: 21 as they should be: web 21")
        table = tools.text(ask("kubectl_get", resource=kind, allNamespaces=True, output="table"))
        assert table.splitlines()[1].split()[:2] == ["shop", "z"] and "Not shown: 21 as they should be" in table


@pytest.mark.parametrize(
    ("kind", "usual", "odd"),
    [
        ("Node", {"conditions": [{"type": "Ready", "status": "True"}]}, {"conditions": []}),
        ("PersistentVolume", {"phase": "Available"}, {"phase": "Released"}),
        ("PersistentVolume", {"phase": "Bound"}, {"phase": "Failed"}),
    ],
)
def test_of_a_kind_without_namespaces_too(
    kind: str, usual: dict[str, Any], odd: dict[str, Any], tmp_path: Path
) -> None:
    """A volume that waits for a claim is as it should be."""
    statuses = [*([usual] * 120), odd]
    items = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"a-{at:03}"}, "status": each}
        for at, each in enumerate(statuses)
    ]
    file = tmp_path / "many.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with tools.calling("--snapshot", str(file)) as ask:
        answer = tools.told(ask("kubectl_get", resource=kind))
        assert [each["name"] for each in answer["items"][:2]] == ["a-120", "a-000"]
        assert answer["note"].endswith("Not shown: 21 as they should be")


def event(at: int, kind: str, reason: str, count: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"event-{at:03}", "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "name": f"pod-{at}"},
        "type": kind,
        "reason": reason,
        "count": count,
        "lastTimestamp": f"2026-01-{1 + at % 28:02}T00:00:00Z",
    }


@pytest.mark.parametrize("usual", [2, 150])
def test_warnings_come_before_other_events(usual: int, tmp_path: Path) -> None:
    """The newest first, and each counts as often as it occurred."""
    warnings = [("BackOff", 40), ("BackOff", 2), ("Unhealthy", 7)]
    events = [event(at, "Normal", "Started", 1) for at in range(usual)]
    events += [event(at, "Warning", *each) for at, each in enumerate(warnings, 196)]
    file = tmp_path / "events.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": events}))
    with tools.calling("--snapshot", str(file)) as ask:
        answer = tools.told(ask("kubectl_get", resource="events", namespace="shop"))
        items = answer["items"]
        assert [(each["reason"], each["count"]) for each in items[:3]] == warnings[::-1]
        assert all(each["type"] == "Normal" for each in items[3:])
        table = tools.text(ask("kubectl_get", resource="events", namespace="shop", output="table")).splitlines()
        assert table[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        assert ("Warning" in table[1]) == (usual > 100)
        assert usual < 100 or answer["warnings"] == {"BackOff": 42, "Unhealthy": 7}


def test_custom_resources_without_their_definition_show_whether_they_are_ready(tmp_path: Path) -> None:
    """A file may hold no definitions, and the condition Ready is what custom resources are asked for."""
    file = tmp_path / "custom.json"
    states: list[Any] = [[{"type": "Ready", "status": "False"}], [{"type": "Ready", "status": "True"}], [7], []]
    items = [
        {
            "apiVersion": "example.org/v1",
            "kind": kind,
            "metadata": {"name": f"made-{at}", "namespace": "shop"},
            "status": {"conditions": state} if kind == "Widget" else {},
        }
        for kind in ("Widget", "Plain")
        for at, state in enumerate(states)
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with tools.calling("--snapshot", str(file)) as ask:
        # Behind the answer stands that definitions were not captured.
        answer = tools.text(ask("kubectl_get", resource="widgets.example.org", namespace="shop"))
        widgets = json.JSONDecoder().raw_decode(answer)[0]["items"]
        assert [each.get("ready") for each in widgets] == ["False", "True", None, None]
        assert [each["name"] for each in widgets] == [f"made-{at}" for at in range(4)]
        plain = tools.text(ask("kubectl_get", resource="plains.example.org", namespace="shop", output="table"))
        assert plain.splitlines()[0].split() == ["NAME", "AGE"]
