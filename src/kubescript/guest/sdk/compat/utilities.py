"""Provides `kubernetes.utils`: quantities, durations, metrics and `create_from_dict`, by the official names. modules.py
exports it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk import client
from kubescript.guest.sdk.compat import kubeconfig
from kubescript.guest.sdk.values import quantity

__all__ = ["ADVICE", "duration_members", "members"]

_FILES: Final = "there are no files here: write the manifest as a dict, and utils.create_from_dict(None, manifest)"
ADVICE: Final = {
    "create_from_yaml": _FILES,
    "create_from_yaml_single_item": _FILES,
    "create_from_directory": _FILES,
}
"""Functions of the official module that do not exist here, and what to write instead."""

# As in GEP-2257: one to four parts, each of one to five digits and a unit.
_DURATION: Final = re.compile(r"(?:\d{1,5}(?:h|ms|m|s)){1,4}")
_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def members(choice: kubeconfig.Choice) -> dict[str, object]:
    """Returns the members of `kubernetes.utils`."""

    def get_nodes_metrics(api_client: object = None) -> Any:
        """The metrics of all nodes, as a list of metrics.k8s.io."""
        metrics = choice.of(api_client).api("MetricsV1beta1Api")
        return metrics.list_node_metrics()

    def get_pods_metrics(api_client: object, namespace: str, label_selector: str | None = None) -> Any:
        """The metrics of a namespace's pods."""
        # As in the official client: an empty namespace would otherwise read the pods of all namespaces.
        if not namespace:
            raise ValueError("namespace parameter is required")
        metrics = choice.of(api_client).api("MetricsV1beta1Api")
        return metrics.list_namespaced_pod_metrics(namespace, label_selector=label_selector)

    def get_pods_metrics_in_all_namespaces(api_client: object, namespaces: list[str], label_selector: str = "") -> Any:
        """The metrics of several namespaces' pods, by namespace."""
        return {each: get_pods_metrics(api_client, each, label_selector or None) for each in namespaces}

    def create_from_dict(api_client: object, data: Any, namespace: str = "default", **_options: object) -> list[Any]:
        """Create the object, or each of a List."""
        is_list = str(data.get("kind", "")).endswith("List")
        objects = data["items"] if is_list else [data]
        return [_create(choice.of(api_client), each, namespace) for each in objects]

    return {
        "parse_quantity": quantity.parse_quantity,
        "get_nodes_metrics": get_nodes_metrics,
        "get_pods_metrics": get_pods_metrics,
        "get_pods_metrics_in_all_namespaces": get_pods_metrics_in_all_namespaces,
        "create_from_dict": create_from_dict,
    }


def _create(k8s: client.K8s, body: Any, namespace: str) -> Any:
    """Creates one object, in its own namespace if it names one."""
    resource = k8s.dynamic().resources.get(api_version=body["apiVersion"], kind=body["kind"])
    metadata = body.get("metadata") or {}
    own = metadata.get("namespace") or namespace
    where = own if resource.namespaced else None
    return resource.create(body=body, namespace=where)


def duration_members() -> Mapping[str, object]:
    """Returns the members of `kubernetes.utils.duration`: durations of the Gateway API (GEP-2257)."""
    return {"parse_duration": parse_duration, "format_duration": format_duration}


def parse_duration(text: str) -> datetime.timedelta:
    """1h30m as a timedelta. Raises ValueError for anything else."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"Invalid duration format: {text}")
    # At most four parts of five digits each, so the sum fits into a timedelta.
    milliseconds = 0
    for number, unit in re.findall(r"(\d+)(h|ms|m|s)", text):
        milliseconds += int(number) * _UNITS[unit]
    return datetime.timedelta(milliseconds=milliseconds)


def format_duration(delta: datetime.timedelta) -> str:
    """A timedelta as 1h30m. Raises ValueError for one that the format cannot hold."""
    microseconds = round(delta.total_seconds() * 1_000_000)
    left, rest = divmod(microseconds, 1_000)
    # The format's numbers have at most five digits.
    if rest or left < 0 or left >= 100_000 * _UNITS["h"]:
        raise ValueError(f"a duration has whole milliseconds, is positive and below 100000h, not {delta}")
    parts = []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
