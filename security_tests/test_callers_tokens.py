"""Where callers act by their own tokens: which cluster gets which token. The clusters are recording servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import pytest
import yaml

from security_tests import audiences
from security_tests.audiences import CAROL, NAMES, ask, sent
from security_tests.identity_provider import AUDIENCE, Provider
from security_tests.recorder import Recorder
from tests.kit import callers, http_server
from tests.kit.controlplane import shared

LIMITED: Final = """
[[access]]
users = ["dora"]
contexts = ["unstated"]
[[access]]
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Recorder]]:
    with audiences.opened() as made:
        yield made


@pytest.fixture(scope="module")
def port(provider: Provider, clusters: dict[str, Recorder], tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with audiences.serving(tmp_path_factory.mktemp("tokens"), provider, clusters, LIMITED) as opened:
        yield opened


@pytest.mark.promise("H-10")
@pytest.mark.parametrize(
    ("audience", "reached"),
    [
        (AUDIENCE, set()),
        ([AUDIENCE, "of-east"], {"east"}),
        ([AUDIENCE, "of-west", "of-nowhere"], {"west"}),
        ([AUDIENCE, "of-east", "of-west"], {"east", "west"}),
        ([AUDIENCE, "OF-EAST", "of-west ", "", "unstated"], set()),
    ],
)
def test_a_token_goes_to_the_clusters_that_its_audience_names(
    audience: Any, reached: set[str], provider: Provider, clusters: dict[str, Recorder], port: int
) -> None:
    """Neither to another, nor to one whose audience the operator has not stated; the next call is answered."""
    sent(clusters)
    token = provider.token(provider.claims(aud=audience))
    found = ask(port, token)
    for name in set(NAMES) - reached:
        assert found[name].startswith(f"cluster.auth: the caller's token is not sent to context {name}: "), found
    assert {name for name in NAMES if found[name] == ["one"]} == reached
    assert sent(clusters) == {name: {f"Bearer {token}"} if name in reached else set() for name in NAMES}
    assert ask(port, token, "1 + 1") == 2


@pytest.mark.promise("H-10")
def test_a_weak_token_gets_no_names_that_a_stronger_one_has_listed(provider: Provider, port: int) -> None:
    """Names for completions are kept, but not from one token to another of the same caller."""
    prompt = mcp_types.PromptReference(name="triage")

    async def complete(audience: list[str]) -> list[str]:
        async with callers.connected(port, provider.token(provider.claims(aud=audience))) as client:
            answer = await client.complete(prompt, {"name": "namespace", "value": ""})
            return answer.completion.values

    found = [anyio.run(complete, audience) for audience in ([AUDIENCE, "of-east"], [AUDIENCE])]
    assert found == [["one"], []]


@pytest.mark.promise("H-10")
def test_who_may_use_one_of_several_clusters_brings_it_no_token_for_all(
    provider: Provider, clusters: dict[str, Recorder], port: int
) -> None:
    """A cluster is not the server's only one because a caller may use no other."""
    sent(clusters)
    found = ask(port, provider.token(provider.claims(sub="dora")))
    assert list(found) == ["unstated"] and "the operator has not said which audience" in found["unstated"]
    assert not any(sent(clusters).values())


@pytest.mark.promise("H-10")
def test_a_token_that_names_no_audience_goes_to_none_of_several_clusters(
    clusters: dict[str, Recorder], port: int
) -> None:
    """It is this server's own: no cluster knows it."""
    sent(clusters)
    found = ask(port, CAROL)
    assert set(found) == set(NAMES) and all(text.startswith("cluster.auth: ") for text in found.values()), found
    assert not any(sent(clusters).values())


@pytest.mark.promise("H-10")
@pytest.mark.parametrize(("stated", "is_sent"), [("", True), (AUDIENCE, True), ("another", False)])
def test_a_servers_only_cluster_gets_the_tokens_of_callers_unless_it_takes_others(
    stated: str, is_sent: bool, provider: Provider, clusters: dict[str, Recorder], tmp_path: Path
) -> None:
    """Its API server judges them; and where the operator has said what it takes, the server does."""
    sent(clusters)
    settings = tmp_path / "settings.toml"
    table = f'audience = "{stated}"\n' if stated else ""
    settings.write_text(f'acts_as = "caller"\n{table}[auth]\nissuer = "{provider.url}"\naudience = ["{AUDIENCE}"]\n')
    flags = ("--toolsets", "code", "--config", str(settings), "--kubeconfig")
    token = provider.token()
    with http_server.serving((*flags, str(clusters["east"].kubeconfig(tmp_path)))) as opened:
        (found,) = ask(opened, token).values()
    assert found == ["one"] if is_sent else "the caller's token is not sent: its aud does not name another" in found
    assert sent(clusters)["east"] == ({f"Bearer {token}"} if is_sent else set())


@pytest.mark.cluster
@pytest.mark.promise("H-10")
def test_a_token_that_a_cluster_has_reviewed_goes_to_that_cluster(
    clusters: dict[str, Recorder], tmp_path: Path, run_folder: Path, run_process: int
) -> None:
    """The tokens of all clusters' service accounts name the same audience, so that it proves nothing. Attack: another
    cluster has the same address behind a proxy."""
    scratch = shared.attach("scratch", run_folder, run_process)
    made = callers.Callers(scratch.kubeconfig, tmp_path)
    home = yaml.safe_load(scratch.kubeconfig.read_text())
    far = {"server": f"http://127.0.0.1:{clusters['east'].port}"}
    behind = home["clusters"][0]["cluster"] | {"proxy-url": f"http://127.0.0.1:{clusters['west'].port}"}
    for name, cluster in {"far": far, "behind": behind}.items():
        home["clusters"].append({"name": name, "cluster": cluster})
        home["contexts"].append({"name": name, "context": {"cluster": name, "user": ""}})
    both = tmp_path / "both.kubeconfig"
    both.write_text(yaml.safe_dump(home))
    token = made.account_token("bob")
    (claimed,) = callers.audiences(token)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'acts_as = "caller"\n[auth]\ntoken_review = true\n[contexts.test]\n'
        f'[contexts.far]\naudience = "{claimed}"\n[contexts.behind]\naudience = "{claimed}"\n'
        '[[access]]\nusers = ["*:alice"]\ncontexts = ["far"]\n[[access]]\n'
    )
    read = f"k8s.CoreV1Api().read_namespaced_config_map('of-bob', {callers.NAMESPACES['bob']!r}).metadata.name"
    sent(clusters)
    flags = ("--toolsets", "code", "--kubeconfig", str(both), "--config", str(settings))
    with http_server.serving(flags) as opened:
        assert ask(opened, token, f"[{read}]") == ["of-bob"]
        for each, names in (token, {"far", "behind"}), (made.account_token("alice"), {"far"}):
            found = ask(opened, each)
            assert {name for name in found if "it is known to another cluster only" in found[name]} == names
    assert not any(each.take() for each in clusters.values())
