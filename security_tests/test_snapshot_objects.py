"""Objects and logs of strangers: wrong shapes, depth, numbers, times and names."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from security_tests.saved import (
    LINE,
    Count,
    log,
    must_gather,
    opening,
    own_format,
    pod,
    put,
    text,
)


@pytest.mark.promise("C-02")
def test_a_log_of_one_line_is_read_in_pieces(tmp_path: Path) -> None:
    """A log of half a gigabyte without a line break is never held, and counts as one line."""
    file = own_format(tmp_path)
    os.truncate(file, 500_000_000)
    cluster = snapshot.Snapshot(tmp_path)
    call = request.parse(
        exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods", "p1", "log"), (("tailLines", "1" + "0" * 17),))
    )
    response = cluster.perform(call, 120, cancellation.Cancellation())
    sizes = [len(chunk) for chunk in response.chunks]
    assert max(sizes) < 2_000_000 and sum(sizes) > 499_999_900
    assert log(cluster, "p2", "container=main&tailLines=1&limitBytes=3") == "a l"


TIMES: Final = {
    "no such day": ("2026-99-99T99:99:99Z x\n", "sinceTime=2026-01-01T00:00:00Z", "without timestamps"),
    "before all time": (LINE, "sinceSeconds=999999999999999999", "needs the time of the capture"),
    "no time": (LINE, "sinceTime=x", "RFC 3339"),
}


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("name", TIMES)
def test_no_time_in_a_log_or_a_request_breaks_the_server(name: str, tmp_path: Path) -> None:
    """Times that are none are told in words, and the next request is served."""
    line, query, words = TIMES[name]
    own_format(tmp_path).write_text(line)
    cluster = snapshot.Snapshot(tmp_path)
    assert words in log(cluster, "p1", query)
    info = json.loads((tmp_path / "snapshot.json").read_text())
    put(tmp_path / "snapshot.json", json.dumps({**info, "capturedAt": "2026-01-01T00:00:00Z"}))
    log(snapshot.Snapshot(tmp_path), "p1", query)
    assert log(cluster, "p2") == "a line\n"


# Objects of the wrong shape

VALUES: Final[tuple[Any, ...]] = (
    None,
    0,
    -1,
    1 << 80,
    1e300,
    "",
    "x",
    "\0\x1b[31m\u202e",
    True,
    [],
    [[]],
    [None],
    {},
    {"": {}},
    {"name": 1},
    "x" * 9_999,
)
QUERIES: Final = (
    ("api/v1/pods", ""), ("api/v1/pods", "labelSelector=app=x,n>1"), ("api/v1/pods", "fieldSelector=status.phase=x,spec.nodeName=y"),
    ("api/v1/pods", "watch=true"), ("api/v1/pods", "limit=1"), ("api/v1/namespaces/a/pods/p1", ""), ("api/v1/namespaces/a/pods/p1/log", ""),
    ("api/v1", ""), ("api", ""), ("apis", ""), ("version", ""), ("apis/x", ""), ("api/v1/nodes", ""), ("api/v1/podz", ""),
)  # fmt: skip


def broken(document: Any) -> Iterator[Any]:
    """The document with each of its parts in turn replaced by each of the values, or left out."""
    if isinstance(document, dict):
        for key, part in document.items():
            rest = {name: value for name, value in document.items() if name != key}
            yield rest
            yield from ({**rest, key: value} for value in (*VALUES, *broken(part)))
    if isinstance(document, list) and document:
        yield from ([value, *document[1:]] for value in (*VALUES, *broken(document[0])))


def asked(root: Path) -> int:
    """Asks everything of a saved cluster, and returns how often."""
    if opening(root):
        return 1
    cluster = snapshot.Snapshot(root)
    assert isinstance(cluster.name, str) and isinstance(cluster.namespace, str)
    for path, query in QUERIES:
        text(cluster, path, query)
    return len(QUERIES)


FULL: Final = {
    **pod("p1"), "status": {"phase": "Running", "podIPs": [{"ip": "1"}]},
    "metadata": {"name": "p1", "namespace": "a", "labels": {"app": "x", "n": "9" * 5_000}},
}  # fmt: skip


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("form", ["own list", "own info", "yaml", "json", "must-gather"])
def test_objects_of_any_shape_end_in_an_answer_or_an_error_of_ours(form: str, tmp_path: Path, attacks: Count) -> None:
    """Whatever stands where a text, a list or an object should, no exception but ours is raised."""
    count = 0
    if form == "own info":
        own_format(tmp_path)
        info = json.loads((tmp_path / "snapshot.json").read_text())
        info |= {"missing": [{"what": "x", "why": "y"}], "cluster": "c", "capturedAt": "x", "server": {"major": 1}}
        for document in broken({**info, "namespace": "a"}):
            put(tmp_path / "snapshot.json", json.dumps(document))
            count += asked(tmp_path)
        attacks(count)
        return
    places = {"own list": "resources/core/v1/pods.json", "yaml": "x.yaml", "json": "x.json"}
    file = tmp_path / places.get(form, "namespaces/a/core/pods.yaml")
    if form == "own list":
        own_format(tmp_path)
    for document in broken({"apiVersion": "v1", "kind": "PodList", "items": [FULL]}):
        put(file, json.dumps(document))  # JSON is YAML
        count += asked(tmp_path)
    attacks(count)


def further_down(frames: int, work: Callable[[], object]) -> None:
    """Does the work with that much less room on Python's stack."""
    if frames:
        further_down(frames - 1, work)
    else:
        work()


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("form", ["own", "loose"])
def test_json_of_any_depth_is_served_or_refused(form: str, tmp_path: Path, attacks: Count) -> None:
    """Where Python's stack ends depends on who asks: what one thread could read, the next may not answer."""
    depths = [*range(30, 1_100, 30), 100_000]
    for depth in depths:
        deep = "[" * depth + "]" * depth
        item = json.dumps(pod("p1"))[:-1] + f', "status": {deep}}}'
        own_format(tmp_path / "own")
        put(tmp_path / "loose" / "x.json", item)
        put(tmp_path / "own" / "resources" / "core" / "v1" / "pods.json", f'{{"items": [{item}]}}')
        info = put(tmp_path / "own" / "snapshot.json", (tmp_path / "own" / "snapshot.json").read_text()[:-1] + "}")
        info.write_text(info.read_text()[:-1] + f', "server": {deep}, "x": {deep}}}')
        if opening(tmp_path / form):
            continue
        cluster = snapshot.Snapshot(tmp_path / form)
        text(cluster, "api/v1/pods")
        for path, query in QUERIES:
            further_down(150, functools.partial(text, cluster, path, query))
    attacks(len(depths))


@pytest.mark.promise("C-02")
def test_a_misspelt_kind_costs_little_among_very_many(tmp_path: Path) -> None:
    """A folder of thirty thousand kinds is not compared with each misspelt one."""
    kinds = ({"apiVersion": f"g{n}/v1", "kind": f"Kind{n}", "metadata": {"name": "x"}} for n in range(30_000))
    put(tmp_path / "x.json", json.dumps({"kind": "List", "items": list(kinds)}))
    began = time.process_time()
    cluster = snapshot.Snapshot(tmp_path)
    opened = time.process_time()
    for number in range(8):
        assert "not captured" in text(cluster, f"api/v1/kinds1234{number}x")
    # To compare all of them takes ten times as long as to read the folder.
    assert time.process_time() - opened < 4 * (opened - began)
    assert msgspec.json.decode(text(cluster, "apis"))["kind"] == "APIGroupList"


@pytest.mark.promise("C-02")
def test_json_of_too_many_values_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    """Values of three bytes would take thirty times the file's size in memory."""
    own_format(tmp_path)
    with (tmp_path / "resources" / "core" / "v1" / "pods.json").open("wb") as file:
        file.write(b'{"items":[' + b"[]," * 20_000_000 + b"[]]}")
    cluster = snapshot.Snapshot(tmp_path)
    assert "ValidationError" in text(cluster, "api/v1/pods")
    assert "1" in text(cluster, "version")


STRANGE_NAMES: Final = (
    b"\xff\xfe",
    b"a\nb",
    b"\x1b[31m",
    b"x" * 250,
    b"..",
    "\u202e".encode(),
    b"%2e",
    b" ",
    b"-",
    b"core",
)


@pytest.mark.promise("C-02")
def test_folders_and_files_may_have_any_name(tmp_path: Path) -> None:
    """A name that is no text, or no name of Kubernetes, is passed over or told in letters, and the rest is served."""
    must_gather(tmp_path / "saved")
    root = os.fsencode(tmp_path / "saved")
    for name in STRANGE_NAMES:
        for place, kind in (
            (b"namespaces/%s/core/pods.yaml", b"v1\nkind: Pod"),
            (b"namespaces/a/%s/widgets.yaml", b"acme.io/v1\nkind: Widget"),
            (b"namespaces/a/acme.io/%s.yaml", b"acme.io/v1\nkind: Widget"),
            (b"%s/x.yaml", b"acme.io/v1\nkind: Widget"),
        ):
            file = os.path.normpath(os.path.join(root, place % name))
            if not file.startswith(root + b"/"):
                continue
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "wb") as out:
                out.write(b"apiVersion: %s\nmetadata: {name: w}\n" % kind)
    asked(tmp_path / "saved")
    cluster = snapshot.Snapshot(tmp_path / "saved")
    assert "p2" in text(cluster, "api/v1/pods")
    call = request.parse(exchanges.Call("GET", ("api", "v1", "pods"), ()))
    warning = cluster.perform(call, 5, cancellation.Cancellation()).headers["warning"]
    assert warning.isascii() and warning.isprintable()
    put(tmp_path / "loose" / "x.json", "")
    os.rename(tmp_path / "loose" / "x.json", os.path.join(os.fsencode(tmp_path), b"loose", b"\xff\x1b[31m.json"))
    said = opening(tmp_path / "loose")
    assert said.isprintable() and said.isascii() and "cannot be read" in said
