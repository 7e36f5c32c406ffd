"""The processes of command lines: a deadline, a cancellation and the number of places hold, and each is on record."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.kit import clients, openshift, patience, trails
from tests.kit.openshift import Talk

pytestmark = pytest.mark.timeout(300)

ENDLESS: Final = "get pods -n shop -w -o name"
QUICK: Final = "get ns shop -o name"


@contextlib.contextmanager
def served(kubeconfig: Path, folder: Path, *, top: str = "", more: str = "") -> Iterator[Talk]:
    marks = "[output]\nmark_untrusted = false\n"
    with openshift.talking(openshift.configured(folder, kubeconfig, top=top, more=marks + more)) as talk:
        yield talk


def descriptors() -> int:
    """How many are open in this process, which is the server."""
    return len(os.listdir("/proc/self/fd"))


def check_works(talk: Talk) -> None:
    """Fails unless the next call is answered, and then nothing is left."""
    assert talk.text(QUICK) == "namespace/shop"
    patience.until(lambda: not talk.commands())


def test_a_command_that_does_not_end_is_ended_at_the_deadline(kubeconfig: Path, tmp_path: Path) -> None:
    """The answer has what was written until then, and no process is left; a watch that still runs is no success."""
    seconds = min(round(patience.scaled(4)), 20)  # for kubectl to begin
    with served(kubeconfig, tmp_path, more=f"[limits]\ndefault_timeout_ms = {seconds}000\n") as talk:
        check_works(talk)
        answer = talk.ask(ENDLESS)
        patience.until(lambda: not talk.commands())
        said = clients.whole(answer)
        assert answer.is_error
        assert said.startswith("pod/cart-"), said
        assert f"error limit.time: the command was ended at its {seconds} s deadline" in said
        check_works(talk)


def test_a_client_that_cancels_ends_the_process(kubeconfig: Path, tmp_path: Path) -> None:
    """Also one whose call has not got a place yet."""
    more = "[limits]\ndefault_timeout_ms = 240000\nmax_timeout_ms = 240000\n"
    with served(kubeconfig, tmp_path, top="processes_pool_size = 1", more=more) as talk:
        running = talk.send(ENDLESS)
        patience.until(lambda: len(talk.commands()) == 1)
        waiting = talk.send(ENDLESS)
        for call in (waiting, running):
            call.cancel()
        patience.until(lambda: not talk.commands())
        check_works(talk)


class Watch:
    """Counts the processes of command lines all the time."""

    def __init__(self, talk: Talk) -> None:
        self.most = 0
        self.seen: set[int] = set()
        self._talk = talk
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.is_set():
            found = self._talk.commands()
            self.most = max(self.most, len(found))
            self.seen |= found
            time.sleep(0.005)


def test_sixteen_at_once_share_two_places(kubeconfig: Path, tmp_path: Path) -> None:
    """All are answered, and at no time are there more than two processes."""
    more = "[limits]\ndefault_timeout_ms = 240000\nmax_timeout_ms = 240000\n"
    with served(kubeconfig, tmp_path, top="processes_pool_size = 2", more=more) as talk:
        check_works(talk)  # it is warm: no process tries what this machine can
        with Watch(talk) as watch:
            calls = [talk.send("get pods -n shop -o custom-columns=N:.metadata.name") for _ in range(16)]
            answers = [clients.whole(call.result()) for call in calls]
        assert len(set(answers)) == 1 and "cart-" in answers[0]
        assert watch.most == 2, watch.most
        assert len(watch.seen) >= 8  # of 16, so that what came and went was seen


def test_what_finds_no_room_in_the_queue_is_told_that_the_server_is_busy(kubeconfig: Path, tmp_path: Path) -> None:
    """At once, while what is running goes on; and what waits is answered when there is a place."""
    top = "processes_pool_size = 1"
    more = "[limits]\ndefault_timeout_ms = 240000\nmax_timeout_ms = 240000\n[sandbox]\nmax_queue = 1\n"
    with served(kubeconfig, tmp_path, top=top, more=more) as talk:
        running = talk.send(ENDLESS)
        patience.until(lambda: len(talk.commands()) == 1)
        others = [talk.send(QUICK) for _ in range(5)]
        patience.until(lambda: sum(call.done() for call in others) == 4)
        refused = {call for call in others if call.done()}
        for call in refused:
            answer = call.result()
            said = clients.whole(answer)
            assert answer.is_error
            assert "busy" in said and "1 of your command lines are running and 1 wait; try again" in said, said
        assert not running.done()
        running.cancel()
        (waited,) = set(others) - refused
        assert clients.whole(waited.result()).startswith("namespace/shop")
        check_works(talk)


def test_each_command_line_and_each_of_its_calls_is_on_record(kubeconfig: Path, tmp_path: Path) -> None:
    """Also what was refused before a process was started, and what the policy refused."""
    file = tmp_path / "audit.jsonl"
    denied = "[[denied_resources]]\ngroup = ''\nversion = 'v1'\nkind = 'ConfigMap'\n"
    lines = {QUICK: "ok", "delete ns shop": "policy.command", "get cm -n shop": "command.failed"}
    with served(kubeconfig, tmp_path, more=f"{denied}[audit]\nfile = '{file}'\n") as talk:
        for line in lines:
            talk.ask(line)
    calls, scripts = trails.records(file, "call"), trails.records(file, "script")
    assert {call["tool"] for call in calls + scripts} == {"openshift-cli"}
    assert [script["code"] for script in scripts] == list(lines.values())
    by_line = {line: hashlib.sha256(line.encode()).hexdigest() for line in lines}
    found = [(call["script"], call["verb"], call["resource"] or call["path"], call["decision"]) for call in calls]
    assert found == [
        (by_line[QUICK], "get", "/api", "allow"),
        (by_line[QUICK], "get", "/apis", "allow"),
        (by_line[QUICK], "get", "namespaces", "allow"),
        (by_line["get cm -n shop"], "get", "/api", "allow"),
        (by_line["get cm -n shop"], "get", "/apis", "allow"),
        (by_line["get cm -n shop"], "list", "configmaps", "deny"),
    ]
    trails.verified(file)


def test_nothing_of_a_watch_outlives_its_command(kubeconfig: Path, tmp_path: Path) -> None:
    """No connection to the cluster, no descriptor and no thread: a hundred such commands would take the server down."""
    with served(kubeconfig, tmp_path) as talk:
        check_works(talk)
        line = "wait ns/default --for=jsonpath={.metadata.name}=default"
        talk.text(line)
        before = descriptors()
        for _ in range(5):
            talk.text(line)
        patience.until(lambda: descriptors() <= before + 2)  # a connection may be kept for the next one
