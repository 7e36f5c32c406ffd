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
