"""`kubescript snapshot --sources` saves what rules read, alerts and lines of real engines; served, the snapshot answers
scripts as the engines did."""

from __future__ import annotations

import json
import stat
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from tests.kit import clients, commands
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines.observed import Observed

USED: Final = "container_memory_working_set_bytes"
RATIO: Final = (
    'sum by (namespace, service) (rate(http_requests_total{code="500"}[5m])) '
    "/ sum by (namespace, service) (rate(http_requests_total[5m])) > 0.1"
)
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


@pytest.mark.timeout(300)
def test_captured_sources_answer_as_the_engines_did(observed: Observed, scratch: ControlPlane, tmp_path: Path) -> None:
    """Each script gets the same answer from the engines and from the snapshot; the command says what it has not saved,
    and only the owner can read the files."""
    config = tmp_path / "kubescript.toml"
    urls = {"prom": observed.prometheus.url, "alertmanager": observed.alertmanager.url, "loki": observed.loki.url}
    urls["tempo"] = observed.tempo.url
    kinds = {"prom": "prometheus"}
    tables = [f'[sources.{name}]\nkind = "{kinds.get(name, name)}"\nurl = "{url}"\n' for name, url in urls.items()]
    config.write_text("".join(tables))
    flags = ("--kubeconfig", str(scratch.kubeconfig), "--config", str(config))
    out = tmp_path / "saved"
    wanted = ("--series", "http_request_duration_seconds_count", "--series", "sum(up)")
    done = commands.run("snapshot", str(out), "-n", "default", "--sources", *wanted, *flags)
    assert "and prom, alertmanager, loki saved to" in done.stdout
    assert "not saved: tempo: traces are not saved" in done.stdout
    assert "not saved: prom sum(up): it is no selector of series" in done.stdout
    info = json.loads((out / "snapshot.json").read_text())
    assert info["sources"] == ["prom", "alertmanager", "loki"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in (out / "sources").rglob("*.json")} == {0o600}
    now = f"T = {datetime.fromisoformat(info['capturedAt']).timestamp():.0f}\n"
    with clients.asking(*flags) as live, clients.asking("--snapshot", str(out), transport="stdio") as saved:
        for script in SAME:
            answer = clients.text(live(now + script))
            assert clients.text(saved(now + script)) == answer
            assert len(answer) > 10, script
        gone = clients.text(saved("prom.query('http_requests_total{code=\"500\"} * 2')"))
        assert "was not captured. Of " in gone
        assert clients.text(saved("len(prom.query('http_request_duration_seconds_count'))")) == "9"


def test_a_script_that_asked_sources_is_replayed(observed: Observed, scratch: ControlPlane, tmp_path: Path) -> None:
    """`audit replay` gives a script the recorded answers of its sources, without them: the same, also for an error."""
    config, record = tmp_path / "kubescript.toml", tmp_path / "audit.jsonl"
    urls = {"prometheus": observed.prometheus.url, "loki": observed.loki.url}
    config.write_text("".join(f'[sources.{kind}]\nkind = "{kind}"\nurl = "{url}"\n' for kind, url in urls.items()))
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
