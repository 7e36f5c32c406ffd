"""What a first reader stumbled over, who had only the tool's definition: each script, and what it now gets."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import exceptions
from kubescript_sandbox.library import stdlib
from kubescript_sandbox.wire import protocol
from tests.kit import cases
from tests.kit.first_reader import ANSWERS, failure, result
from tests.kit.sdk_transport import POD, cluster


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


RESULTS: dict[str, Any] = {
    # to_dict(): every way of asking agrees
    '[d["status"].get(k)[0]["name"] for k in ("containerStatuses", "container_statuses")]': ["app", "app"],
    '[k in d["status"] for k in ("containerStatuses", "container_statuses", "hostIP", "host_ip")]': [
        *(True, True, False, False)
    ],
    'd["status"].pop("containerStatuses")\n["container_statuses" in d["status"], d["status"].pop("podIP")]': [
        *(False, "10.0.0.1")
    ],
    'd["status"].setdefault("podIP", "x"), d["status"].setdefault("hostIP", "h"), d["status"]["host_ip"]': [
        *("10.0.0.1", "h", "h")
    ],
    'c = d["status"]["container_statuses"][0]\n[c.get("future_field"), c["futureField"], "futureField" in c]': [
        1,
        1,
        True,
    ],
    'd["status"]["podIP"] = "y"\nsorted(k for k in d["status"] if "p" in k.lower() and "i" in k.lower())': ["pod_ip"],
    'e = d["spec"].copy() | {"nodeName": "z"}\n[e["node_name"], d["spec"]["nodeName"], len(e) == len(d["spec"])]': [
        *("z", "n1", True)
    ],
    'import copy\ncopy.deepcopy(d)["status"].get("podIP")': "10.0.0.1",
    'sorted(d), d["metadata"]["creation_timestamp"].year': [
        ["api_version", "kind", "metadata", "spec", "status"],
        2026,
    ],
    # dynamic objects are the JSON, and answer to both spellings too
    'sorted(raw), sorted(raw["status"]), "managedFields" in raw["metadata"]': [
        ["apiVersion", "kind", "metadata", "spec", "status"],
        ["containerStatuses", "phase", "podIP"],
        False,
    ],
    'raw["status"].get("pod_ip"), raw["metadata"]["creationTimestamp"]': ["10.0.0.1", "2026-01-02T03:04:05Z"],
    "web": {"apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "w"}, "spec": {"observedThing": 1}},
    'web["spec"].get("observed_thing"), "observed_thing" in web["spec"], web["spec"]["observed_thing"]': [1, True, 1],
    'list(k8s.get("pods", namespace="shop").to_dict()["items"][0])': [
        *("apiVersion", "kind", "metadata", "spec", "status")
    ],
    'list(core.list_namespaced_pod("shop").to_dict())': ["kind", "api_version", "metadata", "items"],
    '[(o.kind, o.api_version, o.to_dict()["kind"]) for o in k8s.get("webs")]': [["Web", "example.com/v1", "Web"]],
    'o = k8s.get("webs")[0]\n[o.kind, o["apiVersion"]]': ["Web", "example.com/v1"],
    # the user's own keys have one spelling
    'pod.metadata.labels["app-name"] = "x"\n[pod.metadata.labels.get("app_name"), "appname" in pod.metadata.labels]': [
        *(None, False)
    ],
    # ctx, discovery, presets, results
    "0 < ctx.time_left <= 20": True,
    'r = [r for r in k8s.discovery().api_resources() if r["kind"] == "Web"][0]\n'
    '[r["name"], r.get("apiVersion"), r.get("nope", 5), dict(r)["group"], r.kind, r[0]]': [
        *("webs", "example.com/v1", 5, "example.com", "Web", "webs")
    ],
    "(datetime.fromisoformat('2026-01-02T00:00:00Z') + timedelta(days=1)).astimezone(timezone.utc)": "2026-01-03T00:00:00Z",
    "datetime.timedelta(days=1) == timedelta(1), datetime.now(timezone.utc) >= datetime.datetime(2020, 1, 1, tzinfo=timezone.utc)": [
        *(True, True)
    ],
    "datetime.strptime('2026-03', '%Y-%m').month": 3,
    "parse_quantity('1Ki')": 1024,
    "try:\n    core.read_namespaced_pod('nope', 'shop')\nexcept ApiException as e:\n    s = e.status\ns": 404,
    "class Row:\n    def __init__(self): self.a, self._b = 1, 2\n[Row()]": [{"a": 1}],
    "vars(pod)['status']['phase']": "Running",
    "from kubernetes.client import CoreV1API\nCoreV1API().read_namespaced_pod('web', 'shop').status.phase": "Running",
    "from kubernetes import client\nc = client.Configuration()\nc.verify_ssl = False\nclient.ApiClient(c) is not None": True,
    'core.read_namespaced_service("s", "shop").spec.cluster_i_ps': ["10.0.0.9"],
    'k8s.rbacV1().read_cluster_role("r").rules[0].non_resource_ur_ls': ["/healthz"],
    'core.read_node("n").spec.pod_cid_rs': ["10.1.0.0/24"],
}


@cases.each(("script", "expected"), RESULTS.items())
def test_the_script_gets_its_answer(script: str, expected: Any) -> None:
    """What the reader wrote gives what the reader meant."""
    assert result(script) == expected


def test_ctx_is_a_value() -> None:
    """A script that ends with `ctx` gets what it says."""
    found = result("ctx")
    left = {"api_calls", "response_bytes", "output_bytes", "remaining_ms"}
    assert found.keys() == {"context", "namespace", *left}
    assert (found["context"], found["namespace"]) == ("test", "shop") and 0 < found["remaining_ms"] <= 20_000


def test_parallel_explains_itself() -> None:
    """help(k8s.parallel) and its repr show how it is written."""
    k8s, _ = cluster()
    for text in (helptext.help_text(k8s.parallel), repr(k8s.parallel)):
        assert "lambda ns=ns" in text and "ApiException" in text


FAILURES = {
    # fields in another part of the object
    "pod.metadata.nodeName": "AttributeError: V1ObjectMeta has no field 'nodeName'; it is in spec",
    "pod.status.restart_count": "AttributeError: V1PodStatus has no field 'restart_count'; it is in container_statuses[i]",
    "pod.status['phse']": "KeyError: V1PodStatus has no field 'phse'; did you mean 'phase'?",
    "pod.phase": "AttributeError: V1Pod has no field 'phase'; it is in status",
    "pod.spec.containers[0].ready": "AttributeError: V1Container has no field 'ready'; it is in status.container_statuses[i]",
    "pod.metadata.status": "AttributeError: V1ObjectMeta has no field 'status'; it is in the object that holds this one",
    "d.status": "AttributeError: to_dict() gives a dict: write ['status'] or .get('status')",
    # methods and clients
    "core.get_namespaced_pod": "AttributeError: CoreV1Api has no 'get_namespaced_pod'; write read_namespaced_pod",
    "core.listPods()": "AttributeError: CoreV1Api has no 'listPods'; write list_namespaced_pod or list_pod_for_all_namespaces",
    "core.list_nodes()": "AttributeError: CoreV1Api has no 'list_nodes'; write list_node",
    "core.get_pod_logs()": "AttributeError: CoreV1Api has no 'get_pod_logs'; write read_namespaced_pod_log",
    "core.list_namespaced_deployment('shop')": "AttributeError: CoreV1Api has no 'list_namespaced_deployment'; it is in k8s.appsV1()",
    "core.list_deployments()": "AttributeError: CoreV1Api has no 'list_deployments'; it is in k8s.appsV1(): "
    "list_namespaced_deployment or list_deployment_for_all_namespaces",
    "k8s.list_namespaced_pod('shop')": "AttributeError: k8s has no 'list_namespaced_pod'; it is in k8s.coreV1()",
    "k8s.pods": "AttributeError: k8s has no 'pods'; write k8s.get('pods', namespace=...)",
    "k8s.batchV1beta1()": "AttributeError: k8s has no 'batchV1beta1': newer clusters do not serve that version; use k8s.batchV1()",
    "k8s.corev2()": "AttributeError: k8s has no 'corev2': no such API; did you mean k8s.coreV1()?",
    "from kubernetes import client\nclient.AppsV2Api()": "AttributeError: kubernetes.client has no 'AppsV2Api'; "
    "no such API; did you mean AppsV1Api?",
    "k8s.extensionsV1beta1()": "AttributeError: k8s has no 'extensionsV1beta1': newer clusters do not serve that version; "
    "use k8s.appsV1() or k8s.networkingV1()",
    "from kubernetes import client\nclient.ExtensionsV1beta1Api()": "AttributeError: kubernetes.client has no "
    "'ExtensionsV1beta1Api'; newer clusters do not serve that version; use AppsV1Api or NetworkingV1Api",
    "core.list_namespaced_pod('shop', selector='a')": "TypeError: list_namespaced_pod(namespace) has no parameter "
    "'selector'; did you mean 'label_selector'?",
    "core.list_namespaced_pod(ns='shop')": "TypeError: list_namespaced_pod(namespace) has no parameter 'ns'; "
    "did you mean 'namespace'?",
    "core.list_pod_for_all_namespaces(ns='shop')": "TypeError: list_pod_for_all_namespaces reads all namespaces; "
    "for one use list_namespaced_pod(namespace=...)",
    "V1Pod()": "NameError: name 'V1Pod' is not defined; write `from kubernetes.client import V1Pod` first",
    # exec and streams
    "core.connect_get_namespaced_pod_exec('web', 'shop', command=['ls'])": "ForbiddenException: 403 policy.read_only: "
    "this server is read-only (line 6)",
    "from kubernetes.stream import stream": "ImportError: cannot import 'stream' from 'kubernetes.stream': exec, attach "
    "and port-forward are refused: read logs, events and status",
    # kinds
    "k8s.dynamic().resources.get(api_version='argoproj.io/v1alpha1', kind='Application')": "ResourceNotFoundError: 404 "
    "Not Found: no kind with api_version='argoproj.io/v1alpha1', kind='Application'; group argoproj.io is not served; "
    "custom groups: example.com",
    "k8s.get('rollouts.argoproj.io')": "NotFoundException: 404 Not Found: no resource 'rollouts.argoproj.io'; "
    "group argoproj.io is not served; custom groups: example.com",
    "k8s.dynamic().resources.get(api_version='example.com/v1alpha1', kind='Web')": "ResourceNotFoundError: 404 Not Found: "
    "no kind with api_version='example.com/v1alpha1', kind='Web'; Web is in example.com/v1",
    # times and None
    "pod.metadata.creationTimestamp.isoformat()": "AttributeError: 'str' object has no attribute 'isoformat'; camelCase "
    "and item timestamps are text; use .creation_timestamp, or datetime.fromisoformat(text)",
    "datetime.now(timezone.utc) - pod['metadata']['creationTimestamp']": "TypeError: unsupported operand type(s) for -: "
    "'datetime.datetime' and 'str'; camelCase and item timestamps are text; use .creation_timestamp, or "
    "datetime.fromisoformat(text)",
    "datetime.utcnow() - pod.metadata.creation_timestamp": "TypeError: can't subtract offset-naive and offset-aware "
    "datetimes; use datetime.now(timezone.utc)",
    "pod.metadata.generation + None": "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'; missing fields "
    "are None: write `x or 0`",
    "pod.spec.priority < 3": "TypeError: '<' not supported between instances of 'NoneType' and 'int'; missing fields are "
    "None: write `x or 0`",
    "pod.status.start_time < datetime.now(timezone.utc)": "TypeError: '<' not supported between instances of 'NoneType' "
    "and 'datetime.datetime'; missing fields are None: leave them out with `if x`",
    "datetime(2026, 1, 1)": "TypeError: 'ModuleProxy' object is not callable; this is the module: write "
    "datetime.datetime(…), or import the name",
    # what is no data
    "from kubernetes import client\nclient.ApiClient().call_api('/api')": "AttributeError: ApiClient is a stand-in without "
    "'call_api': the server is connected already; use k8s.coreV1() or k8s.get(...)",
    "def f(): return 1\nf": "NotPlainError: result is a function: call it, f(...), and return what it gives",
    "core.list_node": "NotPlainError: result is a Method: call it, list_node(...)",
    "core": "NotPlainError: result is an Api, not data: call one of its methods",
}


@cases.each(("script", "expected"), FAILURES.items())
def test_the_error_says_one_thing_to_write_instead(script: str, expected: str) -> None:
    """Exactly this text: a second hint behind the first would show."""
    assert failure(script) == expected


def test_a_refused_global_says_what_is_there() -> None:
    """`globals()` was asked for to see what there is."""
    assert "names are simply there: use k8s, namespace, ctx" in failure("globals()")


def test_a_policy_refusal_has_a_status_for_a_body() -> None:
    """Scripts read `json.loads(error.body)["message"]` of any ApiException."""
    script = "try:\n    core.read_namespaced_pod('refused', 'shop')\nexcept ApiException as e:\n    found = e\n"
    found = result(script + "[json.loads(found.body), found.reason, found.status]")
    assert found == [
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "this server is read-only",
            "reason": "Forbidden",
            "code": 403,
        },
        "Forbidden",
        403,
    ]


def test_a_cluster_that_does_not_answer_has_no_body() -> None:
    """Only a refusal is a Status; a fault without one stays without."""
    fault = exceptions.from_fault(protocol.ScriptFault("cluster.unreachable", "no route"), 0, "GET /api")
    assert isinstance(fault, exceptions.ApiException)
    assert fault.body is None


def test_a_plain_dict_goes_back_as_json() -> None:
    """Of either client, changed under either spelling."""
    k8s, canned = cluster(copy.copy(ANSWERS))
    for found in (k8s.coreV1().read_namespaced_pod("web", "shop").to_dict(), k8s.get("pods", "web", "shop").to_dict()):
        found["spec"]["node_name"] = "n2"
        k8s.coreV1().replace_namespaced_pod("web", "shop", found)
        sent = json.loads(bytes(canned.last.body))
        assert sent["spec"] == {**POD["spec"], "nodeName": "n2"} and sent["status"] == POD["status"]
