"""Every MCP client of the field on every transport, against a `kubescript` that was started as a user starts it.

A row of the matrix is one visit (`tests/kit/mcp_clients.py`); the tests ask what the client saw.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from kubescript.cli import demo
from tests.kit import clients, mcp_clients, paths
from tests.kit.mcp_clients import Answer, Step, Visit

pytestmark = pytest.mark.timeout(600)  # the first run on a machine installs the clients

LEGACY: Final = "2025-11-25"
NEWEST: Final = "2026-07-28"
VERSIONS: Final = {
    "python sdk": NEWEST,
    "python sdk, with a handshake": LEGACY,
    "fastmcp": NEWEST,
    "typescript sdk": LEGACY,
    "go sdk": NEWEST,
}
"""The newest version of the protocol that each client speaks. Over SSE those of Python shake hands."""
MODERN: Final = tuple(client for client, version in VERSIONS.items() if version == NEWEST)


@dataclass(frozen=True)
class Way:
    """One way to a server."""

    transport: str
    path: str = "/mcp"
    flags: Sequence[str] = ()
    settings: str = ""
    """More TOML for its configuration. Over HTTP, ways with the same flags and settings share a server."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    followers: Collection[str] = tuple(VERSIONS)
    """The clients that can hear of progress there, and give a script up."""


TOKEN: Final = "0123456789abcdef-of-a-client"
"""What the callers' file holds a digest of."""
CALLERS: Final = '[auth]\ntokens_file = "{file}"\n'

WAYS: Final = {
    "sse": Way("sse", "/sse"),
    "stateless": Way("http", flags=("--stateless",), followers=MODERN),  # an older client's cancellation gets lost
    "with a token": Way("http", settings=CALLERS, headers={"Authorization": f"Bearer {TOKEN}"}),
    "sse with a token": Way("sse", "/sse", settings=CALLERS, headers={"Authorization": f"Bearer {TOKEN}"}),
    "stdio": Way("stdio"),
    "http": Way("http"),
}
ONE_PLACE: Final = "[sandbox]\nmax_scripts = 1\n"
"""While a script that nobody wants any more runs, the next one would wait."""

COUNT: Final = "len(k8s.coreV1().list_node())"
NODES: Final = Answer("6")
"""What it answers, in the demo's cluster."""
PAGE: Final = "kubescript://sdk/index"
DOCS: Final = paths.ROOT / "sdk_docs"
FAILING: Final = (Step("failing", "nodes = [1]\nnodes[5].spec"), Step("after failing", COUNT))
REPORTS: Final = "for n in range(1, 4):\n    ctx.progress(n, 3, f'node {n}')\n"
FOLLOWED: Final = (
    Step("followed", REPORTS + "'done'", follow=True),
    Step("given up", REPORTS + "while True: pass", abandon=True),
    Step("after giving up", COUNT),
)
REPORTED: Final = ((1, 3, "node 1"), (2, 3, "node 2"), (3, 3, "node 3"))


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Way], mcp_clients.Door]]:
    """Opens a way; servers over HTTP run until the end of the module."""
    running: dict[tuple[Sequence[str], str], int] = {}

    def flags(way: Way) -> list[str]:
        config = tmp_path_factory.mktemp("config") / "kubescript.toml"
        tokens = config.with_name("tokens.csv")
        tokens.write_text(f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()},client,1\n")
        config.write_text(ONE_PLACE + way.settings.format(file=tokens))
        common = ["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT), "--config", str(config)]
        return [*common, "--log-level", "error", *way.flags]

    def opened(way: Way) -> mcp_clients.Door:
        if way.transport == "stdio":
            return mcp_clients.Door("stdio", (clients.KUBESCRIPT, *flags(way)))
        key = (way.flags, way.settings)
        if key not in running:
            running[key] = stack.enter_context(clients.serving(flags(way)))
        return mcp_clients.Door(way.transport, url=f"http://127.0.0.1:{running[key]}{way.path}", headers=way.headers)

    with contextlib.ExitStack() as stack:
        yield opened


@pytest.fixture(scope="module")
def visits(door: Callable[[Way], mcp_clients.Door]) -> Callable[[str, str], Visit]:
    """Makes each visit of the matrix once."""
    made: dict[tuple[str, str], Visit] = {}

    def visit(way: str, client: str) -> Visit:
        if (way, client) not in made:
            asked = FAILING + FOLLOWED if client in WAYS[way].followers else FAILING
            made[way, client] = mcp_clients.CLIENTS[client](door(WAYS[way]), mcp_clients.Task(PAGE, asked))
        return made[way, client]

    return visit


every_way = pytest.mark.parametrize("way", WAYS)
every_client = pytest.mark.parametrize("client", mcp_clients.CLIENTS)
every_follower = pytest.mark.parametrize(
    ("way", "client"), [(name, client) for name, way in WAYS.items() for client in way.followers]
)


@every_way
@every_client
def test_a_client_finds_the_tool_and_reads_a_page(way: str, client: str, visits: Callable[[str, str], Visit]) -> None:
    """It connects, the tool is listed, and a page of the documentation comes whole."""
    seen = visits(way, client)
    assert seen.tools == [mcp_clients.TOOL]
    assert _headings(seen.page) == _headings((DOCS / "index.md").read_text())
    assert len(seen.page) > 6_000


@every_way
@every_client
def test_a_failing_script_is_an_error_and_the_next_one_answers_its_last_expression(
    way: str, client: str, visits: Callable[[str, str], Visit]
) -> None:
    """The client tells the two apart, and the error is in words for a model."""
    answers = visits(way, client).answers
    assert answers["failing"].is_error
    assert "IndexError" in answers["failing"].text and "line 2" in answers["failing"].text
    assert answers["after failing"] == NODES


@every_way
@pytest.mark.parametrize("client", VERSIONS)
def test_a_client_gets_the_newest_version_that_it_speaks(
    way: str, client: str, visits: Callable[[str, str], Visit]
) -> None:
    """So that both eras of the protocol take part."""
    shakes_hands = WAYS[way].transport == "sse" and client != "go sdk"
    assert visits(way, client).version == (LEGACY if shakes_hands else VERSIONS[client])


@every_follower
def test_progress_arrives_in_its_order(way: str, client: str, visits: Callable[[str, str], Visit]) -> None:
    """As the script reports it, and the answer comes nevertheless."""
    answers = visits(way, client).answers
    assert answers["given up"].progress == REPORTED
    # Not all of it: the TypeScript SDK drops what arrives together with the answer (its issue 2580).
    assert set(answers["followed"].progress) <= set(REPORTED)
    assert (answers["followed"].text, answers["followed"].is_error) == ("done", False)


@every_follower
def test_a_script_that_its_client_gives_up_ends(way: str, client: str, visits: Callable[[str, str], Visit]) -> None:
    """It would run for ever in the server's only place, and the next script gets that place."""
    answers = visits(way, client).answers
    assert answers["given up"].given_up
    assert answers["after giving up"] == NODES


def _headings(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("#")]
