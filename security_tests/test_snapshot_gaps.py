"""Saved clusters that hold less than the cluster had: whatever is asked of a gap, the answer is no healthy cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kubescript import errors, types
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from security_tests.saved import opening, own_format, pod, put

pytestmark = pytest.mark.promise("C-05", "F-10")

NODES: Final = ("api", "v1", "nodes")
WIDGETS: Final = ("apis", "example.com", "v1", "widgets")
BETA: Final = ("apis", "example.com", "v1beta1", "widgets")
WATCHED: Final = (("watch", "true"),)


def asked(cluster: snapshot.Snapshot, path: tuple[str, ...], query: tuple[tuple[str, str], ...] = ()) -> types.Response:
    """The answer to a GET."""
    call = request.parse(exchanges.Call("GET", path, query))
    return cluster.perform(call, 20, cancellation.Cancellation())


def why_not(cluster: snapshot.Snapshot, path: tuple[str, ...]) -> str:
    """Why an object is not served, and never that there is none."""
    with pytest.raises(errors.ClusterError) as caught:
        asked(cluster, path)
    assert caught.value.code == "cluster.not_captured"
    return caught.value.message


def warnings(cluster: snapshot.Snapshot, path: tuple[str, ...]) -> tuple[str, str]:
    """What a list warns of, and a watch."""
    found = [asked(cluster, path, query).headers.get("warning", "") for query in ((), WATCHED)]
    return found[0], found[1]


def node(name: str) -> dict[str, Any]:
    """A node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def widget(name: str, version: str) -> dict[str, Any]:
    """An object of a custom kind."""
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name, "namespace": "a"}}


def test_a_watch_warns_like_the_list_that_it_follows(tmp_path: Path) -> None:
    """Of pods only those of one namespace were saved: a watch over all was as quiet as a cluster without others."""
    put(tmp_path / "pods.json", json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod("p")]}))
    cluster = snapshot.Snapshot(tmp_path)
    listed, watched = warnings(cluster, ("api", "v1", "pods"))
    assert listed == watched == "the snapshot holds pods of these namespaces only: a"
    assert warnings(cluster, ("api", "v1", "namespaces", "a", "pods")) == ("", "")


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_an_object_that_was_saved_alone_is_not_all_there_is(ending: str, tmp_path: Path) -> None:
    """`kubectl get node n1 -o json` says nothing of n2, which was `not found`; a list says it of all that it lacks."""
    written = json.dumps if ending == "json" else yaml.safe_dump
    put(tmp_path / "alone" / f"n1.{ending}", written(node("n1")))
    cluster = snapshot.Snapshot(tmp_path / "alone")
    assert "saved one by one" in why_not(cluster, (*NODES, "n2"))
    assert all("there may have been others" in warning for warning in warnings(cluster, NODES))
    assert asked(cluster, (*NODES, "n1")).status == 200
    put(tmp_path / "list" / f"nodes.{ending}", written({"apiVersion": "v1", "kind": "List", "items": [node("n1")]}))
    cluster = snapshot.Snapshot(tmp_path / "list")
    assert asked(cluster, (*NODES, "n2")).status == 404 and warnings(cluster, NODES) == ("", "")


def gathered(root: Path, *objects: dict[str, Any]) -> snapshot.Snapshot:
    """A must-gather with these objects, a file each."""
    for each in objects:
        name = each["metadata"]["name"]
        put(root / "namespaces" / "a" / "example.com" / "widgets" / f"{name}.yaml", yaml.safe_dump(each))
    return snapshot.Snapshot(root)


PODS: Final = ("api", "v1", "namespaces", "a", "pods")
LIST: Final = yaml.safe_dump(
    {"apiVersion": "v1", "kind": "PodList", "items": [pod(f"p{number}") for number in range(4)]}
)
"""With its keys in order, as Go writes YAML: `kind` is last."""
AFTER_TWO: Final = LIST.index("- apiVersion", len(LIST) // 2)
DAMAGED: Final = {
    "cut behind an item": LIST[:AFTER_TWO],
    "cut within an item": LIST[: AFTER_TWO + 30],
    "empty": "",
    "an empty document": "---\n",
    "a login page": "<html>please log in</html>",
    "an object of another kind": yaml.safe_dump(node("n1")),
    "an item that is none": yaml.safe_dump({"apiVersion": "v1", "kind": "PodList", "items": [pod("p1"), 5]}),
    "an item without a name": yaml.safe_dump({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {}}]}),
    "a page": yaml.safe_dump({"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "x"}, "items": []}),
}
"""What a file of a must-gather's pods may hold in the place of all of them."""


@pytest.mark.parametrize("place", ["core/pods.yaml", "pods/p8/p8.yaml"])
@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_of_a_must_gather_is_no_empty_namespace(case: str, place: str, tmp_path: Path) -> None:
    """Its pods were dropped without a word, beside those of other files too."""
    space = tmp_path / "namespaces" / "a"
    put(space / place, DAMAGED[case])
    put(space / "pods" / "p9" / "p9.yaml", yaml.safe_dump(pod("p9")))
    put(space / "core" / "services.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "ServiceList", "items": []}))
    cluster = snapshot.Snapshot(tmp_path)
    for path in (PODS, (*PODS, "p0"), (*PODS, "p9")):
        with pytest.raises(errors.ClusterError, match=place) as caught:
            asked(cluster, path)
        assert caught.value.code == "cluster.broken"
    assert asked(cluster, (*PODS[:-1], "services")).status == 200
    put(space / place, "---\n" + LIST + "---\n")
    cluster = snapshot.Snapshot(tmp_path)
    assert asked(cluster, (*PODS, "p3")).status == 200 and warnings(cluster, PODS) == ("", "")


@pytest.mark.parametrize("document", [{}, {"items": None}, {"kind": "Status", "code": 500}], ids=repr)
def test_a_list_of_our_own_format_without_items_is_damaged(document: dict[str, Any], tmp_path: Path) -> None:
    """It was an empty cluster."""
    own_format(tmp_path)
    put(tmp_path / "resources" / "core" / "v1" / "pods.json", json.dumps(document))
    cluster = snapshot.Snapshot(tmp_path)
    with pytest.raises(errors.ClusterError, match="missing or damaged"):
        asked(cluster, PODS)
    assert asked(cluster, ("version",)).status == 200


def test_a_saved_page_is_not_the_whole_list(tmp_path: Path) -> None:
    """`kubectl get --raw '/api/v1/pods?limit=1'`: what the list says of its next page was not read."""
    page = {"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "x"}, "items": [pod("p")]}
    put(tmp_path / "pods.json", json.dumps(page))
    cluster = snapshot.Snapshot(tmp_path)
    assert all("there may have been others" in warning for warning in warnings(cluster, PODS))
    assert "saved one by one" in why_not(cluster, (*PODS, "q"))
    assert asked(cluster, (*PODS, "p")).status == 200


@pytest.mark.parametrize("item", [5, None, {"kind": "Pod"}, {"metadata": {"name": ""}}], ids=repr)
def test_an_item_of_a_saved_list_that_is_no_object_is_not_left_out(item: object, tmp_path: Path) -> None:
    """The file is refused by name, when the folder is opened."""
    put(tmp_path / "pods.json", json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod("p"), item]}))
    assert "cluster.config: pods.json cannot be read" in opening(tmp_path)
    put(tmp_path / "pods.json", json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod("p")]}))
    assert opening(tmp_path) == ""


def test_two_versions_of_a_kind_are_both_served(tmp_path: Path) -> None:
    """The objects of the second version were dropped, and their names `not found`."""
    cluster = gathered(tmp_path, widget("old", "v1beta1"), widget("new", "v1"))
    for path, own, other in ((WIDGETS, "new", "old"), (BETA, "old", "new")):
        named = (*path[:3], "namespaces", "a", "widgets")
        assert asked(cluster, (*named, own)).status == 200
        assert "others are" in why_not(cluster, (*named, other))
        assert all("further widgets of version" in warning for warning in warnings(cluster, path))


def test_a_version_that_no_file_begins_with_is_not_dropped(tmp_path: Path) -> None:
    """In a list the second object may be of another version, which nobody sees who reads how the file begins."""
    filler = widget("a", "v1") | {"spec": {"text": "x" * 20_000}}
    items = [filler, widget("b", "v2")]
    file = tmp_path / "namespaces" / "a" / "example.com" / "widgets.yaml"
    put(file, yaml.safe_dump({"apiVersion": "example.com/v1", "items": items, "kind": "WidgetList"}))
    cluster = snapshot.Snapshot(tmp_path)
    with pytest.raises(errors.ClusterError) as caught:
        asked(cluster, WIDGETS)
    assert caught.value.code == "cluster.broken"
    own_format(tmp_path / "own")
    assert asked(snapshot.Snapshot(tmp_path / "own"), ("api", "v1", "pods")).status == 200
