"""Two replicas of a server for a team share a PostgreSQL, and are restarted one after the other while plans are decided and
applied. Nothing is lost and nothing is repeated, by the API server's own audit log."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes import client
from mcp.shared.exceptions import MCPError

from tests.kit import clients, kill_points, patience, people, postgres, rollouts
from tests.kit.controlplane import logged, official_client

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]

MODERN: Final = "2026-07-28"
TOKENS: Final = {name: secrets.token_hex(16) for name in ("alice", "bob")}
RULES: Final = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]}]
MANY: Final = 8
"""How many changes an application has that is interrupted."""
DIES: Final = {"ended": "", "killed": "answer 4", "unbegun": "claim 1"}
"""Where the first replica is killed; by a signal that it handles if nowhere."""


@dataclass(frozen=True)
class Team:
    """Replicas of a server that impersonates its callers, who may make ConfigMaps in one namespace."""

    cluster: logged.Logged
    core: Any
    namespace: str
    folder: Path
    flags: Sequence[str]

    @contextlib.contextmanager
    def replica(self, **environment: str) -> Iterator[tuple[int, int]]:
        """One of them, which takes a dead one's plan over at once; gives its port and process."""
        program = (kill_points.program(self.folder),)
        places = people.environment(self.folder) | environment
        with clients.running(("--toolsets", "code", *self.flags), program=program, **places) as running:
            yield running

    def script(self, name: str, count: int = 1) -> str:
        """Makes ConfigMaps."""
        create = f"k8s.coreV1().create_namespaced_config_map({self.namespace!r}, {{'metadata': {{'name': f'{name}-{{n}}'}}}})"
        return f"for n in range({count}):\n    {create}\n'tried'"

    def check(self, name: str, count: int = 1) -> None:
        """Fails unless each change was sent once, in Alice's name."""
        self.cluster.log.settle(self.cluster.plane)
        sent = [event for event in self.cluster.log.writes(rollouts.USER, self.namespace) if event.status < 300]
        made = [event.body["metadata"]["name"] for event in sent]
        own = sorted(each for each in made if each.startswith(f"{name}-"))
        assert own == sorted(f"{name}-{n}" for n in range(count))
        lines = self.cluster.log.file.read_text().splitlines()
        ours = [line for line in lines if f"/{self.namespace}/" in line and f'"name":"{name}-' in line]
        assert ours and all('"impersonatedUser":{"username":"alice"' in line for line in ours)


@pytest.fixture(scope="module")
def team(
    run_folder: Path, run_process: int, postgresql: postgres.Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Team:
    cluster, namespace = logged.attach(run_folder, run_process), f"rolling-{secrets.token_hex(3)}"
    api = official_client.connect(cluster.plane.kubeconfig)
    core: Any = client.CoreV1Api(api)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    core.create_namespace({"metadata": {"name": namespace}})
    rbac.create_namespaced_role(namespace, {"metadata": {"name": "caller"}, "rules": RULES})
    subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in TOKENS]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
    binding = {"metadata": {"name": "caller"}, "subjects": subjects, "roleRef": role}
    rbac.create_namespaced_role_binding(namespace, binding)
    folder = tmp_path_factory.mktemp("rolling")
    tokens = folder / "tokens.csv"
    tokens.write_text("".join(f"{token},{name},uid-{name}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    settings = f'acts_as = "impersonate"\n[auth]\ntokens_file = "{tokens}"\n'
    settings += f'[plans]\nstore = "{postgresql.database()}"\nfollow_s = 0\n[http]\nstateless = true\n'
    kubeconfig = cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
    return Team(cluster, core, namespace, folder, people.flags(folder, kubeconfig, settings))


def test_a_question_is_answered_at_any_replica_by_its_caller_alone(team: Team) -> None:
    """Also where the one that asked is gone. Whoever brings the answer twice, hears of the end twice."""
    script = team.script("asked")
    with team.replica() as (second, _):
        with (
            team.replica() as (first, process),
            people.joined(first, MODERN, people.Client(), TOKENS["alice"]) as alice,
        ):
            question = alice.begin(script)
            os.kill(process, signal.SIGTERM)
        with people.joined(second, MODERN, people.Client(), TOKENS["bob"]) as bob:
            with pytest.raises(MCPError, match="requestState"):
                bob.resume(script, question)
            assert clients.text(bob.ask("1 + 1")) == "2"
        with people.joined(second, MODERN, people.Client(), TOKENS["alice"]) as alice:
            with pytest.raises(MCPError, match="requestState"):
                alice.resume(team.script("swapped"), question)
            answer = clients.text(alice.resume(script, question))
            assert answer.startswith("tried") and "and applied; 1 of 1 changes were made" in answer
        with team.replica() as (third, _), people.joined(third, MODERN, people.Client(), TOKENS["alice"]) as alice:
            again = clients.text(alice.resume(script, question, "decline"))
            assert again.startswith("tried") and "and applied; 1 of 1 changes were made" in again
            assert clients.text(alice.ask("1 + 1")) == "2"
    team.check("asked")


def test_an_answer_counts_when_the_store_is_there_again(team: Team, postgresql: postgres.Postgres) -> None:
    """Meanwhile its client is told that nothing is changed, and calls that have nothing to do with plans are answered."""
    script = team.script("later")
    with team.replica() as (port, _), people.joined(port, MODERN, people.Client(), TOKENS["alice"]) as alice:
        question = alice.begin(script)
        postgresql.kill()
        try:
            answer = alice.resume(script, question)
            assert answer.is_error and "error plan.store" in clients.text(answer)
            assert clients.text(alice.ask("1 + 1")) == "2"
        finally:
            postgresql.start()
        assert "applied; 1 of 1 changes were made" in clients.text(alice.resume(script, question))
        assert clients.text(alice.ask("1 + 1")) == "2"
    team.check("later")


def test_the_next_call_hears_at_any_replica_what_others_have_decided(team: Team) -> None:
    """A person at a terminal approves; another caller's call hears nothing."""
    with team.replica() as (first, _), people.joined(first, MODERN, None, TOKENS["alice"]) as alice:
        answer = alice.ask(team.script("told"))
        plan = people.plan_in(answer)
        assert f"open http://127.0.0.1:{first}/approvals/plans/{plan} within" in clients.text(answer)
    code, screen = people.at_terminal(plan, team.flags, people.environment(team.folder))
    assert code == 0 and "for user alice, in whose name it is sent" in " ".join(screen.split()), screen
    with team.replica() as (second, _):
        with people.joined(second, MODERN, None, TOKENS["bob"]) as bob:
            assert clients.text(bob.ask("1 + 1")) == "2"
        with people.joined(second, MODERN, None, TOKENS["alice"]) as alice:
            news = clients.text(alice.ask("1 + 1"))
            assert news.startswith(f"2\nplan {plan}: approved by uid") and "applied; 1 of 1 changes" in news
            assert clients.text(alice.ask("1 + 1")) == "2"
    team.check("told")


@pytest.mark.parametrize("how", DIES)
def test_a_restart_in_the_middle_of_an_application_loses_and_repeats_nothing(how: str, team: Team) -> None:
    """Its client brings the answer again, to another replica, and hears of the end."""
    name, dies = how, DIES[how]
    script = team.script(name, MANY)
    questions: list[Any] = []
    with team.replica(**({kill_points.DIES_AT: dies} if dies else {})) as (first, process):
        asking = threading.Thread(target=_decide, args=(first, script, questions))
        asking.start()
        if not dies:
            patience.until(lambda: _has(team, f"{name}-2"))
            os.kill(process, signal.SIGTERM)
        asking.join()
    (question,) = questions
    with (
        team.replica() as (second, _),
        people.joined(second, MODERN, people.Client(), TOKENS["alice"]) as alice,
    ):
        answer = clients.text(alice.resume(script, question))
        assert answer.startswith("tried") and f"applied; {MANY} of {MANY} changes were made" in answer, answer
        assert clients.text(alice.ask("1 + 1")) == "2"
    team.check(name, MANY)


def _decide(port: int, script: str, questions: list[Any]) -> None:
    """Keeps the question about a script's plan, and brings the answer to a replica that ends meanwhile."""
    with contextlib.suppress(Exception), people.joined(port, MODERN, people.Client(), TOKENS["alice"]) as alice:
        questions.append(alice.begin(script))
        alice.resume(script, questions[0])


def _has(team: Team, name: str) -> bool:
    return name in {each.metadata.name for each in team.core.list_namespaced_config_map(team.namespace).items}
