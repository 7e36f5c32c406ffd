"""A dead one of several clusters is found out by one call, and is asked again after a while."""

from __future__ import annotations

import json
import socket
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript import errors
from kubescript.cluster import acting, live, outages
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import listener, patience
from tests.kit.api_server import kubeconfig

LIST: Final = request.parse(exchanges.Call("GET", ("api", "v1", "pods")))
CONNECT_S: Final = 0.3
"""How long a call waits for the dead host here."""
PATIENCE_S: Final = 60.0
"""How long one waits for the host that is back: a machine with other work to do answers late."""


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a minute pass for those that wait for a place."""
    later = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 60)
    monkeypatch.setattr(outages, "time", later)


def ask(cluster: live.Live, timeout_s: float = PATIENCE_S, connect_s: float = PATIENCE_S) -> str:
    """The fault of a call that may take so long, and as long for a connection."""
    cluster.identify(time.monotonic() + PATIENCE_S, cancellation.Cancellation())  # reads the kubeconfig beforehand
    cluster._connect_s = connect_s
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

    def wait_for(self, connections: int) -> None:
        """Fails unless it has taken so many; its own thread may take the last one late."""
        patience.until(lambda: len(self.taken) >= connections)
        assert len(self.taken) == connections

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
    asked again by every call."""
    path = kubeconfig(tmp_path, host.url)
    callers = [live.Live(path, patience_s=60) for _ in range(3)]
    assert "took no connection in time" in ask(callers[0], connect_s=CONNECT_S)
    for each in callers:
        assert "took no connection a moment ago; it is asked again in" in ask(each)
    host.wait_for(1)
    host.is_dead = False
    hurry(monkeypatch)
    for each in callers:
        assert "took no connection" not in ask(each)
    host.wait_for(4)


def test_a_call_that_ends_before_it_connects_has_no_other_wait(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one without a token for the cluster nor one with too little time keeps others from a cluster that is
    back."""
    path = kubeconfig(tmp_path, host.url)
    hasty, stranger = live.Live(path, patience_s=60), live.Live(path, None, 60, acting.Bearer(audience="other"))
    victim = live.Live(path, patience_s=60)
    assert "took no connection in time" in ask(victim, connect_s=CONNECT_S)
    hurry(monkeypatch)
    with acting.using(acting.Token("text", None, frozenset({"ours"}))):
        assert "the caller's token is not sent" in ask(stranger)
    assert "took no connection in time" in ask(hasty, CONNECT_S)
    host.is_dead = False
    assert "took no connection" not in ask(victim)


def test_a_found_cluster_shares_no_outage(host: Host, tmp_path: Path) -> None:
    """One with the address of another, and a TLS name on which it hangs, keeps no call from the other one."""
    path = kubeconfig(tmp_path, host.url)
    planted = json.loads(path.read_bytes())
    planted["clusters"][0]["cluster"]["tls-server-name"] = "dead"
    name = planted["current-context"]
    assert "took no connection in time" in ask(live.Live(json.dumps(planted).encode(), name, 60), connect_s=CONNECT_S)
    host.is_dead = False
    assert "took no connection" not in ask(live.Live(path, name, 60))
    assert "took no connection" not in ask(live.Live(path.read_bytes(), name, 60))


def test_an_only_cluster_is_always_asked(host: Host, tmp_path: Path) -> None:
    """Without another cluster for which to leave time, a call waits as long as it may, and so does the next one."""
    only = live.Live(kubeconfig(tmp_path, host.url))
    for _ in range(2):
        assert "took no connection in time" in ask(only, CONNECT_S)
    host.wait_for(2)


def test_a_script_without_time_tells_nothing_of_a_cluster(host: Host, tmp_path: Path) -> None:
    """A call that has less time than a connection may take does not have the cluster left out for others."""
    cluster = live.Live(kubeconfig(tmp_path, host.url), patience_s=60)
    for _ in range(2):
        assert "took no connection in time" in ask(cluster, CONNECT_S)
    host.wait_for(2)


def test_only_so_many_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest ones are forgotten."""
    monkeypatch.setattr(outages, "_MOST", 3)
    known = outages.Outages()
    places = [("", f"https://{number}", "") for number in range(5)]
    for place in places:
        known.begin(place, time.monotonic())
    assert [known.seconds_left(place) > 0 for place in places] == [False, False, True, True, True]


def test_the_newest_finding_counts() -> None:
    """A call that fails late says nothing of a place that has answered since that call began."""
    known = outages.Outages()
    place, other = ("", "https://a", "http://proxy"), ("", "https://a", "")
    began = time.monotonic()
    known.begin(place, began)
    assert known.seconds_left(place) > 0
    assert known.seconds_left(other) == 0
    known.end(place)
    known.begin(place, began)
    assert known.seconds_left(place) == 0
    known.begin(place, time.monotonic())
    assert known.seconds_left(place) > 0
