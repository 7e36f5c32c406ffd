"""The rules of the lab's Prometheus, and the routes and silences of its Alertmanager."""

from __future__ import annotations

from typing import Any, Final

from tests.kit.engines.alertmanager import Alertmanager

__all__ = ["ROUTES", "RULES", "silence"]


def _rule(name: str, severity: str, expression: str) -> dict[str, Any]:
    summary = {"summary": f"{name} fires"}
    return {"alert": name, "expr": expression, "labels": {"severity": severity}, "annotations": summary}


_ERRORS: Final = (
    'sum by (namespace, service) (rate(http_requests_total{code="500"}[15m]))'
    " / sum by (namespace, service) (rate(http_requests_total[15m])) > 0.05"
)
_THROTTLED: Final = (
    "rate(container_cpu_cfs_throttled_periods_total[15m]) / rate(container_cpu_cfs_periods_total[15m]) > 0.5"
)
_P99: Final = (
    "histogram_quantile(0.99, sum by (namespace, service, le) (rate(http_request_duration_seconds_bucket[15m]))) > 1.8"
)
_GROWTH: Final = (
    'min_over_time(container_memory_working_set_bytes{namespace="shop",container="app"}[30m])'
    ' - min_over_time(container_memory_working_set_bytes{namespace="shop",container="app"}[30m] offset 3h) > 50e6'
)
_PEAK: Final = 'max_over_time(container_memory_working_set_bytes{namespace="payments",container="app"}[14h]) > 680e6'
_RESTARTS: Final = "increase(kube_pod_container_status_restarts_total[12h]) > 3"
_AT_MOST: Final = (
    "kube_horizontalpodautoscaler_status_current_replicas >= kube_horizontalpodautoscaler_spec_max_replicas"
)
RULES: Final = [
    _rule("HighErrorRate", "critical", _ERRORS),
    _rule("ContainerThrottled", "warning", _THROTTLED),
    _rule("HighLatency", "warning", _P99),
    _rule("MemoryGrows", "warning", _GROWTH),
    _rule("MemoryPeak", "info", f'{_PEAK} unless on (pod) container_memory_working_set_bytes{{pod=~"ledger.*"}}'),
    _rule("PodRestarts", "critical", _RESTARTS),
    _rule("NodeMemoryLow", "critical", "node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes < 0.08"),
    _rule("VolumeFills", "critical", "predict_linear(kubelet_volume_stats_available_bytes[3h], 12 * 3600) < 0"),
    _rule("TargetUnstable", "warning", "avg_over_time(up[1h]) < 0.95"),
    _rule("AutoscalerAtMost", "warning", _AT_MOST),
    _rule("ReplicasMissing", "warning", 'kube_deployment_status_replicas_available{deployment=~"search|fraud"} < 2'),
    _rule("Watchdog", "none", "vector(1)"),
]
_BY_NAMESPACE: Final = [
    {"receiver": f"{team}-oncall", "matchers": [f'namespace="{space}"']}
    for space, team in (("shop", "storefront"), ("payments", "ledger"))
]
ROUTES: Final = {
    "receivers": [
        {"name": name} for name in ("none", "pager", "storefront-oncall", "ledger-oncall", "platform-oncall")
    ],
    "route": {
        "receiver": "platform-oncall",
        "group_wait": "1s",
        "routes": [
            {"receiver": "none", "matchers": ['alertname="Watchdog"']},
            {"receiver": "pager", "matchers": ['severity="critical"'], "continue": True},
            *_BY_NAMESPACE,
        ],
    },
}


def silence(server: Alertmanager, zero: int) -> None:
    """Two silences that hold, and one that has not begun."""
    hour = 3600
    cart = {"alertname": "AutoscalerAtMost", "horizontalpodautoscaler": "cart"}
    server.silence(cart, zero, zero + 9 * hour, "cart is capped until the sale ends")
    server.silence({"alertname": "TargetUnstable", "namespace": "shop"}, zero, zero + 12 * hour, "known, ticket 4711")
    server.silence({"alertname": "VolumeFills"}, zero + 30 * hour, zero + 40 * hour, "planned migration")
