"""Attacks on the page of a server for a team: by people who are not logged in, by callers, and by other sites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client

from tests.kit import callers, patience
from tests.kit.controlplane import shared
from tests.kit.team_page import PLANS, Team, make

PAYMENTS: Final = callers.NAMESPACES["alice"]
SHOP: Final = callers.NAMESPACES["bob"]
SETTINGS: Final = f"""
writes = "plan"
[[approvers]]
users = ["bob"]
namespaces = ["{PAYMENTS}"]
"""


@pytest.fixture(scope="module")
def known(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    scratch = shared.attach("scratch", run_folder, run_process)
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def team(known: callers.Callers) -> Iterator[Team]:
    """Alice and Bob make plans; Bob may approve those for Alice's namespace, and Eve none."""
    store = f'[plans]\nstore = "{known.folder / "plans" / "plans.db"}"\n'
    with known.serving(SETTINGS, known.tokens(), store) as port:
        yield Team(f"http://127.0.0.1:{port}", known.secrets)


def exists(known: callers.Callers, namespace: str, name: str) -> bool:
    """Whether a ConfigMap was made."""
    core: Any = client.CoreV1Api(known.api)
    return name in {each.metadata.name for each in core.list_namespaced_config_map(namespace).items}


@pytest.mark.promise("V-05")
def test_a_person_logs_in_and_approves_what_another_one_asked_for(team: Team, known: callers.Callers) -> None:
    """The plan waits on the approver's page, and is applied after the approval."""
    made = team.plan("alice", make(PAYMENTS, "approved"))
    bob = team.person("bob")
    shown = bob.get()
    assert made in shown.body and "Log out" in shown.page.words
    assert bob.decide(made).status == 303
    patience.until(lambda: "Applied" in bob.get(f"{PLANS}/{made}").page.words)
    assert exists(known, PAYMENTS, "approved")
    assert "user bob" in team.person("alice").get(f"{PLANS}/{made}").page.words
