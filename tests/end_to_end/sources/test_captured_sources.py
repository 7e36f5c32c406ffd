"""`kubescript snapshot --sources` saves what rules read, alerts and lines of real engines; served, the snapshot answers
scripts as the engines did."""

from __future__ import annotations

import contextlib
import json
import stat
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from tests.kit import clients, commands, patience
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.source_tables import table

USED: Final = "container_memory_working_set_bytes"
RATIO: Final = (
    'sum by (namespace, service) (rate(http_requests_total{code="500"}[5m])) '
    "/ sum by (namespace, service) (rate(http_requests_total[5m])) > 0.1"
)
_GONE: Final = table("gone", "loki", "http://127.0.0.1:9")
RULES: Final = {
    "MemoryNearLimit": f"{USED} / on (namespace, pod) group_left kube_pod_container_resource_limits > 0.85",
    "RequestsFail": RATIO,
    "TargetDown": "up == 0",
}
PODS: Final = ("checkout-0", "checkout-1", "cart-0")
SAME: Final = (
    f"prom.query('{USED}{{pod=~\"checkout.*\"}}', time=T)",
    f"prom.query_range('{USED}', start=T - 1800, end=T, step='5m')",
    f"prom.query_range('{RATIO}', start=T - 3600, end=T, step=60)",
    "prom.query('up == 0', time=T)",
    "prom.query('up{job=\"cart\"}', time=T)",
    f"sorted(prom.label_values('pod', '{USED}', start=T - 3600, end=T))",
    "[(r.name, r.query) for g in prom.rules() for r in g.rules]",
    "sorted(a.labels.alertname for a in prom.alerts())",
    "sorted(a.labels.alertname for a in alertmanager.alerts(silenced=False))",
    "[s.comment for s in alertmanager.silences()]",
    "sorted(loki.label_values('app', start=T - 3600, end=T))",
    "[(s['app'], s.lines) for s in loki.query_range('{app=\"checkout\"} |= \"error\"', T - 3600, T, direction='forward')]",
    '[s.values for s in loki.query_range(\'{app=~"c.*", pod!="x"} != "msg=served"\', T - 1800, T, limit=3)]',
)
"""Scripts whose answers are the same, with T for the time of the capture."""


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The URLs of sources by their kinds: the memory and the requests of `checkout` fire alerts, `cart` is down, and that
    alert is silenced."""
    now = int(time.time())  # of the test: rules judge the last minutes
    with contextlib.ExitStack() as stack:
        loki = stack.enter_context(Loki(tmp_path_factory.mktemp("loki")))
        alertmanager = stack.enter_context(Alertmanager(tmp_path_factory.mktemp("alertmanager")))
        alertmanager.silence({"alertname": "TargetDown"}, now - 600, now + 86_400, "cart is moved")
        rules = [{"name": "shop", "rules": [{"alert": name, "expr": text} for name, text in RULES.items()]}]
        folder = tmp_path_factory.mktemp("prometheus")
        prometheus = stack.enter_context(
            Prometheus(folder, openmetrics=_series(now), rules=rules, alertmanager=alertmanager.address)
        )
        for pod in PODS:
            loki.push({"app": pod.partition("-")[0], "pod": pod}, list(_lines(pod, now)))
        prometheus.wait_for_alerts(*RULES)
        patience.until(lambda: len(alertmanager.get("alerts")) == len(prometheus.get("alerts")["alerts"]))
        yield {"prometheus": prometheus.url, "alertmanager": alertmanager.url, "loki": loki.url}


def _series(now: int) -> str:
    """The series of the pods up to now, a sample every half minute."""
    lines: list[str] = []
    for at in range(0, 4_201, 30):
        for number, pod in enumerate(PODS):
            labels = f'namespace="shop",pod="{pod}"'
            job = pod.partition("-")[0]
            served = f'{labels},job="{job}",service="{job}"'
            failed = at * (job == "checkout")
            samples = {
                f"{USED}{{{labels}}}": at * 100 + number,
                f"kube_pod_container_resource_limits{{{labels}}}": 480_000 if failed else 4_800_000,
                f'up{{{labels},job="{job}"}}': int(job != "cart" or at < 3_600),
                f'http_requests_total{{{served},code="500"}}': failed,
                f'http_requests_total{{{served},code="200"}}': at * 2,
                f"http_request_duration_seconds_count{{{served}}}": at * 2 + failed,
            }
            lines += [f"{series} {value} {now - 4_200 + at}\n" for series, value in samples.items()]
    return "".join(sorted(lines))


def _lines(pod: str, now: int) -> Iterator[tuple[float, str]]:
    """The lines of a pod: one a minute, and an error every tenth."""
    for minute in range(70, 0, -1):
        yield now - minute * 60, f"level=info msg=served requests={minute}"
        if minute % 10 == 2:
            yield now - minute * 60 + 1, 'level=error msg="payment: no answer in 4s"'


@pytest.mark.timeout(300)
def test_captured_sources_answer_as_the_engines_did(
    urls: dict[str, str], scratch: ControlPlane, tmp_path: Path
) -> None:
    """Each script gets the same answer from the engines and from the snapshot; the command says what it has not saved,
    and only the owner can read the files."""
    config = tmp_path / "kubescript.toml"
    config.write_text(_tables(urls | {"tempo": "http://127.0.0.1:9"}) + _GONE)
    flags = ("--kubeconfig", str(scratch.kubeconfig), "--config", str(config))
    out = tmp_path / "saved"
    wanted = ("--series", "http_request_duration_seconds_count", "--series", "sum(up)", "--series", "nosuch")
    done = commands.run("snapshot", str(out), "-n", "default", "--sources", *wanted, *flags)
    assert "and prometheus, alertmanager, loki saved to" in done.stdout
    assert "not saved: tempo: traces are not saved" in done.stdout
    assert "not saved: prometheus sum(up): it is no selector of series" in done.stdout
    assert "not saved: prometheus nosuch: there is no such series" in done.stdout
    assert "not saved: gone: " in done.stdout
    examined = commands.run("doctor", "--snapshot", str(out)).stdout
    assert "saved sources prometheus (prometheus), alertmanager (alertmanager), loki (loki)" in " ".join(
        examined.split()
    )
    info = json.loads((out / "snapshot.json").read_text())
    assert info["sources"] == ["prometheus", "alertmanager", "loki"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in (out / "sources").rglob("*.json")} == {0o600}
    now = f"T = {datetime.fromisoformat(info['capturedAt']).timestamp():.0f}\n"
    with clients.asking(*flags) as live, clients.asking("--snapshot", str(out), transport="stdio") as saved:
        for script in SAME:
            answer = clients.text(live(now + script))
            assert clients.text(saved(now + script)) == answer
            assert len(answer) > 10, script
        gone = clients.text(saved("prom.query('http_requests_total{code=\"500\"} * 2')"))
        assert "was not captured. Of " in gone
        assert "captured queries: up. Write" in clients.text(saved("prom.query('sum(up)')"))
        assert clients.text(saved("len(prom.query('http_request_duration_seconds_count'))")) == "3"


def test_a_script_that_asked_sources_is_replayed(urls: dict[str, str], scratch: ControlPlane, tmp_path: Path) -> None:
    """`audit replay` gives a script the recorded answers of its sources, without them: the same, also for an error."""
    config, record = tmp_path / "kubescript.toml", tmp_path / "audit.jsonl"
    # The global `prom` is the first one of the settings, whatever the alphabet says.
    config.write_text(_tables(urls) + table("another", "prometheus", urls["prometheus"]))
    flags = ("--kubeconfig", str(scratch.kubeconfig), "--config", str(config), "--audit", str(record))
    scripts = (
        f"[(s['pod'], s.max) for s in prom.query_range('{USED}', '-30m')], loki.label_values('app')",
        "k8s.source('loki').query_range('{app=\"cart\"} |= \"error\"', limit=2)[0].lines",
        "prom.query('up[')",
    )
    for script in scripts:
        commands.run("run", "-", *flags, "--audit-keep", "responses", script=script)
    replayed = commands.run("audit", "replay", str(record))
    assert [line.split()[-1] for line in replayed.stdout.splitlines()] == ["same"] * len(scripts), replayed.stdout


def _tables(urls: dict[str, str]) -> str:
    return "".join(table(kind, kind, url) for kind, url in urls.items())
