"""Many sessions of several callers at once: each gets its own answers, none waits for the scripts of all others, and
what they have used is given back. How fast that goes is measured by `python -m benchmarks many_callers`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import kubernetes.client
import kubernetes.config
import pytest

from benchmarks import sessions
from tests.kit import clients, patience
from tests.kit.callers import connected
from tests.kit.controlplane.server import ControlPlane

pytestmark = pytest.mark.cluster

CALLERS: Final = ("ann", "ben", "cat", "dan")
SESSIONS: Final = 40
SCRIPTS: Final = 400
QUEUE: Final = 60
PLACES: Final = 8
NAMESPACE: Final = "load"
WHO: Final = """\
try:
    k8s.CoreV1Api().list_namespaced_config_map("default")
except ApiException as error:
    name = re.search(r"User [^a-z]+([a-z]+)", error.body)[1]
[name, {number}]
"""
"""The API server itself says who asks: nobody may list these."""
GATED: Final = """\
for event in watch.Watch().stream(k8s.CoreV1Api().list_namespaced_config_map, "load", timeout_seconds=250):
    if event["object"].metadata.name == {gate!r}:
        break
{number}
"""
"""Waits, without processor time, until the gate is opened."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server, and its callers' tokens."""

    serving: sessions.Serving
    tokens: dict[str, str]

    @property
    def port(self) -> int:
        return self.serving.port()

    @contextlib.asynccontextmanager
    async def session(self, caller: str) -> AsyncIterator[sessions.Session]:
        opened = sessions.Session(self.port, self.tokens[caller])
        assert (await opened.begin()).status == 200
        yield opened
        opened.hang_up()

    async def gated(self, caller: str, gate: str, count: int) -> list[asyncio.Task[str]]:
        """Sends so many scripts at once, which wait for the gate."""
        return [asyncio.create_task(self._one(caller, GATED.format(gate=gate, number=n))) for n in range(count)]

    async def _one(self, caller: str, script: str) -> str:
        async with self.session(caller) as session:
            params = {"name": "evaluate_script", "arguments": {"script": script, "timeout": 290_000}}
            return (await session.request("tools/call", params)).text

    async def until(self, running: int, waiting: int) -> None:
        """Waits until so many scripts run, and so many wait."""
        headers = {"Authorization": f"Bearer {self.tokens['dan']}"}
        wanted = (running, waiting)
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            for _ in range(int(patience.scaled(40) * 10)):
                text = (await http.get(f"http://127.0.0.1:{self.port}/metrics")).text
                now = (_gauge(text, 'kubescript_workers{state="running"}'), _gauge(text, "kubescript_queue_depth"))
                if now == wanted:
                    return
                await asyncio.sleep(0.1)
        raise AssertionError(f"{now} scripts run and wait, and not {wanted}")


@dataclass(frozen=True, slots=True)
class Left:
    """A server whose callers have left without a word."""

    served: Served
    api: int
    """The port of the API server."""
    sessions: dict[str, sessions.Session]
    """One of each caller."""

    def connections(self) -> int:
        """Those of the server to the API server that are open."""
        pid = self.served.serving.pid
        inodes = set()
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(str(file.readlink()).strip("socket:[]"))
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
        rows = [line.split() for line in lines]
        return sum(row[2].endswith(f":{self.api:04X}") and row[9] in inodes for row in rows)

    async def come_and_go(self) -> None:
        for caller, session in self.sessions.items():
            assert (await session.begin()).status == 200
            assert caller in (await session.script(WHO.format(number=1))).text
            session.hang_up()


class Cluster:
    """The namespace with the gates."""

    def __init__(self, kubeconfig: Path) -> None:
        configuration: Any = kubernetes.client.Configuration()
        load: Any = kubernetes.config.load_kube_config
        load(str(kubeconfig), client_configuration=configuration)
        self.port = int(configuration.host.rpartition(":")[2])
        api = kubernetes.client.ApiClient(configuration)
        core: Any = kubernetes.client.CoreV1Api(api)  # it takes plain dicts, too
        self._core = core
        rbac: Any = kubernetes.client.RbacAuthorizationV1Api(api)
        self._core.create_namespace({"metadata": {"name": NAMESPACE}})
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
        rbac.create_namespaced_role(NAMESPACE, {"metadata": {"name": "load"}, "rules": [rule]})
        subject = {"kind": "Group", "name": "load", "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "Role", "name": "load", "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": "load"}, "subjects": [subject], "roleRef": role}
        rbac.create_namespaced_role_binding(NAMESPACE, binding)

    def open(self, gate: str) -> None:
        self._core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": gate}})


@pytest.fixture(scope="module")
def kubeconfig(written: ControlPlane) -> Path:
    """Objects are written to this server."""
    return written.kubeconfig


@pytest.fixture(scope="module")
def cluster(kubeconfig: Path) -> Cluster:
    return Cluster(kubeconfig)


@contextlib.contextmanager
def serving(kubeconfig: Path, folder: Path, *tables: str) -> Iterator[Served]:
    tokens = {name: secrets.token_hex(16) for name in CALLERS}
    file = folder / f"{secrets.token_hex(4)}.csv"
    file.write_text("".join(f"{token},{name},,load\n" for name, token in tokens.items()))
    file.chmod(0o600)
    settings = (
        'acts_as = "impersonate"',
        '[impersonation]\ngroups = ["load"]',
        f'[auth]\ntokens_file = "{file}"',
        *tables,
    )
    with sessions.served(kubeconfig, *settings) as started:
        started.port()
        yield Served(started, tokens)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("load")


@pytest.fixture(scope="module")
def left(kubeconfig: Path, folder: Path, cluster: Cluster) -> Iterator[Left]:
    """They leave before the first test, so that no test waits long until their seats end; and that is not before the
    last of them has come."""
    with serving(kubeconfig, folder, "[http]\nsession_idle_s = 20\n") as served:
        each = {caller: sessions.Session(served.port, served.tokens[caller]) for caller in CALLERS}
        left = Left(served, cluster.port, each)
        asyncio.run(left.come_and_go())
        assert left.connections() == len(CALLERS)
        yield left


@pytest.fixture(scope="module")
def served(kubeconfig: Path, folder: Path, cluster: Cluster, left: Left) -> Iterator[Served]:
    with serving(kubeconfig, folder, f"[sandbox]\nmax_scripts = {PLACES}\nmax_queue = {QUEUE}") as started:
        yield started


def test_every_session_gets_its_own_answers_and_none_is_lost(served: Served) -> None:
    """40 sessions of four callers, all at once."""
    each = SCRIPTS // SESSIONS
    answers: list[tuple[str, int]] = []

    async def ask(session: int) -> None:
        caller = CALLERS[session % len(CALLERS)]
        async with connected(served.port, served.tokens[caller]) as client:
            for number in range(session * each, (session + 1) * each):
                answer = clients.text(await clients.evaluate(client, WHO.format(number=number)))
                assert json.loads(answer.splitlines()[0]) == [caller, number]  # a note of the refusal follows
                answers.append((caller, number))

    async def all_at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for session in range(SESSIONS):
                tasks.start_soon(ask, session)

    anyio.run(all_at_once)
    assert sorted(number for _, number in answers) == list(range(SCRIPTS))
    assert served.serving.complaints == []


def test_whoever_sends_64_scripts_at_once_does_not_keep_others_waiting(served: Served, cluster: Cluster) -> None:
    """They hold half of the places, and the rest of them waits: another caller's script is answered while not one of
    them is done. What is beyond the queue is refused, and the greedy one works again afterwards."""
    ahead = PLACES // 2 + QUEUE

    async def ask() -> None:
        greedy = await served.gated("ann", "greedy", ahead)
        await served.until(PLACES // 2, QUEUE)
        async with served.session("ann") as one_more, served.session("ben") as other:
            refused = await one_more.script("1 + 1")
            assert "server.busy" in refused.text
            assert "try again" in refused.text
            for number in range(3):
                assert (await other.script(f"{number} + 1")).text == str(number + 1)
            assert not any(task.done() for task in greedy)
            cluster.open("greedy")
            assert sorted(map(int, await asyncio.gather(*greedy))) == list(range(ahead))
            assert (await one_more.script("1 + 1")).text == "2"

    before = len(served.serving.complaints)
    asyncio.run(ask())
    (refusal,) = served.serving.complaints[before:]
    assert "script not run" in refusal


def test_a_server_that_is_told_to_end_answers_what_has_arrived(
    kubeconfig: Path, folder: Path, cluster: Cluster
) -> None:
    """SIGTERM, as Kubernetes sends it, to one that a balancer asks whether it is ready: it says no, still takes what the
    balancer sends meanwhile, and answers also those that wait for their turn."""

    async def ask(served: Served) -> None:
        async with httpx2.AsyncClient(timeout=60) as balancer, served.session("ann") as late:
            ready = f"http://127.0.0.1:{served.serving.port()}/ready"

            async def hear(status: int) -> None:
                while (await balancer.get(ready)).status_code != status:
                    await asyncio.sleep(0.05)

            # A server that has just started on a busy machine may not be ready at the first probe.
            await hear(200)
            tasks = [*await served.gated("ann", "ending", 3), *await served.gated("ben", "ending", 3)]
            await served.until(3, 3)
            served.serving.terminate()
            await hear(503)
            sent = asyncio.create_task(late.script("1 + 1"))
            cluster.open("ending")
            assert {answer.isdecimal() for answer in await asyncio.gather(*tasks)} == {True}
            assert (await sent).text == "2"

    with serving(kubeconfig, folder, "[sandbox]\nmax_scripts = 3") as served:
        asyncio.run(ask(served))
        assert served.serving.wait() == 0
        assert served.serving.complaints == []


def test_callers_who_have_left_leave_nothing_behind(left: Left) -> None:
    """Their sessions end, and with their seats the connections to the cluster; who comes again is served again."""
    patience.until(lambda: not left.connections(), 200)

    async def come_again() -> None:
        for caller, session in left.sessions.items():
            assert (await session.request("ping", {})).status == 404
            session.hang_up()
            async with left.served.session(caller) as fresh:
                assert caller in (await fresh.script(WHO.format(number=2))).text

    asyncio.run(come_again())
    assert left.connections() == len(CALLERS)
    assert left.served.serving.complaints == []


def _gauge(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])
