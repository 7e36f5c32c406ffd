"""The chain of an audit file: what verify finds, and what keeps it whole (many writers, crashes, rotation, full disks)."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from kubescript import errors
from kubescript.audit import chain, file_checks, log, verify
from tests.kit import clients, trails


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def resealed(line: bytes, **changes: object) -> bytes:
    """A record with other content and a hash that fits it: what an attacker without the rest of the chain can do."""
    record = json.loads(line) | changes
    head = chain.Head(record.pop("seq"), record.pop("prev"))
    del record["hash"]
    return chain.seal(record, head, None)[0]


def with_another_hash(line: bytes) -> bytes:
    """A record whose hash has one other digit."""
    digit = b"1" if line[-4:-3] == b"0" else b"0"
    return line[:-4] + digit + line[-3:]


TAMPERED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str, int]] = {
    "a value changed": (lambda old: [*old[:3], old[3].replace(b'"number":2', b'"number":9'), *old[4:]], "changed", 4),
    "the last value changed": (lambda old: [*old[:6], old[6].replace(b'"number":5', b'"number":9')], "changed", 7),
    "a hash changed": (lambda old: [*old[:3], with_another_hash(old[3]), *old[4:]], "changed", 4),
    "changed and sealed anew": (lambda old: [*old[:3], resealed(old[3], number=9), *old[4:]], "changed", 5),
    "a record removed": (lambda old: old[:3] + old[4:], "removed", 4),
    "two records removed": (lambda old: old[:3] + old[5:], "removed", 4),
    "the first record removed": (lambda old: old[2:3] + old[:2], "reordered", 2),
    "two records swapped": (lambda old: [*old[:3], old[4], old[3], *old[5:]], "reordered", 4),
    "a record repeated": (lambda old: [*old[:4], old[3], *old[4:]], "reordered", 5),
    "a record made up": (lambda old: [*old[:3], b'{"type":"call"}\n', *old[3:]], "changed", 4),
    "no JSON": (lambda old: [*old[:3], b"\x00\x00\n", *old[3:]], "changed", 4),
    "an empty line": (lambda old: [*old[:3], b"\n", *old[3:]], "changed", 4),
    "torn in the middle": (lambda old: [*old[:3], old[3][:20], *old[4:]], "changed", 4),
    "torn in the first record": (lambda old: [old[0][:20]], "torn", 1),
    "a record made up without its newline": (lambda old: [*old, b'{"type":"call","time":"2026-11-27"}'], "changed", 8),
    "likewise with what JSON is to some": (lambda old: [*old, b'{"type":"call","time":"","ms":NaN}'], "changed", 8),
}


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("case", TAMPERED)
def test_verify_names_the_first_record_that_is_not_what_was_written(case: str, file: Path) -> None:
    """Whatever is done to a file by somebody who cannot rewrite all that follows, verify says where and what."""
    tamper, kind, line = TAMPERED[case]
    lines = trails.fill(file)
    trails.verified(file)
    file.write_bytes(b"".join(tamper(lines)))
    done = trails.run("audit", "verify", str(file))
    assert done.returncode == 1
    assert done.stdout.startswith(f"BROKEN audit.jsonl line {line}: {kind}: "), done.stdout


@pytest.mark.promise("A-03")
def test_what_is_gone_shows_against_heads_kept_elsewhere(tmp_path: Path) -> None:
    """A deleted file, a cut end and half a record leave whole chains: what `verify` printed before names each that is
    gone. A chain that went on, under another name too, is not missed."""
    folder = tmp_path / "records"
    folder.mkdir()
    lines = {name: trails.fill(folder / f"{name}.jsonl") for name in "abcd"}
    heads = tmp_path / "heads"
    heads.write_text(trails.verified(folder))
    trails.fill(folder / "d.jsonl", 2)
    (folder / "d.jsonl").rename(folder / "moved.jsonl")
    assert "earlier heads: 4; each is" in trails.verified(folder, "--heads", str(heads))
    (folder / "a.jsonl").unlink()
    (folder / "b.jsonl").write_bytes(b"".join(lines["b"][:-2]))
    (folder / "c.jsonl").write_bytes(b"".join(lines["c"])[:-20])
    assert "c.jsonl: 6 records in 1 file are whole; the last line is torn" in trails.verified(folder)
    done = trails.run("audit", "verify", str(folder), "--heads", "-", script=heads.read_text())
    told = [line for line in done.stdout.splitlines() if line.startswith("BROKEN")]
    assert (done.returncode, len(told)) == (1, 3), done.stdout
    assert all(f"(record 6 of {name}.jsonl)" in line for name, line in zip("abc", told, strict=True))
    (folder / "moved.jsonl").write_bytes(b"".join(lines["d"][:3]) + b"\n")
    done = trails.run("audit", "verify", str(folder), "--heads", str(heads))
    assert done.stdout.count("BROKEN removed: no record is head") == 4, "one broken chain hid what others lack"


@pytest.mark.promise("A-03")
def test_without_the_key_nobody_can_continue_or_check_a_keyed_chain(file: Path, tmp_path: Path) -> None:
    """With a key file a rewritten chain does not verify, however consistent; without the key verify does not say yes."""
    (tmp_path / "key").write_bytes(trails.KEY)
    lines = trails.fill(file, key=trails.KEY)
    trails.verified(file, "--key", str(tmp_path / "key"))
    unchecked = trails.run("audit", "verify", str(file))
    assert (unchecked.returncode, "whole" in unchecked.stdout) == (2, False)
    assert unchecked.stdout.startswith("7 records in 1 file NOT CHECKED: "), unchecked.stdout
    with pytest.raises(errors.AuditError):
        log.AuditLog(file).append({"type": "call"})
    file.unlink()
    forged = trails.fill(file)
    assert verify.verify(file).broken is None
    assert trails.run("audit", "verify", str(file), "--key", str(tmp_path / "key")).returncode == 1
    file.write_bytes(b"".join(lines[:4] + forged[4:]))
    assert trails.run("audit", "verify", str(file), "--key", str(tmp_path / "key")).returncode == 1
    file.write_bytes(b"".join(lines))
    trails.verified(file, "--key", str(tmp_path / "key"))


@pytest.mark.parametrize("kept", [1, 20, -2, -1])
def test_a_torn_last_line_is_mended_and_recorded(kept: int, file: Path) -> None:
    """Wherever a crash tears the last line, the next start goes on behind it, and a record says what was torn."""
    lines = trails.fill(file)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    whole = kept == -1  # only the newline is missing: nothing is lost
    assert ("the last line is torn" in trails.verified(file)) is not whole
    trails.fill(file, 2)
    said = trails.verified(file)
    assert ("torn by a crash" in said) is not whole
    found = [one for one in file.read_bytes().splitlines() if b'"repair"' in one]
    assert len(found) == (0 if whole else 1)
    if found:
        assert json.loads(found[0])["torn_bytes"] == len(lines[-1][:kept])
    forged = file.read_bytes().replace(lines[-1][:kept] + b"\n", b"x" * len(lines[-1][:kept]) + b"\n")
    file.write_bytes(forged)
    assert trails.run("audit", "verify", str(file)).returncode == 1


def test_the_first_line_may_be_torn_too(file: Path) -> None:
    """A crash in the very first write is mended like any other."""
    (first, *_) = trails.fill(file)
    file.write_bytes(first[:30])
    trails.fill(file, 2)
    assert "torn by a crash" in trails.verified(file)


def test_a_damaged_end_is_not_continued(file: Path) -> None:
    """A whole line that is no record was not torn by a crash: the server says so and refuses, until the file is moved."""
    lines = trails.fill(file)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b'"number":5', b'"number":6'))
    with pytest.raises(errors.AuditError) as caught:
        log.AuditLog(file).append({"type": "call"})
    assert "audit verify" in caught.value.remedy
    file.rename(file.with_name("aside"))
    trails.fill(file)
    trails.verified(file)


def test_what_was_cut_off_under_a_running_server_shows(file: Path) -> None:
    """A server goes on from the hash it remembers, so that records removed under it are missing for verify."""
    audit_log = log.AuditLog(file)
    for number in range(5):
        audit_log.append({"type": "call", "number": number}, sync=False)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-2]))
    audit_log.append({"type": "call"}, sync=False)
    found = verify.verify(file).broken
    assert found is not None and (found.kind, found.line) == ("removed", 5)
    file.unlink()
    audit_log.append({"type": "call"}, sync=False)
    assert verify.verify(file).first > 0  # a new file, which does not pretend to be the first


def other(file: Path) -> Path:
    """A whole chain that somebody else made, longer than ours."""
    audit_log = log.AuditLog(file.with_name("strange"))
    for number in range(30):
        audit_log.append({"type": "call", "strange": number}, sync=False)
    return audit_log.path


REPLACED: dict[str, Callable[[Path], object]] = {
    "moved over it": lambda file: other(file).replace(file),
    "written into it": lambda file: file.write_bytes(other(file).read_bytes()),
    "written into it without one of our records": lambda file: file.write_bytes(
        b"".join(other(file).read_bytes().splitlines(keepends=True)[:2])
    ),
}


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def swapped(file: Path) -> None:
    """Ours keeps a name, and another chain gets its place."""
    strange = other(file)
    file.rename(file.with_name("audit.old"))
    strange.rename(file)


REMOVED: dict[str, Callable[[Path], object]] = {
    "emptied": emptied,
    "removed": Path.unlink,
    "moved away": lambda file: file.rename(file.with_name("audit.old")),
    "moved away for another": swapped,
}


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("max_bytes", [0, 1_500], ids=["one file", "files set aside"])
@pytest.mark.parametrize("case", REMOVED)
def test_what_is_taken_away_under_a_running_server_shows(
    case: str, max_bytes: int, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody empties, removes or moves the file between two records: log and record have the hash that is gone, verify
    fails, and the server goes on."""
    audit_log = log.AuditLog(file, max_bytes=max_bytes)
    for number in range(9):
        audit_log.append({"type": "call", "number": number}, sync=False)
    head = audit_log.head
    assert len(list(file.parent.iterdir())) == (2 if max_bytes else 1)
    REMOVED[case](file)
    audit_log.append({"type": "call"}, sync=False)
    audit_log.append({"type": "call"}, sync=False)
    (told,) = [one for one in caplog.records if getattr(one, "event", "") == "audit.replaced"]
    assert head.hash in told.getMessage()
    every = file.parent.glob("audit.jsonl*")
    (replaced,) = [found for one in every for found in trails.records(one, "replaced")]
    assert (replaced["record"], replaced["head"]) == (head.seq - 1, head.hash)
    assert trails.run("audit", "verify", str(file)).returncode == 1
    assert trails.records(file)[-1]["type"] == "call"


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("case", ["emptied", "removed", "moved away"])
def test_a_server_tells_what_was_taken_from_it(
    case: str, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A real server between two scripts: its log says audit.replaced, both scripts are answered, verify fails."""

    async def talk() -> None:
        flags = ["--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
        async with clients.connect("memory", flags) as client:
            assert clients.text(await clients.evaluate(client, trails.COUNT)) == "1"
            REMOVED[case](file)
            assert clients.text(await clients.evaluate(client, trails.COUNT)) == "1"

    anyio.run(talk)
    assert [getattr(one, "event", "") for one in caplog.records].count("audit.replaced") == 1
    done = trails.run("audit", "verify", str(file))
    assert (done.returncode, "is missing here" in done.stdout) == (1, True), done.stdout


def test_a_file_that_is_put_back_is_not_missed(file: Path) -> None:
    """Moved away and back before the next record, or while none could be written: all is there, and nothing is told."""
    audit_log = log.AuditLog(file)
    audit_log.append({"type": "call"})
    away = file.with_name("away")
    file.rename(away)
    away.rename(file)
    audit_log.append({"type": "call"})
    file.rename(away)
    file.mkdir()
    with pytest.raises(errors.AuditError):
        audit_log.append({"type": "call"})
    file.rmdir()
    away.rename(file)
    audit_log.append({"type": "call"})
    assert "1 could not be written" in trails.verified(file)


def test_two_servers_both_miss_what_was_removed(file: Path) -> None:
    """The file goes while two servers write it: it is on record, and the chain that follows is still one."""
    one, two = log.AuditLog(file), log.AuditLog(file)
    for _ in range(3):
        one.append({"type": "call"}, sync=False)
        two.append({"type": "call"}, sync=False)
    file.unlink()
    for _ in range(3):
        one.append({"type": "call"}, sync=False)
        two.append({"type": "call"}, sync=False)
    assert 1 <= len(trails.records(file, "replaced")) <= 2
    numbers = [record["seq"] for record in trails.records(file)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("case", REPLACED)
def test_another_chain_in_its_place_shows(case: str, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody puts another whole chain where a running server writes: verify finds it, and the log has the hash that is
    gone; the server goes on."""
    audit_log = log.AuditLog(file)
    for number in range(5):
        audit_log.append({"type": "call", "number": number}, sync=False)
    head = audit_log.head.hash
    REPLACED[case](file)
    audit_log.append({"type": "call"}, sync=False)
    audit_log.append({"type": "call"}, sync=False)
    found = verify.verify(file).broken
    assert found is not None and found.kind == ("removed" if "without" in case else "changed"), found
    assert head in caplog.text or "without" in case
    assert trails.records(file)[-1]["type"] == "call"


def test_what_is_put_there_holds_up_nobody(file: Path) -> None:
    """A pipe, a link or a folder where the file was is an error at once; the file again, and the chain goes on."""
    audit_log = log.AuditLog(file)
    audit_log.append({"type": "call"})
    file.rename(file.with_name("away"))
    for put, take in PUT_THERE:
        put(file)
        started = time.monotonic()
        with pytest.raises(errors.AuditError):
            audit_log.append({"type": "call"})
        assert time.monotonic() - started < 30
        take(file)
    file.with_name("away").rename(file)
    audit_log.append({"type": "call"})
    assert "3 could not be written" in trails.verified(file)


PUT_THERE: tuple[tuple[Callable[[Path], object], Callable[[Path], object]], ...] = (
    (os.mkfifo, Path.unlink), (lambda file: file.symlink_to("/dev/null"), Path.unlink), (Path.mkdir, Path.rmdir),
)  # fmt: skip


@pytest.mark.parametrize("keep", [1, 3])
def test_files_that_are_set_aside_are_not_missed(keep: int, file: Path) -> None:
    """Two servers, one of which rotates while the other waits, until the file the other wrote is removed: nothing is
    amiss."""
    waiting, busy = (log.AuditLog(file, max_bytes=2_000, keep=keep) for _ in range(2))
    for rounds in (1, 12, 80):
        waiting.append({"type": "call"}, sync=False)
        for number in range(rounds):
            busy.append({"type": "call", "number": number}, sync=False)
    waiting.append({"type": "call"}, sync=False)
    trails.verified(file)


def test_the_chain_goes_on_across_files(file: Path) -> None:
    """A full file is set aside, the next begins with its last hash; files beyond `keep` go, and a missing one shows."""
    audit_log = log.AuditLog(file, max_bytes=2_000, keep=3)
    for number in range(60):
        audit_log.append({"type": "call", "number": number}, sync=False)
    names = sorted(one.name for one in file.parent.iterdir())
    assert len(names) == 4 and "audit.jsonl" in names
    said = trails.verified(file)
    assert "in 4 files" in said and "older files are missing" in said
    oldest, middle, _ = sorted(
        (one for one in file.parent.iterdir() if one != file), key=lambda one: int(one.suffix[1:])
    )
    (first, *_) = file.read_bytes().splitlines()
    assert json.loads(first)["type"] == "file" and json.loads(first)["previous"].startswith("audit.jsonl.")
    oldest.unlink()
    trails.verified(file)
    middle.rename(file.with_name("hidden"))
    log.AuditLog(file).append({"type": "call"})
    trails.verified(file)
    file.with_name("hidden").rename(middle)
    middle.write_bytes(b"".join(middle.read_bytes().splitlines(keepends=True)[:-1]))
    done = trails.run("audit", "verify", str(file))
    assert (done.returncode, "removed" in done.stdout) == (1, True), done.stdout


WRITER = """
import sys
from pathlib import Path
from kubescript.audit import log
audit_log = log.AuditLog(Path(sys.argv[1]), max_bytes=int(sys.argv[3]))
for number in range(int(sys.argv[2])):
    audit_log.append({"type": "call", "number": number, "writer": sys.argv[4]}, sync=number % 50 == 0)
    if number == 0:
        print("ready", flush=True)
"""


def writer(file: Path, count: int, max_bytes: int, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(file), str(count), str(max_bytes), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.promise("A-07")
@pytest.mark.parametrize("max_bytes", [0, 20_000])
def test_many_processes_write_one_chain(max_bytes: int, file: Path) -> None:
    """Four processes at once, rotation included: every record is there once, and the chain is one."""
    writers = [writer(file, 300, max_bytes, str(name)) for name in range(4)]
    assert [one.wait(60) for one in writers] == [0] * 4
    report = verify.verify(file)
    assert report.broken is None, report
    numbers: dict[str, list[int]] = {}
    for one in file.parent.glob("audit.jsonl*"):
        for record in trails.records(one, "call"):
            numbers.setdefault(record["writer"], []).append(record["number"])
    assert {name: sorted(found) for name, found in numbers.items()} == {
        str(name): list(range(300)) for name in range(4)
    }
    assert (report.files > 1) is bool(max_bytes)


@pytest.mark.promise("A-01")
def test_a_stopped_server_does_not_stop_the_others_for_ever(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another process keeps locked is an error that says so in time, and works again once it is let go."""
    trails.fill(file)
    monkeypatch.setattr(log, "_LOCK_TIMEOUT_S", 0.3)
    with file.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(errors.AuditError) as caught:
            log.AuditLog(file).append({"type": "call"})
        assert "locked" in caught.value.remedy
    trails.fill(file, 1)
    trails.verified(file)


@pytest.mark.promise("A-07")
def test_a_killed_writer_leaves_a_chain_that_goes_on(file: Path) -> None:
    """kill -9 at any moment, ten times, beside a writer that lives on: whatever is there verifies."""
    steady = writer(file, 100_000, 200_000, "steady")
    for number in range(10):
        victim = writer(file, 100_000, 200_000, f"victim-{number}")
        assert victim.stdout is not None and victim.stdout.readline()
        time.sleep(0.01 * number)
        victim.kill()
        victim.wait()
    steady.kill()
    steady.wait()
    report = verify.verify(file)
    assert report.broken is None, report
    trails.fill(file, 1)
    assert verify.verify(file).broken is None


@pytest.mark.promise("A-07")
def test_a_server_killed_in_the_middle_of_a_script_leaves_its_calls(file: Path, tmp_path: Path) -> None:
    """The calls a script had made are on record though the server was killed before the script ended; the next start goes
    on."""
    script = f"n = {trails.COUNT}\nctx.progress(1)\nwhile True: pass"
    command = [clients.INSTALLED, "run", "-", "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    assert server.stdin is not None
    server.stdin.write(script)
    server.stdin.close()
    end = time.monotonic() + 60
    while not (file.exists() and b'"type":"call"' in file.read_bytes()):
        assert time.monotonic() < end
        time.sleep(0.02)
    server.send_signal(signal.SIGKILL)
    server.wait()
    trails.verified(file)
    assert (len(trails.records(file, "call")), len(trails.records(file, "script"))) == (1, 0)
    assert trails.run(*command[1:], script=trails.COUNT).stdout == "1\n"
    trails.verified(file)
    assert (len(trails.records(file, "call")), len(trails.records(file, "script"))) == (2, 1)


def test_a_script_that_is_ended_is_on_record_with_its_calls(file: Path, tmp_path: Path) -> None:
    """A script past its deadline has its calls, its record and the limit it hit; so has one that prints too much."""
    flags = ["--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
    trails.run("run", "-", "--timeout", "5000", *flags, script=f"{trails.COUNT}\nwhile True: pass")
    trails.run("run", "-", *flags, script="print('x' * 70_000)\n1")
    slow, wordy = trails.records(file, "script")
    assert (slow["code"], slow["limits"], slow["calls"]) == ("limit.time", ["limit.time"], 1)
    assert wordy["limits"] == ["limit.output"]
    assert len(trails.records(file, "call")) == 1
    trails.verified(file)


def test_an_answer_that_was_cut_is_on_record_as_cut(file: Path, tmp_path: Path) -> None:
    """The limit stands in the record exactly when the answer says that something of it is missing."""
    flags = ["--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
    sizes = (64_000, 64_700, 64_800, 64_900, 65_000, 66_000)
    cut = ["result cut by" in trails.run("run", "-", *flags, script=f"'x' * {size}").stdout for size in sizes]
    assert cut[0] is False
    assert cut[-1] is True
    assert [record["limits"] for record in trails.records(file, "script")] == [["limit.output"] * was for was in cut]


@pytest.mark.promise("A-01")
def test_a_full_disk_refuses_and_withholds_until_there_is_room(file: Path, tmp_path: Path) -> None:
    """While nothing can be written no answer leaves, the error names what the operator can do, and then all works again;
    the chain tells of the gap."""

    async def talk() -> None:
        flags = ["--toolsets", "code", "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file)]
        async with clients.connect("stdio", flags) as client:
            assert clients.text(await clients.evaluate(client, trails.COUNT)) == "1"
            server = trails.writer_of(file)
            was = resource.prlimit(server, resource.RLIMIT_FSIZE)
            resource.prlimit(server, resource.RLIMIT_FSIZE, (file.stat().st_size + 30, was[1]))
            try:
                for _ in range(2):
                    answer = await clients.evaluate(client, trails.COUNT)
                    assert answer.is_error and "audit" in clients.text(answer), clients.text(answer)
                    assert "Traceback" not in clients.text(answer)
                denied = await clients.evaluate(client, "k8s.coreV1().list_namespaced_secret('shop')")
                assert denied.is_error and "audit.unavailable" in clients.text(denied)
            finally:
                resource.prlimit(server, resource.RLIMIT_FSIZE, was)
            assert clients.text(await clients.evaluate(client, trails.COUNT)) == "1"

    anyio.run(talk)
    assert "could not be written in time" in trails.verified(file)
    assert len(trails.records(file, "gap")) == 1


def linked(file: Path) -> None:
    file.with_name("victim").write_text("")
    file.symlink_to(file.with_name("victim"))


def hard_linked(file: Path) -> None:
    file.touch(0o600)
    os.link(file, file.with_name("second"))


def readable(file: Path) -> None:
    file.touch()
    file.chmod(0o644)


def foreign(file: Path) -> None:
    file.touch(0o600)
    os.chown(file, 12345, 12345)


def piped(file: Path) -> None:
    os.mkfifo(file, 0o600)


def by_an_open_folder(file: Path) -> None:
    """FILE's folder becomes a link that leads through a folder others can write to."""
    real = file.parent.with_name("open") / "deep"
    real.mkdir(parents=True)
    real.parent.chmod(0o777)
    file.parent.rmdir()
    file.parent.symlink_to(real)


def by_a_foreign_link(file: Path) -> None:
    """FILE's folder is a link in a folder like /tmp, which somebody else made and can make anew."""
    real = file.parent.with_name("own")
    real.mkdir()
    file.parent.parent.chmod(0o1777)
    file.parent.rmdir()
    file.parent.symlink_to(real)
    os.chown(file.parent, 12345, 12345, follow_symlinks=False)


PLACES: dict[str, Callable[[Path], None]] = {
    "a link": linked, "a second name": hard_linked, "readable by others": readable,
    "of another user": foreign, "a pipe": piped,
    "by a link through an open folder": by_an_open_folder, "by a link of another user": by_a_foreign_link, "no folder": lambda file: file.parent.rmdir(),
}  # fmt: skip


@pytest.mark.promise("A-05")
@pytest.mark.parametrize("case", PLACES)
def test_places_others_could_bend_are_refused(case: str, tmp_path: Path) -> None:
    """The server does not start on a file that others can read, write, replace or redirect, and names it."""
    if "another user" in case and os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    file = tmp_path / "place" / "audit.jsonl"
    file.parent.mkdir()
    PLACES[case](file)
    done = trails.run("run", "-", "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(file), script="1")
    assert done.returncode == 1
    assert str(file.parent) in done.stderr
    assert "Traceback" not in done.stderr
    told = trails.run("doctor", "--audit", str(file))
    assert told.returncode == 1 and "FAILED  audit" in told.stdout, told.stdout
    good = tmp_path / "good.jsonl"
    assert f"audit         on: {good}" in trails.run("doctor", "--audit", str(good)).stdout
    assert not good.exists()
    assert (
        trails.run("run", "-", "--snapshot", str(tmp_path / "pods.json"), "--audit", str(good), script="1").returncode
        == 0
    )
    assert good.stat().st_mode & 0o777 == 0o600


def test_a_key_must_be_long(tmp_path: Path) -> None:
    """A key that could be guessed is refused."""
    (tmp_path / "key").write_text("hunter2")
    with pytest.raises(errors.AuditError):
        file_checks.read_key(tmp_path / "key")
