"""Reading the record: beside servers that write it, when its chain is broken, and through a pipe that closes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript.audit import verify
from tests.kit import clients, trails

ROTATING = """
import sys
from pathlib import Path
from kubescript.audit import log
audit_log = log.AuditLog(Path(sys.argv[1]), max_bytes=20_000, keep=8)
while True:
    audit_log.append({"type": "call", "pad": "x" * 500}, sync=False)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def recorded(file: Path, tmp_path: Path) -> Path:
    """The record of one script."""
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file))
    assert trails.run("run", "-", *flags, script=trails.COUNT).stdout == "1\n"
    return file


@pytest.mark.promise("A-03")
def test_verify_raises_no_false_alarm_beside_writers(file: Path) -> None:
    """While two servers write, set files aside and remove old ones, each look at the chain finds it whole."""
    writers = [subprocess.Popen([sys.executable, "-c", ROTATING, str(file)]) for _ in range(2)]
    try:
        while not file.with_name("audit.jsonl.9").exists():
            assert [one.poll() for one in writers] == [None, None]
        looks = [verify.verify(file) for _ in range(40)]
        shown = trails.run("audit", "show", str(file))
    finally:
        for one in writers:
            one.kill()
            one.wait()
    assert [look.broken for look in looks if look.broken is not None] == []
    assert looks[-1].first > looks[0].first, "nothing was removed meanwhile"
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("command", ["role", "stats"])
def test_nothing_is_made_of_a_broken_record(command: str, recorded: Path) -> None:
    """A record that `verify` would not pass gives no role and no sum: exit 1, and stderr says where it is broken;
    `--unverified` goes on."""
    assert trails.run("audit", command, str(recorded)).returncode == 0
    recorded.write_bytes(recorded.read_bytes().replace(b'"resource":"pods"', b'"resource":"secrets"'))
    done = trails.run("audit", command, str(recorded))
    assert (done.returncode, done.stdout) == (1, "")
    assert "BROKEN audit.jsonl line 3: changed" in done.stderr and "--unverified" in done.stderr
    done = trails.run("audit", command, str(recorded), "--unverified")
    assert done.returncode == 0 and "secrets" in done.stdout and "BROKEN" in done.stderr


@pytest.mark.parametrize("command", ["show", "replay"])
def test_a_broken_record_can_be_looked_at(command: str, recorded: Path) -> None:
    """Who looks for what happened sees every record there is, and the exit code and stderr say what they are worth."""
    recorded.write_bytes(recorded.read_bytes().replace(b'"status":200', b'"status":404'))
    done = trails.run("audit", command, str(recorded))
    assert done.returncode == 1 and "BROKEN" in done.stderr and done.stdout.strip()
    assert trails.run("audit", command, str(recorded), "--unverified").returncode == 0


def test_a_keyed_record_wants_its_key(file: Path, tmp_path: Path) -> None:
    """Without the key a keyed record is not checked, so it is not summed up; with the key it is."""
    (tmp_path / "key").write_bytes(trails.KEY)
    (tmp_path / "key").chmod(0o600)
    settings = tmp_path / "keyed.toml"
    settings.write_text(f'[audit]\nfile = "{file}"\nkey_file = "{tmp_path / "key"}"\n')
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--config", str(settings))
    assert trails.run("run", "-", *flags, script=trails.COUNT).stderr == ""
    (tmp_path / "key").chmod(0o644)
    assert "can read the key" in trails.run("doctor", *flags).stdout
    assert "can read the key" in trails.run("run", "-", *flags, script=trails.COUNT).stderr
    done = trails.run("audit", "stats", str(file))
    assert (done.returncode, done.stdout) == (2, "") and "--key" in done.stderr
    assert "scripts        2" in trails.run("audit", "stats", str(file), "--key", str(tmp_path / "key")).stdout
    shown = trails.run("audit", "show", str(file))
    assert shown.returncode == 2 and "list pods shop" in shown.stdout


@pytest.mark.parametrize(
    "given", ["head abc", "head " + "x" * 64, f"head {'0' * 65}", "7 records in 1 file are whole", ""]
)
def test_heads_that_are_none_are_said_to_be_none(given: str, recorded: Path) -> None:
    """What was copied badly, or is another file, is the reader's mistake: it is not told as a missing record, nor as all
    being there."""
    done = trails.run("audit", "verify", str(recorded), "--heads", "-", script=given)
    assert done.returncode == 1 and "what `audit verify` printed" in done.stderr and not done.stdout


def test_a_head_is_found_however_it_was_noted(recorded: Path) -> None:
    """As the log has it, in capitals; one that is in no record is not found."""
    head = json.loads(recorded.read_bytes().splitlines()[-1])["hash"]
    for given, code in ((head.upper(), 0), ("0" * 64, 1)):
        done = trails.run("audit", "verify", str(recorded), "--heads", "-", script=f"head {given}")
        assert done.returncode == code, done.stdout


def test_showing_a_part_is_no_error(file: Path) -> None:
    """`audit show FILE | head` says nothing but the records."""
    trails.fill(file, 3_000)
    shown = subprocess.run(
        f"{clients.KUBESCRIPT} audit show {file} | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert len(shown.stdout.splitlines()) == 1 and shown.stderr == ""


@pytest.mark.promise("A-08")
@pytest.mark.parametrize("flag", [(), ("--json",)])
def test_records_of_any_shape_are_shown_and_none_is_obeyed(flag: tuple[str, ...], recorded: Path) -> None:
    """A line that has not the fields of a record is shown as it is, whoever wrote it, and the records behind it too; what a
    terminal obeys is escaped."""
    strange = {"type": "call", "time": "2026-01-01T00:00:00Z", "verb": "\u202e\x1b[31m\U000e0041", "name": [7]}
    first, *rest = recorded.read_bytes().splitlines(keepends=True)
    recorded.write_bytes(first + json.dumps(strange, ensure_ascii=False).encode() + b"\n" + b"".join(rest))
    done = trails.run("audit", "show", str(recorded), *flag)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 + len(rest) and all(line.isprintable() for line in lines), done.stdout
    assert json.loads(lines[1]) == strange


def test_a_folder_stands_for_the_files_in_it(file: Path) -> None:
    """Each is checked, those of replicas that are gone too; one that was changed is found, and a folder without any is an
    error."""
    (file.parent / "records").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        trails.fill(file.parent / "records" / name)
    said = trails.verified(file.parent / "records")
    assert "a.jsonl: 7 records" in said and "b.jsonl: 7 records" in said
    changed = file.parent / "records" / "b.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b'"number":3', b'"number":4'))
    for command in ("verify", "show", "stats"):
        done = trails.run("audit", command, str(file.parent / "records"))
        assert done.returncode == 1 and "b.jsonl" in done.stdout + done.stderr
    empty = file.parent / "empty"
    empty.mkdir()
    assert "has no file that ends in .jsonl" in trails.run("audit", "verify", str(empty)).stderr


def test_what_replicas_have_done_is_read_together(file: Path) -> None:
    """A folder of two records: each call is shown, and sums and the role are of both."""
    folder = file.parent / "records"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        flags = ("--snapshot", str(trails.snapshot(file.parent)), "--audit", str(folder / name))
        trails.run("run", "-", *flags, script=trails.COUNT)
    assert trails.run("audit", "show", str(folder)).stdout.count("list pods shop") == 2
    assert "scripts        2" in trails.run("audit", "stats", str(folder)).stdout
    assert trails.run("audit", "role", str(folder)).stdout.count("- pods\n") == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No such file is the reader's mistake too."""
    done = trails.run("audit", "verify", str(tmp_path / "none.jsonl"))
    assert done.returncode == 1 and "none.jsonl: No such file" in done.stderr


# --- what doctor says beforehand --------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_doctor_knows_a_full_disk(disk: Path, tmp_path: Path) -> None:
    """A file that is there and writable on a disk that is full is no place for a record, and doctor leaves no trace."""
    file = disk / "audit.jsonl"
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file))
    assert trails.run("run", "-", *flags, script=trails.COUNT).stdout == "1\n"
    assert f"ok      audit         on: {file}" in trails.run("doctor", *flags).stdout
    with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
        while filler.write(b"\0" * 4096):
            pass
    told = trails.run("doctor", *flags)
    assert told.returncode == 1 and "FAILED  audit" in told.stdout and "free some space" in told.stdout
    (disk / "filler").unlink()
    assert trails.run("doctor", *flags).returncode == 0
    assert sorted(one.name for one in disk.iterdir()) == ["audit.jsonl"]
    trails.verified(file)


def test_a_full_disk_beside_the_record_is_told_to_the_operator(disk: Path, tmp_path: Path) -> None:
    """What an answer said does not fit on the disk: the client gets no answer, the log says which folder wants room, and
    with room the next script works."""
    many = [trails.POD | {"metadata": {"name": f"web-{n}", "namespace": "shop"}} for n in range(20_000)]
    cluster = tmp_path / "many.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": many}))
    flags = ("--snapshot", str(cluster), "--audit", str(disk / "audit.jsonl"), "--audit-keep", "responses")
    done = trails.run("run", "-", *flags, script=trails.COUNT)
    assert done.returncode == 1 and "audit.unavailable" in done.stderr and not done.stdout
    assert str(disk / "audit.jsonl.d") in done.stderr and "free some space" in done.stderr
    assert trails.run("run", "-", *flags, script="1").stdout == "1\n"
    trails.verified(disk / "audit.jsonl")


def test_doctor_looks_at_the_end_of_the_chain(recorded: Path, tmp_path: Path) -> None:
    """A file whose end no server would continue is named before a server is started on it, and so is a folder of others."""
    flags = ("--offline", "--audit", str(recorded), "--audit-keep", "responses")
    assert trails.run("doctor", *flags).returncode == 0
    (tmp_path / "audit.jsonl.d").mkdir()
    (tmp_path / "audit.jsonl.d").chmod(0o777)
    told = trails.run("doctor", *flags)
    assert told.returncode == 1 and "is not a folder that only the server's user can write to" in told.stdout
    (tmp_path / "audit.jsonl.d").rmdir()
    recorded.write_bytes(recorded.read_bytes().replace(b'"type":"stop"', b'"type":"stap"'))
    told = trails.run("doctor", *flags)
    assert told.returncode == 1 and "its last record is damaged" in told.stdout


# --- flags ------------------------------------------------------------------------------------------------------------


def test_what_is_kept_beside_the_record_is_a_flag(file: Path, tmp_path: Path) -> None:
    """`--audit-keep responses` keeps what `audit replay` needs, `scripts` the texts alone; without a record either is an
    error."""
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file))
    trails.run("run", "-", *flags, "--audit-keep", "responses", script=trails.COUNT)
    assert trails.run("audit", "replay", str(file)).stdout.endswith(" same\n")
    other = tmp_path / "other.jsonl"
    trails.run("run", "-", *flags[:3], str(other), "--audit-keep", "scripts", script=trails.COUNT)
    assert len(list((tmp_path / "other.jsonl.d" / "scripts").iterdir())) == 1
    assert "audit.responses" in trails.run("audit", "replay", str(other)).stdout
    done = trails.run("run", "-", *flags[:2], "--audit-keep", "scripts", script="1")
    assert done.returncode == 1 and "--audit FILE" in done.stderr
