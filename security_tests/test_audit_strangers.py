"""Records and folders that a stranger made, read by the real commands: names that are paths, links, pipes and devices,
limits that are none, and texts that a terminal would obey."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kubescript.audit import chain, replays
from kubescript.wire import exchanges
from tests.kit import clients, trails

A = "a" * 64
PLANTED = "planted beside the record"
COLOUR = "\x1b]0;owned\x07\x1b[31mRED\x9b2J\x1b[1A"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def folder(
    place: Path, *, script: str = "1", calls: tuple[dict[str, Any], ...] = (), document: Any = None, entry: Any = None
) -> Path:
    """An audit file of one script with what belongs to it; every hash in it is right."""
    file = place / "theirs" / "x" / "audit.jsonl"
    for name in ("scripts", "bodies", "replays"):
        (file.parent / "audit.jsonl.d" / name).mkdir(parents=True)
    kept = {"limits": {}, "contexts": ["c"], "namespace": "d", "calls": calls, "tally": {}, "notes": [], "answer": "1"}
    data = orjson.dumps(kept | (document or {}), option=orjson.OPT_SORT_KEYS)
    names = {"script": digest(script.encode()), "replay": digest(data)} | (entry or {})
    (file.parent / "audit.jsonl.d" / "replays" / f"{digest(data)}.json").write_bytes(data)
    (file.parent / "audit.jsonl.d" / "scripts" / f"{digest(script.encode())}.py").write_text(script)
    record = {"type": "script", "time": "2026-01-01T00:00:00Z", "evaluation": "e", "client": "", "client_version": ""}
    chained(file, record | {"code": "ok", "calls": 0} | names)
    return file


def chained(file: Path, *records: dict[str, Any]) -> None:
    """A whole chain of these records: nobody needs our program to make one."""
    head, lines = chain.Head(), []
    for one in records:
        line, head = chain.seal(one, head, None)
        lines.append(line)
    file.write_bytes(b"".join(lines))


def body(name: str) -> dict[str, Any]:
    return {"request": "r", "reply": {"status": 200}, "body": name}


CLIMBS = (
    "../../../payload",
    "/../../payload",
    "..",
    "../scripts",
    A + "/../../../../payload",
    A[1:],
    A.upper(),
    A + "\n",
)


@pytest.mark.promise("A-08")
@pytest.mark.parametrize("name", CLIMBS)
def test_no_name_in_a_record_is_a_path(name: str, tmp_path: Path) -> None:
    """What a record calls a body, a script or a replay is copied from no other place and to no other place."""
    file = folder(tmp_path, calls=(body(name),))
    (file.parent.parent / "payload").write_text(PLANTED)
    before = set(tmp_path.rglob("*"))
    out = tmp_path / "out" / "of" / "it"
    done = trails.run("audit", "replay", str(file), "--snapshot", str(out))
    assert done.stdout.startswith("0 scripts saved"), done
    new = set(tmp_path.rglob("*")) - before
    assert all(out in (each, *each.parents) or each in out.parents for each in new), new
    for field in ("script", "replay"):
        other = folder(tmp_path / field, entry={field: name})
        assert "damaged" in trails.run("audit", "replay", str(other)).stdout


def pipe(file: Path) -> None:
    os.mkfifo(file)


def device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def link(file: Path) -> None:
    secret = file.parents[3] / "secret"
    secret.write_text(PLANTED)
    file.symlink_to(secret)


def holes(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 40)


@pytest.mark.promise("A-08")
@pytest.mark.parametrize("make", [pipe, device, link, holes])
@pytest.mark.parametrize("kind", ["scripts/{}.py", "replays/{}.json", "bodies/{}", "../audit.jsonl.1"])
def test_only_files_are_read(kind: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    """A pipe, a device, a link out of the folder and a file of a terabyte are named, and end no command late."""
    entry = {"scripts": {"script": A}, "replays": {"replay": A}}.get(kind.partition("/")[0], {})
    file = folder(tmp_path, calls=(body(A),), entry=entry)
    make(file.parent / "audit.jsonl.d" / kind.format(A))
    if kind.startswith("..") and make is holes:
        return  # a chain may be of any size; it is read line by line
    out = tmp_path / "out"
    done = trails.run("audit", "replay", str(file), "--snapshot", str(out))
    assert done.returncode == 0, done.stderr
    assert not any(PLANTED in each.read_text() for each in out.rglob("*") if each.is_file())
    done = trails.run("audit", "replay", str(file))
    assert "Traceback" not in done.stderr
    assert done.stdout, done.stderr
    if kind.startswith(("scripts", "replays")):
        assert "damaged" in done.stdout
    if kind.startswith(".."):
        trails.run("audit", "verify", str(file))


SHAPES: dict[str, Any] = {
    "no contexts": {"contexts": []},
    "a number for names": {"contexts": 5},
    "a number for an answer": {"answer": 5},
    "calls of another shape": {"calls": [{}]},
    "a counter that is a text": {"tally": {"calls": "x"}},
    "a tally's inside": {"tally": {"journal": {}, "records": {}, "keep": True, "pages": {}}},
    "limits that are texts": {"limits": {"depth": "x"}},
    "a source of an unknown kind": {"sources": [["prom", "unknown"]]},
    "a source with a name of 200,000 letters": {"sources": [["p" * 200_000, "prometheus"]]},
    "a note with too many values": {"notes": [["pods", ["shop"]]]},
}
READS = ("prom.query('up')", "try:\n    k8s.list('pods')\nexcept Exception:\n    pass\n1")
"""A script whose call is printed if it was not recorded, and one that has the recorded notes."""


@pytest.mark.promise("A-08")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_replay_of_any_shape_is_judged(shape: str, tmp_path: Path) -> None:
    """Each is the same, or damaged; none ends the command or the worker, fills the terminal, or is a traceback."""
    done = trails.run("audit", "replay", str(folder(tmp_path / "1", document=SHAPES[shape])))
    assert done.stdout.split()[1] in ("same", "damaged"), done
    assert not done.stderr
    read = {"request": replays.fingerprint(exchanges.Call("GET", ("api", "v1"))), "reply": {"status": 404}}
    for script in READS:
        file = folder(tmp_path / script[:3], script=script, calls=(read,) * 3, document=SHAPES[shape])
        done = trails.run("audit", "replay", str(file))
        assert not re.search("worker.died|output.failed", done.stdout) and len(done.stdout) < 400 and not done.stderr
    assert trails.run("audit", "replay", str(folder(tmp_path / "2"))).stdout.split()[1] == "same"


ENDLESS = {
    "time": ("while True:\n    try: len('x')\n    except Exception: pass", {"timeout_ms": 1_000}, "limit.time"),
    "depth": ("def f(): return f()\nf()", {"depth": 10**9}, "limit.depth"),
    "memory": ("len('x' * (8 << 30))", {"memory_bytes": 1 << 45}, "limit.memory"),
}


@pytest.mark.promise("A-08")
@pytest.mark.parametrize("case", ENDLESS)
def test_a_recorded_script_runs_within_limits(case: str, tmp_path: Path) -> None:
    """Whatever the record says its limits were: it is ended as any script."""
    script, limits, code = ENDLESS[case]
    done = trails.run("audit", "replay", str(folder(tmp_path, script=script, document={"limits": limits})))
    assert "differs" in done.stdout
    assert f"error {code}"[:40] in done.stdout


def on_a_terminal(*arguments: str) -> str:
    """What the command writes to a terminal; into a pipe click writes no escapes anyway."""
    main, other = os.openpty()
    command = [clients.KUBESCRIPT, "audit", *arguments]
    done = subprocess.Popen(command, stdin=other, stdout=other, stderr=other)
    os.close(other)
    written = b""
    while True:
        try:
            data = os.read(main, 65_536)
        except OSError:  # the last one who could write has gone
            break
        if not data:
            break
        written += data
    os.close(main)
    done.wait(20)
    return written.decode()


@pytest.mark.promise("A-08")
def test_no_record_reaches_the_terminal(tmp_path: Path) -> None:
    """Each command shows each text, and a terminal obeys none."""
    path = f"k8s.coreV1().read_namespaced_pod('x', {COLOUR!r})"
    cases = (
        ("replay", folder(tmp_path / "1", script=path)),
        ("replay", folder(tmp_path / "2", entry={"script": COLOUR, "replay": COLOUR})),
        ("show", folder(tmp_path / "3", entry={"client": COLOUR, "code": COLOUR})),
        ("stats", folder(tmp_path / "4", entry={"client": COLOUR, "code": COLOUR})),
    )
    for command, file in cases:
        text = on_a_terminal(command, str(file))
        assert "RED" in text or command == "replay", text
        assert all(char.isprintable() or char in "\r\n" for char in text), (command, text)


@pytest.mark.promise("A-08")
def test_no_record_writes_roles(tmp_path: Path) -> None:
    """Names with newlines stay names: the documents have the keys and the kinds that `role` writes."""
    evil = "x\nkind: ClusterRole\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n---\n#"
    file = folder(tmp_path)
    call = {
        "type": "call", "time": "2026-01-01T00:00:00Z", "decision": "allow", "status": 200, "verb": "get",
        "group": "", "resource": "pods", "subresource": "",
    }  # fmt: skip
    calls = [
        call | {"context": evil, "namespace": evil, "name": evil},
        call | dict.fromkeys(("context", "namespace", "name"), "b"),
    ]
    chained(file, *calls)
    done = trails.run("audit", "role", str(file), "--name", "mine")
    roles = list(yaml.safe_load_all(done.stdout))
    assert [each["kind"] for each in roles] == ["Role", "Role"]
    assert {json.dumps(each["rules"][0]["verbs"]) for each in roles} == {'["get"]'}
    assert {each["metadata"]["namespace"] for each in roles} == {evil, "b"}
