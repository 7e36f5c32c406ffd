"""The sources of a stranger's snapshot: their files are bounded and read as what they must be, and their names speak in no
definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import anyio
import pytest

from kubescript import errors
from tests.kit import clients, saved_sources

DEEP: Final = "[" * 200_000
RULE: Final = f"len(prom.query({saved_sources.RULE!r}))"
PODS: Final = saved_sources.USED + '{namespace="shop",pod=~"a.*b"}'
LONG: Final = json.dumps({"data": {"result": [{"metric": {"pod": "a" * 300_000}, "values": []}]}})
_REPEATED: Final = (8 << 20) - 100
HOSTILE: Final = [
    ("queries/1.json", '{"data":{"result":[{"metric":{},"values":[["x"]]}]}}', RULE, "samples of a series in the snap"),
    ("queries/1.json", DEEP, RULE, "sources/prom/queries/1.json of the snapshot cannot be served: it is damaged"),
    ("queries/1.json", '{"data":{}}', RULE, "sources/prom/queries/1.json of the snapshot cannot be served: it is dam"),
    ("rules.json", DEEP, "prom.rules()", "sources/prom/rules.json of the snapshot cannot be served: it is damaged"),
    ("rules.json", '{"data":{"groups":[7,{"rules":7}]}}', "len(prom.rules(type='alert'))", "0"),
    ("metadata.json", "null", "len(prom.metadata())", "0"),
    ("queries/2.json", LONG, f"prom.query({PODS!r})", "a value in the snapshot is too long to be compared"),
    ("queries/2.json", " " * (8 << 20) + "{}", f"prom.query({PODS!r})", "it is larger than 8 MiB"),
]
"""A file, what a stranger writes there, a script that needs it, and what the script is told."""
RESULT: Final = '{"data":{"result":[%s]}}'
SMALL: Final = [
    ("alertmanager/silences.json", "[%s]", "{}", "alertmanager.silences()"),
    ("alertmanager/alerts.json", "[%s]", "[[]]", "alertmanager.alerts()"),
    ("prom/metadata.json", '{"data":{%s}}', '"":0', "prom.metadata()"),
    ("prom/queries/1.json", RESULT, '{"metric":{}}', RULE),
    ("prom/queries/1.json", RESULT % '{"metric":{},"values":[%s]}', '[0,""]', RULE),
    ("loki/queries/1.json", RESULT % '{"stream":{},"values":[%s]}', '["",""]', "loki.query_range('{pod=\"web-1\"}')"),
    ("loki/series.json", '{"data":[%s]}', "{}", "loki.series('{pod=\"web-1\"}')"),
]
"""A file, the frame and the part of which a stranger makes 8 MiB, and a script that needs it."""
ALERT: Final = json.dumps({
    "labels": {"alertname": "VolumeFull", "namespace": "shop", "pod": "web-1", "severity": "critical"},
    "annotations": {"summary": "The volume is full, or nearly so", "runbook_url": "https://runbooks.example.com/full"},
    "startsAt": "2026-09-21T13:46:40.123Z", "endsAt": "2026-09-21T13:50:40.123Z", "fingerprint": "00f067aa0ba902b1",
    "updatedAt": "2026-09-21T13:46:40.123Z", "generatorURL": "http://prometheus.example.com/graph?g0.expr=full",
    "receivers": [{"name": "team"}], "status": {"state": "active", "silencedBy": [], "inhibitedBy": []},
})  # fmt: skip
"""An alert as an Alertmanager gives it."""


@pytest.mark.promise("C-01", "C-02")
def test_hostile_files_of_sources_are_refused(tmp_path: Path) -> None:
    """A stranger's file that is not what it must be is an error of the call that needs it, or holds nothing; the next
    call works. A damaged description is an error of the start."""
    folder = saved_sources.write(tmp_path) / "sources" / "prom"
    with clients.asking("--snapshot", str(tmp_path)) as ask:
        for name, text, script, message in HOSTILE:
            whole = (folder / name).read_text()
            (folder / name).write_text(text)
            assert message in clients.text(ask(script)), (name, text[:50])
            (folder / name).write_text(whole)
            assert clients.text(ask(RULE)) == "1"
        many = f"prom.query_range({saved_sources.RULE!r}, start='-1h', step='10ms')"
        assert "more than 200000 points" in clients.text(ask(many))
        assert clients.text(ask(RULE)) == "1"
        (folder / "labels.json").unlink()
        (folder / "labels.json").symlink_to("/etc/passwd")
        assert "it is a link that leads out of the snapshot's folder" in clients.text(ask("prom.labels()"))
        assert clients.text(ask(RULE)) == "1"
    (folder / "source.json").write_text('{"kind": "prometheus", "queries": 7}')
    with (
        pytest.raises(errors.ConfigError, match=r"sources/prom/source\.json of the snapshot cannot be served"),
        clients.application(("--snapshot", str(tmp_path))),
    ):
        pass


@pytest.mark.promise("D-03")
def test_many_small_parts_of_a_saved_answer_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    """8 MiB of them would decode to 200 MiB in the server's process, and a script asks eight times at once; of usual
    parts 8 MiB are read, and the next call works."""
    folder = saved_sources.write(tmp_path) / "sources"
    with clients.asking("--snapshot", str(tmp_path)) as ask:
        for name, frame, part, script in SMALL:
            whole = (folder / name).read_text()
            (folder / name).write_text(_repeat(frame, part))
            assert "it has more than 400000 parts" in clients.text(ask(script)), (name, part)
            (folder / name).write_text(whole)
            assert "400000" not in clients.text(ask(script))
        (folder / "alertmanager" / "alerts.json").write_text(_repeat("[%s]", ALERT))
        assert int(clients.text(ask("len(alertmanager.alerts())"))) == _REPEATED // (len(ALERT) + 1)


def _repeat(frame: str, part: str) -> str:
    """Nearly 8 MiB of one part, with commas between."""
    return frame % ",".join([part] * (_REPEATED // (len(part) + 1)))


FILES: Final = 6
LINE: Final = "x" * 7_000_000
TOO_LARGE: Final = "the snapshot's answer has more than 32 MiB"


@pytest.mark.promise("D-03")
def test_an_answer_of_many_files_holds_no_more_than_a_masker_takes(tmp_path: Path) -> None:
    """A stranger's five hundred files of 8 MiB are 4 GiB, whether they have long lines, long labels or many label sets;
    a smaller limit is answered, and the next call works."""
    saved_sources.write(tmp_path)
    for name, text, label in (("lines", LINE, ""), ("labels", "x", LINE)):
        lines = [{"stream": {"app": "web", "a": label}, "values": [[f"{saved_sources.NOW - 9}000000000", text]]}]
        saved_sources.write_source(tmp_path, name, "loki", [{"query": "{}", "result": lines}] * FILES, series={})
    sets = [[{"metric": {"a": f"{file} {at} {LINE[:900]}"}} for at in range(8_000)] for file in range(FILES)]
    queries = [{"query": f'up{{a="{file}"}}', "result": result} for file, result in enumerate(sets)]
    saved_sources.write_source(tmp_path, "sets", "prometheus", queries)
    info = json.loads((tmp_path / "snapshot.json").read_text())
    info["sources"] += ["lines", "labels", "sets"]
    (tmp_path / "snapshot.json").write_text(json.dumps(info))
    series = f"k8s.source('sets').series({[query['query'] for query in queries]!r})"
    found = "len(k8s.source('lines').query_range('{app=\"web\"}', limit=%s)[0].lines)"
    with clients.asking("--snapshot", str(tmp_path)) as ask:
        for script in (
            found % 100,
            "k8s.source('labels').query_range('{app=\"web\"} |= \"y\"', limit=1)",
            series,
            "k8s.source('sets').label_values('a')",
        ):
            assert TOO_LARGE in clients.text(ask(script)), script
            assert clients.text(ask(RULE)) == "1"
        assert clients.text(ask(found % 1)).startswith("1\n")


@pytest.mark.promise("C-02")
def test_no_error_cuts_a_captured_query_within_a_secret(tmp_path: Path) -> None:
    """A part of a secret may be none to the masker, so an error quotes a stranger's query as a whole or not at all."""
    secret = "Tr0ub4dor-and-3"
    saved_sources.write(tmp_path)
    # Cut at 120 or 200 characters, some would end with the secret.
    pads = ["x" * length for length in (40, 83, 87, 163, 167, 300)]
    texts = [f'up{{a="{pad} postgres://app:{secret}@db/x"}} > 0' for pad in pads]
    saved_sources.write_source(tmp_path, "prom", "prometheus", [{"query": text, "result": []} for text in texts])
    with clients.asking("--snapshot", str(tmp_path)) as ask:
        told = clients.text(ask("prom.query('sum(up)')"))
        assert "6 captured queries: up{" in told and "«redacted" in told and secret[:9] not in told
        assert clients.text(ask(f"len(prom.query({texts[0]!r}))")) == "0"


@pytest.mark.promise("O-02")
def test_no_definition_has_the_name_of_a_saved_source(tmp_path: Path) -> None:
    """A stranger names the sources of an archive, so their names stand in no tool's definition; scripts learn them, and
    answers with them are marked."""
    saved_sources.write(tmp_path)
    for name in ("obey-me", "obey-me-too"):
        saved_sources.write_source(tmp_path, name, "loki", series={"data": []})
    info = json.loads((tmp_path / "snapshot.json").read_text())
    info["sources"] = ["obey-me", "obey-me-too", "../prom"]
    (tmp_path / "snapshot.json").write_text(json.dumps(info))

    async def list_tools() -> str:
        flags = ("--toolsets", "code,observability", "--snapshot", str(tmp_path))
        async with clients.connect("memory", flags) as client:
            unknown = clients.whole(await clients.evaluate(client, "k8s.source('x')"))
            assert "there are: obey-me, obey-me-too\n" in unknown and unknown.startswith("[untrusted ")
            assert clients.whole(await clients.evaluate(client, "str(loki)")).startswith("[untrusted ")
            return str(await client.list_tools())

    definitions = anyio.run(list_tools)
    assert "More globals: loki (" in definitions
    assert "obey-me" not in definitions
