"""Attacks on the page of a server for a team by one person's load: other people go on reading and deciding."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any, Final, Self

import httpx2
import pytest

from kubescript.changes import turns
from kubescript.changes.page import rendering
from kubescript.changes.store import record
from kubescript.transports import http_connections
from tests.kit import callers, patience
from tests.kit.controlplane import shared
from tests.kit.team_page import PLANS, Person, Team, make

pytestmark = pytest.mark.promise("V-05")

SHOP: Final = callers.NAMESPACES["bob"]
LONG: Final = f"""
data = {{f"k{{i}}": "\N{GRINNING FACE}" for i in range(600)}}
k8s.coreV1().create_namespaced_config_map({SHOP!r}, {{"metadata": {{"name": "long"}}, "data": data}})
"tried"
"""
"""A script whose plan has a page that takes a while to make."""
LARGE: Final = f"""
for n in range(8):
    made = {{"metadata": {{"name": f"large-{{n}}"}}, "data": {{"key": "x" * 500_000}}}}
    k8s.coreV1().create_namespaced_config_map({SHOP!r}, made)
"tried"
"""
"""A script whose plan has a page of 4 MB, which takes tens of milliseconds to make."""


@pytest.fixture(scope="module")
def known(run_folder: Any, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    scratch = shared.attach("scratch", run_folder, run_process)
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("load"))


@pytest.fixture(scope="module")
def team(known: callers.Callers) -> Iterator[Team]:
    """A server that keeps at most 32 MiB of unread answers for each person."""
    tables = f'[plans]\nstore = "{known.folder}/plans/plans.db"\n[http]\nmax_sessions = 4\n'
    with pytest.MonkeyPatch.context() as patch:
        # After 15 s it would end a connection on which nothing is read. A busy machine takes longer to make all pages.
        patch.setattr(http_connections.protocol, "__defaults__", (600.0,))
        with known.serving('writes = "plan"\n', known.tokens(), tables) as port:
            yield Team(f"http://127.0.0.1:{port}", known.secrets)


@pytest.fixture(scope="module")
def long(team: Team) -> str:
    """A plan of Eve's."""
    return team.plan("eve", LONG)


def ask(person: Person, plan: str) -> int:
    """The status of a plan's page, which is not looked at."""
    headers = {"Cookie": cookies(person)}
    return httpx2.get(f"{person.team.url}{PLANS}/{plan}", headers=headers, timeout=120, trust_env=False).status_code


def cookies(person: Person) -> str:
    """What a person's browser sends."""
    return "; ".join(f"{name}={value}" for name, value in person.cookies.items())


def test_a_person_with_many_requests_for_a_long_page_holds_up_nobody(
    team: Team, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a caller makes a long plan, and asks for its page on many connections. A few of them wait, one behind the
    other, the rest are refused, and another person's turn comes before theirs."""
    own = team.plan("bob", make(SHOP, "beside-load"))
    eve, bob = team.person("eve"), team.person("bob")
    show, over = rendering.Pages.show, threading.Event()

    def show_later(pages: rendering.Pages, request: Any, entry: record.Record, *given: Any, **more: Any) -> Any:
        """The long page takes as long as the test needs to have all asked, on a machine of any speed."""
        if entry.plan.id == long:
            over.wait()
        return show(pages, request, entry, *given, **more)

    monkeypatch.setattr(rendering.Pages, "show", show_later)
    with futures.ThreadPoolExecutor(20) as pool:
        try:
            asked = [pool.submit(ask, eve, long) for _ in range(20)]
            patience.until(lambda: sum(each.done() for each in asked) == 11)
            assert bob.decide(own, "decline").status == 303
            assert sum(each.done() for each in asked) == 11
        finally:
            over.set()
        assert sorted(each.result() for each in asked) == [200] * 9 + [503] * 11
    assert ask(eve, long) == 200


def test_answers_that_a_person_does_not_read_are_bounded(team: Team) -> None:
    """Attack: a caller asks for a large page on one connection after another, and reads none. Those that have waited longest
    are ended, and no other person's."""
    eve, bob = team.person("eve"), team.person("bob")
    made, others = team.plan("eve", LARGE), team.plan("bob", LARGE)
    with contextlib.ExitStack() as opened:
        theirs = opened.enter_context(Unread(bob, others))
        own = [opened.enter_context(Unread(eve, made)) for _ in range(12)]
        assert [each.is_whole() for each in (theirs, own[-1], own[0])] == [True, True, False]
    assert ask(eve, made) == 200


class Unread:
    """A connection on which an answer has begun to arrive, and is not read."""

    def __init__(self, person: Person, plan: str) -> None:
        self._socket = socket.socket()
        # Otherwise the kernel would take the whole answer.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(120)
        self._socket.connect(("127.0.0.1", person.team.port))
        head = (f"GET {PLANS}/{plan} HTTP/1.1", f"Host: 127.0.0.1:{person.team.port}", f"Cookie: {cookies(person)}")
        self._socket.sendall("\r\n".join((*head, "", "")).encode())
        self._socket.recv(1, socket.MSG_PEEK)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def is_whole(self) -> bool:
        """Reads the answer; says whether all of it has come."""
        answer = http.client.HTTPResponse(self._socket)
        with contextlib.suppress(ConnectionError, http.client.IncompleteRead):
            answer.begin()
            answer.read()
            return answer.status == 200
        return False


def test_one_authors_approved_plans_leave_room_for_others() -> None:
    """Attack: an author approves a hundred own plans on the page, for a cluster that does not answer. Four of them have a
    thread; another author's plan is applied meanwhile, and in the end each once, also after one whose application fails."""
    answers, applied, begun = threading.Event(), [], []

    def apply(plan: str) -> None:
        begun.append(plan)
        if plan != "urgent":
            answers.wait()
        applied.append(plan)
        if plan == "eve-0":
            raise RuntimeError

    own = turns.Turns(apply)
    for number in range(100):
        own.add("eve", f"eve-{number}")
    for plan in ("urgent", "eve-0", "eve-99"):  # those that are here already are not added again
        own.add("bob", plan)
    patience.until(lambda: applied == ["urgent"])
    assert sorted(begun) == ["eve-0", "eve-1", "eve-2", "eve-3", "urgent"]
    answers.set()
    patience.until(lambda: len(applied) == 101)
    assert len(set(applied)) == 101
    own.add("bob", "later")
    patience.until(lambda: applied[-1] == "later")
