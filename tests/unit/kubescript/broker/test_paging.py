"""A list read by pages and not to its end is said so; one that was read whole is not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.broker import broker, listings, operation, summary
from kubescript.cluster import live
from kubescript.output import notes
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.engine import completeness
from tests.kit import reading

ALL = ("api", "v1", "pods")
CUSTOM = ("apis", "cert-manager.io", "v1", "certificates")


@pytest.fixture
def door(kubeconfig: Path) -> Iterator[broker.Broker]:
    """The broker of a real cluster."""
    cluster = live.Live(kubeconfig)
    yield reading.made(cluster, policy.Policy())
    cluster.close()


def counted(pages: listings.Pages) -> dict[str, int]:
    """The notes as texts."""
    return {str(note): count for note, count in pages.list_unfinished().items()}


def page(door: broker.Broker, tally: summary.Summary, path: tuple[str, ...], limit: int, token: str = "") -> str:
    """Read one page; gives the token of the next."""
    query = (("limit", str(limit)), *((("continue", token),) if token else ()))
    reply, response = door.handle(exchanges.Call("GET", path, query), operation.Operation(tally), 10)
    assert reply.fault is None and response is not None
    return str(json.loads(b"".join(response.chunks))["metadata"].get("continue", ""))


@pytest.mark.parametrize("path", [ALL, CUSTOM], ids=["built in", "custom"])
def test_a_first_page_alone_is_noted(path: tuple[str, ...], door: broker.Broker) -> None:
    """With its limit and what is left, wherever the API server puts the metadata."""
    tally = summary.Summary()
    page(door, tally, path, 2)
    [(note, times)] = counted(tally.pages).items()
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
    assert pages > 2 and counted(tally.pages) == {}
    page(door, tally, path, 1_000)
    assert counted(tally.pages) == {}


def test_pages_are_counted_until_the_script_stops(door: broker.Broker) -> None:
    """Three pages of many are three pages."""
    tally = summary.Summary()
    token = page(door, tally, ALL, 10)
    for _ in range(2):
        token = page(door, tally, ALL, 10, token)
    [note] = counted(tally.pages)
    assert note.startswith("list pods (3 pages of 10 only, ")


def test_two_lists_are_told_apart(door: broker.Broker) -> None:
    """The one that was finished is not noted, the other is."""
    tally = summary.Summary()
    token = page(door, tally, ALL, 150)
    page(door, tally, ("api", "v1", "namespaces"), 1)
    page(door, tally, ALL, 150, token)
    [note] = counted(tally.pages)
    assert note.startswith("list namespaces (first page of 1 only, ")


BODIES = {
    "a continue inside an item": (b'{"kind":"List","metadata":{},"items":[{"metadata":{"continue":"x"}}]}', False),
    "a continue in the last item": (b'{"items":[{"spec":{"metadata":{"continue":"x"}}}],"kind":"List"}', False),
    "text that looks like it": (
        b'{"kind":"List","metadata":{},"items":[{"a":"\\"metadata\\":{\\"continue\\":\\"x\\"}}"}]}',
        False,
    ),
    "no metadata": (b'{"kind":"List","items":[]}', False),
    "an empty token": (b'{"kind":"List","metadata":{"continue":""},"items":[]}', False),
    "metadata first": (b'{"kind":"List","metadata":{"continue":"x","remainingItemCount":7},"items":[]}', True),
    "metadata last": (
        b'{"kind":"List","items":[' + b'{"a":1},' * 9_000 + b'{"a":1}],"metadata":{"continue":"x"}}\n',
        True,
    ),
    "white space": (b'{ "kind": "List", "metadata": { "continue": "x" }, "items": [] }', True),
    "a table": (b'{"kind":"Table","metadata":{"continue":"x"},"columnDefinitions":[],"rows":[]}', True),
}


@pytest.mark.parametrize("limit", ["", "5"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", BODIES)
def test_only_the_lists_own_metadata_counts(name: str, size: int, limit: str) -> None:
    """Whatever the items say, wherever the pieces are cut, and whether the script has asked for pages."""
    body, partial = BODIES[name]
    if size < 1 << 20 and len(body) > 1_000:
        size = 777
    call = request.parse(exchanges.Call("GET", ALL, (("limit", limit),) if limit else ()))
    check = completeness.Check("table" if "table" in name else "list")
    chunks = (body[at : at + size] for at in range(0, len(body), size))
    assert b"".join(check.watch(chunks)) == body
    pages, trailer = listings.Pages(), check.trailer()
    assert trailer is not None
    pages.read(call, "", notes.Note("list pods"), trailer)
    assert bool(counted(pages)) == partial


FORMS: Final[tuple[exchanges.Accept, ...]] = ("json", "table", "metadata", "names")


def test_every_list_and_watch_of_an_api_server_is_whole(door: broker.Broker) -> None:
    """Empty ones too, of each kind that it serves and in each form: what is said of a list that is none is said of no
    list."""
    tally = summary.Summary()
    served: list[tuple[tuple[str, ...], dict[str, Any]]] = [(("api", "v1"), _asked(door, ("api", "v1")))]
    for group in _asked(door, ("apis",))["groups"]:
        where = ("apis", group["name"], group["preferredVersion"]["version"])
        served.append((where, _asked(door, where)))
    for path, found in served:
        for resource in found["resources"]:
            if "list" not in resource["verbs"] or resource["kind"] == "Secret":
                continue
            places = [path] + [(*path, "namespaces", "nowhere")] * resource["namespaced"]
            for place, accept in itertools.product(places, FORMS):
                watched = ("watch", "true"), ("timeoutSeconds", "1")
                query = watched if accept == "json" and resource["name"] in {"pods", "leases"} else ()
                call = exchanges.Call("GET", (*place, resource["name"]), query, accept=accept)
                reply, response = door.handle(call, operation.Operation(tally), 20)
                assert response is not None, (call, reply)
                assert b"".join(response.chunks) or query
    assert tally.calls > 200 and not tally.failed, tally.failed


def _asked(door: broker.Broker, path: tuple[str, ...]) -> dict[str, Any]:
    _, response = door.handle(exchanges.Call("GET", path), operation.Operation(), 10)
    assert response is not None
    found: dict[str, Any] = json.loads(b"".join(response.chunks))
    return found
