"""/openshift/ over HTTP: each request is answered with its own token and the rights of that token, and the token is seen
by nobody else."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import httpx2
import pytest
import yaml
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.kit import clients, openshift, patience, trails
from tests.kit.callers import NAMESPACES, Callers
from tests.kit.controlplane.server import ControlPlane

pytestmark = pytest.mark.timeout(300)

OWN: Final = "get cm -o name -n {}"
ENDLESS: Final = "get cm -o name -w -n {}"
PLAIN: Final = "[output]\nmark_untrusted = false\n"


@dataclass(frozen=True)
class World:
    """A cluster, what its callers have, and a server before it."""

    plane: ControlPlane
    callers: Callers
    file: Path
    port: int
    process: int
    tokens: Mapping[str, str]

    def headers(self, name: str) -> dict[str, str]:
        """What this caller's requests bring."""
        return {"OCP_TOKEN": self.tokens[name], "OCP_URL": self.plane.url}


@pytest.fixture(scope="module")
def callers(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(scratch.kubeconfig, tmp_path_factory.mktemp("callers"))


@pytest.fixture(scope="module")
def world(scratch: ControlPlane, callers: Callers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The server has a kubeconfig that could do everything, and must not use it."""
    folder = tmp_path_factory.mktemp("credentials")
    kubeconfig = yaml.safe_load(scratch.kubeconfig.read_text())
    authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority"]
    file = openshift.configured(
        folder,
        scratch.kubeconfig,
        openshift=f'urls = ["{scratch.url}"]\nca_cert = "{authority}"',
        more=f'{PLAIN}[limits]\ndefault_timeout_ms = 240000\n[audit]\nfile = "{folder}/audit.jsonl"\n',
    )
    tokens = {name: callers.account_token(name) for name in NAMESPACES}
    # The installed program: what is looked at are its processes.
    with clients.running(("--config", str(file)), program=(clients.INSTALLED,)) as (port, process):
        yield World(scratch, callers, file, port, process, tokens)


@contextlib.asynccontextmanager
async def connected(port: int, headers: Mapping[str, str]) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=dict(headers), timeout=120) as http:
        through = streamable_http_client(f"http://127.0.0.1:{port}/openshift/", http_client=http)
        async with Client(through, mode="legacy") as client:
            yield client


async def said(client: Client, line: str) -> tuple[bool, str]:
    """Whether the answer is an error, and its text."""
    answer = await client.call_tool(openshift.TOOL, {"command_str": line})
    return bool(answer.is_error), clients.whole(answer).removesuffix(openshift.NOTE).rstrip("\n")


def asked(port: int, headers: Mapping[str, str], line: str) -> tuple[bool, str]:
    """The same for one call alone."""

    async def ask() -> tuple[bool, str]:
        async with connected(port, headers) as client:
            return await said(client, line)

    return anyio.run(ask)


def account(name: str) -> str:
    """The user that a caller's token is of."""
    return f"system:serviceaccount:{NAMESPACES[name]}:{name}"


# --- the credentials of the request ---


def test_two_callers_at_once_get_what_their_own_tokens_may(world: World) -> None:
    """Several times each, at the same time: none is answered with the other's, nor with the server's."""
    wrong: list[object] = []

    async def calls(name: str, other: str) -> None:
        async with connected(world.port, world.headers(name)) as client:
            for _ in range(3):
                own = await said(client, OWN.format(NAMESPACES[name]))
                foreign = await said(client, OWN.format(NAMESPACES[other]))
                who = await said(client, "auth whoami -o jsonpath={.status.userInfo.username}")
                if own[0] or f"configmap/of-{name}" not in own[1]:
                    wrong.append(own)
                if not foreign[0] or f'User "{account(name)}" cannot list resource "configmaps"' not in foreign[1]:
                    wrong.append(foreign)
                if who != (False, account(name)):
                    wrong.append(who)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls, "alice", "bob")
            tasks.start_soon(calls, "bob", "alice")

    anyio.run(both)
    assert not wrong


REFUSED: Final[dict[str, tuple[dict[str, str | None], str]]] = {
    "no header": ({"OCP_TOKEN": None, "OCP_URL": None}, "OCP_TOKEN and OCP_URL are missing"),
    "no token": ({"OCP_TOKEN": None}, "OCP_TOKEN and OCP_URL are missing"),
    "no URL": ({"OCP_URL": None}, "OCP_TOKEN and OCP_URL are missing"),
    "another URL": ({"OCP_URL": "https://evil.example.com:6443"}, "OCP_URL is none of the API servers"),
    "a URL with a path": ({"OCP_URL": "{url}/../x"}, "OCP_URL is none of the API servers"),
    "a URL with a user": ({"OCP_URL": "https://a:b@127.0.0.1"}, "OCP_URL is none of the API servers"),
    "http": ({"OCP_URL": "http://127.0.0.1:80"}, "OCP_URL is none of the API servers"),
    "a forged token": ({"OCP_TOKEN": "x.y.z"}, "must be logged in to the server"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_without_credentials_that_count_is_refused(case: str, world: World) -> None:
    """The answer says which header, and no value; the next request is answered."""
    changes, why = REFUSED[case]
    headers = {**world.headers("alice"), **changes}
    sent = {name: value.format(url=world.plane.url) for name, value in headers.items() if value is not None}
    is_error, text = asked(world.port, sent, OWN.format(NAMESPACES["alice"]))
    assert is_error and why in text, text
    assert world.tokens["alice"] not in text
    assert asked(world.port, world.headers("alice"), OWN.format(NAMESPACES["alice"]))[0] is False


def test_the_token_is_in_no_command_line_environment_log_record_or_answer(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    """While the command runs that it answers: of no process of the machine, the command's own included."""
    tokens = list(world.tokens.values())
    found: list[str] = []
    names: set[bytes] = set()

    async def look() -> None:
        async with connected(world.port, world.headers("alice")) as client, anyio.create_task_group() as tasks:

            async def watch() -> None:
                answers.append(await said(client, ENDLESS.format(NAMESPACES["alice"])))

            tasks.start_soon(watch)
            await anyio.to_thread.run_sync(patience.until, lambda: bool(openshift.commands_of(world.process)))
            (command,) = openshift.commands_of(world.process)
            await anyio.to_thread.run_sync(
                patience.until, lambda: Path(f"/proc/{command}/cmdline").read_bytes().startswith(b"oc\0")
            )
            found.extend(leaks(tokens))
            environment = Path(f"/proc/{command}/environ").read_bytes()
            names.update(each.partition(b"=")[0] for each in environment.split(b"\0") if each)
            tasks.cancel_scope.cancel()

    answers: list[tuple[bool, str]] = []
    anyio.run(look)
    answers.append(asked(world.port, world.headers("alice"), "get cm -v=9 -n " + NAMESPACES["alice"]))
    answers.append(asked(world.port, world.headers("alice"), "get cm -v=10 -n " + NAMESPACES["bob"]))
    assert not found
    assert names == {b"KUBECONFIG", b"KUBERC", b"MALLOC_ARENA_MAX", b"GOMAXPROCS"}
    assert "https://cluster/" in answers[-2][1]  # kubectl says what it sends, and not where
    heard = "".join(capfd.readouterr()) + (world.file.parent / "audit.jsonl").read_text()
    for token in tokens:
        assert token not in heard + json.dumps(answers)


def leaks(tokens: list[str]) -> list[str]:
    """The files of /proc with a token: command lines and environments."""
    found = []
    for process in Path("/proc").iterdir():
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                text = (process / name).read_bytes().decode(errors="replace")
                found += [str(process / name) for token in tokens if token in text]
    return found


# --- credentials of the server ---


def test_a_token_is_refused_where_the_servers_own_credentials_count(
    callers: Callers, world: World, tmp_path: Path
) -> None:
    """Never both; without one the server's kubeconfig answers."""
    file = openshift.configured(tmp_path, callers.kubeconfig, more=PLAIN)
    with clients.serving(("--config", str(file))) as port:
        for headers in (world.headers("alice"), {"OCP_TOKEN": "x"}, {"OCP_URL": world.plane.url}):
            is_error, text = asked(port, headers, OWN.format(NAMESPACES["alice"]))
            assert is_error and "this server has credentials of its own: leave out OCP_TOKEN and OCP_URL" in text
        assert asked(port, {}, "auth whoami -o jsonpath={.status.userInfo.username}") == (False, "admin")


def acting(how: str, callers: Callers) -> tuple[str, Mapping[str, str], Callable[[str], str]]:
    """The settings that say who callers are, their tokens, and as whom the cluster knows each."""
    if how == "impersonate":
        return callers.tokens(), callers.secrets, str
    return "[auth]\ntoken_review = true\n", {name: callers.account_token(name) for name in NAMESPACES}, account


@pytest.mark.parametrize("how", ["impersonate", "caller"])
def test_a_caller_acts_as_himself(how: str, callers: Callers, tmp_path: Path) -> None:
    """RBAC decides, also about what the policy would let pass; and each call is on record with his name."""
    auth, tokens, user = acting(how, callers)
    record = tmp_path / f"audit-{secrets.token_hex(4)}.jsonl"
    more = f'{auth}{PLAIN}[audit]\nfile = "{record}"\n'
    file = openshift.configured(tmp_path, callers.kubeconfig, top=f'acts_as = "{how}"', more=more)
    with clients.serving(("--config", str(file))) as port:
        for name, other in (("alice", "bob"), ("bob", "alice")):
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            who = asked(port, headers, "auth whoami -o jsonpath={.status.userInfo.username}")
            assert who == (False, user(name))
            own = asked(port, headers, OWN.format(NAMESPACES[name]))
            assert not own[0] and f"configmap/of-{name}" in own[1]
            is_error, text = asked(port, headers, OWN.format(NAMESPACES[other]))
            assert is_error and f'User "{user(name)}" cannot list resource "configmaps"' in text
    calls = [call for call in trails.records(record, "call") if call["resource"] == "configmaps"]
    users = [(user("alice"), 200), (user("alice"), 403), (user("bob"), 200), (user("bob"), 403)]
    assert [(call["user"], call["status"]) for call in calls] == users
    assert {call["tool"] for call in calls} == {openshift.TOOL}
