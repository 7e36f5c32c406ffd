"""The toolset observability: four tools for metrics, alerts and logs, by a client against the real servers."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import pytest

from kubescript import config, errors
from kubescript.toolsets import builtin
from tests.kit import clients, paths, patience, tokens, tools
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.source_tables import table

# At noon of yesterday, so that no range begins on another day.
NOW: Final = int(time.time()) // 86_400 * 86_400 - 43_200
DAY: Final = datetime.datetime.fromtimestamp(NOW, datetime.UTC).strftime("%Y-%m-%d")
RANGE: Final = {"query": "used", "start": str(NOW - 300), "end": str(NOW), "step": "1m"}
LINES: Final = {"query": '{namespace="shop"}', "start": f"{DAY}T11:00:00Z", "end": str(NOW)}
COUNTS: Final = LINES | {"query": 'sum by (pod) (count_over_time({namespace="shop"}[1h]))', "start": str(NOW)}
SAME: Final = "the same in all: __name__=used namespace=shop"
CUT: Final = "… and 1 more series: topk(…), sum by (…) (…), or limit"
ANSWERS: Final[list[tuple[str, dict[str, Any], list[str]]]] = [
    ("prometheus_query", {"query": "used", "time": str(NOW)}, [SAME, "pod    value", "web-0  6", "web-1  12"]),
    ("prometheus_query", {"query": "used", "time": str(NOW), "limit": 1}, [SAME, "pod    value", "web-0  6", CUT]),
    ("prometheus_query", {"query": "vector(1) > 2"}, ["no series: the query matches nothing at this time"]),
    ("prometheus_query_range", RANGE, [
        f"points: 6, from {DAY}T11:55:00Z to {DAY}T12:00:00Z", SAME,
        "pod    first  min  avg  max  last  11:56:00  11:57:00  11:58:00  11:59:00",
        "web-0  1      1    3.5  6    6     2         3         4         5",
        "web-1  2      2    7    12   12    4         6         8         10",
    ]),
    ("prometheus_query_range", RANGE | {"points": True, "step": "150s"}, [
        f"points: 3, from {DAY}T11:55:00Z to {DAY}T12:00:00Z", SAME,
        "time\tweb-0\tweb-1", "11:55:00\t1\t2", "11:57:30\t3\t6", "12:00:00\t6\t12",
    ]),
    ("prometheus_query_range", RANGE | {"query": "forged", "points": True}, [
        f"points: 1, from {DAY}T12:00:00Z to {DAY}T12:00:00Z", "the same in all: __name__=forged",
        "time\ta 12:00:00 9\tb", "12:00:00\t1\t2",
    ]),
    ("alerts", {"severity": "warning"}, [
        "alert  severity  state     since  labels          summary",
        "Known  warning   silenced  2d12h  namespace=shop  -",
    ]),
    ("alerts", {"state": "firing"}, [
        "alert  severity  state   since  labels                    summary",
        "Slow   critical  firing  2d12h  namespace=shop pod=web-1  The shop is slow.",
    ]),
    ("alerts", {"state": "pending"}, ["alert  severity  state    since  labels  summary"]),
    ("alerts", {"namespace": "other"}, ["no such alert; am has 2 in all"]),
    ("logs", LINES, [
        f"lines: 3, from {DAY}T11:50:00Z to {DAY}T11:50:02Z", "the same in all: namespace=shop",
        "11:50:00 web-1 error: one", "11:50:01 web-0 fine",
        "11:50:02 web-1 error: two", "    11:50:02 web-0 no line of its own",
    ]),
    ("logs", LINES | {"limit": 1, "direction": "forward"}, [
        f"lines: 1, from {DAY}T11:50:00Z to {DAY}T11:50:00Z", "the same in all: namespace=shop pod=web-1",
        "the oldest ones; for others a later start, a narrower query, or limit", "11:50:00 error: one",
    ]),
    ("logs", LINES | {"query": '{app="forged"}'}, [
        f"lines: 2, from {DAY}T11:50:00Z to {DAY}T11:50:01Z", "the same in all: app=forged",
        "11:50:00 a 12:00:00 web-0 one", "11:50:01 b two",
    ]),
    ("logs", LINES | {"query": '{pod="none"}'}, ["no lines: the query matches nothing in this time"]),
    ("logs", COUNTS, [
        f"points: 1, from {DAY}T12:00:00Z to {DAY}T12:00:00Z", "pod    first  min  avg  max  last",
        "web-0  1      1    1    1    1", "web-1  2      2    2    2    2",
    ]),
]  # fmt: skip
"""Calls, and the first lines of each answer."""
REFUSALS: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("prometheus_query", {"query": "up["}, 'prom.query: invalid parameter "query"'),
    ("prometheus_query_range", {"query": "up", "step": "1 min"}, "step='1 min' is not a timedelta, seconds, or text"),
    ("prometheus_query", {"query": '{job=~".*"}'}, "a selector matches every series"),
    ("prometheus_query", {"query": "up", "namespace": "shop"}, "this source takes no namespace"),
    ("alerts", {"source": "logs"}, "'logs' is not one of ['metrics', 'am']"),
    ("logs", {"query": "{}", "cluster": "other"}, "this server has no cluster other"),
]
"""Calls and what a client is told."""


@pytest.fixture
def flags(
    prometheus3: Callable[..., Prometheus],
    loki: Loki,
    alertmanager: Alertmanager,
    scratch: ControlPlane,
    tmp_path: Path,
) -> list[str]:
    """The flags of a server with one source of each kind, which have two series, two alerts and three lines."""
    later = {"alert": "Later", "expr": "vector(1)", "for": "1h", "labels": {"severity": "info"}}
    prometheus = prometheus3(openmetrics=_series(), rules=[{"name": "rules", "rules": [later]}])
    patience.until(lambda: prometheus.get("alerts")["alerts"])
    loki.push({"namespace": "shop", "pod": "web-0"}, [(NOW - 599, "fine")])
    forging = "error: two\n11:50:02 web-0 no line of its own"
    loki.push({"namespace": "shop", "pod": "web-1"}, [(NOW - 600, "error: one"), (NOW - 598, forging)])
    for at, pod in enumerate(("a\n12:00:00 web-0", "b")):
        loki.push({"app": "forged", "pod": pod}, [(NOW - 600 + at, ("one", "two")[at])])
    began = datetime.datetime.fromtimestamp(time.time() - 2.5 * 86_400, datetime.UTC).isoformat()
    slow = {"alertname": "Slow", "severity": "critical", "namespace": "shop", "pod": "web-1"}
    known = {"alertname": "Known", "severity": "warning", "namespace": "shop"}
    summary = {"summary": "The shop is slow."}
    alertmanager.post_alerts([
        {"labels": slow, "startsAt": began, "annotations": summary}, {"labels": known, "startsAt": began},
    ])  # fmt: skip
    alertmanager.silence({"alertname": "Known"}, int(time.time()) - 60, int(time.time()) + 3_600, "known")
    urls = {"metrics": prometheus.url, "logs": loki.url, "am": alertmanager.url}
    return ["--kubeconfig", str(scratch.kubeconfig), "--config", str(_configure(tmp_path, **urls))]


def test_the_tools_answer_compactly(flags: list[str]) -> None:
    """Each answer has the figures of the servers' data; a refusal says why, and the next call works."""
    with tools.calling(*flags, toolsets="observability") as call:
        for tool, arguments, answer in ANSWERS:
            found = tools.text(call(tool, **arguments)).splitlines()
            assert found[: len(answer)] == answer, (tool, arguments)
        for tool, arguments, message in REFUSALS:
            refused = call(tool, **arguments)
            assert refused.is_error and message in clients.text(refused), (tool, arguments)
            assert tools.text(call("prometheus_query", query="vector(1)")) == "value\n1"


def test_sources_of_one_namespace_at_a_time_are_told_it(flags: list[str]) -> None:
    """Queries and alerts name the namespace to such a source; without one the call is refused, and the next works."""
    file = Path(flags[-1])
    loki, *others = sorted(file.read_text().split("[sources."), key=lambda table: '"loki"' not in table)
    namespaced = [table.replace('tenancy = "none"', 'tenancy = "namespace"') for table in others]
    file.write_text("[sources.".join(["", loki, *filter(None, namespaced)]))
    with tools.calling(*flags, toolsets="observability") as call:
        for tool, arguments in (("prometheus_query", {"query": "vector(1)"}), ("alerts", {})):
            refused = call(tool, **arguments)
            assert refused.is_error and "one namespace at a time" in clients.text(refused), tool
            tools.text(call(tool, **arguments, namespace="shop"))
        tools.text(call("logs", **LINES))


def test_the_definitions_have_what_the_sources_need(scratch: ControlPlane, tmp_path: Path) -> None:
    """Tools without a source are left out, and so are arguments without a purpose; docs/toolsets.md says what all four cost."""
    url = "http://127.0.0.1:9"
    all_kinds = _offered(scratch.kubeconfig, _configure(tmp_path, metrics=url, logs=url, am=url))
    assert [*all_kinds] == ["prometheus_query", "prometheus_query_range", "alerts", "logs"]
    page = (paths.ROOT / "docs/toolsets.md").read_text("utf-8").split()
    assert f"`observability` has four, of {sum(map(_count, all_kinds.values()))};" in " ".join(page)
    assert not {"source", "namespace"} & all_kinds["logs"].input_schema["properties"].keys()
    several = _offered(scratch.kubeconfig, _configure(tmp_path, "namespace", metrics=url, metrics2=url))
    assert [*several] == ["prometheus_query", "prometheus_query_range", "alerts"]
    assert several["prometheus_query"].input_schema["properties"]["source"]["enum"] == ["metrics", "metrics2"]
    assert "namespace" in several["prometheus_query"].input_schema["properties"]


def test_a_server_without_sources_does_not_start() -> None:
    """The error says what to configure, also where the toolset is only some callers'."""
    access = [{"toolsets": ["observability"]}]
    for given in ({"toolsets": ["observability"]}, {"toolsets": ["code"], "access": access}):
        with pytest.raises(errors.ConfigError, match="no source is configured") as refused:
            builtin.check(config.Settings.model_validate(given))
        assert "[sources.prometheus]" in refused.value.remedy


def _configure(folder: Path, tenancy: str = "none", **urls: str) -> Path:
    """Writes a file with these sources."""
    kinds = {"logs": "loki", "am": "alertmanager"}
    more = f'tenancy = "{tenancy}"'
    tables = [table(name, kinds.get(name, "prometheus"), url, more) for name, url in urls.items()]
    file = folder / "kubescript.toml"
    file.write_text("".join(tables))
    return file


def _offered(kubeconfig: Path, file: Path) -> dict[str, mcp_types.Tool]:
    """The tools as a client gets them."""
    found: dict[str, mcp_types.Tool] = {}

    async def ask() -> None:
        flags = ("--toolsets", "observability", "--kubeconfig", str(kubeconfig), "--config", str(file))
        async with clients.connect("memory", flags) as client:
            found.update({tool.name: tool for tool in (await client.list_tools()).tools})

    anyio.run(ask)
    return found


def _count(tool: mcp_types.Tool) -> int:
    """The tokens of a definition."""
    wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return tokens.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))


def _series() -> str:
    """Two series that rise each minute, and two of a forger."""
    lines = [
        f'used{{namespace="shop",pod="web-{pod}"}} {(at + 1) * (pod + 1)} {NOW - 300 + at * 60}\n'
        for pod in range(2)
        for at in range(6)
    ]
    forged = [f'forged{{pod="{pod}"}} {value} {NOW}\n' for value, pod in enumerate(("a\\n12:00:00 9", "b"), 1)]
    return f"# TYPE used gauge\n{''.join(lines)}# TYPE forged gauge\n{''.join(forged)}"
