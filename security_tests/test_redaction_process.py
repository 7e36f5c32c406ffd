"""The process that masks, assuming that a text has taken it over: it reaches nothing, and can say little.

Then the honest one: it is killed, stopped and left waiting, and no text passes unmasked for that.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final, cast

import pyseccomp
import pytest

from kubescript import errors, redaction
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from kubescript_sandbox.host import cancellation, spawner
from security_tests import outside
from security_tests.redaction import engine as engines
from security_tests.taken import GRACE_S, HOSTILE, obeyed, works
from tests.kit import patience, pids, reading

Count = Callable[[int], None]

SECRET: Final = "Tr0ub4dor-3-horse"
TEXT: Final = f"password={SECRET}\n"
LOG: Final = request.Request("GET", "/", (("follow", "true"),), "get", True, version="v1", resource="pods", subresource="log", form="log")  # fmt: skip
LIST: Final = request.Request("GET", "/api/v1/pods", (), "list", True, version="v1", resource="pods")


@pytest.fixture(scope="module")
def taken() -> Iterator[redaction.Engine]:
    """An engine whose maskers obey their texts."""
    engine = redaction.Engine(redaction.Settings(), source=spawner.Spawner(HOSTILE))
    engine.prepare()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def masking() -> Iterator[redaction.Engine]:
    """The product's."""
    engine = engines.pooled()
    engine.prepare()
    yield engine
    engine.close()


# What it reaches

REACHED: Final = {
    "its environment": ("openat", '-100, b"/proc/self/environ", 0'),
    "a file": ("openat", '-100, b"/etc/passwd", 0'),
    "a new file": ("openat", '-100, b"/tmp/escape", 0o101, 0o600'),
    "a service account": ("openat", '-100, b"/var/run/secrets/kubernetes.io/serviceaccount/token", 0'),
    "the memory of another": ("process_vm_readv", "os.getppid(), 0, 0, 0, 0, 0"),
    "a socket": ("socket", "2, 1, 0"),
    "a pair of sockets": ("socketpair", "1, 1, 0, 0"),
    "a connection": ("connect", "3, 0, 0"),
    "a process": ("clone", "17, 0, 0, 0, 0"),
    "a program": ("execve", 'b"/bin/sh", 0, 0'),
    "a signal": ("kill", "1, 9"),
    "a trace": ("ptrace", "16, 1, 0, 0"),
    "machine code": ("mmap", "0, 4096, 7, 0x22, -1, 0"),
    "a file in memory": ("memfd_create", 'b"x", 0'),
    "a namespace": ("unshare", "0x10000000"),
}


@pytest.mark.promise("S-11")
@pytest.mark.parametrize("name", REACHED)
def test_a_masker_that_is_taken_over_reaches_nothing(name: str, taken: redaction.Engine) -> None:
    """No file, network, process, memory of others or machine code: the kernel refuses the call or kills the masker."""
    call, arguments = REACHED[name]
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call)
    if number < 0:
        pytest.skip(f"this architecture has no {call}")
    assert obeyed(taken, f"result = syscall({number}, {arguments})") in {"(-1, 1)", "redaction.failed"}
    assert works(taken)


@pytest.mark.promise("S-11")
def test_the_layers_of_a_masker_hold(masking: redaction.Engine) -> None:
    """What it reports of its lockdown is what `sandbox.strict` requires of a worker."""
    from kubescript_sandbox.host import layers

    assert layers.missing(masking.prepare()) == ()


@pytest.mark.promise("S-11")
@pytest.mark.skipif(os.geteuid() != 0, reason="reads the memory of other processes")
def test_no_credential_of_the_host_is_in_a_masker(masking: redaction.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the host's environment and memory is in no environment, descriptor or mapping of a masker or its fork
    server."""
    canary = os.urandom(16).hex()
    monkeypatch.setenv("TOKEN", canary)
    needles = (canary.encode(),)
    fresh = engines.pooled()
    fresh.prepare()
    assert outside.occurrences(os.getpid(), needles) == set(needles), "the search itself finds nothing"
    patience.until(lambda: all(fresh._pool.pids))  # a masker is forked after it was asked for
    server, *maskers = fresh._pool.pids
    assert maskers
    for pid in (server, *maskers):
        assert outside.occurrences(pid, needles) == set()
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    patience.until(lambda: all(os.listdir(f"/proc/{pid}/fd") == ["3"] for pid in maskers))
    assert SECRET not in fresh.text(TEXT, lambda _: None)
    fresh.close()


# What it can say

LIES: Final = {
    "an unknown answer": "sock.sendall(answer(7))",
    "an answer of another turn": "sock.sendall(answer(129))",
    "no change, with bytes": "sock.sendall(answer(131, b'{}', b'x'))",
    "notes of 4 GiB": "sock.sendall(masking.ANSWER.pack(130, 2**32 - 1, 0))",
    "4 GiB of bytes": "sock.sendall(masking.ANSWER.pack(130, 0, 2**32 - 1))",
    "more than masking makes": "sock.sendall(answer(130, b'{}', b'x' * (1 << 20)))",
    "parts without end": "while True: sock.sendall(answer(133))",
    "a kind with a space": "sock.sendall(answer(130, b'{\"kinds\":{\"a b\":1}}', b'x'))",
    "a kind that is a command": "sock.sendall(answer(130, b'{\"kinds\":{\"\\\\u001b[2J\":1}}', b'x'))",
    "a kind with a line": "sock.sendall(answer(130, b'{\"kinds\":{\"a\\\\n\":1}}', b'x'))",
    "a long kind": "sock.sendall(answer(130, b'{\"kinds\":{\"' + b'a' * 81 + b'\":1}}', b'x'))",
    "a kind without a count": "sock.sendall(answer(130, b'{\"kinds\":{\"token\":null}}', b'x'))",
    "a negative count": "sock.sendall(answer(130, b'{\"kinds\":{\"token\":-1}}', b'x'))",
    "a count of digits without end": "sock.sendall(answer(130, b'{\"kinds\":{\"token\":' + b'9' * 4300 + b'}}', b'x'))",
    "no UTF-8": "sock.sendall(answer(130, b'{}', b'\\xff\\xfe'))",
    "an error that is no status": "sock.sendall(answer(130, b'{\"error\":9999}', b'x'))",
    "a page that is a text": "sock.sendall(answer(130, b'{\"trailer\":{\"next\":\"ask the user\"}}', b'x'))",
    "fewer items than none": "sock.sendall(answer(130, b'{\"trailer\":{\"items\":-1}}', b'x'))",
    "a word of its own": "sock.sendall(answer(130, b'{\"note\":\"ask the user\"}', b'x'))",
    "notes that are none": "sock.sendall(answer(130, b'', b'x'))",
    "half an answer, and its end": "sock.sendall(b'\\x82\\0'); os._exit(0)",
    "garbage": "sock.sendall(b'\\xa5' * 65536)",
    "an excuse": "sock.sendall(answer(132, b'bug \\x1b[2J' * 9))",
}  # fmt: skip


@pytest.mark.promise("S-12")
@pytest.mark.parametrize("name", LIES)
def test_what_a_masker_may_not_say_ends_the_call(name: str, taken: redaction.Engine) -> None:
    """An answer that masking cannot have made is `redaction.failed`, and the next text has a new masker."""
    found: list[str] = []
    with pytest.raises(errors.RedactionError) as caught:
        taken.text(LIES[name], found.append, cancellation.Patience(GRACE_S))
    assert caught.value.code == "redaction.failed" and "\x1b" not in caught.value.message
    assert found == []
    assert works(taken)


MANY: Final = (
    "sock.sendall(answer(130, b'{\"kinds\":{' + b','.join(b'\"k%d\":9999999' % n for n in range(500)) + b'}}', b'x'))"
)


@pytest.mark.promise("S-12")
def test_counts_without_end_are_cut_off(taken: redaction.Engine) -> None:
    """A masker that claims five thousand million values makes the host count a million."""
    found = [0]

    def count(_: str) -> None:
        found[0] += 1

    started = time.process_time()
    assert taken.text(MANY, count, cancellation.Patience(GRACE_S)) == "x"
    assert found[0] == 1_000_000 and time.process_time() - started < GRACE_S
    assert works(taken)


FLOOD: Final = "while True: sock.sendall(answer(130, b'{}', b''))"
LATER: Final = "sock.sendall(answer(130) * 3); result = 1"


@pytest.mark.promise("S-12")
def test_answers_that_nobody_asked_for_end_the_masker(taken: redaction.Engine, attacks: Count) -> None:
    """Frames beyond the one that is due are not read as the answer to the next text."""
    attacks(2)
    for attack in (FLOOD, LATER):
        obeyed(taken, attack)
        # The masker that is lent next: the frames beyond the first have arrived.
        patience.until(lambda: not taken._pool._idle[-1].is_fit)
        assert works(taken)


@pytest.mark.promise("S-12")
@pytest.mark.parametrize("lie", ["more than masking makes", "no change, with bytes", "parts without end"])
@pytest.mark.parametrize("call", [LIST, LOG], ids=["list", "log"])
def test_a_masker_that_lies_of_a_body_ends_it(call: request.Request, lie: str, taken: redaction.Engine) -> None:
    """So does one that answers a chunk with more than masking can make of it, or in parts of nothing."""
    with pytest.raises(errors.RedactionError):
        for _ in taken.body(call, iter([LIES[lie].encode()] * 3), reading.Report()):
            pass
    assert works(taken)


# How it ends

SLEEPS: Final = "time.sleep(3600) if False else [0 for _ in iter(int, 1)]"
"""Never ends: `sleep` is a system call off the list."""


@pytest.mark.promise("S-07", "S-12")
def test_a_masker_that_never_answers_is_killed_at_the_deadline(taken: redaction.Engine, attacks: Count) -> None:
    """Of a text and of a body; the error is the one that a slow text has."""
    attacks(2)
    started = time.monotonic()
    with pytest.raises(errors.LimitExceeded, match="masking the answer took longer"):
        taken.text(SLEEPS, lambda _: None, cancellation.Patience(0.5))
    late = request.Request(
        **{**{name: getattr(LIST, name) for name in LIST.__slots__}, "deadline": time.monotonic() + 0.5}
    )
    with pytest.raises(errors.ClusterError, match="within the script's time") as caught:
        list(taken.body(late, iter([SLEEPS.encode()]), reading.Report()))
    assert caught.value.code == "cluster.timeout"
    assert time.monotonic() - started < GRACE_S
    assert works(taken)


@pytest.mark.promise("S-07", "S-12")
def test_nobody_waits_for_a_masker_that_is_busy(taken: redaction.Engine) -> None:
    """While a masker computes without end, the host computes nothing, its threads have their turns, and other texts are
    served."""
    switch = cancellation.Cancellation()
    busy_one = threading.Thread(target=given_up, args=(taken, switch))
    started, computed, turns = time.monotonic(), time.process_time(), []
    busy_one.start()
    for _ in range(100):
        before = time.monotonic()
        time.sleep(0.02)
        turns.append(time.monotonic() - before)
    assert sorted(turns)[90] < 1  # on a busy machine too; it may stand still for a moment
    assert max(turns) < patience.scaled(1)
    assert time.process_time() - computed < (time.monotonic() - started) / 2
    assert works(taken)
    assert busy_one.is_alive()
    switch.cancel()
    busy_one.join(GRACE_S)
    assert not busy_one.is_alive()


def given_up(engine: redaction.Engine, switch: cancellation.Cancellation) -> None:
    """Waits for a text that never ends until the switch is thrown."""
    with pytest.raises(errors.LimitExceeded):
        engine.text(SLEEPS, lambda _: None, cancellation.Patience(60, lambda: switch.cancelled))


@pytest.mark.promise("S-07", "S-12")
def test_a_masker_ends_with_the_call_that_is_cancelled(taken: redaction.Engine) -> None:
    """Its process is gone, and so is what it was computing."""
    assert works(taken)
    lent = taken._pool._idle[-1].worker  # the one that has just been given back, and is lent next
    patience.until(lambda: not busy(lent.pid))
    with pytest.raises(errors.LimitExceeded, match="cancelled"):
        taken.text(SLEEPS, lambda _: None, cancellation.Patience(60, lambda: busy(lent.pid)))
    patience.until(lambda: not Path(f"/proc/{lent.pid}").exists())
    assert works(taken)


def busy(pid: int) -> bool:
    """Whether the process computes."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


@pytest.mark.promise("S-07", "S-12")
@pytest.mark.parametrize("victim", ["maskers", "fork server"])
def test_a_masker_that_is_killed_fails_its_body_only(victim: str, masking: redaction.Engine) -> None:
    """In the middle of a body: what follows is an error, never the rest unmasked; the next body is masked."""
    lines = iter([TEXT.encode()] * 1000)
    body = masking.body(LOG, lines, reading.Report())
    assert SECRET.encode() not in next(body)
    server, spare = masking._pool.pids[0], list(masking._pool._idle)
    patience.until(lambda: all(each.worker.pid for each in spare))  # a masker is forked after it was asked for
    for pid in pids.children(server) if victim == "maskers" else {server}:
        os.kill(pid, signal.SIGKILL)
    patience.until(lambda: not any(each.is_fit for each in spare), GRACE_S)
    with pytest.raises(errors.RedactionError):
        for piece in body:
            assert SECRET.encode() not in piece
    assert SECRET.encode() not in b"".join(masking.body(LOG, iter([TEXT.encode()]), reading.Report()))
    assert SECRET not in masking.text(TEXT, lambda _: None)


HUNGRY: Final = "result = bytes(2 << 30)"


@pytest.mark.promise("S-07", "S-12")
def test_a_masker_has_so_much_memory_and_no_more(taken: redaction.Engine) -> None:
    """Two gigabytes are refused by the kernel."""
    assert "MemoryError" in obeyed(taken, HUNGRY)
    assert works(taken)


@pytest.mark.promise("S-11")
def test_a_masker_serves_so_many_calls_and_no_more(taken: redaction.Engine) -> None:
    """What a text does to the process that reads it does not last."""
    seen = {ast.literal_eval(obeyed(taken, "result = os.getpid()")) for _ in range(600)}
    assert len(seen) >= 3


@pytest.mark.promise("S-11")
def test_no_caller_is_served_by_a_masker_that_has_read_of_another_one(taken: redaction.Engine) -> None:
    """They come in turns, more of them than maskers wait; whoever comes again soon finds his own."""
    served: dict[str, set[str]] = {}
    for caller in [*(f"caller {number}" for number in range(20)), "ann", "ben", "ann", "ben"]:
        served.setdefault(caller, set()).add(
            obeyed(taken.of(caller, inspection.UserInfo(caller)), "result = os.getpid()")
        )
    pids = [pid for found in served.values() for pid in found]
    assert len(pids) == len(set(pids)) == len(served)
    assert works(taken)


@pytest.mark.promise("S-07")
def test_a_short_answer_that_is_given_up_costs_no_masker() -> None:
    """A script that reads the head of a short answer and no more leaves its masker to the next; one that gives up a long
    one does not, for the masker still has the rest of it."""
    bodies = ((LIST, [b'{"kind":"PodList","items":[]}'], True), (LOG, [TEXT.encode() * 5_000] * 100, False))
    with contextlib.closing(redaction.Engine(redaction.Settings())) as engine:
        engine.prepare()
        for call, chunks, is_kept in bodies:
            lent = engine._pool._idle[-1].worker
            with contextlib.closing(
                cast("Generator[bytes]", engine.body(call, iter(chunks), reading.Report()))
            ) as body:
                next(body)
            # Its number is known once it is forked, which may be after it was taken.
            assert (lent.pid in engine._pool.pids) == is_kept
            assert engine.text("result = 6 * 7", lambda _: None) == "result = 6 * 7"


def broken_off() -> Iterator[bytes]:
    """A log whose connection breaks in the middle of a line."""
    yield TEXT.encode() * 5_000 + b"the half of a line of ano"
    raise errors.ClusterError("the connection broke", code="cluster.unreachable")


@pytest.mark.promise("S-07", "S-11")
def test_what_one_body_left_behind_reaches_nobody_else() -> None:
    """A body breaks off and the script gives up what came before: the masker still holds the half of a line, and would
    hand it to whoever is next."""
    past = dataclasses.replace(LOG, query=())
    with contextlib.closing(redaction.Engine(redaction.Settings())) as engine:
        engine.prepare()
        with contextlib.closing(cast("Generator[bytes]", engine.body(past, broken_off(), reading.Report()))) as body:
            assert SECRET.encode() not in next(body)
        for _ in range(10):
            assert engine.text("result = 6 * 7", lambda _: None) == "result = 6 * 7"


@pytest.mark.promise("S-07")
def test_no_masker_is_left_behind() -> None:
    """Maskers and their fork server end with the engine."""
    engine = engines.pooled()
    engine.prepare()
    pids = engine._pool.pids
    assert len(pids) >= 2
    engine.close()
    patience.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), GRACE_S)
    with pytest.raises(errors.RedactionError, match="shutting down"):
        engine.text(TEXT, lambda _: None)


DEAD: Final = (sys.executable, "-I", "-c", "import socket, sys; socket.socket(fileno=int(sys.argv[1])).recv(9)")
"""A fork server that ends at the first request."""


@pytest.mark.promise("S-08", "S-12")
def test_a_log_line_about_a_masker_that_fails_is_one_line() -> None:
    """Log lines are masked too: where no masker can be had, the line that says so is withheld, and is not followed by a
    line about itself without end."""
    engine = redaction.Engine(redaction.Settings(), source=spawner.Spawner(DEAD))
    lines: list[str] = []

    class Masked(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
            assert len(lines) < 50
            lines.append(engine.text_or_withheld(record.getMessage(), lambda _: None))

    handler = Masked()
    logger = logging.getLogger("kubescript_masking.host")
    logger.addHandler(handler)
    try:
        with pytest.raises(errors.RedactionError):
            engine.text(TEXT, lambda _: None)
    finally:
        logger.removeHandler(handler)
        engine.close()
    assert len(lines) == 2 and lines[0].startswith("a masking process failed")
    assert lines[1] == redaction.WITHHELD


HOSTILE_SCRIPTS: Final = 7
BODIES: Final = 16
"""Of one script: eight watches, and eight answers of a batch that it does not read."""
PODS: Final = request.parse(exchanges.Call("GET", ("api", "v1", "pods")))
PIECE: Final = b'{"items":[{"metadata":{"name":"x"}},'


def held_by(engine: redaction.Engine, script: int) -> Iterator[Iterator[bytes]]:
    """As many bodies as that script can have begun at once, each with its first piece read."""
    for _ in range(BODIES):
        # Nobody gives one back: who is not served now waits in vain.
        seconds = GRACE_S if engine._pool._is_free(script) else 0.5
        asked = dataclasses.replace(PODS, script=script, deadline=time.monotonic() + seconds)
        body = engine.body(asked, iter([PIECE] * 20), reading.Report())
        try:
            next(body)
        except errors.ClusterError:  # there was none for it in time
            return
        yield body


@pytest.mark.promise("S-07", "S-12")
def test_scripts_that_hold_every_masker_leave_two_for_each_other(masking: redaction.Engine) -> None:
    """Seven scripts hold as many bodies as they can, and read none to its end: the eighth reads its own."""
    held = [body for script in range(1, HOSTILE_SCRIPTS + 1) for body in held_by(masking, script)]
    assert len(held) > 40
    own = [dataclasses.replace(PODS, script=99, deadline=time.monotonic() + GRACE_S) for _ in range(2)]
    bodies = [masking.body(call, iter([b'{"items":[]}']), reading.Report()) for call in own]
    assert [b"".join(body) for body in bodies] == [b'{"items":[]}'] * 2
    assert works_as_product(masking)
    held.clear()
    assert len([*held_by(masking, 1)]) == BODIES


def works_as_product(engine: redaction.Engine) -> bool:
    """Whether a text is masked."""
    return "hunter2hunter2" not in engine.text("password=hunter2hunter2", lambda _: None)
