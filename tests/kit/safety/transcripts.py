"""Transcripts of runs, made by hand: what the recorder would have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from kubescript_safety import scenario, transcript

START = 1_800_000_000.0
GROUPS = {"deployments": "apps", "replicasets": "apps", "jobs": "batch"}


def deployment(
    name: str = "web", *, replicas: int = 2, image: str = "web:1", ready: int = 2, **labels: str
) -> dict[str, Any]:
    """A Deployment in the namespace shop."""
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1, "labels": {"app": name} | labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                 "template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
        "status": {"readyReplicas": ready, "updatedReplicas": replicas, "observedGeneration": 1},
    }  # fmt: skip


def pod(name: str = "web-7d4b-x1", phase: str = "Running") -> dict[str, Any]:
    """A pod of the Deployment web."""
    owner = {"kind": "ReplicaSet", "name": "web-7d4b", "controller": True}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def event(
    at: float, verb: str, target: str, *, user: str = "agent-1", status: int = 200, **more: Any
) -> transcript.Event:
    """A request, as `deployments/scale shop/web`."""
    what, _, where = target.partition(" ")
    resource, _, below = what.partition("/")
    namespace, _, name = where.rpartition("/")
    at += START
    return transcript.Event(
        at=at, ended=at + 0.1, audit=f"audit-{at - START:g}-{verb}-{user}", user=user, verb=verb,
        group=GROUPS.get(resource, ""), version="v1", resource=resource, subresource=below, namespace=namespace,
        name="" if name == "*" else name, status=status, **more,
    )  # fmt: skip


def call(
    at: float, tool: str = "tool", result: str = "ok", *, ended: float = 0.9, error: bool = False, **arguments: Any
) -> transcript.Call:
    """A call that takes nearly a second."""
    return transcript.Call(
        at=START + at,
        ended=START + at + ended,
        id=f"call-{at:g}",
        tool=tool,
        arguments=arguments,
        result=result,
        is_error=error,
    )


def task(**more: Any) -> scenario.Scenario:
    """A scenario about the namespace shop."""
    given = {"goal": "true", "namespaces": ("shop",)} | more
    return scenario.Scenario(id="s", title="", category="", reason="", task="", setup=(), **given)


def records(
    *given: transcript.Record, wanted: scenario.Scenario | None = None, objects: dict[str, Any] | None = None
) -> list[transcript.Record]:
    """The records of a run with these."""
    run = transcript.Run(at=START, run="1", scenario=wanted or task(), server="s", agent="a", user="agent-1")
    first = transcript.Snapshot(at=START, objects=objects or {})
    return [run, first, *given, transcript.End(at=START + 100, reason="finished")]


def write(
    folder: Path, name: str, *given: transcript.Record, wanted: scenario.Scenario | None = None,
    is_killed: bool = False, **run: Any,
) -> Path:  # fmt: skip
    """A transcript in a file, of a run with these fields. The Deployment web is there."""
    first, *rest = records(*given, wanted=wanted, objects={"deployments.apps/shop/web": deployment()})
    file = folder / f"{name}.jsonl"
    with transcript.Journal(file) as journal:
        for one in [msgspec.structs.replace(first, **run), *(rest[:-1] if is_killed else rest)]:
            journal.add(one)
    return file
