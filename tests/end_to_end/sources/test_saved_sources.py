"""Scripts ask the sources of a snapshot as they ask live ones; what was not captured is an error that says what was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.kit import clients, saved_sources, trails
from tests.kit.saved_sources import USED

ANSWERS: Final[dict[str, Any]] = {
    # "now" is when the snapshot was taken, and the series that had ended by then is in no answer of that time.
    f"[(s['pod'], s.value) for s in prom.query('{USED}{{namespace=\"shop\"}}')]": [["web-1", 60]],
    f"[(s['pod'], s.value) for s in prom.query('{USED}{{pod=\"web-2\", namespace=\"shop\"}}', time='-40m')]": [
        ["web-2", 20]
    ],
    f"[(s['pod'], len(s.values), s.delta) for s in prom.query_range('{USED}{{namespace=\"shop\"}}')]": [
        *(["web-1", 61, 60], ["web-2", 31, 30])
    ],
    f"prom.query_range('{USED}{{namespace=\"shop\",pod!~\"web-2|a.*b\"}}', '-10m', step='5m')[0].values": [
        *(50, 55, 60)
    ],
    # A rule's own expression, written in another way.
    f"prom.query('max by(pod)( {USED}{{namespace=\"shop\"}} )>50')[0].value": 60,
    "[r.name for g in prom.rules(type='alert') for r in g.rules]": ["Full"],
    f"prom.labels(), prom.label_values('pod', '{USED}{{namespace=\"shop\"}}')": [
        *(["__name__", "namespace", "pod"], ["web-1", "web-2"])
    ],
    f'prom.series(\'{USED}{{namespace="shop",pod=~".*-1"}}\')[0].pod': "web-1",
    f"prom.metadata('{USED}')": {USED: [{"type": "gauge"}]},
    '[s.lines for s in loki.query_range(\'{pod="web-1"} |= "error" != "3"\')]': [["error 1"]],
    "[s.lines for s in loki.query_range('{pod=~\"web-1|x\"} |~ \"(?i)ERR.* 3$\"', direction='forward')]": [["error 3"]],
    "loki.query_range('{pod=\"web-1\"}')[0].pod().status.phase": "Running",
    "loki.labels(), loki.label_values('pod', '{namespace=\"shop\"}')[-1]": [["namespace", "pod"], "web-3"],
    "[a.status.state for a in alertmanager.alerts(filter='severity=\"critical\"', silenced=False)]": ["active"],
    "len(alertmanager.alerts(receiver='te.*')), alertmanager.alerts(filter='severity=info')": [2, []],
    "[s.id for s in alertmanager.silences(filter={'severity': 'critical'})]": ["s1"],
}
"""Scripts and their results."""
REFUSALS: Final = {
    f"prom.query('rate({USED}[5m])')": "compute in the script",
    f"prom.query('{USED}{{pod=\"web-1\"}}')": f'Of 2 captured queries: {USED}{{namespace="shop"}}. Write one as it stan',
    f'prom.query(\'{USED}{{namespace="shop", pod=~"(a|b)+"}}\')': "a snapshot cannot compare with the regular expression",
    f"prom.query('{USED}{{namespace=\"shop\"}}', time='-3h')": "this time was not captured; captured was the time from",
    'loki.query_range(\'{pod="web-1"} |~ "[13]$"\')': "a snapshot cannot compare with the regular expression",
    "prom.targets()": "prom targets was not captured: 403 Forbidden",
    "loki.query('sum(count_over_time({pod=\"web-1\"}[5m]))')": "only lines were captured",
    "loki.query_range('{pod=\"web-1\"} | json')": "a snapshot has no answer to",
}
GAPS: Final = {
    f"prom.query_range('{USED}{{namespace=\"shop\"}}', '-2h')": "captured was the time from",
    "prom.label_values('pod')": "the snapshot holds only the series of rules, alerts and --series",
    "[s.lines for s in loki.query_range('{pod=\"web-1\"}', limit=2)]": '[["error 3","info 2"]]\n[partial: loki query_range (2 only, '
    "there may be more)]",
    "loki.query_range('{namespace=\"shop\"}')": "of 1 of these streams, only the newest lines were captured; of 1 of these "
    "streams, no line was captured",
}
"""Scripts whose answers are not whole, and what is said beside them."""


def test_scripts_ask_saved_sources(tmp_path: Path) -> None:
    """A snapshot answers what it holds all of, at its own time; the rest is refused with what to write instead, or said
    beside the answer."""
    with clients.asking("--snapshot", str(saved_sources.write(tmp_path))) as ask:
        for script, result in ANSWERS.items():
            found = clients.text(ask(script))
            assert _read(found) == result, (script, found)
        for script, message in REFUSALS.items():
            assert message in clients.text(ask(script)), script
            assert clients.text(ask(f"prom.query('{USED}{{namespace=\"shop\"}}')[0].value")) == "60"
        for script, message in GAPS.items():
            assert message in clients.text(ask(script)), script


def test_a_denied_question_is_told_once(tmp_path: Path) -> None:
    """The source's name is a stranger's and the denial's words are ours, so it stands in no marks, or beside other
    text once; `audit replay` finds the same, and the next call works."""
    record, denied = tmp_path / "audit.jsonl", "prom.query('up', namespace='shop')"
    reason = "policy.source: prometheus query: this source takes no namespace; name it in the query instead"
    name = "k8s.list('pods', 'shop')[0].metadata.name"
    scripts = (denied, f"print({name})\n{denied}", f"prom.query('up', namespace={name})", name)
    flags = ("--snapshot", str(saved_sources.write(tmp_path)), "--audit", str(record), "--audit-keep", "responses")
    with clients.asking(*flags) as ask:
        told = [clients.whole(ask(script)) for script in scripts]
    assert told[0] == f"ForbiddenException: 403 {reason} (line 1)"
    assert [text.count(reason) for text in told] == [1, 1, 1, 0]
    assert "web-1" in told[3]
    replayed = trails.run("audit", "replay", str(record))
    assert [line.split()[-1] for line in replayed.stdout.splitlines()] == ["same"] * 4, replayed.stdout


def _read(text: str) -> Any:
    """Returns an answer as data, or as text where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
