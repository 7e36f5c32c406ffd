"""One person with several tokens of other groups, each of which has a seat of its own: the limits are the person's."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.kit import http_server, patience
from tests.kit.controlplane import shared

pytestmark = pytest.mark.promise("H-12")

TOKENS: Final = {f"token-of-alice-{groups}-0123456789": groups for groups in ("", "a", "b", "a,b")}
SESSIONS: Final = 3
WRITES: Final = 5
INITIALIZE: Final[dict[str, Any]] = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"},
}  # fmt: skip
SCRIPT: Final = """
made = 0
for i in range(9):
    try:
        k8s.coreV1().create_namespaced_config_map("default", {"metadata": {"name": f"a-{i}"}}, dry_run="All")
        made += 1
    except Exception as error:
        assert "writes a minute are permitted" in str(error), error
made"""


@pytest.fixture(scope="module")
def port(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server with low limits."""
    scratch = shared.attach("scratch", run_folder, run_process)
    folder = tmp_path_factory.mktemp("limits")
    tokens = folder / "tokens.csv"
    with tokens.open("w") as opened:
        csv.writer(opened).writerows([token, "alice", "uid-alice", groups] for token, groups in TOKENS.items())
        csv.writer(opened).writerow(["token-of-bob-0123456789", "bob", "uid-bob", ""])
    tokens.chmod(0o600)
    file = folder / "settings.toml"
    file.write_text(
        f'toolsets = ["code"]\nkubeconfig = "{scratch.kubeconfig}"\nwrites = "direct"\n'
        f'[write_policy]\nper_minute = {WRITES}\n[auth]\ntokens_file = "{tokens}"\n[http]\nmax_sessions = {SESSIONS}\n'
    )
    with http_server.serving(("--config", str(file))) as served:
        yield served


def count_writes(port: int, token: str) -> int:
    """How many writes of a script are tried."""
    called = http_server.post(port, token, "tools/call", name="evaluate_script", arguments={"script": SCRIPT})
    return int(called.json()["result"]["content"][0]["text"].partition("\n")[0])


def test_writes_are_counted_over_all_tokens_of_a_person(port: int) -> None:
    """Another person has as many."""
    assert [count_writes(port, token) for token in TOKENS] == [WRITES, 0, 0, 0]
    assert count_writes(port, "token-of-bob-0123456789") == WRITES


def test_sessions_are_counted_over_all_tokens_of_a_person(port: int) -> None:
    """Another person has room meanwhile, and one that ends makes room for another token's."""
    both = "application/json, text/event-stream"

    def begin(token: str) -> httpx2.Response:
        return http_server.post(port, token, "initialize", accept=both, **INITIALIZE)

    begun = [(token, begin(token)) for token in TOKENS for _ in range(SESSIONS)]
    assert [answer.status_code for _, answer in begun] == [200] * SESSIONS + [503] * (len(begun) - SESSIONS)
    assert begin("token-of-bob-0123456789").status_code == 200
    first, answer = begun[0]
    headers = {"Authorization": f"Bearer {first}", "Mcp-Session-Id": answer.headers["mcp-session-id"]}
    assert httpx2.delete(f"http://127.0.0.1:{port}/mcp", headers=headers, timeout=60).status_code == 200
    assert [begin(token).status_code for token in reversed(TOKENS)] == [200, 503, 503, 503]


def test_streams_of_the_older_transport_are_counted_over_all_tokens_of_a_person(port: int) -> None:
    """Once they have ended there is room again."""
    with contextlib.ExitStack() as streams, httpx2.Client(timeout=60) as http:

        def begin(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            stream = http.stream("GET", f"http://127.0.0.1:{port}/sse", headers=headers)
            return streams.enter_context(stream).status_code

        assert [begin(token) for token in TOKENS] == [200] * SESSIONS + [503] * (len(TOKENS) - SESSIONS)
        streams.close()
        patience.until(lambda: begin(next(iter(TOKENS))) == 200)
