"""The header by which a request chooses its default context, within what its caller may use. The clusters are recording
servers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from security_tests.recorder import Recorder
from tests.kit import callers, clients, http_server

pytestmark = pytest.mark.promise("H-13")

NAMES: Final = ("east", "west", "hidden")
TOKEN: Final = secrets.token_hex(16)
SETTINGS: Final = """
toolsets = ["code", "kubectl"]
writes = "plan"
[auth]
tokens_file = "{tokens}"
[output]
mark_untrusted = false
[plans]
store = "{folder}/plans.db"
[contexts.east]
[contexts.west]
[contexts.hidden]
[[access]]
contexts = ["east", "west"]
"""
HEADERS: Final = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json", "Content-Type": "application/json"}
WHERE: Final = "[k8s.name, k8s.contexts(), len(k8s.coreV1().list_namespaced_pod('home').items)]"


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Recorder]]:
    with Recorder() as east, Recorder() as west, Recorder() as hidden:
        yield dict(zip(NAMES, (east, west, hidden), strict=True))


@pytest.fixture(scope="module")
def url(clusters: dict[str, Recorder], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("context")
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},alice,uid-alice\n")
    tokens.chmod(0o600)
    servers = {name: {"server": f"http://127.0.0.1:{each.port}"} for name, each in clusters.items()}
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(tokens=tokens, folder=folder))
    kubeconfig = callers.write_kubeconfig(folder / "config", servers)
    with http_server.serving(("--kubeconfig", str(kubeconfig), "--config", str(settings))) as port:
        yield f"http://127.0.0.1:{port}/mcp"


def post(url: str, *choice: tuple[str, str], tool: str = "evaluate_script", **arguments: Any) -> Any:
    """The answer to a call with these further headers: its text, or the message of a refusal."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    given = [(name.encode(), value.encode()) for name, value in (*HEADERS.items(), *choice)]
    answer = httpx2.post(url, headers=given, json=call, timeout=60)
    return read(answer.json())


def read(answer: Any) -> Any:
    """The text in an answer, or the message of a refusal."""
    return answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]


def reached(clusters: dict[str, Recorder]) -> set[str]:
    """The clusters that were asked since the last time."""
    return {name for name, each in clusters.items() if each.take()}


def test_each_request_chooses_its_own_default(url: str, clusters: dict[str, Recorder]) -> None:
    """For scripts, classic tools and plans; a request without the header has the server's."""
    reached(clusters)
    west = ("Kubescript-Context", "west")
    assert json.loads(post(url, west, script=WHERE)) == ["west", ["west", "east"], 1]
    assert reached(clusters) == {"west"}
    assert json.loads(post(url, script=WHERE)) == ["east", ["east", "west"], 1]
    assert reached(clusters) == {"east"}
    post(url, ("KUBESCRIPT_CONTEXT", "west"), tool="kubectl_get", resource="pods", namespace="home")
    assert reached(clusters) == {"west"}
    made = "k8s.coreV1().create_namespaced_config_map('home', {'metadata': {'name': 'made'}})\n1"
    assert "plan p-" in post(url, west, script=made)
    tried = clusters["west"].take()
    assert any(one.line.startswith("POST ") and one.is_dry_run for one in tried) and not reached(clusters)


def test_a_completion_is_of_the_context_that_its_request_chooses(url: str, clusters: dict[str, Recorder]) -> None:
    """Names are kept for half a minute: those of one cluster do not answer for another."""
    params = {"ref": {"type": "ref/prompt", "name": "triage"}, "argument": {"name": "namespace", "value": ""}}
    asked = {"jsonrpc": "2.0", "id": 7, "method": "completion/complete", "params": params}
    reached(clusters)
    for choice, wanted in (
        ({"Kubescript-Context": "west"}, {"west"}),
        ({}, {"east"}),
        ({"Kubescript-Context": "east"}, set()),
    ):
        answer = httpx2.post(url, headers={**HEADERS, **choice}, json=asked, timeout=60).json()
        assert "result" in answer and reached(clusters) == wanted, choice


def test_a_session_has_no_context(url: str, clusters: dict[str, Recorder]) -> None:
    """Its requests have their own: neither that of the first request counts, nor that of the one before."""
    reached(clusters)
    headers = {**HEADERS, "Accept": "application/json, text/event-stream"}
    begun = httpx2.post(url, headers={**headers, "Kubescript-Context": "west"}, json=clients.INITIALIZE, timeout=60)
    headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
    call = {"name": "evaluate_script", "arguments": {"script": WHERE}}
    for choice, wanted in ({}, "east"), ({"Kubescript-Context": "west"}, "west"), ({}, "east"):
        asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
        answer = httpx2.post(url, headers={**headers, **choice}, json=asked, timeout=60)
        (data,) = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        assert json.loads(read(json.loads(data)))[0] == wanted and reached(clusters) == {wanted}


REFUSED: Final = "the request chooses a context that you cannot use here"


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ([("Kubescript-Context", "hidden")], REFUSED),
        ([("Kubescript-Context", "nowhere")], REFUSED),
        ([("Kubescript-Context", "WEST")], REFUSED),
        ([("Kubescript-Context", "west,east")], REFUSED),
        ([("Kubescript-Context", "*")], REFUSED),
        ([("Kubescript-Context", "")], "it is empty"),
        ([("Kubescript-Context", "w\u00e9st")], "it is not plain ASCII"),
        ([("Kubescript-Context", "x" * 3_000)], "it has more than 2048 characters"),
        ([("Kubescript-Context", "west"), ("Kubescript-Context", "west")], "it is there twice"),
        ([("Kubescript-Context", "west"), ("KUBESCRIPT_CONTEXT", "hidden")], "it is there twice"),
    ],
    ids=[
        "not permitted",
        "unknown",
        "case",
        "two names",
        "any",
        "empty",
        "not ASCII",
        "long",
        "twice",
        "two spellings",
    ],
)
def test_no_other_context_takes_the_place_of_one_that_is_refused(
    choice: list[tuple[str, str]], said: str, url: str, clusters: dict[str, Recorder]
) -> None:
    """The refusal is the same whether there is such a context or not; no cluster is asked, and the next call is answered."""
    reached(clusters)
    refused = post(url, *choice, script=WHERE)
    assert refused == said if said == REFUSED else said in refused
    assert not reached(clusters)
    assert json.loads(post(url, script=WHERE))[0] == "east"
