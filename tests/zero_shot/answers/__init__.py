"""Answers that owe nothing to the product: each is worked out from raw JSON that the official client fetched."""

from __future__ import annotations

from tests.zero_shot.answers import (
    access,
    custom,
    images,
    jobs,
    limits,
    logs,
    network,
    nodes,
    pods,
    rollouts,
    runs,
    settings,
    specs,
    storage,
    usage,
    workloads,
)
from tests.zero_shot.answers.cluster import ANSWERS, Cluster

__all__ = ["ANSWERS", "Cluster", "access", "custom", "images", "jobs", "limits", "logs", "network", "nodes", "pods", "rollouts", "runs", "settings", "specs", "storage", "usage", "workloads"]  # fmt: skip
