"""A list read by pages and not to its end is said so; one that was read whole is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescript.broker import broker, summary
from kubescript.cluster import live
from kubescript.policy import policy
from kubescript.wire import protocol

ALL = ("api", "v1", "pods")
CUSTOM = ("apis", "cert-manager.io", "v1", "certificates")


@pytest.fixture
def door(kubeconfig: Path) -> Iterator[broker.Broker]:
    """The broker of a real cluster."""
    cluster = live.Live(kubeconfig)
    yield broker.Broker(cluster, policy.Policy())
    cluster.close()


def page(door: broker.Broker, tally: summary.Summary, path: tuple[str, ...], limit: int, token: str = "") -> str:
    """Read one page; gives the token of the next."""
    query = (("limit", str(limit)), *((("continue", token),) if token else ()))
    reply, response = door.handle(protocol.Call("GET", path, query), tally, 10)
    assert reply.fault is None and response is not None
    return str(json.loads(b"".join(response.chunks))["metadata"].get("continue", ""))


@pytest.mark.parametrize("path", [ALL, CUSTOM], ids=["built in", "custom"])
def test_a_first_page_alone_is_noted(path: tuple[str, ...], door: broker.Broker) -> None:
    """With its limit and what is left, wherever the API server puts the metadata."""
    tally = summary.Summary()
    page(door, tally, path, 2)
    [(note, times)] = tally.pages.notes().items()
    assert (f"list {path[-1]}" in note, "first page of 2 only, " in note, " more)" in note, times) == (
        True,
        True,
        True,
        1,
    )


@pytest.mark.parametrize("path", [ALL, CUSTOM], ids=["built in", "custom"])
def test_a_list_read_to_its_last_page_is_not_noted(path: tuple[str, ...], door: broker.Broker) -> None:
    """Whether there was one page or several."""
    tally = summary.Summary()
    token, pages = page(door, tally, path, 1 if path is CUSTOM else 40), 1
    while token:
        token, pages = page(door, tally, path, 1 if path is CUSTOM else 40, token), pages + 1
    assert pages > 2 and tally.pages.notes() == {}
    page(door, tally, path, 1_000)
    assert tally.pages.notes() == {}


def test_pages_are_counted_until_the_script_stops(door: broker.Broker) -> None:
    """Three pages of many are three pages."""
    tally = summary.Summary()
    token = page(door, tally, ALL, 10)
    for _ in range(2):
        token = page(door, tally, ALL, 10, token)
    [note] = tally.pages.notes()
    assert note.startswith("list pods (3 pages of 10 only, ")


def test_two_lists_are_told_apart(door: broker.Broker) -> None:
    """The one that was finished is not noted, the other is."""
    tally = summary.Summary()
    token = page(door, tally, ALL, 150)
    page(door, tally, ("api", "v1", "namespaces"), 1)
    page(door, tally, ALL, 150, token)
    [note] = tally.pages.notes()
    assert note.startswith("list namespaces (first page of 1 only, ")


BODIES = {
    "a continue inside an item": (b'{"kind":"List","metadata":{},"items":[{"metadata":{"continue":"x"}}]}', False),
    "a continue in the last item": (b'{"items":[{"spec":{"metadata":{"continue":"x"}}}],"kind":"L"}', False),
    "text that looks like it": (b'{"metadata":{},"items":[{"a":"\\"metadata\\":{\\"continue\\":\\"x\\"}}"}]}', False),
    "no metadata": (b'{"items":[]}', False),
    "an empty token": (b'{"metadata":{"continue":""},"items":[]}', False),
    "a token that is a number": (b'{"metadata":{"continue":5},"items":[]}', False),
    "nested without end": (b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b',"items":[]}', False),
    "metadata first": (b'{"metadata":{"continue":"x","remainingItemCount":7},"items":[]}', True),
    "metadata last": (b'{"items":[' + b'{"a":1},' * 9_000 + b'{"a":1}],"metadata":{"continue":"x"}}\n', True),
    "white space": (b'{ "metadata": { "continue": "x" }, "items": [] }', True),
    "a table": (b'{"kind":"Table","metadata":{"continue":"x"},"columnDefinitions":[],"rows":[]}', True),
}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", BODIES)
def test_only_the_lists_own_metadata_counts(name: str, size: int) -> None:
    """Whatever the items say, and wherever the pieces are cut."""
    from kubescript import types
    from kubescript.broker import pagination
    from kubescript.request import request

    body, partial = BODIES[name]
    if size < 1 << 20 and len(body) > 1_000:
        size = 777
    call = request.parse(protocol.Call("GET", ALL, (("limit", "5"),)))
    chunks = (body[at : at + size] for at in range(0, len(body), size))
    pages = pagination.Pages()
    response = pages.followed(call, "list pods", types.Response(200, "OK", "application/json", chunks, lambda: None))
    assert b"".join(response.chunks) == body
    assert bool(pages.notes()) == partial
