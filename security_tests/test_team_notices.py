"""Attacks on what a team's chat is told: by a caller with many plans, and by what answers for the chat."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from kubescript import config
from kubescript.changes import notices, plan
from kubescript.changes.store import record
from tests.kit import approval_page, patience, webhooks
from tests.kit.listener import Listener

pytestmark = pytest.mark.promise("V-05")


def notifier(url: str, folder: Path) -> notices.Notifier:
    """A notifier of the webhook at this URL."""
    (folder / "url").write_text(url)
    return notices.Notifier(config.Notify(url_file=folder / "url"))


def waiting(user: str, name: str) -> record.Record:
    """A plan of a user's that waits."""
    return record.Record(approval_page.plan_of(id=name, author=plan.Author(user)), "pending")


def test_one_callers_plans_leave_room_for_notices_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: while the chat takes its time, a caller makes plan after plan. The other's notice comes next but one, and of
    the caller's the newest ten are told."""
    monkeypatch.setattr(notices, "_TIMEOUT_S", 60.0)  # the chat takes its time until all notices are there
    with webhooks.opened() as chat:
        chat.answers.clear()
        own = notifier(chat.url, tmp_path)
        own.tell(waiting("eve", "first"), "")
        patience.until(lambda: len(chat.sent) == 1)
        for number in range(300):
            own.tell(waiting("eve", f"p-{number}"), "")
        own.tell(waiting("bob", "urgent"), "")
        chat.answers.set()
        patience.until(lambda: len(chat.sent) >= 12)  # a server that ends waits three seconds for them
        own.close()
        told = [each["plan"] for each in chat.documents]
        assert told == ["first", "p-290", "urgent", *(f"p-{number}" for number in range(291, 300))]


@pytest.mark.parametrize("answer", ["a body", "a head"])
def test_an_answer_without_end_is_not_read(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: what answers for the chat sends a body without end, or a head byte by byte. Each request ends, and the next
    notice goes out."""
    if answer == "a head":  # a body is not waited for
        monkeypatch.setattr(notices, "_TIMEOUT_S", 3.0)
    monkeypatch.setattr(notices, "_PAUSES_S", ())
    asked: list[bytes] = []
    taken = 0

    def serve(sock: socket.socket) -> None:
        nonlocal taken
        asked.append(sock.recv(65_536))
        sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + (b"\r\n" if answer == "a body" else b"x: "))
        while taken < 64 << 20:
            sock.sendall(b"x" * 65_536 if answer == "a body" else b"x")
            taken += 65_536
            if answer == "a head":
                time.sleep(0.2)

    listener = Listener(serve)
    try:
        own = notifier(f"http://127.0.0.1:{listener.port}/", tmp_path)
        for name in ("p-1", "p-2"):
            own.tell(waiting("eve", name), "")
        patience.until(lambda: len(asked) == 2)
        own.close()
    finally:
        listener.close()
    assert taken < 32 << 20
