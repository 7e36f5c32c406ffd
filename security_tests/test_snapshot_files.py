"""Saved clusters that a stranger made: links, pipes, devices and endless files."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from kubescript.snapshot import snapshot
from security_tests.saved import (
    FORMS,
    LINE,
    SECRET,
    TIME_S,
    Count,
    in_time,
    log,
    must_gather,
    opening,
    own_format,
    pod,
    put,
    text,
)
from tests.kit import extent

# Links: each puts one in the place of a log, or of its folder


def absolute(file: Path, outside: Path) -> None:
    relink(file, str(outside / "secret"))


def relative(file: Path, outside: Path) -> None:
    relink(file, os.path.relpath(outside / "secret", file.parent))


def folder(file: Path, outside: Path) -> None:
    put(outside / file.name, SECRET)
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(outside)


def relative_folder(file: Path, outside: Path) -> None:
    put(outside / file.name, SECRET)
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(os.path.relpath(outside, file.parent.parent))


def chain(file: Path, outside: Path) -> None:
    """Three links inside, the last of which leads out."""
    relink(file, "one")
    (file.parent / "one").symlink_to("../two")
    (file.parent.parent / "two").symlink_to(outside / "secret")


def up_and_back(file: Path, outside: Path) -> None:
    """Out of the folder and in again by its own name: what is there is another's choice."""
    relink(file, os.path.relpath(outside, file.parent) + "/back/secret")
    (outside / "back").symlink_to(outside)


def by_proc(file: Path, outside: Path) -> None:
    relink(file, f"/proc/self/root{outside / 'secret'}")


LINKS: Final = (absolute, relative, folder, relative_folder, chain, up_and_back, by_proc)


def relink(file: Path, target: str) -> None:
    file.unlink()
    file.symlink_to(target)


@pytest.mark.promise("C-01")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_no_link_in_a_saved_cluster_leads_out(form: str, link: Callable[[Path, Path], None], tmp_path: Path) -> None:
    """A log that is a link to a file of the host is refused by name, and the next log is served."""
    outside = put(tmp_path / "outside" / "secret", SECRET).parent
    file = FORMS[form](tmp_path / "saved")
    link(file, outside)
    cluster = snapshot.Snapshot(tmp_path / "saved")
    answer = log(cluster, "p1")
    assert answer.startswith("cluster.broken: ") and "a link that leads out of the snapshot's folder" in answer, answer
    assert log(cluster, "p2") == "a line\n"


# Every other file of a saved cluster as a link to one of the host that would be served.
OTHERS: Final = {
    "must-gather objects": (must_gather, "namespaces/a/pods/p1/p1.yaml", "api/v1/namespaces/a/pods"),
    "must-gather list": (must_gather, "cluster-scoped-resources/core/nodes/n1.yaml", "api/v1/nodes"),
    "own list": (own_format, "resources/core/v1/pods.json", "api/v1/pods"),
    "own discovery": (own_format, "discovery/version.json", "version"),
}


@pytest.mark.promise("C-01")
@pytest.mark.parametrize("name", OTHERS)
def test_no_file_of_a_saved_cluster_is_one_of_the_host(name: str, tmp_path: Path) -> None:
    """Objects and discovery are read from the folder's own files only, and the rest is served."""
    make, place, path = OTHERS[name]
    make(tmp_path / "saved")
    file = tmp_path / "saved" / place
    outside = put(tmp_path / "outside" / "x", file.read_text().replace("p1", "planted").replace("n1", "planted"))
    relink(file, str(outside))
    cluster = snapshot.Snapshot(tmp_path / "saved")
    answer = text(cluster, path)
    assert "leads out of the snapshot's folder" in answer and "planted" not in answer, answer
    if name != "own discovery":
        others = "version" if name == "own list" else "api/v1/nodes" if "objects" in name else "api/v1/pods"
        assert "cluster." not in text(cluster, others)


@pytest.mark.promise("C-01")
@pytest.mark.parametrize("name", ["x.json", "x.yaml", "snapshot.json"])
def test_no_loose_file_is_one_of_the_host(name: str, tmp_path: Path) -> None:
    """A folder of kubectl's files with a link out of it, and a snapshot.json that is one, are refused by name."""
    content = {**pod("planted"), "format": "kubescript-snapshot/1"}
    outside = put(tmp_path / "outside", json.dumps(content))
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / name).symlink_to(outside)
    said = opening(tmp_path / "saved")
    assert name in said and "leads out of the snapshot's folder" in said
    relink(tmp_path / "saved" / name, "own.yaml")
    put(tmp_path / "saved" / "own.yaml", json.dumps(content))
    assert opening(tmp_path / "saved") == ""


@pytest.mark.promise("C-01")
@pytest.mark.parametrize("form", FORMS)
def test_links_that_stay_inside_are_followed(form: str, tmp_path: Path) -> None:
    """Real must-gathers have links: to a file, through a folder, up and down again, one to the next."""
    file = FORMS[form](tmp_path / "saved")
    content = put(tmp_path / "saved" / "kept" / "deep" / file.name, LINE)
    up = os.path.relpath(tmp_path / "saved", file.parent)
    (file.parent / "next").symlink_to(f"{up}/kept/deep/{file.name}")
    for target in (f"{up}/kept/deep/{file.name}", f"./{up}/kept//deep/../deep/{file.name}", "next"):
        relink(file, target)
        assert log(snapshot.Snapshot(tmp_path / "saved"), "p1") == "a line\n", target
    parent = file.parent
    (parent / "next").unlink()
    file.unlink()
    parent.rmdir()
    parent.symlink_to(os.path.relpath(content.parent, parent.parent))
    (tmp_path / "latest").symlink_to("saved")  # the operator's own
    assert log(snapshot.Snapshot(tmp_path / "latest"), "p1") == "a line\n"


# Exchanges two names in one step, all the time, on another core.
SWAP: Final = """
import ctypes, os, sys
rename = ctypes.CDLL(None).renameat2
one, other = map(os.fsencode, sys.argv[1:])
while True:
    assert rename(-100, one, -100, other, 2) == 0
"""


@pytest.mark.sampled
@pytest.mark.promise("C-01")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_is_swapped_in_while_reading_is_not_followed(what: str, tmp_path: Path, attacks: Count) -> None:
    """While a file or its folder turns into a link and back all the time, no read brings a byte from outside."""
    outside = put(tmp_path / "outside" / "current.log", SECRET).parent
    file = must_gather(tmp_path / "saved")
    real = file if what == "file" else file.parent
    link = real.with_name("link")
    link.symlink_to(outside / file.name if what == "file" else outside)
    cluster = snapshot.Snapshot(tmp_path / "saved")
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(real), str(link)])
    try:
        answers = [log(cluster, "p1") for _ in range(extent.count(6_000, 1_500))]
    finally:
        swapper.kill()
        swapper.wait()
    attacks(len(answers))
    assert not [answer for answer in answers if SECRET in answer]
    assert "a line\n" in answers and log(cluster, "p2") == "a line\n"


def pipe(file: Path) -> None:
    os.mkfifo(file)


def linked_pipe(file: Path) -> None:
    os.mkfifo(file.with_name("pipe"))
    file.symlink_to("pipe")


def zeros(file: Path) -> None:
    file.symlink_to("/dev/zero")


def memory(file: Path) -> None:
    file.symlink_to("/proc/self/mem")


def environment(file: Path) -> None:
    file.symlink_to("/proc/self/environ")


def itself(file: Path) -> None:
    file.symlink_to(file.name)


def directory(file: Path) -> None:
    file.mkdir()


def endless(file: Path) -> None:
    """Takes no room on the disk."""
    file.touch()
    os.truncate(file, 8 << 40)


NO_FILES: Final = (pipe, linked_pipe, zeros, memory, environment, itself, directory, endless)
PLACES: Final = {
    "log": (must_gather, "namespaces/a/pods/p1/main/main/logs/current.log", "api/v1/namespaces/a/pods/p1/log"),
    "yaml": (must_gather, "namespaces/a/core/pods.yaml", "api/v1/namespaces/a/pods"),
    "list": (own_format, "resources/core/v1/pods.json", "api/v1/pods"),
    "discovery": (own_format, "discovery/version.json", "version"),
}


@pytest.mark.promise("C-01", "C-02")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", NO_FILES, ids=lambda kind: kind.__name__)
def test_only_regular_files_of_bounded_size_are_read(place: str, kind: Callable[[Path], None], tmp_path: Path) -> None:
    """A pipe, a device, a process's memory, a loop and 8 TiB of nothing are refused at once, and the rest is served."""
    make, where, path = PLACES[place]
    make(tmp_path / "saved")
    file = tmp_path / "saved" / where
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    kind(file)
    if place == "yaml" and kind is directory:
        return  # a folder of that name is a resource without objects
    cluster = snapshot.Snapshot(tmp_path / "saved")
    answer = in_time(lambda: text(cluster, path, "container=main" if place == "log" else ""))
    assert answer.startswith("cluster."), answer
    assert any(word in answer for word in ("leads", "not a regular file", "larger than")), answer
    other = (
        log(cluster, "p2")
        if place in {"log", "discovery"}
        else text(cluster, "version" if make is own_format else "api/v1/nodes")
    )
    assert not other.startswith("cluster."), other


@pytest.mark.promise("C-02")
@pytest.mark.parametrize("kind", [*NO_FILES[:6], endless], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["x.json", "x.yaml", "snapshot.json"])
def test_opening_a_folder_waits_for_nothing(name: str, kind: Callable[[Path], None], tmp_path: Path) -> None:
    """Loose files that are none are refused by name when the folder is opened."""
    (tmp_path / "saved").mkdir()
    kind(tmp_path / "saved" / name)
    said = in_time(lambda: opening(tmp_path / "saved"))
    assert said.startswith("cluster.config: ") and name in said
    (tmp_path / "saved" / name).unlink()
    put(tmp_path / "saved" / "y.json", json.dumps(pod("p1")))
    (tmp_path / "saved" / "pipe").unlink(missing_ok=True)
    assert in_time(lambda: opening(tmp_path / "saved")) == ""


@pytest.mark.promise("C-02")
def test_each_file_is_read_once_however_many_links_lead_to_it(tmp_path: Path) -> None:
    """Ten thousand links to one file of a must-gather, and of a folder, cost no more than their names."""
    pods = put(tmp_path / "gather" / "namespaces" / "a" / "core" / "pods.yaml", "")
    objects = [pod(f"p{number}") for number in range(300)]
    pods.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "PodList", "items": objects}))
    for number in range(3_000):
        there = tmp_path / "gather" / "namespaces" / f"n{number}" / "core"
        there.mkdir(parents=True)
        (there / "pods.yaml").symlink_to("../../a/core/pods.yaml")
    put(tmp_path / "loose" / "x.yaml", pods.read_text())
    for number in range(3_000):
        os.link(tmp_path / "loose" / "x.yaml", tmp_path / "loose" / f"{number}.yaml")
    began = time.process_time()
    for name in ("gather", "loose"):
        answer = json.loads(text(snapshot.Snapshot(tmp_path / name), "api/v1/namespaces/a/pods"))
        assert len(answer["items"]) == 300
    assert time.process_time() - began < TIME_S


@pytest.mark.promise("C-02")
def test_folders_that_lead_round_or_down_without_end_are_no_trap(tmp_path: Path) -> None:
    """Links of a folder to itself multiply no names, and folders nested too deep are refused by name."""
    must_gather(tmp_path / "saved")
    for number, place in itertools.product(range(50), ("", "namespaces", "namespaces/a", "cluster-scoped-resources")):
        (tmp_path / "saved" / place / f"loop{number}").symlink_to(".")
    cluster = snapshot.Snapshot(tmp_path / "saved")
    assert text(cluster, "api/v1/pods").count('"uid"') == 0 and "p2" in text(cluster, "api/v1/pods")
    deep = tmp_path / "saved" / "/".join("d" * 60)
    deep.mkdir(parents=True)
    assert "more than 32 deep" in opening(tmp_path / "saved")
