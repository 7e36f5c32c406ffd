"""A dead one of several clusters is found out by one call, and asked again by one call at a time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript import errors
from kubescript.cluster import live, outages
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import listener
from tests.kit.api_server import kubeconfig

LIST: Final = request.parse(exchanges.Call("GET", ("api", "v1", "pods")))
CONNECT_S: Final = 0.3


def ask(cluster: live.Live, timeout_s: float = 60) -> str:
    """The fault of a call."""
    with pytest.raises(errors.ClusterError) as raised:
        cluster.perform(LIST, timeout_s, cancellation.Cancellation())
    return raised.value.message


class Host:
    """Takes connections, and says nothing while it is dead; afterwards it hangs up, which needs no waiting either."""

    def __init__(self) -> None:
        self.is_dead = True
        self.taken: list[socket.socket] = []
        self._listener = listener.Listener(self._serve)
        self.url = f"https://127.0.0.1:{self._listener.port}"

    def _serve(self, sock: socket.socket) -> None:
        self.taken.append(sock)
        if not self.is_dead:
            sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        for sock in self.taken:
            sock.close()


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


def test_a_dead_cluster_is_asked_by_one_call(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call waits for a connection, and the next one, of another caller too, is told so at once. Later it is
    asked again, and once it does anything, by every call."""
    monkeypatch.setattr(live, "_CONNECT_OF_SEVERAL_S", CONNECT_S)
    path = kubeconfig(tmp_path, host.url)
    callers = [live.Live(path, patience_s=60) for _ in range(3)]
    assert "took no connection in time" in ask(callers[0])
    for each in callers:
        assert "took no connection a moment ago; it is asked again in" in ask(each)
    assert len(host.taken) == 1
    host.is_dead = False
    monkeypatch.setattr(outages, "_HOLD_S", 0.0)
    outages.KNOWN.begin((host.url, ""))
    monkeypatch.undo()
    for each in callers:
        assert "took no connection" not in ask(each)
    assert len(host.taken) == 4


def test_an_only_cluster_is_always_asked(host: Host, tmp_path: Path) -> None:
    """Without another cluster for which to leave time, a call waits as long as it may, and so does the next one."""
    only = live.Live(kubeconfig(tmp_path, host.url))
    for _ in range(2):
        assert "took no connection in time" in ask(only, CONNECT_S)
    assert len(host.taken) == 2


def test_a_script_without_time_tells_nothing_of_a_cluster(host: Host, tmp_path: Path) -> None:
    """A call that has less time than a connection may take does not have the cluster left out for others."""
    cluster = live.Live(kubeconfig(tmp_path, host.url), patience_s=60)
    for _ in range(2):
        assert "took no connection in time" in ask(cluster, CONNECT_S)
    assert len(host.taken) == 2


def test_only_so_many_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest ones are forgotten."""
    monkeypatch.setattr(outages, "_MOST", 3)
    known = outages.Outages()
    places = [(f"https://{number}", "") for number in range(5)]
    for place in places:
        known.begin(place)
    assert [known.seconds_left(place) > 0 for place in places] == [False, False, True, True, True]


def test_one_call_at_a_time_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time is over, the first one to ask has the others wait."""
    known = outages.Outages()
    place = "https://a", "http://proxy"
    monkeypatch.setattr(outages, "_HOLD_S", 0.0)
    known.begin(place)
    monkeypatch.setattr(outages, "_HOLD_S", 60.0)
    assert known.seconds_left(place) == 0
    assert known.seconds_left(place) > 0
    assert known.seconds_left(("https://a", "")) == 0
    known.end(place)
    assert known.seconds_left(place) == 0
