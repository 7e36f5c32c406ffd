"""What a client hears while its call runs: over real clients, with a heartbeat of a fifth of a second."""

from __future__ import annotations

import itertools
import json
import math
import time
from pathlib import Path

import anyio
import pytest
from mcp.client import Client

from kubescript import heartbeat
from tests.kit import clients
from tests.kit.sdk_transport import POD

BUSY = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end:\n    pass\n'done'"
BURST = "for n in range(40):\n    ctx.progress(n, 40, f'node {n}')\nwhile True:\n    pass"

Heard = list[tuple[float, float | None, str, float]]


def beating(tmp_path: Path, every_s: float, more: str = "") -> list[str]:
    """Flags of a server over a saved cluster of one pod."""
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD]}))
    settings = tmp_path / "settings.toml"
    settings.write_text(f"[output]\nheartbeat_s = {every_s}\n{more}")
    return ["--snapshot", str(tmp_path / "pods.json"), "--config", str(settings)]


async def hear(client: Client, script: str, heard: Heard) -> str:
    """The script's answer; what the client heard before it."""

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message or "", time.monotonic()))

    arguments = {"script": script, "timeout": 60_000}
    return clients.text(await client.call_tool("evaluate_script", arguments, progress_callback=on_progress))


def rises(heard: Heard) -> bool:
    """Whether each progress is above the one before, as the protocol demands."""
    values = [done for done, *_ in heard]
    return all(one < next_ for one, next_ in itertools.pairwise(values))


@pytest.mark.parametrize("transport", clients.TRANSPORTS)
def test_a_client_hears_of_a_script_that_says_nothing(transport: str, tmp_path: Path) -> None:
    """Until it ends; a client that did not ask hears nothing, and gets its answer."""
    heard: Heard = []

    async def ask() -> None:
        async with clients.connect(transport, beating(tmp_path, 0.2)) as client:
            assert await hear(client, BUSY, heard) == "done"
            after = len(heard)
            assert clients.text(await clients.evaluate(client, BUSY)) == "done"
            assert len(heard) == after

    anyio.run(ask)
    assert len(heard) >= 3 and rises(heard) and heard[-1][3] - heard[0][3] > 0.15 * (len(heard) - 1)
    assert heard[0][:3] == (0.0, None, "running for 0 s") and all(
        text.startswith("running for ") for _, _, text, _ in heard
    )


def test_a_client_hears_of_a_script_that_waits_for_its_turn(tmp_path: Path) -> None:
    """One place, and two scripts that ask for it at once: both are heard of from the beginning."""
    heard: tuple[Heard, Heard] = ([], [])
    began = time.monotonic()

    async def ask() -> None:
        flags = beating(tmp_path, 0.2, "[sandbox]\nmax_scripts = 1\n")
        async with clients.connect("memory", flags) as client, anyio.create_task_group() as group:
            for each in heard:
                group.start_soon(hear, client, BUSY, each)

    anyio.run(ask)
    first, second = sorted(heard, key=lambda each: each[-1][3])
    waiting = [each for each in second if each[3] < first[-1][3]]
    assert len(waiting) >= 3 and rises(first) and rises(second)
    assert second[0][3] - began < 30


@pytest.mark.parametrize("transport", clients.TRANSPORTS)
def test_the_newest_of_many_reports_does_not_wait_for_the_next_step(transport: str, tmp_path: Path) -> None:
    """Forty reports at once, then silence for the minute that the script may take: the fortieth comes meanwhile."""
    heard: Heard = []

    async def ask() -> None:
        async with clients.connect(transport, beating(tmp_path, 30)) as client, anyio.create_task_group() as group:
            group.start_soon(hear, client, BURST, heard)
            with anyio.fail_after(50):
                while not heard or heard[-1][0] < 39:
                    await anyio.sleep(0.05)
            group.cancel_scope.cancel()

    anyio.run(ask)
    assert heard[-1][:3] == (39.0, 40.0, "node 39") and 11 <= len(heard) < 30 and rises(heard)


def test_a_heartbeat_repeats_what_the_script_said_last(tmp_path: Path) -> None:
    """Above its last number and below its next one; numbers that fall or stay are lifted."""
    heard: Heard = []
    script = f"ctx.progress(3, 10, 'three')\n{BUSY}\nctx.progress(4, 10, 'four')\nctx.progress(4, 10, 'again')\nctx.progress(1, 10, 'back')"

    async def ask() -> None:
        async with clients.connect("memory", beating(tmp_path, 0.2)) as client:
            await hear(client, script, heard)

    anyio.run(ask)
    texts = [text for _, _, text, _ in heard if not text.startswith("running")]
    assert texts.count("three") >= 3 and texts[-3:] == ["four", "again", "back"] and rises(heard)
    assert all(3 <= done < 3.1 for done, _, text, _ in heard if text == "three")
    assert (4.0, 10.0, "four") in [each[:3] for each in heard]


def test_the_largest_number_is_followed_by_a_number(tmp_path: Path) -> None:
    """Infinity is no JSON: a client would take the connection for broken."""
    heard: Heard = []
    script = "ctx.progress(1.7976931348623157e308)\nctx.progress(1, 2)\nctx.progress(3)\n'done'"

    async def ask() -> None:
        async with clients.connect("memory", beating(tmp_path, 10)) as client:
            assert await hear(client, script, heard) == "done"
            assert await hear(client, "1 + 1", heard) == "2"

    anyio.run(ask)
    assert len(heard) == 3 and rises(heard)
    assert all(math.isfinite(done) for done, *_ in heard)


@pytest.mark.parametrize("gone", [anyio.BrokenResourceError, anyio.ClosedResourceError])
def test_a_client_that_has_gone_is_no_failure_of_the_script(gone: type[Exception]) -> None:
    """Neither the script's report nor the next beat raises."""

    async def send(_done: float, _total: float | None, _text: str) -> None:
        raise gone

    async def tell() -> None:
        signs = heartbeat.Heartbeat(send, 0.1)
        await signs.report(1, None, "a")
        with anyio.move_on_after(0.3) as waited:
            await signs.beat()
        assert waited.cancelled_caught

    anyio.run(tell)
