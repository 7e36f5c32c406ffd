"""Answers that owe nothing to the product: each is worked out from raw JSON that the official client fetched."""

from __future__ import annotations

from tests.live.zero_shot.answers import (
    access,
    causes,
    custom,
    grants,
    images,
    jobs,
    limits,
    logs,
    network,
    nodes,
    owners,
    pods,
    references,
    rollouts,
    room,
    routes,
    runs,
    settings,
    shares,
    specs,
    storage,
    usage,
    workloads,
)
from tests.live.zero_shot.answers.cluster import ANSWERS, Cluster

__all__ = ["ANSWERS", "Cluster", "access", "causes", "custom", "grants", "images", "jobs", "limits", "logs", "network", "nodes", "owners", "pods", "references", "rollouts", "room", "routes", "runs", "settings", "shares", "specs", "storage", "usage", "workloads"]  # fmt: skip
