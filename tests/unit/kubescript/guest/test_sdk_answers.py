"""Undecoded answers and `kubernetes.utils`: what the official client gives beside its models."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from kubescript.guest.sdk.compat import modules, utilities
from tests.kit import cases
from tests.kit.sdk_transport import POD, cluster


def test_an_undecoded_answer_is_bytes_and_headers() -> None:
    """`_preload_content=False` gives what urllib3 would: data, status, headers, and the next call works."""
    k8s, canned = cluster()
    found = k8s.coreV1().list_namespaced_pod("shop", _preload_content=False, pretty="true")
    assert (found.status, found.getheader("AUDIT-ID"), found.getheader("x", "none")) == (200, "a", "none")
    assert len(json.loads(found.data)["items"]) == len(found.json()["items"]) == 2
    assert found.read(2) == b'{"' and found.read(3) == b"kin" and found.getheaders()["audit-id"] == "a"
    found.release_conn()
    assert canned.last.path == ("api", "v1", "namespaces", "shop", "pods") and canned.last.query == ()
    assert k8s.coreV1().read_namespaced_pod("web", "shop").metadata.name == "web"


def test_a_followed_log_gives_lines() -> None:
    """Whether looped over, streamed or read whole."""
    k8s, _ = cluster()
    log = k8s.coreV1().read_namespaced_pod_log
    assert list(log("web", "shop", follow=True, _preload_content=False)) == [b"one", b"two"]
    assert list(log("web", "shop", follow=True, _preload_content=False).stream()) == [b"one", b"two"]
    assert log("web", "shop", follow=True, _preload_content=False).data == b"one\ntwo"
    assert [line.strip() for line in log("web", "shop", _preload_content=False)] == [b"one", b"two"]
    assert log("web", "shop", _preload_content=False).data.decode() == log("web", "shop") == "one\ntwo\n"


@cases.each(
    ("text", "shown"),
    [
        ("1h", "1h"),
        ("3600s", "1h"),
        ("90m", "1h30m"),
        ("30m1h10s5s", "1h30m15s"),
        ("0h0m0s0ms", "0s"),
        ("1500ms", "1s500ms"),
    ],
)
def test_durations_of_the_gateway_api(text: str, shown: str) -> None:
    """Parsed and written in their shortest form (GEP-2257)."""
    assert utilities.format_duration(utilities.parse_duration(text)) == shown


@cases.each("text", ["-5m", "1.5h", "", "1d", "1h 5m", "100000h", "1h1h1h1h1h"])
def test_what_is_no_duration(text: str) -> None:
    """Raises ValueError, as officially."""
    with pytest.raises(ValueError, match="Invalid duration format"):
        utilities.parse_duration(text)
    for span in (datetime.timedelta(seconds=-1), datetime.timedelta(microseconds=1), datetime.timedelta(days=5000)):
        with pytest.raises(ValueError, match="a duration has whole milliseconds"):
            utilities.format_duration(span)


def test_create_from_dict_makes_each_object_in_its_place() -> None:
    """A List is several; a namespace in the object comes before the argument."""
    k8s, canned = cluster(
        {"api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["create"]}]}}
    )
    utils: Any = modules.kubernetes_module(k8s).utils
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    canned.answers["api/v1/namespaces/other/pods"] = POD
    utils.create_from_dict(
        None,
        {"kind": "List", "items": [pod, {**pod, "metadata": {"name": "w", "namespace": "other"}}]},
        namespace="shop",
    )
    posted = [
        (call.path[3], json.loads(bytes(call.body))["metadata"]["name"])
        for call in canned.calls
        if call.method == "POST"
    ]
    assert posted == [("shop", "web"), ("other", "w")]


def test_what_would_read_files_says_so() -> None:
    """The exact replacement."""
    k8s, _ = cluster()
    utils: Any = modules.kubernetes_module(k8s).utils
    for name in ("create_from_yaml", "create_from_directory"):
        with pytest.raises(AttributeError, match=r"utils\.create_from_dict\(None, manifest\)"):
            getattr(utils, name)


def test_headers_that_mean_something() -> None:
    """Accept may ask for names only; any other header is refused, and nothing is sent."""
    k8s, canned = cluster(
        {"api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get"]}]}}
    )
    pods = k8s.dynamic().resources.get(api_version="v1", kind="Pod")
    pods.get(
        namespace="shop", header_params={"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    )
    assert canned.last.accept == "metadata"
    before = len(canned.calls)
    with pytest.raises(TypeError, match="only Accept can be set"):
        pods.get(namespace="shop", header_params={"Impersonate-User": "admin"})
    with pytest.raises(TypeError, match="did you mean 'namespace'"):
        pods.get(ns="shop")
    assert len(canned.calls) == before
    assert pods.get(all_namespaces=True)[0].metadata.name == "web" and canned.last.path == ("api", "v1", "pods")
