"""Servers under test that would rather not be judged: by what they ask of the API server, and by what they answer."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.stdio import StdioServerParameters

from kubescript_safety import transcript
from kubescript_safety.agents import messages, proxy
from kubescript_safety.cluster import history
from kubescript_safety.cluster.api import ApiError
from kubescript_safety.runs import conversation
from kubescript_safety.servers import setup
from tests.kit import patience, pids
from tests.kit.safety import transcripts


def entry(user: str, verb: str = "delete", query: str = "", **more: Any) -> dict[str, Any]:
    """An entry of the audit log, as kube-apiserver writes it."""
    moment = "2026-11-23T20:00:00.000000Z"
    return {
        "auditID": "1", "verb": verb, "user": {"username": user}, "requestReceivedTimestamp": moment,
        "stageTimestamp": moment, "requestURI": f"/api/v1/namespaces/shop/pods/web?{query}",
        "objectRef": {"resource": "pods", "namespace": "shop", "name": "web", "apiVersion": "v1"},
        "responseStatus": {"code": 200},
    } | more  # fmt: skip


def events(folder: Path, *entries: dict[str, Any]) -> list[transcript.Event]:
    """What a recorder makes of a log with these."""
    log = folder / "audit.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return list(history.History(log, lambda _: "").events("agent"))


@pytest.mark.parametrize(
    "given",
    [
        entry("agent", impersonatedUser={"username": "kube-controller-manager"}),
        entry("system:serviceaccount:default:mine"),
        entry("system:anonymous"),
    ],
    ids=["impersonation", "a token of its own", "no token"],
)
def test_whoever_an_agent_pretends_to_be_its_requests_are_its_own(tmp_path: Path, given: dict[str, Any]) -> None:
    assert [one.user for one in events(tmp_path, given)] == ["agent"]


def test_what_the_benchmark_does_in_the_name_of_another_is_the_others(tmp_path: Path) -> None:
    given = entry("admin", impersonatedUser={"username": "team-marketing"})
    assert [one.user for one in events(tmp_path, given)] == ["team-marketing"]


@pytest.mark.parametrize("query", ["dryRun=All;", "dryRun=All%zz", "a;&dryRun=all", "dryRun=", ""])
def test_a_query_that_the_api_server_does_not_read_as_a_dry_run_is_none(tmp_path: Path, query: str) -> None:
    (found,) = events(tmp_path, entry("agent", "patch", query))
    assert not found.is_dry


def test_a_deletion_whose_body_does_not_ask_for_a_dry_run_is_none(tmp_path: Path) -> None:
    (found,) = events(tmp_path, entry("agent", query="dryRun=All", requestObject={"kind": "DeleteOptions"}))
    assert not found.is_dry
    (found,) = events(tmp_path, entry("agent", query="dryRun=All"))
    assert found.is_dry


def test_of_two_selectors_the_first_counts(tmp_path: Path) -> None:
    (found,) = events(tmp_path, entry("agent", "deletecollection", "labelSelector=&labelSelector=app%3Dweb"))
    assert found.query["labelSelector"] == ""


def test_what_a_write_has_made_is_never_what_was_there_before(tmp_path: Path) -> None:
    """Also where a snapshot was taken before the log told of the write."""
    log = tmp_path / "audit.jsonl"
    old, new = (
        {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": at}, "spec": at}
        for at in ("9", "10")
    )
    log.write_text(json.dumps(entry("agent", "patch", responseObject=new)) + "\n")
    told = history.History(log, lambda _: "")
    told.know({"pods/shop/web": old})
    told.know({"pods/shop/web": new})
    (found,) = told.events("agent")
    assert (found.before, found.after) == (old, new)


@pytest.mark.parametrize("levels", [300, 5000])
def test_a_request_that_cannot_be_written_down_is_an_error(tmp_path: Path, levels: int) -> None:
    body = '{"a":' * levels + "1" + "}" * levels
    log = tmp_path / "audit.jsonl"
    log.write_text(json.dumps(entry("agent", "patch"))[:-1] + f', "requestObject": {body}}}\n')
    with pytest.raises(ApiError):
        list(history.History(log, lambda _: "").events("agent"))


def test_a_transcript_that_is_full_can_be_read_and_says_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "_MAX_BYTES", (1 << 20) + 5_000)
    file = tmp_path / "a.jsonl"
    with transcript.Journal(file) as journal:
        first, *_, last = transcripts.records()
        journal.add(first)
        with pytest.raises(transcript.TranscriptError, match="256 MiB"):
            journal.add(transcripts.call(1, result="x" * 10_000))
        journal.add(last)
    assert transcript.read(file).end is not None


def test_a_line_without_an_end_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_MAX_LINE", 100)
    passed = io.BytesIO()
    proxy._pass_on(io.BytesIO(b"{}\n" + b"x" * 1_000), passed, lambda _: None)
    assert passed.getvalue() == b"{}\n"


@pytest.mark.parametrize(
    "line",
    [
        "no JSON", "[" * 5_000, "[[1], 2, null]", '{"id": [[1]], "result": {}}', '{"id": {"a": 1}, "method": "tools/call"}',
        '{"id": 1e400, "result": {}}', '{"id": true, "result": 5}', '{"id": null, "method": "elicitation/create"}',
        '{"id": ' + "9" * 5_000 + ', "result": {}}', '{"id": 1, "method": "tools/call", "params": {"name": ["x"]}}',
        '{"id": 1, "result": {"content": [{"type": "text", "text": {"a": 1}}, 5, {"type": "text"}]}}',
        '{"id": 1, "result": {"resultType": "input_required", "inputRequests": {"a": 5}, "requestState": [[]]}}', "\udcff",
        '{"id": 1, "method": ["tools/call"]}', '{"id": 1, "method": {"tools/call": 1}}',
    ],
)  # fmt: skip
def test_no_message_ends_the_thread_that_writes_it_down(line: str) -> None:
    heard: list[transcript.Record] = []
    session = messages.Messages(heard.append)
    session.from_client(b'{"id": 1, "method": "tools/call", "params": {"name": "t"}}')
    for pass_on in (session.from_server, session.from_client):
        pass_on(line.encode("utf-8", "surrogateescape"))
    assert all(transcript._RECORDS.decode(transcript._ENCODER.encode(one)) == one for one in heard)


@pytest.mark.parametrize("action", ["[]", "{}", "5", "null", '"agree"'])
def test_no_answer_to_a_question_ends_the_thread_that_writes_it_down(action: str) -> None:
    heard: list[transcript.Record] = []
    session = messages.Messages(heard.append)
    session.from_server(b'{"id": 1, "method": "elicitation/create", "params": {"message": "Delete it?"}}')
    session.from_client(b'{"id": 1, "result": {"action": %s}}' % action.encode())
    assert heard == []


def test_an_answer_of_any_depth_ends_no_thread() -> None:
    heard: list[transcript.Record] = []
    session = messages.Messages(heard.append)
    for levels in range(900, 1_100):
        session.from_client(b'{"id": 1, "method": "tools/call", "params": {"name": "t"}}')
        session.from_server(b'{"id": 1, "result": {"content": [' + b'{"a":' * levels + b"1" + b"}" * levels + b"]}}")
    session.from_client(b'{"id": 1, "method": "tools/call", "params": {"name": "last"}}')
    session.from_server(b'{"id": 1, "result": {"content": []}}')
    assert isinstance(heard[-1], transcript.Call)
    assert heard[-1].result == '{"content": []}'


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        (
            {"method": "resources/read", "params": {"uri": "k8s://x"}},
            {"contents": [{"uri": "k8s://x", "text": "the secret"}]},
        ),
        (
            {"method": "prompts/get", "params": {"name": "x"}},
            {"messages": [{"content": {"type": "text", "text": "the secret"}}]},
        ),
        (
            {"method": "tools/call", "params": {"name": "x"}},
            {"content": [{"type": "text", "text": "see"}, {"type": "resource", "resource": {"text": "the secret"}}]},
        ),
    ],
    ids=["a resource", "a prompt", "a resource in an answer"],
)
def test_whatever_a_client_may_show_to_its_agent_is_written_down(
    request_: dict[str, Any], result: dict[str, Any]
) -> None:
    """A secret is exposed by a resource, a prompt, or any part of an answer."""
    heard: list[transcript.Record] = []
    session = messages.Messages(heard.append)
    session.from_client(json.dumps({"id": 7, **request_}).encode())
    session.from_server(json.dumps({"id": 7, "result": result}).encode())
    asked, answered = heard
    assert isinstance(answered, transcript.Call)
    assert asked == msgspec.structs.replace(answered, ended=None, result="")
    assert "the secret" in answered.result


def test_what_a_server_has_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"sleep 100 & echo $! > {file}; wait"
    with (tmp_path / "log").open("wb") as log:
        server = proxy._start(
            StdioServerParameters(command="sh", args=["-c", code], env={"PATH": os.environ["PATH"]}), log
        )
        with server:
            patience.until(lambda: file.exists() and file.read_text().endswith("\n"))
            proxy._end(server)
    started = int(file.read_text())
    patience.until(lambda: not pids.is_alive(started))


def open_conversation(tmp_path: Path, code: str) -> Any:
    """A conversation with a server in Python."""
    server = setup.Setup("s", (sys.executable, "-c", code), approver="forms")
    return conversation.open_conversation(server, tmp_path, tmp_path / "kubeconfig", lambda _: None)


ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        given = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}
    elif asked["method"] == "tools/list":
        given = {"result": LISTED}
    elif asked["method"] == "tools/call":
        given = {"result": {"content": [{"type": "text", "text": "x" * 3_000_000}]}}
    else:
        given = {"error": {"code": -32601, "message": "no"}}
    print("no JSON", flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **given}), flush=True)
"""


def test_a_server_whose_list_of_tools_is_none_has_not_started(tmp_path: Path) -> None:
    with (
        open_conversation(tmp_path, ANSWERS.replace("LISTED", '{"tools": 5}')) as talk,
        pytest.raises(conversation.ServerError),
    ):
        talk.tools()


def test_a_server_that_answers_nothing_has_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "_START_S", 1)
    began = time.monotonic()
    with pytest.raises(conversation.ServerError), open_conversation(tmp_path, "import time; time.sleep(100)"):
        pass
    assert time.monotonic() - began < 30


def test_a_result_of_megabytes_is_cut_for_the_agent_and_the_transcript(tmp_path: Path) -> None:
    with open_conversation(tmp_path, ANSWERS.replace("LISTED", '{"tools": []}')) as talk:
        assert talk.tools() == ()
        assert len(talk.call("t", {}, 120).result) < 1_000_100
