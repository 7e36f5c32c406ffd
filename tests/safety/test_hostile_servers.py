"""Servers under test that would rather not be judged: by what they ask of the API server, and by what they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubescript_safety import transcript
from kubescript_safety.cluster import history
from kubescript_safety.cluster.api import ApiError
from tests.safety import runs


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
        first, *_, last = runs.records()
        journal.add(first)
        with pytest.raises(transcript.TranscriptError, match="256 MiB"):
            journal.add(runs.call(1, result="x" * 10_000))
        journal.add(last)
    assert transcript.read(file).end is not None
