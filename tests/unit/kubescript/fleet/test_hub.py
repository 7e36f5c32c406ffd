"""The hub is followed through everything that an API server, or what stands in its place, may answer."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript import config
from kubescript.fleet import fleet, hub, sources
from tests.kit import api_server, patience
from tests.kit.api_server import CHUNKED, Step, hang_up, then, whole

MEMBER: Final = {
    "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c"}}],
}


def secret(name: str, day: int = 1) -> dict[str, object]:
    """A Secret with a kubeconfig, made on a day of January."""
    made = f"2026-01-{day:02}T00:00:00Z"
    metadata = {
        "name": name, "namespace": "shop", "resourceVersion": "7", "labels": {"a": "b"}, "creationTimestamp": made,
    }  # fmt: skip
    return {"metadata": metadata, "data": {"value": base64.b64encode(json.dumps(MEMBER).encode()).decode()}}


def page(*names: str, more: str = "", day: int = 1) -> bytes:
    """A page of a list."""
    metadata = {"resourceVersion": "5", "continue": more}
    return whole(json.dumps({"metadata": metadata, "items": [secret(name, day) for name in names]}).encode())


def chunk(content: bytes) -> bytes:
    """A piece of a body without a length."""
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def event(kind: str, body: object) -> bytes:
    """An event of a watch."""
    return chunk(json.dumps({"type": kind, "object": body}).encode() + b"\n")


def open_end(sock: socket.socket) -> None:
    """Leaves a watch open that has begun."""
    sock.recv(1)


stay: Final = then(CHUNKED, open_end)
"""A watch without events."""


class Held:
    """An answer that waits until the test has seen what comes before it: a set of clusters may stay for a second only."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._may_come = threading.Event()

    def __call__(self, sock: socket.socket) -> None:
        self._may_come.wait(20)  # less than the 30 s that a list may take
        sock.sendall(self._content)

    def come(self) -> None:
        """Lets it go."""
        self._may_come.set()


@contextlib.contextmanager
def following(folder: Path, *steps: Step | bytes, most: int = 10) -> Iterator[tuple[api_server.Server, fleet.Fleet]]:
    """A fleet of a hub that answers with these steps."""
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(contextlib.closing(api_server.Server()))
        server.steps = list(steps)
        folder.mkdir()
        named = config.Fleet(source="secrets", label_selector="a=b", max_clusters=most)
        settings = config.Settings(kubeconfig=api_server.kubeconfig(folder, server.url), fleet=named)
        found = opened.enter_context(contextlib.closing(sources.open_fleet(settings)))
        found.start()
        yield server, found


def test_a_hub_that_is_away_keeps_its_clusters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Pages and events are put together; a watch that is too old and a hub that is away are followed by a new list."""
    caplog.set_level(logging.INFO)
    too_old = event("ERROR", {"kind": "Status", "code": 410})
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    events = event("ADDED", secret("c")) + event("DELETED", secret("a")) + bookmark
    again = Held(page("d"))
    steps = (
        page("a", more="next"),
        page("b"),
        CHUNKED + events + chunk(b""),
        CHUNKED + too_old + chunk(b""),
        whole(b"{}", "500 Internal Server Error"),
        again,
        stay,
    )
    with following(tmp_path / "hub", *steps) as (server, found):
        patience.until(lambda: "cannot be watched" in caplog.text)
        patience.until(lambda: list(found.members()) == ["b", "c"])
        again.come()
        patience.until(lambda: list(found.members()) == ["d"])
    lines = [each.splitlines()[0] for each in server.requests]
    assert "labelSelector=a%3Db&limit=20 " in lines[0]
    assert "continue=next" in lines[1]
    assert "watch=true&allowWatchBookmarks=true&resourceVersion=5" in lines[2]
    assert "resourceVersion=9" in lines[3]
    patience.until(lambda: "can be watched again" in caplog.text)
    assert caplog.text.count("cannot be watched") == 1


def test_no_answer_ends_the_following(tmp_path: Path) -> None:
    """Each broken watch is followed by a new list; what an object lacks leaves out that object alone."""
    endless = chunk(b"x" * 1024 * 1024)
    broken: tuple[Step | bytes, ...] = (
        CHUNKED + endless * 5,
        CHUNKED + chunk(b"no JSON\n"),
        CHUNKED + event("ADDED", ["no object"]),
        CHUNKED + event("ERROR", {"code": 500}),
        whole(b"{}", "403 Forbidden"),
        then(CHUNKED, hang_up),
    )
    with contextlib.ExitStack() as opened:
        fleets = [
            opened.enter_context(following(tmp_path / str(number), page("a"), step, page("b"), stay))[1]
            for number, step in enumerate(broken)
        ]
        patience.until(lambda: all(list(found.members()) == ["b"] for found in fleets))


def test_no_objects_content_stops_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Fields as deep as an API server takes them are not read; too many labels leave out that object alone."""
    deep = b"[" * 9000 + b"]" * 9000
    good, labels = secret("good"), {f"label-{number}": "" for number in range(100)}
    planted = json.dumps(secret("deep") | {"x": "DEEP"}).encode().replace(b'"DEEP"', deep)
    many = {"metadata": {"name": "many", "labels": labels}, "data": {"value": "e30="}}
    body = b'{"metadata":{"resourceVersion":"5"},"items":[%b,%b,%b]}'
    listed = whole(body % (planted, json.dumps(good).encode(), json.dumps(many).encode()))
    changed = chunk(b'{"type":"MODIFIED","object":' + planted + b"}\n") + event("ADDED", secret("later"))
    with following(tmp_path / "hub", listed, then(CHUNKED + changed, open_end)) as (_, found):
        patience.until(lambda: list(found.members()) == ["deep", "good", "later"])
    assert "many is left out: it has more than 64 labels" in caplog.text


def test_no_more_objects_are_kept_than_clusters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The oldest ones are, wherever the list has them. A newer one that comes is left out, and found by the next list
    once there is room."""
    unusable = {"metadata": {"name": "0", "namespace": "shop"}, "data": {}}
    events = event("ADDED", secret("c", 3)) + event("ADDED", unusable) + event("MODIFIED", secret("y", 2))
    again = Held(page("c", "z", day=3))
    steps = (
        page("c", *(f"a{number}" for number in range(250)), more="next", day=9),
        page("d", "e", more="last", day=8),
        page("y", "z", day=2),
        CHUNKED + events + chunk(b""),
        again,
        then(CHUNKED + event("DELETED", secret("z")), open_end),
    )
    with following(tmp_path / "hub", *steps, most=2) as (_, found):
        patience.until(lambda: list(found.members()) == ["y", "z"])
        told = (
            "too many secrets in namespace shop, and 2 are kept: left out are the newest, such as shop/",
            "shop/0 is left out: the Secret has no key",
        )
        patience.until(lambda: all(text in caplog.text for text in told))
        again.come()
        patience.until(lambda: list(found.members()) == ["c"])


def test_a_list_without_end_neither_hides_the_fleet_nor_empties_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one offers what it has read in its time; a later one leaves the clusters found last, and the next that
    ends counts again."""
    monkeypatch.setattr(hub, "_LISTS_S", 0.0)
    second, third = Held(page("b", more="next")), Held(page("c"))
    steps = (page("a", more="next"), CHUNKED + chunk(b""), second, third, stay)
    with following(tmp_path / "hub", *steps) as (_, found):
        patience.until(lambda: "the list takes more than 0 s" in caplog.text and list(found.members()) == ["a"])
        assert not found.is_ok
        second.come()
        patience.until(lambda: "cannot be watched" in caplog.text)
        assert list(found.members()) == ["a"]
        third.come()
        patience.until(lambda: list(found.members()) == ["c"])
        patience.until(lambda: found.is_ok)


def test_a_hub_that_ends_each_watch_at_once_is_asked_once_a_second(tmp_path: Path) -> None:
    """It is asked again and again, and what it says by then counts."""
    begun = time.monotonic()
    steps = (
        page("a"),
        CHUNKED + chunk(b""),
        CHUNKED + chunk(b""),
        then(CHUNKED + event("ADDED", secret("b")), open_end),
    )
    with following(tmp_path / "hub", *steps) as (server, found):
        patience.until(lambda: list(found.members()) == ["a", "b"])
        assert len(server.requests) <= 2 + (time.monotonic() - begun)
