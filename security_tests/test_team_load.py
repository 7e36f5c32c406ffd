"""Attacks on the page of a server for a team by one person's load: other people go on reading and deciding."""

from __future__ import annotations

from concurrent import futures
from typing import Any, Final

import httpx2
import pytest

from tests.kit import callers
from tests.kit.controlplane import shared
from tests.kit.team_page import PLANS, Person, Team, make

pytestmark = pytest.mark.promise("V-05")

SHOP: Final = callers.NAMESPACES["bob"]
LONG: Final = f"""
data = {{f"k{{i}}": "\N{GRINNING FACE}" for i in range(6000)}}
k8s.coreV1().create_namespaced_config_map({SHOP!r}, {{"metadata": {{"name": "long"}}, "data": data}})
"tried"
"""
"""A script whose plan is a page of some MiB, which takes hundreds of milliseconds to make."""


@pytest.fixture(scope="module")
def known(run_folder: Any, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    scratch = shared.attach("scratch", run_folder, run_process)
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("load"))


def ask(person: Person, plan: str) -> int:
    """The status of a plan's page, which is not looked at."""
    cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    url = f"{person.team.url}{PLANS}/{plan}"
    return httpx2.get(url, headers={"Cookie": cookies}, timeout=60, trust_env=False).status_code


def test_a_person_with_many_requests_for_a_long_page_holds_up_nobody(known: callers.Callers) -> None:
    """Attack: a caller makes a long plan, and asks for its page on many connections. A few of them wait, one behind the
    other, the rest are refused, and another person's turn comes before theirs."""
    store = f'[plans]\nstore = "{known.folder}/plans/plans.db"\n'
    with known.serving('writes = "plan"\n', known.tokens(), store) as port:
        team = Team(f"http://127.0.0.1:{port}", known.secrets)
        made, own = team.plan("eve", LONG), team.plan("bob", make(SHOP, "beside-load"))
        eve, bob = team.person("eve"), team.person("bob")
        with futures.ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(ask, eve, made) for _ in range(20)]
            futures.wait(asked, return_when=futures.FIRST_COMPLETED)
            assert bob.decide(own, "decline").status == 303
            assert sum(not each.done() for each in asked) >= 5
            assert sorted(each.result() for each in asked) == [200] * 9 + [503] * 11
        assert ask(eve, made) == 200
