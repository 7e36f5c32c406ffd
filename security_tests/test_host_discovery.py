"""Discovery of a hostile API server: what the policy reads of it costs bounded memory, and leads to no other path."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest

from kubescript import types
from kubescript.broker import broker, operation
from kubescript.policy import denied_resources, kind_resolver, policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import reading

GRACE_S: Final = 20.0
RULE: Final = denied_resources.DeniedResource("*", kind="Certificate")
REAL: Final = {"resources": [{"name": "widgets", "kind": "Widget"}, {"name": "certificates", "kind": "Certificate"}]}


class Hostile:
    """A cluster whose every discovery document is this one, except for the groups."""

    name = "hostile"
    address = "https://127.0.0.1:6443"
    namespace = "default"
    is_named_by_data = False

    def __init__(self, groups: list[Any], document: Any) -> None:
        self.document = json.dumps(document).encode()
        self.groups = json.dumps({"groups": groups}).encode()
        self.asked: list[str] = []

    def perform(self, call: request.Request, _s: float, _cancel: cancellation.Cancellation) -> types.Response:
        """Answer anything."""
        self.asked.append(call.path)
        body = self.groups if call.path == "/apis" else self.document
        return types.Response(200, "OK", "application/json", _pieces(body), lambda: None)

    def close(self) -> None:
        """Nothing is open."""


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 256 * 1024):
        yield body[start : start + 256 * 1024]


def verdict(door: broker.Broker, path: tuple[str, ...]) -> str:
    """The code of the fault of a GET; empty when it was allowed."""
    reply, response = door.handle(exchanges.Call("GET", path), operation.Operation(), GRACE_S)
    if response is not None:
        response.close()
    return reply.fault.code if reply.fault is not None else ""


def kinds(names: Iterable[str]) -> dict[str, Any]:
    """A document of these resources."""
    return {"resources": [{"name": name, "kind": "K"} for name in names]}


DOCUMENTS: Final[dict[str, tuple[int, Callable[[], dict[str, Any]]]]] = {
    "many": (2, lambda: kinds(f"n{number}" for number in range(200_000))),
    "some": (60, lambda: kinds(f"n{number}" for number in range(4_900))),
    "long": (12, lambda: kinds(["n" * 4_000_000])),
}
"""How many versions have each. The many are seven megabytes, that take ten times as many in memory."""


@pytest.mark.promise("P-09")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_remembered_of_discovery_is_bounded(name: str) -> None:
    """A script invents versions of the core group, each of which the API server has, with names without end."""
    count, document = DOCUMENTS[name]
    cluster = Hostile([], document())
    door = reading.made(cluster, policy.Policy(), resolve=kind_resolver.KindResolver(cluster))
    tracemalloc.start()
    try:
        for number in range(count):
            verdict(door, ("api", f"v{number}", "widgets"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 32 << 20
    cluster.document = json.dumps(REAL).encode()
    assert verdict(door, ("api", "v1alpha1", "widgets")) == ""


ABSURD: Final = (
    "../../api/v1/namespaces/shop/secrets",
    "a?b",
    "a#b",
    "a/b",
    "a%2e%2e",
    "a\r\nHost: other",
    "A",
    "",
    "a" * 254,
)


@pytest.mark.promise("P-09", "W-04")
@pytest.mark.parametrize("name", ABSURD, ids=range(len(ABSURD)))
@pytest.mark.parametrize("is_group", [True, False], ids=["group", "version"])
def test_no_name_of_discovery_becomes_another_path(name: str, is_group: bool) -> None:
    """The host asks for each group that a cluster names: names that no API server has are not asked for."""
    group = {"name": name, "versions": [{"version": "v1"}]}
    if not is_group:
        # Attack: behind a version that is one.
        group = {"name": "g.example", "versions": [{"version": "v1"}, {"version": name}]}
    cluster = Hostile([group], {"resources": []})
    resolve = kind_resolver.KindResolver(cluster)
    assert resolve.serves(RULE, GRACE_S) is None
    assert cluster.asked == ["/apis"]
    cluster.groups = json.dumps({"groups": [{"name": "g.example", "versions": [{"version": "v1"}]}]}).encode()
    cluster.document = json.dumps(REAL).encode()
    assert resolve.serves(RULE, GRACE_S) is True
