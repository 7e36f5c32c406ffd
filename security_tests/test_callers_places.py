"""Callers who would have more than their share of the places for command lines: by ever other tokens, sessions and
names, where the server asks who they are and where it asks nobody. What the commands ask never answers."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest

from kubescript import concurrency, errors
from kubescript.cli import demo
from kubescript.cluster import live, web
from kubescript_sandbox.host import worker
from tests.kit import http_server, kubectl, pids

TOKENS: Final = {"bob": "token-of-bob-0123456789", "mallory": "token-of-mallory-0123456789"}
JSON: Final = {"Accept": "application/json", "Content-Type": "application/json"}
LOCAL: Final = "version --client -o json"
"""A command that asks no API server."""
VERSION: Final = "gitVersion"
PLACES: Final = 2
QUEUE: Final = 3
MANY: Final = 24
"""Calls of one attacker, each with a token and names of its own."""


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """An API server that takes connections and says no word before it is closed."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        yield listener


def settings(folder: Path, url: str, *, known: bool) -> Path:
    """Settings of a server with few places, to which requests bring tokens for the API server."""
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{token},{name}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    auth = f'[auth]\ntokens_file = "{tokens}"\n' if known else ""
    file = folder / "settings.toml"
    file.write_text(
        f'toolsets = ["openshift"]\nprocesses_pool_size = {PLACES}\n{auth}[sandbox]\nmax_queue = {QUEUE}\n'
        f'[openshift]\nbinary = "{kubectl.program()}"\nurls = ["{url}"]\ninsecure = true\n'
        "[limits]\ndefault_timeout_ms = 300000\n"
    )
    return file


def asked(port: int, line: str, headers: Mapping[str, str]) -> str:
    """The text that answers a command line."""
    call = {"name": "openshift-cli", "arguments": {"command_str": line}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    url = f"http://127.0.0.1:{port}/openshift/"
    answer: dict[str, Any] = httpx2.post(url, json=body, headers=JSON | dict(headers), timeout=120).json()
    return str(answer["result"]["content"][0]["text"])


def made_up(number: int, url: str, name: str = "") -> dict[str, str]:
    """What an attacker brings: all that can be another one in each request."""
    own = {"Authorization": f"Bearer {TOKENS[name]}"} if name else {}
    varied = {"Cookie": f"a={number}", "User-Agent": f"a-{number}", "X-Forwarded-For": f"10.0.0.{number}"}
    return own | varied | {"OCP_TOKEN": f"made-up-{number}", "OCP_URL": url}


@pytest.mark.promise("H-09")
@pytest.mark.parametrize("name", ["mallory", ""])
def test_made_up_tokens_have_the_places_of_one_caller(
    name: str, silent: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known caller takes half of the places and one queue, and another one is answered at once; where nobody has to
    say who he is, all have one queue together. Those beyond hear `server.busy` at once, and the next call is answered."""
    for module in (live, web):
        monkeypatch.setattr(module, "_CONNECT_S", 300.0)  # the calls wait until the test lets them go
    url = f"https://127.0.0.1:{silent.getsockname()[1]}"
    file = settings(tmp_path, url, known=bool(name))
    refused = MANY - QUEUE - (PLACES // 2 if name else PLACES)
    with http_server.serving(("--config", str(file))) as port, futures.ThreadPoolExecutor(MANY) as pool, silent:
        assert VERSION in asked(port, LOCAL, made_up(0, url, name))
        calls = [pool.submit(asked, port, "get pods", made_up(number, url, name)) for number in range(MANY)]
        assert [call for call in first(calls, refused) if "server.busy" not in call] == []
        if name:
            assert VERSION in asked(port, LOCAL, made_up(0, url, "bob"))
        assert sum(call.done() for call in calls) == refused
        silent.close()
        assert all("server.busy" not in call.result(120) for call in calls if not call.done())
        assert VERSION in asked(port, LOCAL, made_up(0, url, name))


@pytest.mark.promise("H-09")
def test_only_one_script_of_a_caller_competes_for_the_cores(tmp_path: Path) -> None:
    """Of three long scripts of one caller, two run at a lower priority; another caller's script beside them does not,
    and no later one does."""
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{token},{name}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    file = tmp_path / "settings.toml"
    file.write_text(f'toolsets = ["code"]\n[auth]\ntokens_file = "{tokens}"\n[limits]\ndefault_timeout_ms = 6000\n')
    flags = ("--snapshot", str(demo.SNAPSHOT), "--config", str(file), "--stateless")
    with http_server.serving(flags) as port, futures.ThreadPoolExecutor(4) as pool:
        assert evaluated(port, "mallory", "6 * 7") == "42"
        calls = [
            pool.submit(evaluated, port, name, "while True: pass") for name in ("mallory", "mallory", "mallory", "bob")
        ]
        most = 0
        while not all(call.done() for call in calls):
            most = max(most, count_nicer_workers())
            time.sleep(0.01)
        assert most == 2
        assert all("limit.time" in call.result() for call in calls)
        assert evaluated(port, "mallory", "6 * 7") == "42"
        assert count_nicer_workers() == 0


@pytest.mark.promise("H-09")
def test_a_worker_told_to_yield_before_its_fork_is_reported_yields_then() -> None:
    """Found so: the report was late on a busy machine, and the host's thread had lowered its own priority instead."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    ours, theirs = socket.socketpair()
    with theirs, contextlib.closing(worker.Worker(ours, 0)) as each:
        each.yield_cores()
        assert os.getpriority(os.PRIO_PROCESS, 0) == own
        with subprocess.Popen(["sleep", "60"]) as process:
            each.take_process(process.pid, os.pidfd_open(process.pid))
            assert os.getpriority(os.PRIO_PROCESS, process.pid) > own
            each.kill()
            assert process.wait() != 0
        each.take_end(None)


def evaluated(port: int, name: str, script: str) -> str:
    """The text that answers a script of this caller."""
    call: dict[str, Any] = {"name": "evaluate_script", "arguments": {"script": script}}
    answer = http_server.post(port, TOKENS[name], "tools/call", **call).json()
    return str(answer["result"]["content"][0]["text"])


def count_nicer_workers() -> int:
    """How many workers of this process leave the cores to others."""
    count = 0
    for server in pids.children(os.getpid()):
        with contextlib.suppress(OSError):  # one that has just ended
            count += sum(
                os.getpriority(os.PRIO_PROCESS, each) > os.getpriority(os.PRIO_PROCESS, 0)
                for each in pids.children(server)
            )
    return count


def first(calls: list[futures.Future[str]], count: int) -> list[str]:
    """The answers that come first."""
    done = futures.as_completed(calls, timeout=120)
    return [next(done).result() for _ in range(count)]


@pytest.mark.promise("H-09")
def test_the_queues_of_all_callers_have_a_total() -> None:
    """However many callers fill theirs, so many wait and no more; when they are gone, another one has a whole queue."""
    places = concurrency.Concurrency(PLACES, QUEUE, shared=True)
    refused: list[str] = []

    async def wait(caller: str, seconds: float = 3_600) -> None:
        try:
            async with places.place(caller):
                await anyio.sleep(seconds)
        except errors.Busy:
            refused.append(caller)

    async def attack() -> None:
        async with anyio.create_task_group() as tasks:
            for caller in range(3 * MANY):
                for _ in range(QUEUE + 1):
                    tasks.start_soon(wait, f"mallory-{caller}")
            await anyio.wait_all_tasks_blocked()
            assert places.running == PLACES
            assert places.waiting == MANY
            tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            refused.clear()
            for _ in range(QUEUE + 1):
                tasks.start_soon(wait, "bob", 0.01)
        assert refused == []
        assert (places.running, places.waiting) == (0, 0)

    anyio.run(attack)
