"""A snapshot with sources, written by hand: one series a pod of `shop`, its lines, one rule and one silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["NOW", "write", "write_source"]

NOW: Final = 1_790_000_000
_START: Final = NOW - 3_600
USED: Final = "container_memory_working_set_bytes"
RULE: Final = f'max by (pod) ({USED}{{namespace="shop"}}) > 50'


def write(folder: Path) -> Path:
    """Writes the snapshot, which has three sources of the last hour, in steps of a minute."""
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [_pod("web-1"), _pod("web-2")]}
    entry = {"group": "", "version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
    info = {
        "format": "kubescript-snapshot/1",
        "capturedAt": "2026-09-21T13:46:40Z",
        "resources": [entry],
        "missing": [{"what": "prom targets", "why": "403 Forbidden"}],
        "sources": ["prom", "loki", "alertmanager"],
    }
    _write(folder / "snapshot.json", info)
    _write(folder / "resources" / "core" / "v1" / "pods.json", pods)
    _write_metrics(folder)
    _write_logs(folder)
    alert = {"labels": {"alertname": "Full", "severity": "critical"}, "receivers": [{"name": "team"}]}
    states = [("active", []), ("suppressed", ["s1"])]
    alerts = [{**alert, "status": {"state": state, "silencedBy": by, "inhibitedBy": []}} for state, by in states]
    matcher = {"name": "severity", "value": "critical", "isRegex": False, "isEqual": True}
    write_source(folder, "alertmanager", "alertmanager", alerts=alerts, silences=[{"id": "s1", "matchers": [matcher]}])
    return folder


def write_source(
    folder: Path, name: str, kind: str, queries: list[dict[str, Any]] | None = None, **answers: Any
) -> None:
    """Writes one source; each of `queries` has its answer's `result`, and `answers` are those of operations."""
    asked = [{key: value for key, value in query.items() if key != "result"} for query in queries or ()]
    about = {"kind": kind, "start": _START, "end": NOW, "step": 60, "queries": asked}
    own = folder / "sources" / name
    _write(own / "source.json", about)
    for number, query in enumerate(queries or (), start=1):
        _write(own / "queries" / f"{number}.json", {"status": "success", "data": {"result": query["result"]}})
    for operation, answer in answers.items():
        _write(own / f"{operation}.json", answer)


def _write_metrics(folder: Path) -> None:
    """Two series: one rises by one a minute; the other ends half an hour ago."""
    rising = [[_START + 60 * at, str(at)] for at in range(61)]
    series = [
        {"metric": {"__name__": USED, "namespace": "shop", "pod": "web-1"}, "values": rising},
        {"metric": {"__name__": USED, "namespace": "shop", "pod": "web-2"}, "values": rising[:31]},
    ]
    judged = [{"metric": {"pod": "web-1"}, "values": rising[51:]}]
    rule = {"name": "Full", "type": "alerting", "query": RULE, "state": "firing", "alerts": []}
    record = {"name": "x:y", "type": "recording", "query": "x"}
    write_source(
        folder,
        "prom",
        "prometheus",
        [{"query": RULE, "result": judged}, {"query": f'{USED}{{namespace="shop"}}', "result": series}],
        rules=_success({"groups": [{"name": "g", "rules": [rule, record]}]}),
        labels=_success(["__name__", "namespace", "pod"]),
        metadata=_success({USED: [{"type": "gauge"}]}),
    )


def _write_logs(folder: Path) -> None:
    """Two streams, of which one has only its newest lines, and a third whose lines were left out."""
    streams = [{"namespace": "shop", "pod": pod} for pod in ("web-1", "web-2", "web-3")]
    lines = [[f"{NOW - 60 + at}000000000", f"{'error' if at % 2 else 'info'} {at}"] for at in range(4)]
    queries: list[dict[str, Any]] = [
        {"query": '{namespace="shop", pod="web-1"}', "result": [{"stream": streams[0], "values": lines}]},
        {
            "query": '{namespace="shop", pod="web-2"}',
            "since": NOW - 600,
            "result": [{"stream": streams[1], "values": lines[:1]}],
        },
    ]
    write_source(folder, "loki", "loki", queries, series=_success(streams))


def _success(data: Any) -> dict[str, Any]:
    return {"status": "success", "data": data}


def _pod(name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "shop", "name": name}, "spec": {}, "status": {"phase": "Running"}}


def _write(file: Path, document: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
