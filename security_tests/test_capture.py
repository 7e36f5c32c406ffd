"""`kubescript snapshot` against an API server of a stranger's: it ends, in an error by name or with what is missing on its
report, and nothing that the server says reaches a terminal or an address outside of the folder."""

from __future__ import annotations

import contextlib
import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import errors, types
from kubescript.broker import call as broker_call
from kubescript.capture import capture
from kubescript.cli import process
from kubescript.policy import policy
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript_sandbox.host import cancellation
from security_tests.saved import pod, text
from tests.kit import reading

Document = dict[str, Any]
PODS: Final = "/api/v1/pods"
PAGE: Final[Document] = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod("p1")]}
CORE: Final[Document] = {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}]}
HONEST: Final[dict[str, Any]] = {
    "/version": {"gitVersion": "v1"},
    "/api": {"versions": ["v1"]},
    "/apis": {"groups": []},
    "/api/v1": CORE,
    PODS: PAGE,
    "/api/v1/namespaces/a/pods/p1/log": {"a": "log"},
}


class Server:
    """An API server that answers as `HONEST`, save for these documents."""

    name = "hostile"
    address = "https://127.0.0.1:6443"
    namespace = "default"
    is_named_by_data = False

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = HONEST | answers
        self.asked: list[str] = []

    def perform(self, call: request.Request, _s: float, _cancel: cancellation.Cancellation) -> types.Response:
        """Answer with the document, or with what a function makes of the query."""
        self.asked.append(call.path)
        assert len(self.asked) < 10_000, "it does not end"
        answer = self._answers.get(call.path, {})
        if callable(answer):
            answer = answer(dict(call.query))
        chunks = answer if isinstance(answer, Iterator) else iter([json.dumps(answer).encode()])
        reason = "OK" if call.path in self._answers else "Not \x1b]0;Found\x07"
        status = 200 if call.path in self._answers else 404
        return types.Response(status, reason, "application/json", chunks, lambda: None)

    def close(self) -> None:
        """Nothing is open."""


def captured(answers: dict[str, Any], out: Path, **hooks: Any) -> capture.Report:
    """The report of a capture with logs."""
    return capture.capture(reading.made(Server(answers), policy.Policy(), **hooks), out, logs=5)


def works(folder: Path) -> bool:
    """Whether an honest server is saved and served."""
    captured({}, folder / "honest")
    return '"p1"' in text(snapshot.Snapshot(folder / "honest"), "api/v1/pods")


def same_token(_query: dict[str, str]) -> Document:
    return PAGE | {"metadata": {"continue": "again"}}


def new_tokens() -> Callable[[dict[str, str]], Document]:
    """Each page is empty and names another."""
    numbers = itertools.count()
    return lambda _: PAGE | {"metadata": {"continue": f"page{next(numbers)}"}, "items": []}


def large_pages() -> Callable[[dict[str, str]], Document]:
    """Each page has much in it and names another."""
    numbers = itertools.count()

    def page(_query: dict[str, str]) -> Document:
        item = pod("p1") | {"filler": "x" * 30_000_000}
        return PAGE | {"metadata": {"continue": f"page{next(numbers)}"}, "items": [item]}

    return page


def endless(_query: dict[str, str]) -> Iterator[bytes]:
    """A body without end."""
    return itertools.repeat(b" " * (1 << 20))


ENDLESS: Final = {
    "one token": (same_token, "do not end"),
    "tokens without end": (new_tokens(), "do not end"),
    "pages without end": (large_pages(), "do not end"),
    "a body without end": (endless, "a part of more than"),
}


@pytest.mark.promise("F-01", "F-07")
@pytest.mark.parametrize("name", ENDLESS)
def test_a_list_without_end_is_missing(name: str, tmp_path: Path) -> None:
    """The disk, or the memory, of whoever saves a cluster is not the server's to fill."""
    answer, why = ENDLESS[name]
    tracemalloc.start()
    try:
        report = captured({PODS: answer}, tmp_path / "out")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert why in report.missing["pods"] and not report.resources
    assert not list(tmp_path.rglob("pods.json"))
    assert most < 1 << 30
    assert works(tmp_path)


GROUP: Final = {"name": "g.example", "versions": [{"version": "v1"}]}


def each(*values: Any) -> tuple[Any, ...]:
    """The values, of any types."""
    return values


ODD: Final[tuple[dict[str, Any], ...]] = (
    *(
        {"/apis": {"groups": groups}}
        for groups in each(7, [7], [{}], [{"name": 7}], [{"name": "g", "versions": [7]}], {})
    ),
    *({"/apis": {"groups": [GROUP | change]}} for change in each({"versions": None}, {"preferredVersion": 7})),
    {"/apis": {"groups": [GROUP, GROUP, {"name": "", "versions": [{"version": "v1"}]}]}},
    *({"/api/v1": {"resources": entries}} for entries in each(7, [7], [{}], [{"name": 7}], [{"name": "pods"}], {})),
    *(
        {"/api/v1": {"resources": [CORE["resources"][0] | change]}}
        for change in each({"name": "../x"}, {"verbs": "list"})
    ),
    {"/api/v1": {"resources": [CORE["resources"][0], CORE["resources"][0]]}},
    *({PODS: PAGE | change} for change in each({"metadata": []}, {"metadata": {"continue": 7}}, {"items": 7})),
    *({PODS: PAGE | {"items": [item]}} for item in each(7, [], {}, {"metadata": 7}, {"metadata": {"name": 7}})),
    *({PODS: PAGE | {"items": [pod("p1") | {"spec": spec}]}} for spec in each(None, 7, [], {"containers": [7]})),
    *({PODS: PAGE | {"items": [pod("p1") | {"status": status}]}} for status in each(7, {"containerStatuses": [7]})),
    {PODS: PAGE | {"items": [pod("p1"), pod("p1")]}},
    {PODS: lambda _: iter([b'{"metadata":{},"items":[' + b"[" * 100_000])},
    {PODS: lambda _: iter([b'{"metadata":{},"items":[{"metadata":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}]}"])},
    {"/version": []},
    {"/version": "\x1b"},
)


@pytest.mark.promise("F-01", "F-07")
@pytest.mark.parametrize("answers", ODD, ids=range(len(ODD)))
def test_documents_of_any_shape_end_in_a_snapshot_or_an_error_by_name(answers: dict[str, Any], tmp_path: Path) -> None:
    """Wrong types where names and lists are, the same thing twice: what is saved can be served."""
    out = tmp_path / "out"
    is_served = False
    with contextlib.suppress(errors.ClusterError):
        captured(answers, out)
        snapshot.Snapshot(out).close()
        is_served = True
    assert is_served == out.exists()
    assert works(tmp_path)


NO_DOCUMENTS: Final[tuple[Document, ...]] = (
    {},
    {"kind": "Status", "status": "Failure", "code": 500},
    {"kind": "PodList", "items": []},
)


@pytest.mark.promise("F-01", "F-10")
@pytest.mark.parametrize("document", NO_DOCUMENTS, ids=range(len(NO_DOCUMENTS)))
def test_what_is_no_discovery_is_no_cluster_without_resources(document: Document, tmp_path: Path) -> None:
    """What a group has was not saved, and no word of it was among what is missing."""
    for path in ("/api", "/apis"):
        with pytest.raises(errors.ClusterError, match=f"{path} cannot be read: the answer is not a discovery document"):
            captured({path: document}, tmp_path / "out")
    report = captured({"/apis": {"groups": [GROUP]}, "/apis/g.example/v1": document}, tmp_path / "group")
    assert "not a discovery document" in report.missing["g.example/v1"] and report.objects == 1
    assert works(tmp_path)


TITLE: Final = "\x1b]0;owned\x07\x1b[2J"


@pytest.mark.promise("S-08")
def test_no_reason_of_an_answer_is_saved_unmasked(tmp_path: Path) -> None:
    """The reason phrase is the API server's word like any other."""

    def mask(text: str, _found: broker_call.Found, _check: broker_call.Check) -> str:
        return text.replace("Found", "«redacted»")

    groups = {"groups": [GROUP]}
    report = captured({"/apis": groups}, tmp_path / "out", mask=mask)
    assert "«redacted»" in report.missing["g.example/v1"] and "Found" not in report.missing["g.example/v1"]
    assert "Found" not in (tmp_path / "out" / "snapshot.json").read_text()
    assert works(tmp_path)


@pytest.mark.promise("O-01")
def test_no_word_of_an_api_server_gives_orders_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing and why is printed in the API server's words."""
    process.echo(f"not saved: pods: {TITLE}")
    assert capsys.readouterr().out == "not saved: pods: \n"
