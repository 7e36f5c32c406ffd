"""What a write changes, as a masking process tells it: a row for each field, facts, and what an object newly may do."""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import hypothesis
import msgspec
import pytest
from hypothesis import strategies

from kubescript import errors, redaction, types
from kubescript.broker import operation
from kubescript.changes import attempt, writer
from kubescript.changes.rules import writes
from kubescript.cluster import live
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from kubescript_sandbox.host import cancellation
from tests.kit import reading
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

Object = dict[str, Any]
METHODS: Final = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
SECRET: Final = "Tr0ub4dor-3-horse"
OTHER: Final = "c0rrect-b4ttery-9"


@pytest.fixture(scope="module")
def engine() -> redaction.Engine:
    return redaction.Engine(redaction.Settings(), b"a key")


def deployment(**spec: Any) -> Object:
    """A Deployment of one container, as an API server sends it."""
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u-1",
            "resourceVersion": "7",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"team": "shop"},
            "managedFields": [{"manager": "kubectl"}],
        },
        "spec": {"replicas": 2, "template": pod, **spec},
        "status": {"readyReplicas": 2},
    }


def pod_of(found: Object) -> Object:
    """The pod's spec in a Deployment."""
    spec: Object = found["spec"]["template"]["spec"]
    return spec


def container_of(found: Object) -> Object:
    """The first container."""
    container: Object = pod_of(found)["containers"][0]
    return container


def call(verb: str = "patch", body: Any = None, **fields: Any) -> request.Request:
    """The write that is compared."""
    defaults = {"group": "apps", "version": "v1", "resource": "deployments", "namespace": "shop", "name": "web"}
    encoded = None if body is None else json.dumps(body).encode()
    return request.Request(METHODS[verb], "/", (), verb, True, body=encoded, **defaults | fields)


def compared(
    engine: redaction.Engine, before: Any, after: Any, what: request.Request | None = None
) -> inspection.Changes:
    """What the masking process says; None stands for an object that is not there."""
    old, new = (b"" if each is None else json.dumps(each).encode() for each in (before, after))
    return engine.changes(what or call(), old, new, lambda _: None)


def rows(changes: inspection.Changes) -> dict[str, tuple[str | None, str | None]]:
    """Old and new values by their paths, in order."""
    found = {row.path: (row.old, row.new) for row in changes.rows}
    assert len(found) == len(changes.rows)
    return found


def differ(engine: redaction.Engine, before: Any, after: Any) -> dict[str, tuple[str | None, str | None]]:
    """The rows of a field `x` that is set to these."""
    old, new = (deployment(x=each) for each in (before, after))
    return rows(compared(engine, old, new))


# Rows


def test_each_field_that_changes_has_a_row_in_the_order_of_the_new_object(engine: redaction.Engine) -> None:
    """What goes away stands behind its siblings; what stays as it is has none."""
    before = deployment(paused=True, minReadySeconds=5)
    after = deployment(strategy={"type": "Recreate"})
    after["spec"]["replicas"] = 3
    container_of(after)["image"] = "nginx:2"
    assert list(rows(compared(engine, before, after)).items()) == [
        ("spec.replicas", ("2", "3")),
        ("spec.template.spec.containers[web].image", ('"nginx:1"', '"nginx:2"')),
        ("spec.strategy.type", (None, '"Recreate"')),
        ("spec.paused", ("true", None)),
        ("spec.minReadySeconds", ("5", None)),
    ]
    assert compared(engine, after, after).rows == ()


def test_of_a_subtree_that_comes_or_goes_each_leaf_has_a_row(engine: redaction.Engine) -> None:
    """Empty objects and lists are leaves, so that emptying a field and removing it are two different changes."""
    tree = {"a": {"b": 1, "c": {}, "d": []}, "e": [[2, None]]}
    leaves = {
        "spec.x.a.b": "1",
        "spec.x.a.c": "{}",
        "spec.x.a.d": "[]",
        "spec.x.e[0][0]": "2",
        "spec.x.e[0][1]": "null",
    }
    without = deployment()
    assert rows(compared(engine, without, deployment(x=tree))) == {path: (None, text) for path, text in leaves.items()}
    assert rows(compared(engine, deployment(x=tree), without)) == {path: (text, None) for path, text in leaves.items()}
    assert differ(engine, {"a": 1}, {}) == {"spec.x": (None, "{}"), "spec.x.a": ("1", None)}
    assert differ(engine, {"a": 1}, 2) == {"spec.x": (None, "2"), "spec.x.a": ("1", None)}
    assert differ(engine, [], {}) == {"spec.x": ("[]", "{}")}


ALIKE: Final = {
    "a number and a truth": (1, True),
    "nothing and false": (0, False),
    "an integer and a fraction": (1, 1.0),
    "two zeros": (0.0, -0.0),
    "a number and its text": (1, "1"),
    "null and nothing": (None, ""),
    "the twentieth digit": (12345678901234567890, 12345678901234567891),
    "beyond 64 bits": (123456789012345678901234567890, 123456789012345678901234567891),
}


@pytest.mark.parametrize("name", ALIKE)
def test_values_that_programs_take_for_equal_differ(name: str, engine: redaction.Engine) -> None:
    """They are compared as JSON has them."""
    old, new = ALIKE[name]
    assert differ(engine, [old], [new]) == {"spec.x[0]": (json.dumps(old), json.dumps(new))}


LISTS: Final = {
    "by name": ([{"name": "a", "v": 1}, {"name": "b", "v": 1}], [{"name": "b", "v": 2}, {"name": "c", "v": 1}],
                {"[b].v", "[c].name", "[c].v", "[a].name", "[a].v"}),
    "by port": ([{"containerPort": 80}], [{"containerPort": 80, "hostPort": 1}], {"[containerPort=80].hostPort"}),
    "by path": ([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}],
                [{"name": "v", "mountPath": "/a", "readOnly": True}, {"name": "v", "mountPath": "/b"}],
                {"[mountPath=/a].readOnly"}),
    "by type": ([{"type": "Ready", "status": "True"}], [{"type": "Ready", "status": "False"}], {"[type=Ready].status"}),
    "a name that is a number": ([{"name": "0", "v": 1}], [{"name": "0", "v": 2}], {'["0"].v'}),
    "a name that is none": ([{"name": 0, "v": 1}], [{"name": 0, "v": 2}], {"[name=0].v"}),
    "ports and texts": ([{"port": 80, "v": 1}, {"port": "80", "v": 1}, {"port": -1, "v": 1}, {"port": "-1", "v": 1}],
                        [{"port": 80, "v": 2}, {"port": "80", "v": 2}, {"port": -1, "v": 2}, {"port": "-1", "v": 2}],
                        {"[port=80].v", '[port="80"].v', "[port=-1].v", '[port="-1"].v'}),
    "an odd name": ([{"name": "a]b", "v": 1}], [{"name": "a]b", "v": 2}], {'["a]b"].v'}),
    "two of one name": ([{"name": "a", "v": 1}, {"name": "a", "v": 1}], [{"name": "a", "v": 1}, {"name": "a", "v": 2}], {"[1].v"}),
    "two of one name, later": ([{"name": "a", "v": 1}], [{"name": "a", "v": 1}, {"name": "a", "v": 2}], {"[1].name", "[1].v"}),
    "one without a name": ([{"name": "a", "v": 1}, {"v": 1}], [{"name": "a", "v": 2}, {"v": 1}], {"[0].v"}),
    "no objects": (["a", "b"], ["b"], {"[0]", "[1]"}),
    "lists of lists": ([[1], [2]], [[1], [3]], {"[1][0]"}),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_items_are_known_by_a_field_where_each_has_its_own_and_else_by_their_place(
    name: str, engine: redaction.Engine
) -> None:
    """By the fields by which Kubernetes itself tells the items of its lists apart."""
    old, new, steps = LISTS[name]
    assert set(differ(engine, old, new)) == {f"spec.x{step}" for step in steps}


def test_a_list_whose_items_only_moved_has_changed(engine: redaction.Engine) -> None:
    """Its row tells the order before and after; an item that is new at the end moves none."""
    one, two, three = ({"name": name} for name in ("one", "two", "three"))
    assert differ(engine, [one, two], [two, one]) == {"spec.x": ('["one","two"]', '["two","one"]')}
    assert differ(engine, [one, two], [three, one, two])["spec.x"] == ('["one","two"]', '["three","one","two"]')
    assert differ(engine, [one, two], [one, two, three]) == {"spec.x[three].name": (None, '"three"')}
    assert differ(engine, [one, two, three], [one, three]) == {"spec.x[two].name": ('"two"', None)}
    assert differ(engine, ["a", "b"], ["b", "a"]) == {"spec.x[0]": ('"a"', '"b"'), "spec.x[1]": ('"b"', '"a"')}


KEYS: Final = {
    "example.com/owner": '["example.com/owner"]',
    "a.b": '["a.b"]',
    "": '[""]',
    "a b": '["a b"]',
    'a"]b': '["a\\"]b"]',
    "name\u0430": '["name\\u0430"]',
    "a\u200bb": '["a\\u200bb"]',
    "0": ".0",
    "under_score-9": ".under_score-9",
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_that_are_not_plain_stand_in_brackets_and_quotes(key: str, engine: redaction.Engine) -> None:
    """In ASCII, so that no letter looks like another."""
    before, after = deployment(), deployment()
    after["metadata"]["annotations"] = {key: "v"}
    assert rows(compared(engine, before, after)) == {f"metadata.annotations{KEYS[key]}": (None, '"v"')}


def test_no_character_of_a_value_is_without_a_mark(engine: redaction.Engine) -> None:
    """What nobody can see, or what turns a line round, is written as JSON escapes it; other scripts stay."""
    assert differ(engine, "web", "we\u202eb\u3164\u00a0\ufe0f\U000e0041\x1b") == {
        "spec.x": ('"web"', '"we\\u202eb\\u3164\\u00a0\\ufe0f\\udb40\\udc41\\u001b"')
    }
    assert differ(engine, "a", "订单 é 🙂")["spec.x"][1] == '"订单 é 🙂"'


def test_what_the_api_server_keeps_for_itself_is_left_out(engine: redaction.Engine) -> None:
    """Versions, timestamps and managed fields are no change."""
    after = deployment()
    after["metadata"] |= {
        "uid": "u-2", "resourceVersion": "8", "generation": 2, "creationTimestamp": None, "selfLink": "/x",
        "managedFields": [],
    }  # fmt: skip
    assert compared(engine, deployment(), after).rows == ()
    after["metadata"]["annotations"] = {"uid": "u-2"}
    assert list(rows(compared(engine, deployment(), after))) == ["metadata.annotations.uid"]


def test_a_status_is_shown_where_a_write_changes_it(engine: redaction.Engine) -> None:
    """Also without a status subresource, as custom resources may be; of a new object only when the request names it."""
    after = deployment() | {"status": {"readyReplicas": 9}}
    for what in (call(), call(subresource="status"), call("update", after)):
        assert rows(compared(engine, deployment(), after, what)) == {"status.readyReplicas": ("2", "9")}
    bare = {key: value for key, value in after.items() if key != "status"}
    assert not any(path.startswith("status") for path in rows(compared(engine, None, after, call("create", bare))))
    assert "status.readyReplicas" in rows(compared(engine, None, after, call("create", after)))


def test_of_a_scale_only_the_replicas_count(engine: redaction.Engine) -> None:
    """Before it stands what is scaled, after it the Scale; the facts are of what is scaled."""
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "web", "uid": "u-1", "resourceVersion": "7"},
        "spec": {"replicas": 5},
        "status": {"replicas": 2},
    }
    what = call("patch", {"spec": {"replicas": 5}}, subresource="scale")
    changes = compared(engine, deployment(), scale, what)
    assert changes.rows == (inspection.Row("spec.replicas", "2", "5"),)
    assert changes.risks == ()
    assert changes.before == compared(engine, deployment(), None).before
    assert changes.after is not None
    assert (changes.after.uid, changes.after.resource_version, changes.after.replicas) == ("u-1", "7", 5)


def test_a_scale_without_a_number_has_0_replicas(engine: redaction.Engine) -> None:
    """The API server leaves a 0 out; the Scale before decides, not a field of the scaled object."""
    scales = [{"kind": "Scale", "metadata": {"uid": "u-1"}, "spec": spec} for spec in ({"replicas": 7}, {})]
    seven, zero = (json.dumps(each).encode() for each in scales)
    what = call("patch", {"spec": {"replicas": 0}}, subresource="scale")
    there = json.dumps(deployment()).encode()
    down = engine.changes(what, there, zero, lambda _: None, seven)
    assert down.rows == (inspection.Row("spec.replicas", "7", "0"),)
    assert down.before is not None and down.before.replicas == 7
    assert down.after is not None and down.after.replicas == 0
    assert json.loads(down.undo) == [{"op": "add", "path": "/spec/replicas", "value": 7}]
    up = engine.changes(what, there, seven, lambda _: None, zero)
    assert up.rows[0].old == "0" and json.loads(up.undo)[0]["value"] == 0


def test_what_removes_an_object_has_facts_and_no_rows(engine: redaction.Engine) -> None:
    """A deletion and an eviction leave nothing to compare with; without any object there is nothing to say."""
    for what in (
        call("delete"),
        call("create", {"kind": "Eviction"}, resource="pods", group="", subresource="eviction"),
    ):
        changes = compared(engine, deployment(), None, what)
        assert (changes.after, changes.rows, changes.risks) == (None, (), ())
        assert changes.before is not None
        assert (changes.before.uid, changes.before.labels) == ("u-1", {"team": "shop"})
    nothing = compared(engine, None, None)
    assert (nothing.before, nothing.after, nothing.rows, nothing.risks) == (None, None, (), ())


# What masks hide


def test_what_masks_hide_is_counted_and_found_in_the_request(engine: redaction.Engine) -> None:
    """New text has a size, and its place in the body; a Secret's `stringData` is stored in base64."""
    made = {"kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVudGVyMjI=", "b": "b3RoZXI="}}
    asked = {"kind": "Secret", "stringData": {"a": "hunter22"}}
    secrets = call("create", asked, group="", resource="secrets")
    hidden = {row.path: (row.hidden_bytes, row.brought) for row in compared(engine, None, made, secrets).rows}
    assert hidden == {"kind": (0, None), "metadata.name": (0, None), "data.a": (12, 1), "data.b": (8, None)}
    old, new = (
        "port=1\npassword=Tr0ub4dor-3-horse\n",
        "port=2\npassword=Tr0ub4dor-3-horse\npassword=c0rrect-b4ttery-9\n",
    )
    (kept,) = compared(engine, {"data": {"a": old}}, {"data": {"a": old.replace("1", "2", 1)}}).rows
    assert (kept.masked, kept.hidden_bytes) == (True, 0)
    (changed,) = compared(engine, {"data": {"a": old}}, {"data": {"a": new}}, call(body={"data": {"a": new}})).rows
    assert (changed.hidden_lines, changed.brought) == (2, 0)


# Who asked for it


def by_server(changes: inspection.Changes) -> set[str]:
    """The paths that the request does not name."""
    return {row.path for row in changes.rows if row.by_server}


def test_what_a_creation_does_not_name_is_the_servers(engine: redaction.Engine) -> None:
    """Defaults and what admission adds, a whole container among it."""
    after = deployment(revisionHistoryLimit=10)
    container_of(after)["imagePullPolicy"] = "Always"
    pod_of(after)["containers"].append({"name": "proxy", "image": "envoy"})
    changes = compared(engine, None, after, call("create", deployment()))
    assert "spec.replicas" in rows(changes)
    assert by_server(changes) == {
        "spec.revisionHistoryLimit",
        "spec.template.spec.containers[web].imagePullPolicy",
        "spec.template.spec.containers[proxy].name",
        "spec.template.spec.containers[proxy].image",
    }


def patched(
    body: Any, change: dict[str, Any], verb: str = "patch", **fields: Any
) -> tuple[Object, Object, request.Request]:
    """A Deployment, the same with other fields in its first container and one of its own, and the request."""
    after = deployment(progressDeadlineSeconds=600)
    container_of(after).update(change)
    return deployment(), after, call(verb, body, **fields)


def in_pod(*containers: Any, **fields: Any) -> Object:
    """The body of a patch of a Deployment's pods."""
    return {"spec": {"template": {"spec": {"containers": list(containers), **fields}}}}


APPLY: Final = {"content_type": "application/apply-patch+yaml"}
NAMED: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "the field": (in_pod({"name": "web", "image": "nginx:2"}), {"image": "nginx:2"}),
    "the field, removed": (in_pod({"name": "web", "image": None}), {"image": None}),
    "a container that is replaced": (in_pod({"$patch": "replace", "name": "web"}), {"image": "nginx:2"}),
    "all containers, replaced": (in_pod({"name": "web"}, {"$patch": "replace"}), {"image": "nginx:2"}),
    "what is kept": (in_pod({"name": "web", "$retainKeys": ["name"]}), {"image": "nginx:2"}),
    "an item without its name": (in_pod({"image": "nginx:2"}), {"image": "nginx:2"}),
    "two items of one name": (in_pod({"name": "web"}, {"name": "web", "image": "nginx:2"}), {"image": "nginx:2"}),
    "an item without it": (in_pod({"name": "web", "tty": True}), {"image": "nginx:2"}),
    "a list without it": (in_pod({"name": "other", "image": "nginx:2"}), {"image": "nginx:2"}),
    "no list": ({"spec": {"template": None}}, {"image": "nginx:2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_a_patch_names_is_the_requests(name: str, engine: redaction.Engine) -> None:
    """In each form in which a patch can name it; beside it, what the API server changes is its own."""
    body, change = NAMED[name]
    changes = compared(engine, *patched(body, change))
    assert by_server(changes) == {"spec.progressDeadlineSeconds"}
    assert "spec.template.spec.containers[web].image" in rows(changes)


UNNAMED: Final = {
    "another field of the pod": {"spec": {"template": {"spec": {"hostname": "x"}}}},
    "nothing": {},
}


@pytest.mark.parametrize("name", UNNAMED)
def test_what_a_patch_does_not_name_is_the_servers(name: str, engine: redaction.Engine) -> None:
    """An admission plugin may change what nobody asked for."""
    changes = compared(engine, *patched(UNNAMED[name], {"image": "nginx:2"}))
    assert by_server(changes) == {"spec.template.spec.containers[web].image", "spec.progressDeadlineSeconds"}


def test_what_a_list_or_an_apply_leaves_out_is_removed_by_the_request(engine: redaction.Engine) -> None:
    """A merge patch replaces lists; a server-side apply takes away what it no longer names. Elsewhere the API server
    does."""
    before = deployment(paused=True)
    container_of(before)["tty"] = True
    replaced = call("patch", in_pod({"name": "web", "image": "nginx:1"}))
    assert by_server(compared(engine, before, deployment(), replaced)) == {"spec.paused"}
    applied = call("patch", in_pod({"name": "web", "image": "nginx:1"}), **APPLY)
    assert by_server(compared(engine, before, deployment(), applied)) == set()


PLACES: Final = ("0", "-", "-1", "+0", "00")


@pytest.mark.parametrize("place", PLACES)
def test_a_json_patch_names_all_that_changes(place: str, engine: redaction.Engine) -> None:
    """Which item a place stands for is the API server's reading alone."""
    body = [{"op": "replace", "path": f"/spec/template/spec/containers/{place}/image", "value": "nginx:2"}]
    changes = compared(engine, *patched(body, {"image": "nginx:2"}))
    assert by_server(changes) == set() and len(changes.rows) == 2


def test_what_an_apply_or_a_list_leaves_out_and_falls_back_to_its_default_is_the_requests(
    engine: redaction.Engine,
) -> None:
    """Such a field does not go away: the API server fills it again."""
    after = deployment(replicas=1)
    container_of(after)["image"] = "nginx:default"
    applied = call("patch", in_pod({"name": "web"}), **APPLY)
    assert by_server(compared(engine, deployment(), after, applied)) == set()
    replaced = call("patch", in_pod({"name": "web"}))
    assert by_server(compared(engine, deployment(), after, replaced)) == {"spec.replicas"}


def test_an_update_names_every_field(engine: redaction.Engine) -> None:
    """What it leaves out, it removes."""
    changes = compared(engine, *patched({"kind": "Deployment"}, {"image": "nginx:2"}, "update"))
    assert by_server(changes) == set() and len(changes.rows) == 2


def test_the_digest_leaves_out_only_what_the_api_server_allots(engine: redaction.Engine) -> None:
    """A port or an address is another one at the next dry run. Whatever else it changes or adds is as it was shown."""

    def digest(field: str, was: int | None, now: int) -> str:
        before, after = deployment(), deployment(replicas=3)
        for found, value in ((before, was), (after, now)):
            if value is not None:
                found["spec"][field] = value
        changed = call("patch", {"spec": {"replicas": 3}}, group="", resource=resource)
        return compared(engine, before, after, changed).digest

    resource = "services"
    assert digest("nodePort", None, 30001) == digest("nodePort", None, 30002)
    assert digest("nodePort", 30001, 30002) == digest("nodePort", 30001, 30003)
    assert digest("nodePort", None, 30001) != digest("nodePort", 30000, 30001)
    others = [digest("other", None, 1), digest("other", None, 2), digest("other", 0, 1), digest("other", 1, 1)]
    assert len(set(others)) == 4
    resource = "configmaps"
    assert digest("nodePort", None, 30001) != digest("nodePort", None, 30002)


def test_what_the_request_names_alone_tells_an_object_that_it_has_made(engine: redaction.Engine) -> None:
    """A controller has added to it since, or somebody has changed it."""
    made = call("create", {"spec": {"replicas": 2}})
    tried, added, changed = deployment(), deployment(nodeName="x"), deployment(replicas=3)
    digests = [compared(engine, None, each, made).requested for each in (tried, added, changed)]
    assert digests[0] == digests[1] != digests[2]


def test_items_that_cannot_be_told_apart_are_all_named(engine: redaction.Engine) -> None:
    """A list may be merged by a field unknown here: what was asked of the second item may become of the first."""
    before, after = (deployment(x=[{"id": 1}, {"id": 2}]), deployment(x=[{"id": 1}, {"id": 2, "evil": True}]))
    merged = call("patch", {"spec": {"x": [{"id": 2, "evil": True}, {"id": 1}]}})
    assert by_server(compared(engine, before, after, merged)) == set()
    same = call("patch", {"spec": {"x": [{"id": 1}, {"id": 2}]}})
    assert by_server(compared(engine, before, after, same)) == {"spec.x[1].evil"}


def test_fields_that_the_api_server_copies_are_the_requests(engine: redaction.Engine) -> None:
    """A Secret's `stringData` becomes `data`, and the old name of a service account the new one."""
    secret = {"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "aHVudGVyMg=="}}
    body = {"kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "hunter2"}}
    assert by_server(compared(engine, None, secret, call("create", body, group="", resource="secrets"))) == set()
    after = deployment()
    pod_of(after).update(serviceAccount="x", serviceAccountName="x")
    named = call("patch", {"spec": {"template": {"spec": {"serviceAccount": "x"}}}})
    assert by_server(compared(engine, deployment(), after, named)) == set()


def test_the_reverse_of_an_item_is_for_the_item_of_that_name(engine: redaction.Engine) -> None:
    """Somebody may have put another one before it: the patch then fails, and changes none of theirs."""
    after = deployment(replicas=3)
    container_of(after)["image"] = "nginx:2"
    place = "/spec/template/spec/containers/0"
    assert json.loads(compared(engine, deployment(), after).undo) == [
        {"op": "replace", "path": "/spec/replicas", "value": 2},
        {"op": "test", "path": f"{place}/name", "value": "web"},
        {"op": "replace", "path": f"{place}/image", "value": "nginx:1"},
    ]


# Masks


def with_variable(value: str) -> Object:
    found = deployment()
    container_of(found)["env"] = [{"name": "DB_PASSWORD", "value": value}]
    return found


def test_a_secret_that_changes_is_a_row_of_two_masks(engine: redaction.Engine) -> None:
    """The old mask is the one that scripts read; the new one tells nothing of whether a guess was right."""
    kinds: list[str] = []
    before, after = (json.dumps(with_variable(value)).encode() for value in (SECRET, OTHER))
    (row,) = engine.changes(call(), before, after, kinds.append).rows
    assert row.path == "spec.template.spec.containers[web].env[DB_PASSWORD].value"
    assert row.masked and row.old != row.new
    for text in (row.old, row.new):
        assert text is not None and text.startswith('"«redacted:password:')
    read = b"".join(engine.body(dataclasses.replace(call(), verb="get"), iter((before,)), reading.Report())).decode()
    assert str(row.old)[1:-1] in read
    assert kinds == ["env-password"] * 2
    assert compared(engine, with_variable(SECRET), with_variable(SECRET)).rows == ()


def test_no_secret_is_in_a_row(engine: redaction.Engine) -> None:
    """Not in a value, a part of a value, a key, the name of an item or an order of items; the rest of a text stays."""
    token = "ghp_Ab3dEf9hIj1kLm2nOp4qRs5tUv6wXy7zA8b9"
    after = deployment(
        x=[{"name": token, "v": 1}, {"name": "b", "v": f"postgres://app:{SECRET}@db:5432/app"}], y={token: 1}
    )
    before = deployment(x=[{"name": "b", "v": 1}, {"name": token}])
    changes = compared(engine, before, after)
    text = repr(changes.rows)
    assert SECRET not in text and token not in text
    assert "@db:5432/app" in text
    assert {row.path: row.masked for row in changes.rows} == {
        row.path: "redacted" in f"{row.old}{row.new}" for row in changes.rows
    }
    assert sum(row.masked for row in changes.rows) == 2
    assert sum("redacted" in row.path for row in changes.rows) == 2


def test_of_a_secret_no_value_is_shown(engine: redaction.Engine) -> None:
    """Its sizes are."""
    old, new = (
        {"kind": "Secret", "metadata": {"name": "x"}, "data": {"colour": text}} for text in ("Ymx1ZQ==", "cmVk")
    )
    (row,) = compared(engine, old, new, call(group="", resource="secrets")).rows
    assert row.path == "data.colour" and row.masked
    assert str(row.old).endswith(':4B»"') and str(row.new).endswith(':3B»"')


def test_without_masks_the_comparison_is_made_in_a_masking_process_all_the_same() -> None:
    """The operator has switched masking off: values are shown, and the host still reads no object."""
    engine = redaction.Engine(redaction.Settings(enabled=False))
    (row,) = compared(engine, with_variable(SECRET), with_variable(OTHER)).rows
    assert (row.old, row.new, row.masked) == (f'"{SECRET}"', f'"{OTHER}"', False)
    assert len(engine._pool.pids) > 1
    engine.close()


# Facts


def facts(engine: redaction.Engine, found: Object, **fields: Any) -> inspection.Facts:
    before = compared(engine, found, None, call("delete", **fields)).before
    assert before is not None
    return before


def test_the_digest_is_of_the_content_in_canonical_json(engine: redaction.Engine) -> None:
    """Sorted, without blanks, without status and what changes with every write; with the status for who writes that."""
    found = deployment(x={"b": [1, "é", None, 12345678901234567890123], "a": True})
    content = {key: value for key, value in found.items() if key != "status"}
    content["metadata"] = {
        key: value
        for key, value in found["metadata"].items()
        if key not in {"managedFields", "resourceVersion", "generation"}
    }

    def digest(value: Object) -> str:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    assert facts(engine, found).digest == digest(content)
    assert facts(engine, found, subresource="status").digest == digest(content | {"status": found["status"]})


def test_the_digest_stays_until_the_content_changes(engine: redaction.Engine) -> None:
    """Order of keys, versions and status do not count; a secret does, though its mask is the same length."""
    same = dict(reversed(deployment().items())) | {"status": {}}
    same["metadata"] |= {"resourceVersion": "8", "generation": 3, "managedFields": []}
    assert facts(engine, same).digest == facts(engine, deployment()).digest
    others = [deployment(replicas=3), with_variable(SECRET), with_variable(OTHER)]
    assert len({facts(engine, found).digest for found in [*others, deployment()]}) == 4


def test_the_facts_are_those_that_rules_need(engine: redaction.Engine) -> None:
    """Labels as they are, also where one looks like a secret; replicas that are a number; images of all containers of
    each template, and of volumes, once and in order."""
    found = deployment(replicas=3, jobs=[{"template": {"spec": {"initContainers": [{"name": "i", "image": "init"}]}}}])
    pod_of(found)["ephemeralContainers"] = [{"name": "e", "image": "debug"}, {"name": "f", "image": "nginx:1"}]
    pod_of(found)["volumes"] = [{"name": "v", "image": {"reference": "data"}}]
    found["metadata"]["labels"] = {"password": SECRET, "odd": 1, **{f"l{at}": "" for at in range(200)}}
    told = facts(engine, found)
    assert told.images == ("data", "debug", "init", "nginx:1")
    assert told.replicas == 3 and (told.uid, told.resource_version) == ("u-1", "7")
    assert told.labels["password"] == SECRET and len(told.labels) == 201
    assert facts(engine, deployment(replicas=True)).replicas is None
    odd = facts(engine, {"spec": [], "metadata": 1, "containers": "x"})
    assert odd.digest == hashlib.sha256(b'{"containers":"x","metadata":1,"spec":[]}').hexdigest()
    assert (odd.uid, odd.resource_version, odd.labels, odd.replicas, odd.images) == ("", "", {}, None, ())


# Risks

PRIVILEGED: Final = {"securityContext": {"privileged": True}}
VOLUME: Final = {"name": "v", "hostPath": {"path": "/var"}}


def with_pod(*containers: Object, **pod: Any) -> Object:
    """A Deployment with these containers and settings of its pods."""
    found = deployment()
    found["spec"]["template"]["spec"] = {"containers": list(containers) or [{"name": "web"}], **pod}
    return found


def may(*capabilities: str) -> Object:
    """A container that adds these."""
    return {"name": "web", "securityContext": {"capabilities": {"add": list(capabilities)}}}


def owned(**metadata: Any) -> Object:
    found = deployment()
    found["metadata"] |= metadata
    return found


OWNER: Final = {"kind": "ReplicaSet", "name": "web", "uid": "u-9"}
NEW_RISKS: Final[dict[str, tuple[Any, Object, set[str]]]] = {
    "a privileged container": (with_pod(), with_pod({"name": "web"} | PRIVILEGED), {"privileged"}),
    "in a new object": (None, with_pod({"name": "web"} | PRIVILEGED), {"privileged"}),
    "a second one": (with_pod({"name": "a"} | PRIVILEGED, {"name": "b"}), with_pod({"name": "a"} | PRIVILEGED, {"name": "b"} | PRIVILEGED), {"privileged"}),
    "one that is renamed": (with_pod({"name": "a"} | PRIVILEGED), with_pod({"name": "b"} | PRIVILEGED), {"privileged"}),
    "one of the same name": (with_pod({"name": "a"} | PRIVILEGED), with_pod({"name": "a"} | PRIVILEGED, {"name": "a"} | PRIVILEGED), {"privileged"}),
    "in another list": (with_pod({"name": "a"} | PRIVILEGED), with_pod({"name": "a"}, initContainers=[{"name": "a"} | PRIVILEGED]), {"privileged"}),
    "an ephemeral one": (with_pod(), with_pod(ephemeralContainers=[{"name": "e"} | PRIVILEGED]), {"privileged"}),
    "a text": (with_pod(), with_pod({"name": "web", "securityContext": {"privileged": " True"}}), {"privileged"}),
    "a template's text": (with_pod(), with_pod({"name": "web", "securityContext": {"privileged": "{{ .x }}"}}), {"privileged"}),
    "as Windows calls it": (with_pod(), with_pod(securityContext={"windowsOptions": {"hostProcess": True}}), {"privileged"}),
    "a capability": (with_pod(), with_pod(may("CHOWN", "SYS_ADMIN")), {"privileged"}),
    "a second capability": (with_pod(may("NET_RAW")), with_pod(may("NET_RAW", "SYS_PTRACE")), {"privileged"}),
    "all capabilities": (None, with_pod(may("ALL")), {"privileged"}),
    "a capability in other letters": (with_pod(), with_pod(may("cap_sys_admin")), {"privileged"}),
    "a template's capabilities": (with_pod(), with_pod({"name": "web", "securityContext": {"capabilities": {"add": "{{ .x }}"}}}), {"privileged"}),
    "the whole of /proc": (with_pod(), with_pod({"name": "web", "securityContext": {"procMount": "Unmasked"}}), {"privileged"}),
    "in another template": (deployment(a=with_pod({"name": "a"} | PRIVILEGED)), deployment(a=with_pod({"name": "a"}), b=with_pod({"name": "a"} | PRIVILEGED)), {"privileged"}),
    "without a list of containers": (deployment(), deployment(container=PRIVILEGED, hostNetwork=True), {"privileged", "hostNetwork"}),
    "a volume of the node": (with_pod(), with_pod(volumes=[VOLUME]), {"hostPath"}),
    "another path": (with_pod(volumes=[VOLUME]), with_pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), {"hostPath"}),
    "a second volume": (with_pod(volumes=[VOLUME]), with_pod(volumes=[VOLUME, VOLUME | {"name": "w"}]), {"hostPath"}),
    "a volume of the cluster": (None, deployment(hostPath={"path": "/"}), {"hostPath"}),
    "a disk of the node": (None, deployment(local={"path": "/"}, nodeAffinity={}), {"hostPath"}),
    "the node's network": (with_pod(hostNetwork=False), with_pod(hostNetwork=True), {"hostNetwork"}),
    "its processes": (with_pod(hostPID=None), with_pod(hostPID="true"), {"hostPID"}),
    "its memory": (with_pod(), with_pod(hostIPC=1), {"hostIPC"}),
    "a service account": (with_pod(), with_pod(serviceAccountName="admin"), {"serviceAccount"}),
    "of a new object": (None, with_pod(serviceAccountName="admin"), {"serviceAccount"}),
    "by its old name": (with_pod(serviceAccountName="web"), with_pod(serviceAccountName="web", serviceAccount="admin"), {"serviceAccount"}),
    "one that goes": (with_pod(serviceAccountName="web"), with_pod(serviceAccountName=None), {"serviceAccount"}),
    "of a custom resource": (deployment(), deployment(serviceAccount={"name": "admin"}), {"serviceAccount"}),
    "a finalizer that goes": (owned(finalizers=["a", "b"]), owned(finalizers=["a"]), {"finalizers"}),
    "all of them": (owned(finalizers=["a"]), owned(finalizers=None), {"finalizers"}),
    "of a namespace": (deployment(finalizers=["kubernetes"]), deployment(finalizers=[]), {"finalizers"}),
    "that moves": (owned(finalizers=["a"]), deployment(finalizers=["a"]), {"finalizers"}),
    "an owner": (owned(), owned(ownerReferences=[OWNER]), {"ownerReferences"}),
    "another owner": (owned(ownerReferences=[OWNER]), owned(ownerReferences=[OWNER | {"uid": "u-8"}]), {"ownerReferences"}),
    "several": (with_pod(), with_pod(hostPID=True, hostIPC=True, serviceAccountName="x"), {"hostPID", "hostIPC", "serviceAccount"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW_RISKS)
def test_what_an_object_newly_may_do_is_named(name: str, engine: redaction.Engine) -> None:
    """Wherever the setting stands, and whatever it is called there; sorted."""
    before, after, risks = NEW_RISKS[name]
    assert compared(engine, before, after).risks == tuple(sorted(risks))


OLD_RISKS: Final[dict[str, tuple[Any, Object]]] = {
    "what it had": (with_pod({"name": "a"} | PRIVILEGED, hostNetwork=True, volumes=[VOLUME], serviceAccountName="x"),
                    with_pod({"name": "a", "image": "b"} | PRIVILEGED, hostNetwork=True, volumes=[VOLUME], serviceAccountName="x")),
    "what it had, moved": (with_pod({"name": "a"} | PRIVILEGED, {"name": "b"}), with_pod({"name": "b"}, {"name": "a"} | PRIVILEGED)),
    "what it no longer has": (with_pod({"name": "a"} | PRIVILEGED, hostPID=True, volumes=[VOLUME]), with_pod({"name": "a"})),
    "what is off": (with_pod(), with_pod({"name": "web", "securityContext": {"privileged": False}}, hostNetwork=False, hostPID="false", hostIPC=None)),
    "capabilities of the baseline": (None, with_pod(may("NET_BIND_SERVICE", "SYS_CHROOT"))),
    "capabilities that it had": (with_pod(may("NET_RAW", "CHOWN")), with_pod(may("CHOWN", "NET_RAW"))),
    "capabilities that go": (with_pod(), with_pod({"name": "web", "securityContext": {"capabilities": {"add": None, "drop": ["ALL"]}}})),
    "/proc as usual": (with_pod(), with_pod({"name": "web", "securityContext": {"procMount": "Default"}})),
    "what another kind calls local": (None, deployment(local={"path": "/var/tempo"})),
    "the default account": (None, with_pod(serviceAccountName="default", serviceAccount="default")),
    "the default account, named": (with_pod(), with_pod(serviceAccountName="default")),
    "the account's old name": (with_pod(serviceAccountName="x"), with_pod(serviceAccountName="x", serviceAccount="x")),
    "a finalizer that comes": (owned(), owned(finalizers=["a"])),
    "no owner, in three words": (owned(ownerReferences=None), owned(ownerReferences=[])),
    "labels of these names": (owned(), owned(labels={"hostNetwork": "true", "privileged": "yes"})),
    "a schema that describes them": (None, deployment(schema={"properties": {"hostNetwork": {"type": "boolean"}, "hostPath": {"properties": {"path": {}}}, "capabilities": {"properties": {"add": {}}}, "procMount": {"type": "string"}}})),
    "the node's address": (None, with_pod(volumes=[{"name": "v", "emptyDir": {}}])),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD_RISKS)
def test_what_is_not_new_is_no_risk(name: str, engine: redaction.Engine) -> None:
    """Nor is what is switched off, or only called alike."""
    assert compared(engine, *OLD_RISKS[name]).risks == ()


# Bounds

WRONG: Final = {
    "more than 3 MiB": (json.dumps({"data": "x" * 3_200_000}).encode(), "3 MiB"),
    "more than 100,000 values": (json.dumps({"x": [1] * 100_001}).encode(), "100,000 values"),
    "more than 100 levels": (b'{"x":' * 101 + b"1" + b"}" * 101, "100 levels"),
    "more than 1,000 labels": (json.dumps({"metadata": {"labels": {f"l{at}": "" for at in range(1001)}}}).encode(), "1,000"),
    "more than 20,000 rows": (json.dumps({"x": dict.fromkeys(map(str, range(20_001)), 1)}).encode(), "20,000 fields"),
    "more than 8 MiB of rows": (json.dumps({"k" * 10_000: dict.fromkeys(map(str, range(900)), 1)}).encode(), "8 MiB"),
    "a list": (b"[]", "no JSON object"),
    "null": (b"null", "no JSON object"),
    "half an object": (b'{"a":', "no JSON object"),
    "no UTF-8": (b'{"a":"\xff"}', "no JSON object"),
    "no text": (b"\x1f\x8b\x08", "no JSON object"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_compared_is_refused_with_the_reason(name: str, engine: redaction.Engine) -> None:
    """Nothing is cut. The next comparison works."""
    document, reason = WRONG[name]
    with pytest.raises(errors.RedactionError, match=reason):
        engine.changes(call("create", {}), b"", document, lambda _: None)
    assert compared(engine, deployment(), deployment(replicas=3)).rows


def test_an_object_of_the_largest_size_is_compared(engine: redaction.Engine) -> None:
    """One text of 2.9 MiB that changes as a whole is two rows' worth of it; 19,000 fields are 19,000 rows."""
    old, new = ({"data": {"text": letter * 2_900_000}} for letter in "ab")
    ((_, (was, now)),) = rows(compared(engine, old, new)).items()
    assert was is not None and now is not None and len(was) == len(now) == 2_900_002
    many = {"data": {f"key-{at}": "value" for at in range(19_000)}}
    assert len(compared(engine, None, many, call("create", many)).rows) == 19_000


def test_a_comparison_that_nobody_waits_for_ends(engine: redaction.Engine) -> None:
    """At its deadline, or when its script is cancelled, as any answer that is masked."""
    for what, code in (
        (dataclasses.replace(call(), deadline=time.monotonic()), "cluster.timeout"),
        (dataclasses.replace(call(), cancelled=lambda: True), "cluster.cancelled"),
    ):
        with pytest.raises(errors.ClusterError) as caught:
            compared(engine, deployment(), deployment(), what)
        assert caught.value.code == code


# Any two objects

VALUES: Final = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-2, 2)
    | strategies.floats(-1, 1, allow_nan=False)
    | strategies.sampled_from(["", "a", "b", "0"]),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.sampled_from(["name", "a", "b.c", "port", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)


@hypothesis.settings(max_examples=300, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(old=VALUES, new=VALUES)
def test_two_objects_have_rows_when_and_only_when_they_differ(engine: redaction.Engine, old: Any, new: Any) -> None:
    """The rows of the way back are the same with old and new exchanged, and the same on every run."""
    before, after = {"spec": {"x": old}}, {"spec": {"x": new}}
    there = compared(engine, before, after)
    is_same = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    assert (there.rows == ()) == is_same
    assert compared(engine, before, after) == there
    back = compared(engine, after, before)
    assert {(row.path, row.old, row.new) for row in there.rows} == {(row.path, row.new, row.old) for row in back.rows}


@hypothesis.settings(max_examples=100, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(old=VALUES, new=VALUES, other=VALUES)
def test_two_changes_of_an_object_have_different_rows(engine: redaction.Engine, old: Any, new: Any, other: Any) -> None:
    """Whoever reads the rows knows what the object will be."""
    found = [compared(engine, {"x": old}, {"x": each}).rows for each in (new, other)]
    is_same = json.dumps(new, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (set(found[0]) == set(found[1])) == is_same


# A real API server


class Shared(live.Live):
    """A cluster that others change too: each of `others` once, after a read."""

    def __init__(self, kubeconfig: Path, others: list[Callable[[], object]]) -> None:
        super().__init__(kubeconfig)
        self._others = others

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Answers a call, and lets another one change what it was about."""
        response = super().perform(call, timeout_s, cancel)
        if call.method == "GET" and self._others:
            self._others.pop(0)()
        return response


def trying(cluster: live.Live, engine: redaction.Engine) -> writer.Writer:
    """What tries writes under no rule."""
    return writer.Writer(cluster, engine.changes, writes.Policy(), lambda text, _found, _check: text, "")


def soon(call: request.Request) -> request.Request:
    """The request with as much time as a test may take."""
    return dataclasses.replace(call, deadline=time.monotonic() + 30)


def test_an_object_that_somebody_makes_at_that_moment_is_told_from_no_dry_run(
    scratch: ControlPlane, namespace: str, engine: redaction.Engine
) -> None:
    """As far as one can tell. The next attempt sees it."""
    raced = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raced", "namespace": namespace}}
    path = ("api", "v1", "namespaces", namespace, "configmaps", "raced")
    asked = request.parse(
        exchanges.Call("PUT", path, body=msgspec.Raw(json.dumps(raced | {"data": {"a": "b"}}).encode()))
    )
    others: list[Callable[[], object]] = [lambda: Writer(scratch.kubeconfig).create(raced)]
    cluster = Shared(scratch.kubeconfig, others)
    tried = trying(cluster, engine)
    with pytest.raises(errors.PlanError, match=r"either somebody created it at this moment, or .* look at it before"):
        tried.try_again(soon(asked), operation.Operation())
    assert not others
    found = tried.try_again(soon(asked), operation.Operation())
    assert isinstance(found, attempt.Attempt) and set(rows(found.changes)) == {"data.a"}
    cluster.close()


def test_a_write_is_tried_on_the_very_version_that_was_read(
    scratch: ControlPlane, namespace: str, engine: redaction.Engine
) -> None:
    """What somebody else has changed since is no change of the write's; who changes it each time is told."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "moving", "namespace": namespace}}
    Writer(scratch.kubeconfig).create(made)

    def patch(key: str, value: str) -> request.Request:
        body = msgspec.Raw(json.dumps({"data": {key: value}}).encode())
        path = ("api", "v1", "namespaces", namespace, "configmaps", "moving")
        return soon(request.parse(exchanges.Call("PATCH", path, (), body, "merge-patch")))

    def change(number: int) -> None:
        cluster.perform(patch("theirs", str(number)), 30, cancellation.Cancellation()).close()

    def try_ours() -> attempt.Attempt:
        found = tried.try_again(patch("ours", "1"), operation.Operation())
        assert isinstance(found, attempt.Attempt)
        return found

    others: list[Callable[[], object]] = [functools.partial(change, 0)]
    cluster = Shared(scratch.kubeconfig, others)
    tried = trying(cluster, engine)
    assert set(rows(try_ours().changes)) == {"data.ours"}
    others.extend(functools.partial(change, number) for number in range(1, 100))
    with pytest.raises(errors.PlanError, match="changes faster than it can be read"):
        try_ours()
    others.clear()
    assert set(rows(try_ours().changes)) == {"data.ours"}
    cluster.close()


def test_dry_runs_of_a_real_api_server(scratch: ControlPlane, namespace: str, engine: redaction.Engine) -> None:
    """Its defaults are its own, its merges are the request's, and its bookkeeping is no change."""
    made = copy.deepcopy(deployment(selector={"matchLabels": {"app": "web"}}))
    made["metadata"] = {"name": "web", "namespace": namespace}
    del made["status"]
    Writer(scratch.kubeconfig).create(made)
    cluster = live.Live(scratch.kubeconfig)
    tried = trying(cluster, engine)

    def difference(method: str, path: str, body: Any, form: str = "json") -> inspection.Changes:
        where = ("apis", "apps", "v1", "namespaces", namespace, "deployments", *path.split())
        fields = {"method": method, "path": where, "query": (), "content_type": form}
        given = exchanges.Call(**fields, body=msgspec.Raw(json.dumps(body).encode()))  # type: ignore[arg-type]
        found = tried.try_again(soon(request.parse(given)), operation.Operation())
        assert isinstance(found, attempt.Attempt)
        return found.changes

    other = copy.deepcopy(made) | {"metadata": {"name": "other"}}
    created = difference("POST", "", other)
    assert created.before is None
    assert "spec.template.spec.containers[web].imagePullPolicy" in by_server(created)
    assert not {"spec.replicas", "spec.template.spec.containers[web].image"} & by_server(created)

    patch = in_pod({"name": "log", "image": "fluent"}, {"name": "web", "env": [{"name": "TOKEN", "value": SECRET}]})
    merged = difference("PATCH", "web", patch, "strategic-merge-patch")
    requested = {row.path: row.new for row in merged.rows if not row.by_server}
    env = "spec.template.spec.containers[web].env[TOKEN]"
    assert set(requested) - {"spec.template.spec.containers"} == {
        f"{env}.name", f"{env}.value",
        "spec.template.spec.containers[log].name", "spec.template.spec.containers[log].image",
    }  # fmt: skip
    assert SECRET not in repr(merged.rows)
    assert merged.before is not None and merged.after is not None
    assert merged.before.digest != merged.after.digest and merged.before.uid == merged.after.uid

    assert difference("PATCH", "web", {"spec": {"replicas": 2}}, "merge-patch").rows == ()
    scaled = difference("PATCH", "web scale", {"spec": {"replicas": 9}}, "merge-patch")
    assert scaled.rows == (inspection.Row("spec.replicas", "2", "9"),)
    assert scaled.before == merged.before
    cluster.close()
