"""Calls: names, arguments, content types, errors, lists and watches, seen from what goes over the wire."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from kubescript.guest.sdk.calls import watch
from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import exceptions, operations
from kubescript.wire import exchanges
from kubescript_sandbox.wire.protocol import ScriptFault
from tests.kit import cases
from tests.kit.sdk_transport import DISCOVERY, POD, Exchange, cluster

POD_PATH = ("api", "v1", "namespaces", "shop", "pods", "web")


@cases.each(
    "expression",
    [
        "k8s.coreV1().read_namespaced_pod('web', 'shop')",
        "k8s.CoreV1Api().readNamespacedPod('web', 'shop')",
        "k8s.core_v1.read_namespaced_pod(name='web', namespace='shop')",
        "k8s.corev1().READ_NAMESPACED_POD('web', namespace='shop')",
        "k8s.coreV1().read_namespaced_pod('web', 'shop', pretty='true', _request_timeout=5, async_req=False)",
        "kubernetes.client.CoreV1Api(kubernetes.client.ApiClient()).read_namespaced_pod('web', 'shop')",
        "k8s.get('pods', 'web', 'shop')",
        "k8s.dynamic().resources.get(api_version='v1', kind='pod').get('web', 'shop')",
    ],
)
def test_one_call_has_many_spellings(expression: str) -> None:
    """Any case, underscores or not, with or without call parentheses: the same request and a typed pod."""
    k8s, canned = cluster(DISCOVERY)
    pod = eval(expression, {"k8s": k8s, "kubernetes": modules.kubernetes_module(k8s)})
    assert (canned.last.method, canned.last.path, canned.last.query) == ("GET", POD_PATH, ())
    assert canned.last.body == exchanges.NO_BODY
    assert repr(pod) == "<V1Pod shop/web Running>"


def test_every_method_of_every_api_can_be_called() -> None:
    """With its required arguments, each builds a request whose segments follow its template."""
    k8s, canned = cluster()
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            required = operation.parameters[: operation.required]
            if operation.verb in ("HEAD", "OPTIONS"):  # of proxies only; refused before anything is sent
                continue
            with pytest.raises(exceptions.NotFoundException):
                canned.answers.clear()
                getattr(k8s.api(api), name)(**{each: {} if each == "body" else "x" for each in required})
            assert canned.last.method == operation.verb
            assert len(canned.last.path) == len(operation.path.strip("/").split("/"))


@cases.each(
    ("expression", "error", "hint"),
    [
        ("core.list_namespaced_pod()", TypeError, "is missing 'namespace'"),
        ("core.list_namespaced_pod(None)", TypeError, "use list_pod_for_all_namespaces()"),
        ("core.list_namespaced_pod('')", TypeError, "must be one name"),
        ("core.read_namespaced_pod('web', 3)", TypeError, "namespace must be one name, not 3"),
        (
            "core.list_namespaced_pod('shop', selector='a')",
            TypeError,
            "has no parameter 'selector'; did you mean 'label_selector'?",
        ),
        ("core.list_namespaced_pod('shop', label_selecter='a')", TypeError, "did you mean 'label_selector'"),
        ("core.list_pod_for_all_namespaces(namespace='a')", TypeError, "use list_namespaced_pod(namespace=...)"),
        ("core.list_namespaced_pod('shop', limit='many')", TypeError, "limit must be int"),
        ("core.list_namespaced_pod('shop', watch=True)", TypeError, "watch.Watch().stream"),
        ("core.list_namespaced_pod('shop', async_req=True, labels='a')", TypeError, "did you mean 'label_selector'"),
        (
            "core.list_namespaced_pod('shop', _headers={'Impersonate-User': 'admin'})",
            TypeError,
            "cannot set HTTP headers",
        ),
        ("core.list_namespaced_pod('shop', _host_index=0)", TypeError, "leave _host_index out"),
        ("core.create_namespaced_pod('shop', None)", TypeError, "body must be an object"),
        ("core.list_namespaced_pods", AttributeError, "write list_namespaced_pod or list_pod_for_all_namespaces"),
        ("core.list_namespaced_deployment", AttributeError, "it is in k8s.appsV1()"),
        ("k8s.appV1()", AttributeError, "did you mean appsV1"),
        ("core.api_client", AttributeError, "no 'api_client'"),
    ],
)
def test_a_wrong_call_says_what_to_write_instead(expression: str, error: type[Exception], hint: str) -> None:
    """Nothing is dropped in silence and nothing is sent."""
    k8s, canned = cluster()
    with pytest.raises(error) as raised:
        eval(expression, {"k8s": k8s, "core": k8s.coreV1()})
    assert hint in str(raised.value)
    assert not canned.calls


def test_query_parameters_go_by_their_wire_names() -> None:
    """Booleans, numbers and dict selectors become the text the API server expects."""
    k8s, canned = cluster()
    k8s.coreV1().list_namespaced_pod("shop", label_selector={"app": "web"}, limit=5, _continue="c", timeoutSeconds="3")
    assert set(canned.last.query) == {
        ("labelSelector", "app=web"),
        ("limit", "5"),
        ("continue", "c"),
        ("timeoutSeconds", "3"),
    }


@cases.each(
    ("expression", "kind"),
    [
        ("k8s.appsV1().patch_namespaced_deployment('web', 'shop', {'a': 1})", "strategic-merge-patch"),
        ("k8s.appsV1().patch_namespaced_deployment('web', 'shop', [{'op': 'remove'}])", "json-patch"),
        (
            "k8s.appsV1().patch_namespaced_deployment('web', 'shop', {}, _content_type='application/merge-patch+json')",
            "merge-patch",
        ),
        (
            "k8s.customObjects().patch_namespaced_custom_object('g', 'v1', 'shop', 'webs', 'web', {'a': 1})",
            "merge-patch",
        ),
        ("k8s.coreV1().create_namespaced_pod('shop', {'a': 1})", "json"),
    ],
)
def test_the_content_type_is_the_official_clients(expression: str, kind: str) -> None:
    """A list is a JSON patch, a dict a strategic merge patch for built-in kinds, a merge patch for custom objects."""
    k8s, canned = cluster()
    with contextlib.suppress(exceptions.NotFoundException):
        eval(expression, {"k8s": k8s})
    assert canned.last.content_type == kind


def test_read_modify_replace_sends_the_changed_object() -> None:
    """What was read and changed goes back whole."""
    k8s, canned = cluster()
    pod = k8s.coreV1().read_namespaced_pod("web", "shop")
    pod.metadata.labels["tier"] = "front"
    k8s.coreV1().replace_namespaced_pod("web", "shop", pod)
    assert canned.last.method == "PUT"
    assert json.loads(bytes(canned.last.body)) == {
        **POD,
        "metadata": {**POD["metadata"], "labels": {"app": "web", "tier": "front"}},
    }


def test_models_build_bodies_and_check_names() -> None:
    """Constructors take either spelling and refuse a field that does not exist."""
    k8s, canned = cluster({"api/v1/namespaces/shop/pods": POD})
    kube = modules.kubernetes_module(k8s).client
    pod = kube.V1Pod(metadata=kube.V1ObjectMeta(name="web", generateName=None), spec={"nodeName": "n"})  # type: ignore[attr-defined]
    k8s.coreV1().create_namespaced_pod("shop", pod)
    assert json.loads(bytes(canned.last.body)) == {"metadata": {"name": "web"}, "spec": {"nodeName": "n"}}
    with pytest.raises(TypeError, match="did you mean 'metadata'"):
        kube.V1Pod(metdata={})  # type: ignore[attr-defined]


def test_a_list_is_a_sequence_with_items_and_metadata() -> None:
    """Iteration, length, index, slice, `.items` as field and method, mapping access."""
    k8s, _ = cluster()
    pods = k8s.coreV1().list_namespaced_pod("shop")
    assert [pod.metadata.name for pod in pods] == [pod.metadata.name for pod in pods.items] == ["web", "web"]
    assert len(pods) == 2 and pods[-1].status.phase == "Running" and len(pods[:1]) == 1 and pods
    assert (
        pods.metadata.resource_version == "7" and pods["metadata"]["resourceVersion"] == "7" and pods.kind == "PodList"
    )
    assert pods["items"][0]["metadata"]["name"] == "web" and dict(pods.items())["kind"] == "PodList"
    assert sorted(pods.items, key=lambda pod: pod.metadata.creation_timestamp)
    assert repr(pods) == "<V1PodList of 2>"


def test_a_call_inside_a_loop_over_a_list_does_not_disturb_it() -> None:
    """The list is read to its end before the next call is sent; the loop goes on where it was."""
    k8s, canned = cluster()
    names = [
        k8s.coreV1().read_namespaced_pod(pod.metadata.name, "shop").metadata.name
        for pod in k8s.coreV1().list_namespaced_pod("shop")
    ]
    assert names == ["web", "web"] and len(canned.calls) == 3


def test_http_info_gives_data_status_and_headers() -> None:
    """`*_with_http_info` works for every method without being stored."""
    k8s, _ = cluster()
    pod, status, headers = k8s.coreV1().read_namespaced_pod_with_http_info("web", "shop")
    assert (pod.metadata.name, status, headers) == ("web", 200, {"audit-id": "a"})


def test_logs_are_text() -> None:
    """A log is a str and asks for text."""
    k8s, canned = cluster()
    assert k8s.coreV1().read_namespaced_pod_log("web", "shop", tail_lines=2) == "one\ntwo\n"
    assert canned.last.accept == "text"


def test_an_error_status_is_the_official_exception_in_one_line() -> None:
    """Status, call and the API server's message; subclass by status."""
    k8s, _ = cluster()
    with pytest.raises(exceptions.ApiException) as raised:
        k8s.coreV1().read_namespaced_pod("nope", "shop")
    error = raised.value
    assert (
        type(error) is exceptions.NotFoundException
        and error.status == 404
        and json.loads(error.body or "")["code"] == 404
    )
    assert (
        str(error) == "404 Not Found: GET /api/v1/namespaces/shop/pods/nope: api/v1/namespaces/shop/pods/nope not found"
    )


@cases.each(
    ("fault", "kind", "status"),
    [
        (ScriptFault("policy.secrets", "no secrets"), exceptions.ForbiddenException, 403),
        (ScriptFault("cluster.unreachable", "no route"), exceptions.ApiException, 0),
        (ScriptFault("limit.calls", "1000 calls"), exceptions.LimitExceeded, None),
    ],
)
def test_faults_of_kubescript_are_told_apart(fault: ScriptFault, kind: type[Exception], status: int | None) -> None:
    """A denial, an unreachable cluster and a used-up budget each have their exception, at the head or inside a body."""
    for exchange in (Exchange(b"", 0, fault=fault), Exchange(b'{"kind":"PodList","items":[{"a":1}', broken=fault)):
        k8s, _ = cluster({"api/v1/pods": exchange})
        with pytest.raises(kind) as raised:
            list(k8s.coreV1().list_pod_for_all_namespaces())
        assert raised.value.code == fault.code and fault.message in str(raised.value)  # type: ignore[attr-defined]
        assert getattr(raised.value, "status", None) == status


def test_a_watch_yields_events_and_ends_soon_by_itself() -> None:
    """Events are typed, a timeout is always sent, an ERROR event is an exception."""
    lines = b"".join(json.dumps({"type": kind, "object": POD}).encode() + b"\n" for kind in ("ADDED", "MODIFIED"))
    gone = json.dumps({"type": "ERROR", "object": {"code": 410, "reason": "Gone", "message": "too old"}}).encode()
    k8s, canned = cluster({"api/v1/namespaces/shop/pods": lines + gone})
    events = watch.Watch().stream(k8s.coreV1().list_namespaced_pod, "shop")
    assert [next(events)["type"], next(events)["object"].metadata.name] == ["ADDED", "web"]
    assert set(canned.last.query) == {("watch", "true"), ("timeoutSeconds", "5")}
    with pytest.raises(exceptions.ApiException, match="too old"):
        next(events)


def test_custom_resources_are_found_by_every_name() -> None:
    """kubectl names, group version and kind, and the official search; discovery is asked once."""
    k8s, canned = cluster(DISCOVERY)
    dynamic = k8s.dynamicClient()
    assert dynamic.list("webs.example.com")[0].spec.a == 1
    assert k8s.get("web", "w", "shop").spec.observed_thing == 1
    assert (
        dynamic.resource("example.com/v1", "webs").kind
        == dynamic.resources.get(api_version="example.com/v1", kind="Web").kind
        == "Web"
    )
    assert sum(call.path == ("apis",) for call in canned.calls) == 1
    with pytest.raises(exceptions.NotFoundException, match="did you mean 'Web'"):
        k8s.get("webz")


def test_dynamic_writes_take_namespace_and_name_from_the_body() -> None:
    """As the official client does; without a namespace the call is refused, not sent to another path."""
    k8s, canned = cluster(DISCOVERY)
    webs = k8s.dynamic().resource("webs.example.com")
    with pytest.raises(exceptions.NotFoundException):
        webs.create({"metadata": {"name": "n", "namespace": "shop"}})
    assert canned.last.path == ("apis", "example.com", "v1", "namespaces", "shop", "webs")
    webs.patch({"metadata": {"name": "w", "namespace": "shop"}}, dry_run="All")
    assert (canned.last.content_type, canned.last.query) == ("merge-patch", (("dryRun", "All"),))
    with pytest.raises(TypeError, match="add namespace="):
        webs.get(name="w")
    with pytest.raises(TypeError, match="needs a name"):
        webs.delete(namespace="shop")


def test_discovery_lists_kinds() -> None:
    """Name, kind, scope, verbs, short names and subresources of every group."""
    k8s, _ = cluster(DISCOVERY)
    found = {each.full_name: each for each in k8s.discovery().apiResources()}
    assert found["pods"].short_names == ("po",) and found["pods"].subresources == ("status",)
    assert found["webs.example.com"].api_version == "example.com/v1"


def test_metrics_have_methods_and_types() -> None:
    """metrics.k8s.io, which the official client lacks, under its obvious names."""
    usage = {"items": [{"metadata": {"name": "n"}, "usage": {"cpu": "1m"}}]}
    k8s, canned = cluster({"apis/metrics.k8s.io/v1beta1/nodes": usage})
    for name in ("list_node_metrics", "getNodeMetrics", "listNodeMetricses"):
        assert getattr(k8s.metricsV1beta1Client(), name)()[0].usage["cpu"] == "1m"
    assert canned.last.path == ("apis", "metrics.k8s.io", "v1beta1", "nodes")


def test_the_virtual_package_exports_what_scripts_import() -> None:
    """Every import models write resolves; loaders do nothing; nothing is a module."""
    k8s, _ = cluster()
    importable = modules.exports(k8s)
    for module, name in [
        ("kubernetes", "client"),
        ("kubernetes.client", "CoreV1Api"),
        ("kubernetes.client", "V1Deployment"),
        ("kubernetes.client.rest", "ApiException"),
        ("kubernetes.client.exceptions", "ApiException"),
        ("kubernetes.dynamic", "DynamicClient"),
        ("kubernetes.watch", "Watch"),
        ("kubernetes.utils", "parse_quantity"),
    ]:
        assert name in importable[module] and type(importable[module][name]).__name__ != "module"
    kube: Any = modules.kubernetes_module(k8s)
    assert (
        kube.config.load_kube_config(context="x") is None and kube.client.rest.ApiException is exceptions.ApiException
    )
    assert kube.utils.parse_quantity("1Ki") == 1024 and float(kube.utils.parse_quantity("250m")) == 0.25
    with pytest.raises(AttributeError, match="CoreV1Api"):
        kube.client.CoreV1Ap  # noqa: B018


def test_help_is_short_and_names_parameters() -> None:
    """A few lines for the cluster, one line per group of methods, the signature of a method."""
    k8s, _ = cluster()
    assert len(helptext.help_text(k8s).splitlines()) < 8
    assert "label_selector" in helptext.help_text(k8s.coreV1().list_namespaced_pod)
    assert "create/delete/list/patch/read/replace_namespaced_pod\n" in helptext.help_text(k8s.coreV1())
    assert "coreV1" in helptext.dir_text(k8s) and "list_namespaced_pod" in helptext.dir_text(k8s.coreV1())
    assert "pod_ip: str" in helptext.help_text("V1PodStatus")
