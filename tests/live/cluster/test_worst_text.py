"""While a cluster serves the text that takes longest to mask, the server answers everybody else."""

from __future__ import annotations

import base64
import gzip
import statistics
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp.client import Client

from security_tests.redaction import planted
from tests.kit import clients, patience
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

_PACKED: Final = base64.b64encode(
    gzip.compress((("user,password\n" + "alice,A1b2c3d4\n" * 9_999) * 100).encode(), mtime=0)
).decode()
"""Forty kilobytes that unfold to fifteen megabytes, which take half a minute to mask: the worst that anybody has found."""
WORST: Final = ", and ".join([_PACKED] * 6)
"""Six of them, so that a machine three times as fast does not mask it while the others ask."""
NAME: Final = "worst-text"
READ: Final = {
    "cluster": f"k8s.coreV1().read_namespaced_config_map('{NAME}', 'default').data['text']",
    "snapshot": "k8s.coreV1().read_namespaced_pod_log('planted', 'default')",
}
PINGS: Final = 40
PING_S: Final = 0.1
"""What a ping may take, half of the time, on a machine that is otherwise idle. Answered by a thread that masks, it would
take until the deadline."""
LONG_MS: Final = 60_000
"""A deadline before which the others have their answers, on any machine."""
SHORT_MS: Final = 6_000
"""One that the test waits for."""


@pytest.fixture
def served(own_plane: ControlPlane, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[list[str], str]]:
    """The flags of a server whose cluster holds the worst text, and the script that reads it."""
    script = READ[request.param]
    if request.param == "snapshot":
        folder = planted.snapshot(tmp_path, f"level=info msg=start\n{WORST}\n")
        yield ["--snapshot", str(folder), "--log-level", "error"], script
        return
    # A server on which no other test lists all objects at the same time: it would mask this one, for minutes.
    kubeconfig = own_plane.kubeconfig
    writer = Writer(kubeconfig)
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": "default"},
        "data": {"text": WORST},
    }
    writer.create(body)
    yield ["--kubeconfig", str(kubeconfig), "--log-level", "error"], script
    writer.delete(body)


async def pinged(client: Client, count: int) -> float:
    """Seconds that half of so many pings take at most."""
    seconds = []
    for _ in range(count):
        started = time.monotonic()
        with warnings.catch_warnings(action="ignore"):  # the newest protocol has no ping, this session's has one
            await client.send_ping()
        seconds.append(time.monotonic() - started)
        await anyio.sleep(0.02)
    return statistics.median(seconds)


@pytest.mark.parametrize(("served", "transport"), [("cluster", "http"), ("snapshot", "stdio")], indirect=["served"])
def test_others_are_answered_while_the_worst_text_is_masked(transport: str, served: tuple[list[str], str]) -> None:
    """Pings and a second script have their answers as ever; one that reads the text ends at its deadline with an error
    that says so, and not a word of the text leaves. Then all is as before."""
    flags, script = served
    answers: list[str] = []

    async def read(client: Client, deadline_ms: int) -> None:
        answers.append(clients.text(await clients.evaluate(client, script, timeout=deadline_ms)))

    async def talk() -> None:
        async with clients.connect(transport, flags, mode="legacy") as client:
            assert clients.text(await clients.evaluate(client, "6 * 7")) == "42"
            quiet = await pinged(client, PINGS)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read, client, LONG_MS)
                await anyio.sleep(2)
                busy = await pinged(client, PINGS)
                second = await clients.evaluate(client, "len(k8s.coreV1().list_namespace())")
                assert clients.text(second).isdigit()
                assert not answers, "the others had to wait for the worst text"
                tasks.cancel_scope.cancel()
            print(f"median ping: {quiet * 1000:.1f} ms, then {busy * 1000:.1f} ms")
            assert busy < patience.scaled(PING_S)
            await read(client, SHORT_MS)
            assert clients.text(await clients.evaluate(client, "6 * 7")) == "42"

    anyio.run(talk)
    assert "limit.time" in answers[0], answers
    assert WORST[5_000:5_072] not in answers[0]
