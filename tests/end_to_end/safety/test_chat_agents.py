"""Agents that are models: they work through the tools of a real server, within their bounds, and no key is told."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kubescript.cli import demo
from kubescript_safety import transcript
from kubescript_safety.agents.chat import agent, names
from kubescript_safety.agents.chat import model as models
from kubescript_safety.runs import conversation, matrix
from kubescript_safety.runs.agent import AgentError
from kubescript_safety.servers import setup
from tests.kit import clients
from tests.kit.safety import model_endpoint
from tests.kit.safety.transcripts import task

KEY = "sk-test-0123456789abcdef"
COMMAND = (clients.KUBESCRIPT, "--snapshot", str(demo.SNAPSHOT), "--toolsets", "kubectl,code")
SERVER = setup.Setup("k", COMMAND, environment={"XDG_CACHE_HOME": clients.CACHE})
TASK = msgspec.structs.replace(task(), task="Which nodes are there?")
both = pytest.mark.parametrize("provider", ["openai", "anthropic"])
RECORDS: list[transcript.Record] = []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[conversation.Conversation]:
    """A real server over stdio, on a saved cluster."""
    folder = tmp_path_factory.mktemp("server")
    with conversation.open_conversation(SERVER, folder, folder / "none", RECORDS.append) as talk:
        yield talk


@pytest.fixture
def talk(server: conversation.Conversation, monkeypatch: pytest.MonkeyPatch) -> conversation.Conversation:
    """The same, with nothing written down yet and a key in the environment."""
    RECORDS.clear()
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    return server


def model(provider: str, endpoint: model_endpoint.Standin, **settings: Any) -> models.Model:
    """A model behind the endpoint that stands in for it."""
    suffix = "/v1" if provider == "openai" else ""
    return models.parse(f"{provider}:model-1", base_url=endpoint.url + suffix, **settings)


def work(
    provider: str, talk: conversation.Conversation, replies: Iterable[model_endpoint.Reply], **settings: Any
) -> tuple[dict[str, int], model_endpoint.Standin]:
    """Lets a model with these answers work; returns its tokens and what the endpoint was asked."""
    with model_endpoint.answering(replies) as endpoint:
        return agent.Chat(model(provider, endpoint, **settings)).work(TASK, talk, RECORDS.append, 240), endpoint


def let_fail(
    provider: str, talk: conversation.Conversation, replies: Iterable[model_endpoint.Reply], **settings: Any
) -> AgentError:
    """The same for one that does not come to an end of its own."""
    with pytest.raises(AgentError) as caught:
        work(provider, talk, replies, **settings)
    return caught.value


def results(asked: dict[str, Any]) -> list[str]:
    """What the model was told of its calls, in order."""
    found = []
    for message in asked["messages"]:
        if message["role"] == "tool":
            found.append(message["content"])
        elif message["role"] == "user" and isinstance(message["content"], list):
            found += [part["content"] for part in message["content"]]
    return found


def calls() -> list[transcript.Call]:
    """The calls that were written down."""
    found = [one for one in RECORDS if isinstance(one, transcript.Call)]
    answered = {one.id for one in found if one.ended is not None}
    return [one for one in found if one.ended is not None or one.id not in answered]


def texts() -> list[str]:
    """What the model has said."""
    return [one.text for one in RECORDS if isinstance(one, transcript.Text)]


@both
def test_a_model_works_through_the_tools_and_its_tokens_are_counted(
    provider: str, talk: conversation.Conversation
) -> None:
    """Two calls in one turn are made in order, and their results come back in order."""
    tokens, endpoint = work(
        provider, talk, map(model_endpoint.Reply, model_endpoint.RECORDED[provider]), seed=7, temperature=0.5
    )
    assert tokens == {"turns": 2, "input": 2500, "output": 70, "cached": 900}
    assert texts() == ["I look at the nodes and the pods.", "The nodes are known."]
    nodes, count = calls()
    assert (nodes.tool, nodes.arguments) == ("kubectl_get", {"resource": "nodes"})
    assert not nodes.is_error
    assert "node-a1" in nodes.result
    assert count.tool == "evaluate_script"
    assert [type(one) for one in RECORDS] == [transcript.Text, *[transcript.Call] * 4, transcript.Text]
    first, second = endpoint.asked
    assert results(first) == []
    assert results(second) == [nodes.result, count.result]
    assert first["model"] == "model-1"
    assert first["tools"] == second["tools"]


def test_openai_is_asked_in_its_own_shape(talk: conversation.Conversation) -> None:
    """With the seed, the temperature, the server's instructions and each tool's schema."""
    replies = map(model_endpoint.Reply, model_endpoint.RECORDED["openai"])
    _, endpoint = work("openai", talk, replies, seed=7, temperature=0.5, turn_tokens=900)
    assert endpoint.paths == ["/v1/chat/completions"] * 2
    assert endpoint.keys == [f"Bearer {KEY}"] * 2
    first, second = endpoint.asked
    assert (first["seed"], first["temperature"], first["max_completion_tokens"]) == (7, 0.5, 900)
    tools = {tool["function"]["name"]: tool["function"] for tool in first["tools"]}
    listed = {tool.name: tool for tool in talk.tools()}
    assert list(tools) == list(listed)
    assert tools["kubectl_get"]["parameters"] == listed["kubectl_get"].input_schema
    assert tools["kubectl_get"]["description"] == listed["kubectl_get"].description
    system, user = first["messages"]
    assert system["role"] == "system"
    assert system["content"].endswith(talk.instructions)
    assert user == {"role": "user", "content": TASK.task}
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    said = second["messages"][2]
    assert said["tool_calls"] == model_endpoint.RECORDED["openai"][0]["choices"][0]["message"]["tool_calls"]
    assert [message["tool_call_id"] for message in second["messages"][3:]] == ["call_a", "call_b"]


def test_anthropic_is_asked_in_its_own_shape(talk: conversation.Conversation) -> None:
    """Without a seed and a temperature, which its API does not have; and what the model has thought goes back to it."""
    replies = map(model_endpoint.Reply, model_endpoint.RECORDED["anthropic"])
    _, endpoint = work("anthropic", talk, replies, seed=7, temperature=0.5, turn_tokens=900)
    assert endpoint.paths == ["/v1/messages"] * 2
    assert all(KEY in key for key in endpoint.keys)
    first, second = endpoint.asked
    assert first["max_tokens"] == 900
    assert not {"seed", "temperature"} & set(first)
    assert first["system"].endswith(talk.instructions)
    listed = {tool.name: tool for tool in talk.tools()}
    assert {tool["name"]: tool["input_schema"] for tool in first["tools"]} == {
        name: tool.input_schema for name, tool in listed.items()
    }
    task_, said, told = second["messages"]
    assert task_ == {"role": "user", "content": TASK.task}
    assert said == {"role": "assistant", "content": model_endpoint.RECORDED["anthropic"][0]["content"]}
    assert told["role"] == "user"
    assert [part["tool_use_id"] for part in told["content"]] == ["call_a", "call_b"]


def nest(depth: int) -> dict[str, Any]:
    """Arguments of so many levels: what serializes them further on gives up at 255."""
    found: dict[str, Any] = {}
    for _ in range(depth - 1):
        found = {"resource": found}
    return found


@pytest.mark.parametrize(
    ("provider", "reply", "told"),
    [
        *(("openai", model_endpoint.calling("openai", "kubectl_get", text), "must be a JSON object")
          for text in ('{"resource": "no', "[1]", '"x"', "[" * 100_000, '{"a": NaN}', '{"a": "\\ud800"}')),
        ("anthropic", model_endpoint.calling("anthropic", "kubectl_get", ["nodes"]), "must be a JSON object"),
        ("anthropic", model_endpoint.calling("anthropic", "kubectl_get", None), "must be a JSON object"),
        *((provider, model_endpoint.calling(provider, "kubectl_get", nest(depth)), "at most 64 levels")
          for provider in ("openai", "anthropic") for depth in (65, 250, 400)),
        ("openai", model_endpoint.calling("openai", "kubectl.delete all", {}), "there is no tool 'kubectl.delete all'"),
        ("anthropic", model_endpoint.calling("anthropic", "kubectl.delete all", {}), "there is no tool 'kubectl.delete all'"),
        ("openai", model_endpoint.calling("openai", "kubectl_get", {"resource": "nodes"}, cut=True), "has been cut off"),
        ("anthropic", model_endpoint.calling("anthropic", "kubectl_get", {"resource": "nodes"}, cut=True), "has been cut off"),
    ],
    ids=itertools.count(1),
)  # fmt: skip
def test_a_call_that_cannot_be_made_is_told_to_the_model_and_takes_a_turn(
    provider: str, reply: model_endpoint.Reply, told: str, talk: conversation.Conversation
) -> None:
    """The server hears nothing of it. What is sent back of it is such that no endpoint refuses the conversation."""
    tokens, endpoint = work(provider, talk, [reply, model_endpoint.saying(provider, "I see.")])
    assert tokens["turns"] == 2
    assert calls() == []
    assert told in results(endpoint.asked[1])[0]
    assert len(results(endpoint.asked[1])[0]) < 1200
    said = endpoint.asked[1]["messages"][-2]
    if provider == "openai":
        function = said["tool_calls"][0]["function"]
        assert isinstance(json.loads(function["arguments"]), dict)
        name = function["name"]
    else:
        assert isinstance(said["content"][0]["input"], dict)
        name = said["content"][0]["name"]
    assert names.fit(name) == name


@both
def test_a_model_that_calls_for_ever_is_ended(provider: str, talk: conversation.Conversation) -> None:
    """By its turns, and by its tokens; what it has used is told."""
    for_ever = itertools.repeat(model_endpoint.calling(provider, "kubectl_get", {"resource": "nodes"}))
    error = let_fail(provider, talk, for_ever, max_turns=3)
    assert (error.reason, str(error)) == ("budget", "no answer within 3 turns")
    assert error.tokens == {"turns": 3, "input": 270, "output": 30}
    assert len(calls()) == 3
    error = let_fail(provider, talk, for_ever, max_tokens=450)
    assert (error.reason, str(error)) == ("budget", "no answer within 450 tokens")
    assert error.tokens["turns"] == 5


@both
def test_tokens_that_an_endpoint_does_not_count_are_not_told(provider: str, talk: conversation.Conversation) -> None:
    """Half of a sum would be a wrong figure."""
    uncounted = model_endpoint.calling(provider, "kubectl_get", {"resource": "nodes"}, counted=False)
    assert work(provider, talk, [uncounted, model_endpoint.saying(provider, "Done.")])[0] == {"turns": 2}


@both
def test_an_endpoint_that_does_not_answer_is_not_waited_for(provider: str, talk: conversation.Conversation) -> None:
    """The run ends when its time is over."""
    began = time.monotonic()
    error = let_fail(provider, talk, [model_endpoint.Reply({}, delay=60)], seconds=0.7)
    assert (error.reason, str(error)) == ("timeout", "not done within 0.7 s")
    assert time.monotonic() - began < 30


def test_a_tool_that_does_not_answer_ends_the_run(talk: conversation.Conversation) -> None:
    """Within the same time, and the call is written down as one without an answer."""
    script = {"script": "while True: pass", "timeout": 300_000}
    error = let_fail("openai", talk, [model_endpoint.calling("openai", "evaluate_script", script)], seconds=8)
    assert (error.reason, error.tokens["turns"]) == ("timeout", 1)
    assert calls()[-1].ended is None


@both
def test_an_error_of_the_endpoint_ends_the_run_and_the_key_is_not_told(
    provider: str, talk: conversation.Conversation
) -> None:
    """Not even when the endpoint sends it back."""
    refusal = model_endpoint.Reply({"error": {"type": "authentication_error", "message": f"wrong key {KEY}"}}, 401)
    error = let_fail(provider, talk, [refusal])
    assert error.reason == "error"
    assert f"{provider}:model-1: " in str(error)
    assert "401" in str(error)
    assert "wrong key ***" in str(error)
    assert KEY not in repr(error)


@both
def test_a_key_in_an_answer_is_masked(provider: str, talk: conversation.Conversation) -> None:
    """Texts and calls are written down; the key is not."""
    replies = [
        model_endpoint.calling(provider, "kubectl_get", {"resource": KEY}),
        model_endpoint.saying(provider, f"It is {KEY}."),
    ]
    work(provider, talk, replies)
    assert texts() == ["It is ***."]
    assert KEY.encode() not in msgspec.json.encode(RECORDS)


@both
def test_a_key_that_no_header_can_hold_is_not_told(
    provider: str, talk: conversation.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries' own message quotes the header."""
    for odd in (f"{KEY}\nx", f"{KEY}\u2026", f"{KEY}\x00"):
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            if "\x00" not in odd:
                monkeypatch.setenv(name, odd)
        error = let_fail(provider, talk, [])
        assert error.reason == "error"
        assert KEY not in str(error)


@both
def test_without_a_key_the_run_ends_with_what_is_missing(
    provider: str, talk: conversation.Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The name of the variable is in the message."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    error = let_fail(provider, talk, [])
    assert error.reason == "error"
    assert f"{provider.upper()}_API_KEY" in str(error)


@both
def test_a_busy_endpoint_is_asked_again(provider: str, talk: conversation.Conversation) -> None:
    """By the library's own retries; a turn is counted once."""
    busy = model_endpoint.Reply({"error": {"message": "slow down"}}, 429, {"retry-after-ms": "1"})
    tokens, endpoint = work(provider, talk, [busy, busy, model_endpoint.saying(provider, "Done.")])
    assert tokens["turns"] == 1
    assert len(endpoint.asked) == 3
    assert "429" in str(let_fail(provider, talk, itertools.repeat(busy)))


@both
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"null", b"{}", b"[" * 100_000, {"choices": []}, {"choices": [{"message": 1}]}, {"content": [1]},
     {"content": [{"type": "tool_use"}]}, {"content": "text"}, {"choices": [{"message": {"tool_calls": [{}]}}]},
     {"choices": [{"message": {}}], "content": [], "usage": {"input_tokens": -1, "output_tokens": 0, "prompt_tokens": -1}}],
    ids=itertools.count(1),
)  # fmt: skip
def test_an_answer_of_another_shape_ends_the_run(provider: str, body: Any, talk: conversation.Conversation) -> None:
    """With a message, and not with a fault of ours."""
    error = let_fail(provider, talk, [model_endpoint.Reply(body)])
    assert error.reason == "error"
    assert "cannot be read" in str(error)


@both
def test_a_long_result_is_cut_and_says_so(provider: str, talk: conversation.Conversation) -> None:
    """The transcript has all of it."""
    replies = [
        model_endpoint.calling(provider, "kubectl_get", {"resource": "nodes"}),
        model_endpoint.saying(provider, ""),
    ]
    _, endpoint = work(provider, talk, replies, max_result=20)
    whole = calls()[0].result
    assert results(endpoint.asked[1]) == [f"{whole[:20]}\n[cut: the first 20 of {len(whole)} characters]"]
    assert texts() == [""]


class Odd:
    """A conversation with a server whose tools have names that no API takes."""

    instructions = ""

    def __init__(self, *tools: str) -> None:
        self._tools = tools

    def tools(self) -> tuple[transcript.Tool, ...]:
        """These."""
        return tuple(map(transcript.Tool, self._tools))

    def call(self, tool: str, arguments: dict[str, Any], _: float) -> transcript.Call:
        """Answers with the tool's own name."""
        done = transcript.Call(at=1, ended=2, id="1", tool=tool, arguments=arguments, result=f"this is {tool}")
        RECORDS.append(done)
        return done


@both
def test_arguments_may_be_as_deep_as_a_server_can_be_sent(provider: str, talk: conversation.Conversation) -> None:
    """And no deeper: see above."""
    work(
        provider,
        talk,
        [model_endpoint.calling(provider, "kubectl_get", nest(64)), model_endpoint.saying(provider, "Done.")],
    )
    assert calls()[0].arguments == nest(64)


@both
def test_names_that_the_api_does_not_take_are_changed_and_changed_back(
    provider: str, talk: conversation.Conversation
) -> None:
    """A name that fits is never taken by another tool."""
    tools = ("pods.list", "pods_list", "pods/list", "x" * 100, "")
    given = ["pods_list_1", "pods_list", "pods_list_3", "x" * 64, "_"]
    replies = [
        *(model_endpoint.calling(provider, name, {}) for name in given),
        model_endpoint.saying(provider, "Done."),
    ]
    _, endpoint = work(provider, cast("conversation.Conversation", Odd(*tools)), replies)
    listed = endpoint.asked[0]["tools"]
    assert [tool["function"]["name"] if provider == "openai" else tool["name"] for tool in listed] == given
    assert [call.tool for call in calls()] == list(tools)
    assert results(endpoint.asked[-1]) == [f"this is {name}" for name in tools]


def test_a_model_is_read_from_the_command_line_and_goes_to_other_processes() -> None:
    """Names may have colons; settings that nobody gave are the defaults."""
    found = models.parse("openai:qwen3:8b", base_url="http://127.0.0.1:1/v1", seed=7, max_turns=None)
    assert (found.name, found.model, found.seed, found.max_turns) == ("openai:qwen3:8b", "qwen3:8b", 7, 40)
    assert pickle.loads(pickle.dumps(found)) == found
    assert pickle.loads(pickle.dumps(agent.Chat(found))).name == found.name
    assert matrix.Cell(TASK, SERVER, "openai:lab/../model").name == "s.k.openai_lab_.._model.1"


def test_a_transcript_says_the_settings_that_were_sent() -> None:
    """A seed that Anthropic's API has no field for would be a false promise; an address is nobody's business."""
    ours = models.parse("openai:m", base_url="http://127.0.0.1:1/v1", seed=7, temperature=0.5).settings
    theirs = models.parse("anthropic:m", seed=7, temperature=0.5).settings
    assert (ours["seed"], ours["temperature"], ours["max_turns"]) == (7, 0.5, 40)
    assert "base_url" not in ours
    assert not {"seed", "temperature"} & set(theirs)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("gpt", {}), ("openai:", {}), ("other:model", {}), ("", {}),
        ("openai:m", {"max_turns": 0}), ("openai:m", {"max_tokens": -1}), ("openai:m", {"temperature": 9.0}),
        ("openai:m", {"base_url": "ftp://127.0.0.1"}), ("openai:m", {"base_url": "http://"}), ("openai:m", {"base_url": "v1"}),
        ("openai:m", {"base_url": f"http://u:{KEY}@127.0.0.1/v1"}), ("openai:m", {"base_url": f"http://127.0.0.1/?key={KEY}"}),
        ("openai:m", {"base_url": "http://[::1"}), ("openai:m", {"base_url": "http://127.0.0.1:99999"}),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(text: str, settings: dict[str, Any]) -> None:
    """With a message that has no key in it, wherever it was put."""
    with pytest.raises(models.ModelError) as caught:
        models.parse(text, **settings)
    assert KEY not in str(caught.value)


def test_the_client_libraries_are_loaded_when_they_are_used() -> None:
    """Whoever runs scripts needs neither."""
    program = "import sys, kubescript_safety.agents.chat.agent; print({'openai', 'anthropic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"
