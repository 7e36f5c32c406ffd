"""A hostile worker where scripts may read the logs and statistics of nodes: what it makes of that at the far end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubescript.broker import broker, operation
from kubescript.cluster import live
from kubescript.policy import policy
from kubescript.wire import exchanges
from kubescript_sandbox.wire import protocol
from security_tests import raw_requests
from security_tests.recorder import Recorder
from tests.kit import quiet, reading

SENT: Final = re.compile(
    r"GET /api/v1/nodes/[a-z0-9](?:[a-z0-9-]|\.(?!\.))*/proxy/"
    r"(logs/\?query=[A-Za-z0-9][A-Za-z0-9_.@:%-]*&tailLines=[0-9]{1,5}|stats/summary) HTTP/1\.1"
)
"""All that may arrive. A colon in the name of a service is written as %3A, and nothing else is."""
EXAMPLES: Final = 1500
Count = Callable[[int], None]
Door = tuple[broker.Broker, Recorder]


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A writing broker with [nodes] before the recording server, with nothing in front."""
    with quiet.silence(), Recorder() as server:
        cluster = live.Live(server.kubeconfig(tmp_path_factory.mktemp("door")))
        rules = policy.Policy("direct", nodes=frozenset({"logs", "summary"}))
        yield reading.made(cluster, rules), server
        cluster.close()


def knock(door: Door, frame: dict[str, Any]) -> list[str]:
    """Sends one call; gives the request lines that reached the server."""
    handler, server = door
    call = protocol.decode(msgspec.json.encode(frame), exchanges.Call)
    _, response = handler.handle(call, operation.Operation(), 60)
    if response is not None:
        response.close()
    return [one.line for one in server.take()]


WORD = st.one_of(
    st.sampled_from(raw_requests.NASTY),
    st.sampled_from(("a", "node-0", "kubelet", "logs", "summary", "proxy", "run", "1", "200", "../run", "a:10255", "a%2f..", "x&query=/etc/shadow")),
    st.text(max_size=8),
)  # fmt: skip


def mostly(*usual: str) -> st.SearchStrategy[str]:
    """One of these words as a rule, or a nasty one."""
    return st.integers(0, 4).flatmap(lambda draw: st.sampled_from(usual) if draw else WORD)


PATHS = st.tuples(mostly("node-0"), mostly("logs", "summary")) | st.lists(WORD, max_size=3).map(tuple)
QUERIES = st.one_of(
    st.just(()),
    st.tuples(st.tuples(st.just("query"), mostly("kubelet", "a:b@c")), st.tuples(st.just("tail"), mostly("9"))),
    st.lists(st.tuples(mostly("query", "tail", "path", "pattern", "sinceTime"), WORD), max_size=3),
)
FRAMES = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET"] * 8 + ["POST", "PUT", "DELETE"]),
        "path": PATHS.map(lambda rest: (*exchanges.NODES, *rest)),
        "query": QUERIES,
    }
)


@pytest.mark.promise("P-23")
def test_a_kubelet_gets_two_requests_and_no_other(door: Door, attacks: Count) -> None:
    """Whatever name, service, number, verb or argument a call has, what arrives is one of two fixed requests."""
    reached: set[str] = set()
    attacks(EXAMPLES)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(FRAMES)
    def attack(frame: dict[str, Any]) -> None:
        for line in knock(door, frame):
            assert SENT.fullmatch(line), line
            reached.add(line)

    attack()
    assert {"logs", "summary"} == {line.split("?")[0].split(" ")[1].split("/")[-1] or "logs" for line in reached}


@pytest.mark.promise("P-23", "P-03")
@pytest.mark.parametrize(
    "attack", [name for name, sent in raw_requests.RAW.items() if "nodes/" in sent[1] and sent[1].startswith("api")]
)
def test_no_path_of_its_own(door: Door, attack: str) -> None:
    """The setting opens no proxy: a worker's own paths below a node reach nothing, and the two reads still do."""
    method, path, query, accept = raw_requests.RAW[attack]
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    assert knock(door, {"method": method, "path": tuple(path.split("/")), "query": pairs, "accept": accept}) == []
    assert len(knock(door, {"method": "GET", "path": (*exchanges.NODES, "n", "summary")})) == 1
