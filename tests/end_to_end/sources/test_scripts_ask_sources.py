"""Scripts ask a real Prometheus, Loki and Alertmanager and a recorded Tempo, and join what they say with the cluster's objects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit import app_objects, clients, paths
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer
from tests.kit.engines import tempo
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.source_tables import table

NOW: Final = int(time.time()) // 60 * 60
USED: Final = "container_memory_working_set_bytes"
PAGE: Final = (paths.ROOT / "sdk_docs/sources.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
RANGE: Final = f"prom.query_range('{USED}', start={NOW - 600}, end={NOW}, step='1m')"
SCRIPTS: Final[dict[str, Any]] = {
    f"[(s.metric['pod'], s.value) for s in top(prom.query('{USED}', time={NOW}), 5)]": [["gone", 22], ["web", 11]],
    f"[(len(s.values), s.min, s.max, s.delta, s.rate * 600) for s in {RANGE}][-1]": [11, 1, 11, 10, 10],
    f"{{s.metric['pod']: s.pod() and s.object().metadata.name for s in {RANGE}}}": {"web": "web", "gone": None},
    f"table({RANGE})": "pod   min  max  avg  last\ngone  2    22   12   22\nweb   1    11   6    11",
    "prom.query('1 + 1')[0].value, prom.label_values('pod', 'none'), prom.targets(), prom.metadata('x')": [
        2,
        [],
        [],
        {},
    ],
    f"sorted(prom.series('{USED}', start='-1h'), key=lambda s: s['pod'])[0]['namespace']": "shop",
    "[(g.name, r.name) for g in prom.rules(type='alert') for r in g.rules], prom.alerts()": [
        *([["rules", "Never"]], [])
    ],
    "k8s.parallel([(prom.query, 'up['), (prom.query, 'vector(3)')])[1][0].value": 3,
    "a = alertmanager.alerts(filter='severity=\"critical\"', silenced=False)[0]\n"
    "p = k8s.get('pod', a.labels.pod, a.labels['namespace'])\na.status.state, p.kind, a.receivers[0].name": [
        *("active", "Pod", "none")
    ],
    "alertmanager.alerts(filter=['severity=\"info\"']), alertmanager.silences()[0].comment": [[], "for the test"],
    "[line for s in loki.query_range('{namespace=\"shop\"} |= \"error\"', direction='forward') for t, line in s.values]": [
        *("error: one", "error: two")
    ],
    "loki.query('sum by (pod) (count_over_time({namespace=\"shop\"}[1h]))')[0].value, loki.label_values('pod')": [
        3,
        ["web"],
    ],
    "loki.label_values('none')": [],
    "[row.split()[-1] for row in table(loki.query_range('{team=\"shop\"}')).splitlines()]": [
        "line",
        "three",
        "two",
        "one",
    ],
    "table(loki.query_range('{team=\"shop\"}', direction='forward')).split()[5::3]": ["one", "two", "three"],
    "[s['app'] for s in loki.query('topk(2, sum by (app) (count_over_time({team=\"shop\"}[1h])))')]": ["b", "a"],
    "[s['app'] for s in loki.query('bottomk(2, sum by (app) (count_over_time({team=\"shop\"}[1h])))')]": ["a", "b"],
    "s = loki.query_range('{namespace=\"shop\"}', limit=1)[0]\ns.lines, s.pod().metadata.name": [
        ["all is well"],
        "web",
    ],
    "t = tempo.search('{}', start='-1h')[0]\n[(s.service, s.name, s.duration_ms) for s in tempo.trace(t.traceID).spans], t.durationMs": [
        *([["web", "GET /buy", 4300], ["checkout", "POST /pay", 4000]], 4300)
    ],
}
"""Scripts and their results, with `shop` for the namespace."""
REFUSALS: Final = {
    "prom.query('up[')": "BadRequestException: 400 Bad Request: prom.query: invalid parameter",
    "prom.query_range('up[5m]')": "write rate(x[5m]), or x without [5m]",
    "loki.query('{namespace=\"shop\"} |= oh')": "BadRequestException: 400 Bad Request: loki.query_range: parse error",
    "loki.query('{namespace=~\".*\"}')": "the selector matches every stream; write a label",
    "alertmanager.alerts(filter='oh no')": "400 Bad Request: alertmanager.alerts: bad matcher format",
    "tempo.trace('00')": "NotFoundException: 404 Not Found: tempo.trace: trace not found",
}
"""Scripts that fail, and what a model is told."""


@pytest.fixture
def recorded() -> Iterator[tempo.Recorded]:
    """A recorded Tempo with one trace."""
    trace, root = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b1"
    spans = [
        tempo.Span(trace, root, "GET /buy", "web", NOW - 60, 4.3),
        tempo.Span(trace, "00f067aa0ba902b2", "POST /pay", "checkout", NOW - 59.9, 4, root),
    ]
    with tempo.Recorded(spans) as server:
        yield server


@pytest.fixture
def sources(
    prometheus3: Callable[..., Prometheus],
    loki: Loki,
    alertmanager: Alertmanager,
    recorded: tempo.Recorded,
    namespace: str,
) -> dict[str, str]:
    """The URLs of one source of each kind, all of which know something of a pod `web`, and of an old Prometheus."""
    rules = [{"name": "rules", "rules": [{"alert": "Never", "expr": "vector(1) > 2"}]}]
    data = {"openmetrics": _series(namespace), "rules": rules}
    prometheus, old = prometheus3(**data), prometheus3(**data, old=True)
    lines = [(NOW - 90, "error: one"), (NOW - 60, "error: two"), (NOW - 30, "all is well")]
    loki.push({"namespace": namespace, "pod": "web"}, lines)
    loki.push({"team": namespace, "app": "b"}, [(NOW - 90, "one"), (NOW - 30, "three")])
    loki.push({"team": namespace, "app": "a"}, [(NOW - 60, "two")])
    labels = {"alertname": "Slow", "severity": "critical", "namespace": namespace, "pod": "web"}
    alertmanager.post_alerts([{"labels": labels}])
    alertmanager.silence({"alertname": "Other"}, NOW, NOW + 3_600, "for the test")
    urls = {"prometheus": prometheus.url, "loki": loki.url, "alertmanager": alertmanager.url, "tempo": recorded.url}
    return urls | {"old": old.url}


def test_scripts_join_sources_and_objects(
    sources: dict[str, str], scratch: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Each answers what models write at the first try, also by the page's script and by Prometheus 2.42; what a server
    refuses says why, and the next call works."""
    Writer(scratch.kubeconfig).create(app_objects.pod(namespace, "web", "web"))
    config = tmp_path / "kubescript.toml"
    kinds = {"old": "prometheus"}
    config.write_text("".join(table(name, kinds.get(name, name), url) for name, url in sources.items()))
    with clients.asking("--kubeconfig", str(scratch.kubeconfig), "--config", str(config)) as ask:

        def answer(script: str) -> str:
            return clients.text(ask(script.replace("shop", namespace)))

        for script, result in SCRIPTS.items():
            expected = json.loads(json.dumps(result).replace("shop", namespace))
            assert _read(answer(script)) == expected, script
            assert _read(answer(script.replace("prom.", 'k8s.source("old").'))) == expected, script
        for script, message in REFUSALS.items():
            assert message in answer(script), script
            assert answer("prom.query('vector(1)')[0].value") == "1"
        assert answer(PAGE) == "pod   node  max\ngone  -     22\nweb   -     11"


def test_without_a_source_its_name_says_so(scratch: ControlPlane) -> None:
    """A model learns that there is none, and what there is instead."""
    with clients.asking("--kubeconfig", str(scratch.kubeconfig)) as ask:
        told = clients.text(ask("prom.query('up')"))
        assert (
            "name 'prom' is not defined; there is none that you may use ([sources]" in told
            and "k8s.metricsV1beta1()" in told
        )
        assert clients.text(ask("1 + 1")) == "2"


def _read(text: str) -> Any:
    """Returns an answer as data, or as text where it is none; without the note of a call that failed."""
    try:
        return json.loads(text.partition("\n[")[0])
    except ValueError:
        return text


def _series(namespace: str) -> str:
    """Two series that rise each minute, of a pod and of one that is gone."""
    lines = [
        f'{USED}{{namespace="{namespace}",pod="{pod}",container="app"}} {(at + 1) * size} {NOW - 600 + at * 60}\n'
        for size, pod in enumerate(("web", "gone"), 1)
        for at in range(11)
    ]
    return f"# TYPE {USED} gauge\n{''.join(lines)}"
