"""gke_auth: what a client that asks for logins can make the host do, which program gives the token, and whose it is."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import yaml
from mcp.client import Client

from tests.kit import clients
from tests.kit import google as googles
from tests.kit.google import Google

Count = Callable[[int], None]

NAME: Final = "gke_shop-prod_europe-west1_one"
PLUGIN: Final = "gke-gcloud-auth-plugin"
WAITS: Final = f"""#!{sys.executable}
import json, os, pathlib, sys, time
here = pathlib.Path({{folder!r}})
with open(here / "started", "a") as file:
    print(sys.argv[1:], os.environ.get("CLOUDSDK_CONFIG"), file=file)
while not (here / "go").exists():
    time.sleep(0.02)
status = {{{{"token": "t", "expirationTimestamp": "2099-01-01T00:00:00Z"}}}}
print(json.dumps({{{{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}}}}))
"""
"""A plugin that writes down how it was called, and ends when a file is there."""
MANY: Final = 60
"""More logins than the event loop has threads."""
PATIENCE_S: Final = 120


def plugin(folder: Path, state: Path) -> str:
    """The plugin in a folder, keeping its files in another."""
    folder.mkdir(exist_ok=True)
    program = folder / PLUGIN
    program.write_text(WAITS.format(folder=str(state)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def config(folder: Path, user: dict[str, Any]) -> Path:
    """A context of GKE's, whose API server nobody asks here."""
    path = folder / "config"
    named = {"clusters": ("cluster", {"server": "https://127.0.0.1:1"}), "users": ("user", user)}
    sections = {plural: [{"name": NAME, name: value}] for plural, (name, value) in named.items()}
    contexts = [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}]
    path.write_text(yaml.safe_dump({"current-context": NAME, "contexts": contexts, **sections}))
    return path


def calls(command: str, **fields: Any) -> dict[str, Any]:
    """A user's entry that names this program."""
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": command, **fields}}


@pytest.fixture
def google() -> Iterator[Google]:
    with contextlib.closing(Google("ya29.token-of-the-stand-in")) as made:
        yield made


@pytest.fixture
def account(google: Google, tmp_path: Path) -> Path:
    """What google-auth finds on this machine."""
    return googles.account(google, tmp_path)


@contextlib.asynccontextmanager
async def serving(path: Path, cwd: Path, search: str, **environment: str) -> AsyncIterator[Client]:
    """A server that was started in this folder."""
    alone = {
        "PATH": str(search),
        "HOME": str(path.parent),
        "NO_GCE_CHECK": "true",
        "XDG_CACHE_HOME": str(clients.CACHE),
    }
    flags = ("--toolsets", "cluster,code", "--kubeconfig", str(path))
    with contextlib.chdir(cwd):
        async with clients.connect("memory", flags, environment=alone | environment) as client:
            yield client


async def log_in(client: Client) -> str:
    """What gke_auth says."""
    return clients.whole(await client.call_tool("gke_auth", {"cluster": NAME, "verify": False}))


@pytest.mark.promise("R-08")
def test_many_logins_are_one_and_keep_nobody_out(tmp_path: Path, attacks: Count) -> None:
    """Attack: a client that asks for logins which take long, so that each holds a thread and starts a program. The
    others are answered meanwhile, and the login that is under way is everybody's."""
    attacks(MANY)
    path, search = config(tmp_path, {}), plugin(tmp_path / "bin", tmp_path)
    told: list[str] = []

    async def ask(client: Client) -> None:
        told.append(await log_in(client))

    async def attack() -> None:
        async with serving(path, tmp_path, search) as client, anyio.create_task_group() as tasks:
            for _ in range(MANY):
                tasks.start_soon(ask, client)
            while not (tmp_path / "started").exists():
                await anyio.sleep(0.01)
            with anyio.fail_after(PATIENCE_S):
                for number in range(3):
                    answer = await client.call_tool("evaluate_script", {"script": str(number)})
                    assert clients.text(answer) == str(number)
            assert told == []
            (tmp_path / "go").touch()

    try:
        anyio.run(attack)
    finally:
        (tmp_path / "go").touch()
    assert len(told) == MANY
    assert all(each.startswith(f"logged in to {NAME}") for each in told), told
    assert len((tmp_path / "started").read_text().splitlines()) == 1


@pytest.mark.promise("R-08")
def test_a_login_that_its_client_gave_up_is_not_begun_again(tmp_path: Path, attacks: Count) -> None:
    """Attack: a client that asks and gives up, again and again. One program runs; the next to ask gets its token."""
    attacks(10)
    path, search = config(tmp_path, {}), plugin(tmp_path / "bin", tmp_path)

    async def attack() -> None:
        async with serving(path, tmp_path, search) as client:
            for _ in range(10):
                with anyio.move_on_after(0.2):
                    await log_in(client)
            (tmp_path / "go").touch()
            assert (await log_in(client)).startswith(f"logged in to {NAME}")

    try:
        anyio.run(attack)
    finally:
        (tmp_path / "go").touch()
    assert len((tmp_path / "started").read_text().splitlines()) <= 2  # a later one may be another login


RELATIVE: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "a path of the kubeconfig's": (calls(f"./{PLUGIN}"), "/nowhere"),
    "a folder of the kubeconfig's": (calls(f"bin/{PLUGIN}"), "/nowhere"),
    "this folder on PATH": (calls(PLUGIN), "."),
    "nothing on PATH": (calls(PLUGIN), ":"),
    "a folder on PATH": ({}, "bin"),
}


@pytest.mark.promise("P-11")
@pytest.mark.parametrize("case", RELATIVE)
def test_no_program_of_the_folder_is_run_that_the_server_was_started_in(
    case: str, tmp_path: Path, attacks: Count
) -> None:
    """Attack: a repository with a program of the plugin's name, in which an MCP client starts the server."""
    attacks(1)
    user, search = RELATIVE[case]
    home, state = tmp_path / "home", tmp_path / "state"
    home.mkdir()
    state.mkdir()
    (state / "go").touch()
    repository = tmp_path / "repository"
    plugin(repository, state)
    plugin(repository / "bin", state)
    path = config(home, user)
    own = plugin(tmp_path / "own", state)

    async def attack() -> None:
        async with serving(path, repository, search) as client:
            assert "is not on the server's PATH" in await log_in(client)
            assert not (state / "started").exists()
        config(home, {})
        async with serving(path, repository, own) as client:
            assert (await log_in(client)).startswith(f"logged in to {NAME}")

    anyio.run(attack)


@pytest.mark.promise("P-11")
def test_an_account_that_the_kubeconfig_chooses_is_not_replaced_by_another(
    tmp_path: Path, account: Path, google: Google, attacks: Count
) -> None:
    """Attack: a user's entry chooses an account with few rights by arguments and variables of the plugin; a client that
    calls gke_auth must not get the rights of the account that google-auth finds on the machine."""
    attacks(2)
    (tmp_path / "go").touch()
    search = plugin(tmp_path / "bin", tmp_path)
    chosen = (
        calls(PLUGIN, env=[{"name": "CLOUDSDK_CONFIG", "value": "/few-rights"}]),
        calls(PLUGIN, args=["--impersonate_service_account=few"], env=None),
    )

    async def attack(user: dict[str, Any]) -> None:
        variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
        async with serving(config(tmp_path, user), tmp_path, search, **variables) as client:
            assert (await log_in(client)).startswith(f"logged in to {NAME}")

    for user in chosen:
        anyio.run(attack, user)
    assert google.asked == 0
    assert (tmp_path / "started").read_text().splitlines() == [
        "[] /few-rights",
        "['--impersonate_service_account=few'] None",
    ]
    anyio.run(attack, calls(PLUGIN))
    assert google.asked == 1
