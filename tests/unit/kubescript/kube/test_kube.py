"""What every side knows of Kubernetes: names of kinds, paths of the API server, merge keys, paths of fields."""

from __future__ import annotations

from typing import Any

import pytest

from kubescript import errors
from kubescript.guest.sdk.calls import rebasing
from kubescript.guest.sdk.values import lazy_json
from kubescript.kube import documents, field_paths, kinds, merge_keys, paths
from kubescript.request import request
from kubescript.wire import exchanges


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Relay", "relays"),
        ("Ingress", "ingresses"),
        ("Prefix", "prefixes"),
        ("Patch", "patches"),
        ("Mesh", "meshes"),
        ("Certificate", "certificates"),
    ],
)
def test_the_resource_of_a_custom_kind_is_what_its_author_would_call_it(kind: str, resource: str) -> None:
    """A saved cluster serves it under that name, so that a rule against it matches."""
    assert kinds.guess_plural(kind) == resource


def test_every_built_in_kind_but_one_has_the_plural_that_is_guessed() -> None:
    """Endpoints is a plural already."""
    pairs = [(plural, kind) for known in kinds.BUILT_IN.values() for plural, kind in known.items()]
    assert {kind for plural, kind in pairs if kinds.guess_plural(kind) != plural} == {"Endpoints"}


def test_a_short_name_is_one_of_a_built_in_resource_in_its_group_of_today() -> None:
    """`ing` is no Ingress of the group extensions, which has gone."""
    assert all(kinds.kind_of(kinds.group_of(each), each) for each in kinds.SHORT_NAMES.values())
    assert (kinds.group_of("ingresses"), kinds.group_of("daemonsets"), kinds.group_of("events")) == (
        "networking.k8s.io", "apps", "",
    )  # fmt: skip


LOCATIONS = [
    paths.Location("", "v1", "pods"),
    paths.Location("", "v1", "pods", "shop"),
    paths.Location("", "v1", "pods", "shop", "web", "log"),
    paths.Location("", "v1", "namespaces", "", "shop"),
    paths.Location("", "v1", "namespaces", "", "shop", "finalize"),
    paths.Location("apps", "v1", "deployments", "shop", "web", "scale"),
    paths.Location("", "v1", "nodes", "", "n1", "status"),
]


@pytest.mark.parametrize("location", LOCATIONS, ids=lambda each: "/".join(filter(None, each)))
def test_what_is_joined_is_located_again_and_classified_alike(location: paths.Location) -> None:
    """The worker, the host and the benchmark read a path in one way."""
    group, version, resource, namespace, name, subresource = location
    path = paths.join(group, version, resource, namespace or None, name or None)
    path += (subresource,) if subresource else ()
    assert paths.locate(path) == location
    read = request.parse(exchanges.Call("GET", path))
    assert (read.group, read.version, read.resource, read.name, read.subresource) == location[:3] + location[4:]
    # kube-apiserver takes a namespace to be in itself.
    assert read.namespace == (name if resource == "namespaces" else namespace)


def test_an_empty_namespace_is_no_way_to_the_whole_cluster() -> None:
    """It stays a segment, and no request may have an empty one."""
    path = paths.join("", "v1", "secrets", "")
    assert path == ("api", "v1", "namespaces", "", "secrets")
    with pytest.raises(errors.RequestError, match="empty"):
        request.parse(exchanges.Call("GET", path))


@pytest.mark.parametrize("path", [(), ("api",), ("api", "v1"), ("apis", "apps", "v1"), ("version",), ("healthz", "x")])
def test_what_is_no_resource_has_no_location(path: tuple[str, ...]) -> None:
    """Discovery, versions and health."""
    assert paths.locate(path) is None


def test_items_are_told_apart_by_the_most_telling_key_that_all_lists_have() -> None:
    """A port may have a name, and its number is its key without one."""
    named, bare = [{"name": "a", "port": 1}, {"name": "b", "port": 2}], [{"port": 1}, {"port": 3}]
    assert merge_keys.list_key(named) == "name"
    assert merge_keys.list_key(named, bare) == "port"
    assert merge_keys.list_key([{"port": 1}, {"port": 1}]) is None
    assert merge_keys.list_key(["a"]) is None


def test_ports_of_two_dry_runs_stand_side_by_side_in_the_plan_s_view() -> None:
    """Ports without names are told apart by their numbers."""

    def ports(*numbers: int) -> bytes:
        return lazy_json.encode({"spec": {"ports": [{"port": number} for number in numbers]}})

    merged: Any = lazy_json.decode_all(rebasing.rebase(ports(80, 8080), ports(80), ports(80, 443)))
    assert merged == {"spec": {"ports": [{"port": 80}, {"port": 8080}, {"port": 443}]}}


def test_a_move_names_both_its_places() -> None:
    """What is moved goes away where it was."""
    body = [{"op": "move", "from": "/metadata/labels/a~1b", "path": "/metadata/labels/c"}]
    assert field_paths.list_named(body) == ("metadata.labels.c", "metadata.labels.a/b")


def test_steps_tell_a_name_from_a_number_and_from_a_key_that_looks_like_another() -> None:
    """A path has one meaning."""
    assert field_paths.label_step("name", "web") == "[web]"
    assert field_paths.label_step("name", "8080") == '["8080"]'
    assert field_paths.label_step("containerPort", 8080) == "[containerPort=8080]"
    assert field_paths.key_step("imаge") == '["im\\u0430ge"]'


def test_images_of_volumes_count() -> None:
    """They bring files that no container names."""
    spec = {"containers": [{"image": "web:1"}], "volumes": [{"image": {"reference": "files:2"}}]}
    assert sorted(documents.images({"spec": spec})) == ["files:2", "web:1"]
