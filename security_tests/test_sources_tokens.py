"""Which source gets a caller's token: the one that its audience names, and no other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import pytest

from security_tests import audiences
from security_tests.audiences import CAROL, ask
from security_tests.identity_provider import AUDIENCE, Provider
from tests.kit import api_server
from tests.kit.engines import prometheus

TABLE: Final = """
[contexts.{context}.sources.{name}]
kind = "prometheus"
url = "{url}"
auth = "caller"
{more}
"""
EACH: Final = """
def value(context, name):
    try:
        return k8s.context(context).source(name).query("queue")[0].value
    except ApiException as error:
        return str(error.code)
{"stated": value("east", "stated"), "unstated": value("east", "unstated"), "other": value("west", "other")}
"""
NAMES: Final = ("stated", "unstated", "other")


@pytest.fixture(scope="module")
def sources() -> Iterator[dict[str, api_server.Server]]:
    """Servers that take every token."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(contextlib.closing(api_server.Server())) for name in NAMES}
        for each in servers.values():
            each.answer = api_server.whole(prometheus.vector("7", __name__="queue"))
        yield servers


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def port(
    provider: Provider, sources: dict[str, api_server.Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    settings = {
        "stated": ("east", 'audience = "of-queues"'),
        "unstated": ("east", ""),
        "other": ("west", 'audience = "of-others"'),
    }
    tables = "".join(
        TABLE.format(context=context, name=name, url=sources[name].url, more=more)
        for name, (context, more) in settings.items()
    )
    with (
        audiences.opened() as clusters,
        audiences.serving(tmp_path_factory.mktemp("sources"), provider, clusters, tables) as opened,
    ):
        yield opened


@pytest.mark.promise("D-05")
@pytest.mark.parametrize(
    ("audience", "reached"),
    [
        ("", ()),
        (AUDIENCE, ()),
        ([AUDIENCE, "of-queues"], ("stated",)),
        ([AUDIENCE, "of-others", "of-queues"], ("stated", "other")),
        ([AUDIENCE, "of-east", "of-west", "OF-QUEUES", "unstated"], ()),
    ],
)
def test_a_token_goes_to_the_sources_that_its_audience_names(
    audience: Any, reached: tuple[str, ...], provider: Provider, sources: dict[str, api_server.Server], port: int
) -> None:
    """Neither to another cluster's source, nor to one without an audience, even if its cluster takes the token; nor is one
    of the server's own file sent, which names none. The next call is answered."""
    for each in sources.values():
        each.requests.clear()
    token = provider.token(provider.claims(aud=audience)) if audience else CAROL
    found = ask(port, token, EACH)
    assert found == {name: 7 if name in reached else "cluster.auth" for name in NAMES}
    for name, each in sources.items():
        assert each.tokens == ({f"Bearer {token}"} if name in reached else set()), name
    assert ask(port, token, "1 + 1") == 2
