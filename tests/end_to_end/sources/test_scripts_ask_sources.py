"""Scripts ask a real Prometheus, Loki and Alertmanager, and join what they say with the cluster's objects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.kit import app_objects, clients, paths
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus

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
    "s = loki.query_range('{namespace=\"shop\"}', limit=1)[0]\ns.lines, s.pod().metadata.name": [
        ["all is well"],
        "web",
    ],
}
"""Scripts and their results, with `shop` for the namespace."""
REFUSALS: Final = {
    "prom.query('up[')": "BadRequestException: 400 Bad Request: prom.query: invalid parameter",
    "prom.query_range('up[5m]')": "write rate(x[5m]), or x without [5m]",
    "loki.query('{namespace=\"shop\"} |= oh')": "BadRequestException: 400 Bad Request: loki.query: parse error",
    "loki.query('{namespace=~\".*\"}')": "the selector matches every stream; write name a label",
    "alertmanager.alerts(filter='oh no')": "400 Bad Request: alertmanager.alerts: bad matcher format",
    "tempo.search('{}')": "NameError: name 'tempo' is not defined; this server has none ([sources] of its settings)",
}
"""Scripts that fail, and what a model is told."""


def test_scripts_join_sources_and_objects(
    prometheus3: Callable[..., Prometheus],
    loki: Loki,
    alertmanager: Alertmanager,
    scratch: ControlPlane,
    namespace: str,
    tmp_path: Path,
) -> None:
    """Each answers what models write at the first try, also by the page's script; what a server refuses says why, and
    the next call works."""
    Writer(scratch.kubeconfig).create(app_objects.pod(namespace, "web", "web"))
    rules = [{"name": "rules", "rules": [{"alert": "Never", "expr": "vector(1) > 2"}]}]
    prometheus = prometheus3(openmetrics=_series(namespace), rules=rules)
    lines = [(NOW - 90, "error: one"), (NOW - 60, "error: two"), (NOW - 30, "all is well")]
    loki.push({"namespace": namespace, "pod": "web"}, lines)
    labels = {"alertname": "Slow", "severity": "critical", "namespace": namespace, "pod": "web"}
    alertmanager.post_alerts([{"labels": labels}])
    alertmanager.silence({"alertname": "Other"}, NOW, NOW + 3_600, "for the test")
    config = tmp_path / "kubescript.toml"
    urls = {"prom": prometheus.url, "loki": loki.url, "alertmanager": alertmanager.url}
    kinds = {"prom": "prometheus"}
    tables = [f'[sources.{name}]\nkind = "{kinds.get(name, name)}"\nurl = "{url}"\n' for name, url in urls.items()]
    config.write_text("".join(tables))
    with clients.asking("--kubeconfig", str(scratch.kubeconfig), "--config", str(config)) as ask:
        for script, result in SCRIPTS.items():
            found = clients.text(ask(script.replace('"shop"', f'"{namespace}"')))
            assert _read(found) == json.loads(json.dumps(result).replace('"shop"', f'"{namespace}"')), script
        for script, message in REFUSALS.items():
            found = clients.text(ask(script.replace('"shop"', f'"{namespace}"')))
            assert message in found, script
            assert clients.text(ask("prom.query('vector(1)')[0].value")) == "1"
        assert clients.text(ask(PAGE.replace("shop", namespace))) == "pod   node  max\ngone  -     22\nweb   -     11"


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
