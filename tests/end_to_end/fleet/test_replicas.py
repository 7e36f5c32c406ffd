"""Three replicas behind a real HAProxy lose nothing that they promised: under scripts of many callers they are restarted
one after the other, and killed. What became of plans is judged by the API server's own audit log."""

from __future__ import annotations

import contextlib
import http.client
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from kubernetes import client

from tests.kit import (
    callers,
    clients,
    commands,
    crowd,
    dead_machine,
    extent,
    haproxy,
    patience,
    postgres,
    replicas,
    rollouts,
    session,
    team_page,
)
from tests.kit.controlplane import logged, official_client

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow, pytest.mark.sampled]

TOKENS: Final = {f"caller-{number}": secrets.token_hex(16) for number in range(10)}
RULES: Final = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]}]
NAMESPACE: Final = f"replicas-{secrets.token_hex(3)}"
WORK: Final = f"""\
for _ in watch.Watch().stream(k8s.CoreV1Api().list_namespaced_config_map, {NAMESPACE!r}, timeout_seconds=6):
    pass
{{number}}
"""
CLIENTS: Final = extent.count(100, 30)
PLANS: Final = 20
STEPS: Final = 8
MAKE: Final = f"""\
for n in range({STEPS}):
    k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {{{{"metadata": {{{{"name": f"{{name}}-{{{{n}}}}"}}}}}}}})
"tried"
"""
ENDED: Final = re.compile("try again|SSE stream ended|Server disconnected without|Connection closed")
"""What clients hear of a call that has ended; the last two are those whose connection HAProxy closes without a word."""
LONG: Final = pytest.mark.skipif(not extent.LONG, reason="takes minutes; `make fleet` runs it")


@pytest.fixture(scope="module")
def cluster(run_folder: Path, run_process: int) -> logged.Logged:
    """An API server with an audit log, on which each caller may make ConfigMaps."""
    found = logged.attach(run_folder, run_process)
    api = official_client.connect(found.plane.kubeconfig)
    core: Any = client.CoreV1Api(api)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "seen"}})
    rbac.create_namespaced_role(NAMESPACE, {"metadata": {"name": "caller"}, "rules": RULES})
    subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in TOKENS]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
    binding = {"metadata": {"name": "caller"}, "subjects": subjects, "roleRef": role}
    rbac.create_namespaced_role_binding(NAMESPACE, binding)
    return found


@pytest.fixture(scope="module")
def serve(
    cluster: logged.Logged, postgresql: postgres.Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], replicas.Replicas]:
    """Makes three replicas with these settings in the table `http`."""

    def make(http: str) -> replicas.Replicas:
        folder = tmp_path_factory.mktemp("replicas")
        tokens = folder / "tokens.csv"
        tokens.write_text("".join(f"{token},{name},uid-{name}\n" for name, token in TOKENS.items()))
        tokens.chmod(0o600)
        settings = f'acts_as = "impersonate"\n[impersonation]\ngroups = ["team"]\n[auth]\ntokens_file = "{tokens}"\n'
        settings += f'[replicas]\nstore = "{postgresql.database()}"\n[sandbox]\nmax_scripts = 60\n'
        kubeconfig = cluster.plane.kubeconfig_for(rollouts.USER, ("system:masters",))
        return replicas.Replicas(folder, kubeconfig, settings, f"requests_per_minute = 100000\n{http}\n")

    return make


@pytest.fixture(scope="module")
def three(serve: Callable[[str], replicas.Replicas]) -> Iterator[replicas.Replicas]:
    with serve("") as served:
        yield served


def test_a_rolling_restart_costs_no_client_an_answer(three: replicas.Replicas) -> None:
    """Each replica is told to end (SIGTERM) while clients of every kind wait for scripts on it; clients with sessions begin
    new ones."""
    with crowd.Crowd(three.port, list(TOKENS.values()), WORK, CLIENTS) as people:
        for replica in extent.some(three.each, 1):
            replica.restart()
    assert not people.failures
    assert people.restarts and people.answers > CLIENTS
    assert _complaints(three) == []


@LONG
def test_a_rolling_restart_costs_no_client_without_sessions_an_answer(
    serve: Callable[[str], replicas.Replicas],
) -> None:
    """Servers that keep none, for clients of every kind."""
    with serve("stateless = true") as three:
        with crowd.Crowd(three.port, list(TOKENS.values()), WORK, CLIENTS) as people:
            for replica in three.each:
                replica.restart()
        assert not people.failures and not people.restarts
        assert people.answers > CLIENTS
        assert _complaints(three) == []


def test_a_killed_replica_costs_its_own_clients_one_answer(three: replicas.Replicas) -> None:
    """Each of them hears that its call has ended, and its next one is answered; all others hear nothing of it. HAProxy 2.6
    closes a connection that has had an answer before without a word, HAProxy 3.0 sends a 502 there too."""
    with crowd.Crowd(three.port, list(TOKENS.values()), WORK, CLIENTS) as people:
        three.each[1].kill()
        three.each[1].start()
        three.each[1].wait()
    numbers = [number for number, _ in people.failures]
    assert 0 < len(numbers) < CLIENTS / 2 and len(set(numbers)) == len(numbers), people.failures
    assert [heard for _, heard in people.failures if not ENDED.search(heard)] == []
    with crowd.Crowd(three.port, list(TOKENS.values()), "{number}", len(TOKENS)) as after:
        pass
    assert not after.failures and after.answers


def test_clients_of_a_machine_that_dies_without_a_word_hear_of_it(tmp_path: Path) -> None:
    """The balancer tells them, and asks the others meanwhile."""
    with dead_machine.DeadMachine() as one:
        port = clients.free_port()
        with haproxy.Balancer(tmp_path, port, [one.port] * 3):
            assert httpx2.get(f"http://127.0.0.1:{port}/mcp", timeout=60).status_code == 200
            answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", json={}, timeout=60)
            assert answer.status_code == 502 and "what it had begun may have been done" in answer.text
            assert httpx2.get(f"http://127.0.0.1:{port}/mcp", timeout=60).status_code == 200


def test_clients_of_the_older_transport_stay_at_one_replica(three: replicas.Replicas) -> None:
    """Their stream and what they post meet at one, whichever caller it is."""

    async def ask(token: str) -> str:
        async with callers.connected(three.port, token, transport="sse") as client:
            return clients.text(await clients.evaluate(client, "1 + 1"))

    assert {anyio.run(ask, token) for token in list(TOKENS.values())[:4]} == {"2"}


def test_a_stream_is_resumed_at_its_replica_alone(three: replicas.Replicas) -> None:
    """A client that comes again with Last-Event-ID gets the answer that it missed. Where its replica is gone, it is told
    that the session is, and its next session works."""
    client = session.Session(three.url, TOKENS["caller-0"])
    event = client.begin(WORK.format(number=1))
    assert client.resume(event).endswith("1")
    event = client.begin(WORK.format(number=2))
    own = next(replica for replica in three.each if client.is_known_at(replica.url))
    own.kill()
    own.start()
    assert client.resume(event) == "404"
    own.wait()
    client = session.Session(three.url, TOKENS["caller-0"])
    assert client.resume(client.begin(WORK.format(number=3))).endswith("3")


@LONG
def test_approved_plans_are_applied_once_whichever_replica_is_killed(
    three: replicas.Replicas, cluster: logged.Logged
) -> None:
    """People approve twenty plans on the page while two of three replicas are killed. The API server has heard of every
    change once, in its author's name, and the replicas' audit files are whole together."""
    team = team_page.Team(three.url, TOKENS)
    authors = [f"caller-{number % len(TOKENS)}" for number in range(PLANS)]
    with futures.ThreadPoolExecutor(4) as pool:
        scripts = [MAKE.format(name=f"plan-{number}") for number in range(PLANS)]
        plans = list(pool.map(team.plan, authors, scripts))
        deciding = [pool.submit(_approve, team, *each) for each in zip(authors, plans, strict=True)]
        for replica, count in ((three.each[0], 4), (three.each[1], 10)):
            _wait_for(deciding, count)
            replica.kill()
        for replica in three.each[:2]:
            replica.start()
            replica.wait()
        for each in deciding:
            each.result()
    wanted = sorted(f"plan-{number}-{step}" for number in range(PLANS) for step in range(STEPS))
    patience.until(lambda: len(_made(cluster)) >= len(wanted), 240)
    assert sorted(_made(cluster)) == wanted
    assert commands.run("audit", "verify", *(str(replica.record) for replica in three.each)).returncode == 0


def _wait_for(deciding: Sequence[futures.Future[None]], count: int) -> None:
    """Waits until so many have decided."""
    patience.until(lambda: sum(each.done() for each in deciding) >= count)


def _approve(team: team_page.Team, user: str, plan: str) -> None:
    """Presses the button until the page has none: a replica may die under it."""
    for _ in range(60):
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            person = team.person(user)
            if "hash" not in person.form(plan):
                return
            person.decide(plan)
        time.sleep(0.5)
    raise AssertionError(f"{plan} cannot be approved")


def _made(cluster: logged.Logged) -> list[str]:
    """The objects of plans, one for each time that one was made."""
    sent = [event for event in cluster.writes(rollouts.USER, NAMESPACE) if event.status < 300]
    return [name for event in sent if (name := event.body["metadata"]["name"]).startswith("plan-")]


def _complaints(three: replicas.Replicas) -> list[str]:
    """What the replicas have logged, but for a database that needed more than a second on a busy machine."""
    every = [line for replica in three.each for line in replica.complaints]
    return [line for line in every if "the database of the replicas takes too long" not in line]
