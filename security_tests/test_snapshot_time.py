"""Time that a saved cluster takes: no request for its objects or logs outlasts its call, whatever is in its files."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from kubescript import errors
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from security_tests.saved import (
    LINE,
    log,
    must_gather,
    own_format,
    pod,
    put,
    text,
)

BLANKS: Final = 16_000
SELECTORS: Final = {
    "blanks before a field": ("fieldSelector", " " * BLANKS + "x"),
    "blanks behind a field": ("fieldSelector", "x" + " " * BLANKS),
    "blanks without a field": ("fieldSelector", " " * BLANKS + "=x"),
    "blanks in a label": ("labelSelector", "x" + " " * BLANKS + "("),
    "a label without end": ("labelSelector", "a" * BLANKS + "("),
    "a list without end": ("labelSelector", "a in (" + "a" * BLANKS),
}


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_is_read_in_linear_time(name: str, tmp_path: Path) -> None:
    """One pattern tried every part of the blanks with every other part: hours, in which no other thread ran."""
    own_format(tmp_path)
    cluster = snapshot.Snapshot(tmp_path)
    call = request.parse(exchanges.Call("GET", ("api", "v1", "pods"), (SELECTORS[name],)))
    began = time.process_time()
    assert cluster.perform(call, 60, cancellation.Cancellation()).status == 400
    assert time.process_time() - began < 2
    assert '"p1"' in text(cluster, "api/v1/pods", "fieldSelector=metadata.name==p1")
    assert '"p1"' not in text(cluster, "api/v1/pods", "fieldSelector=metadata.name!=p1")


PODS: Final = 20_000
MANY_TERMS: Final = ",".join(f"k{number}!=v" for number in range(1_700)) + ",none"


def pods(file: Path) -> None:
    """Very many pods, in the place of two."""
    put(file, json.dumps({"items": [pod(f"p{number}") for number in range(PODS)]}))


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("query", ["limit=1", "", "watch=true"])
def test_a_list_of_a_snapshot_ends_with_its_call(query: str, tmp_path: Path) -> None:
    """Very many terms for each of twenty thousand pods, none of which is picked: the call ends in its time."""
    own_format(tmp_path)
    pods(tmp_path / "resources" / "core" / "v1" / "pods.json")
    cluster = snapshot.Snapshot(tmp_path)
    assert '"p7"' in text(cluster, "api/v1/namespaces/a/pods/p7")  # the file has been read
    pairs = (("labelSelector", MANY_TERMS), *(tuple(pair.split("=")) for pair in query.split("&") if pair))
    call = request.parse(exchanges.Call("GET", ("api", "v1", "pods"), pairs))  # type: ignore[arg-type]
    began = time.process_time()
    with pytest.raises(errors.ClusterError, match="within the call's time"):
        for _ in cluster.perform(call, 0.2, cancellation.Cancellation()).chunks:
            pass
    assert time.process_time() - began < 2
    assert '"p0"' in text(cluster, "api/v1/pods", "limit=8")


@pytest.mark.promise("C-02")
def test_nobody_waits_for_a_large_file_beyond_his_time(tmp_path: Path) -> None:
    """A must-gather's YAML of ten seconds: each call ends in its time, and a later one finds it read."""
    must_gather(tmp_path)
    many = "\n---\n".join(yaml.safe_dump(pod(f"q{number}")) for number in range(3_000))
    put(next(tmp_path.rglob("namespaces")) / "a" / "core" / "pods.yaml", many + "\n---\n" * 200_000)
    cluster = snapshot.Snapshot(tmp_path)
    call = request.parse(exchanges.Call("GET", ("api", "v1", "pods")))
    with pytest.raises(errors.ClusterError, match="within the call's time"):
        cluster.perform(call, 0.05, cancellation.Cancellation())
    switch = cancellation.Cancellation()
    switch.cancel()
    with pytest.raises(errors.ClusterError, match="cancelled"):
        cluster.perform(call, 60, switch)
    assert b'"q2999"' in b"".join(cluster.perform(call, 240, cancellation.Cancellation()).chunks)


OLD_LINE: Final = b"2020-01-01T00:00:00Z old\n"


@pytest.mark.promise("C-02")
def test_a_log_of_old_lines_ends_with_its_call(tmp_path: Path) -> None:
    """All lines of a large log are older than what was asked for: nothing is passed on while they are read."""
    file = own_format(tmp_path)
    file.write_bytes(OLD_LINE * 1_000_000)
    cluster = snapshot.Snapshot(tmp_path)
    query = (("container", "main"), ("sinceTime", "2026-01-01T00:00:00Z"))
    call = request.parse(exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods", "p1", "log"), query))
    with pytest.raises(errors.ClusterError, match="within the call's time"):
        for _ in cluster.perform(call, 0.2, cancellation.Cancellation()).chunks:
            pass
    assert LINE.partition(" ")[2] in log(cluster, "p2")


ALIKE: Final = 200
LETTERS: Final = random.Random(7)


@pytest.mark.promise("C-02")
def test_long_names_that_are_alike_are_not_compared(tmp_path: Path) -> None:
    """Two thousand kinds of 199 letters, all of them a and b, in any order: to compare each took 13 seconds."""

    def name() -> str:
        return "".join(LETTERS.choice("ab") for _ in range(ALIKE - 1))

    items = [{"apiVersion": "g/v1", "kind": name(), "metadata": {"name": "x"}} for _ in range(2_000)]
    put(tmp_path / "x.json", json.dumps({"kind": "List", "items": items}))
    cluster = snapshot.Snapshot(tmp_path)
    began = time.process_time()
    assert "not captured" in text(cluster, f"api/v1/{name()}")
    assert time.process_time() - began < 3
    assert msgspec.json.decode(text(cluster, "apis"))["kind"] == "APIGroupList"
