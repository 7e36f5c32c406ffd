"""Errors as documentation: each says in a line or two what to write instead, on the real API server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from tests.kit import clients

TOLD: dict[str, str] = {
    # names
    "pods": "NameError: name 'pods' is not defined; there are: k8s, quantity, age, table, top, help, Counter, defaultdict, ctx, namespace",
    "podz = 1\npodzz": "NameError: name 'podzz' is not defined; did you mean `podz`? there are: k8s, quantity, age, table, top, help,",
    "core_v1.list_node()": "NameError: name 'core_v1' is not defined; write `core_v1 = k8s.coreV1()` first",
    "V1Pod()": "NameError: name 'V1Pod' is not defined; write `from kubernetes.client import V1Pod` first",
    # methods, in snake and camel
    "k8s.coreV1().list_pod()": "CoreV1Api has no 'list_pod'; write list_namespaced_pod or list_pod_for_all_namespaces",
    "k8s.coreV1().listPods()": "CoreV1Api has no 'listPods'; write list_namespaced_pod or list_pod_for_all_namespaces",
    "k8s.coreV1().list_deployments()": "it is in k8s.appsV1(): list_namespaced_deployment or list_deployment_for_all_namespaces",
    "k8s.coreV1().readNamespacedPodd('a', 'b')": "CoreV1Api has no 'readNamespacedPodd'; did you mean read_namespaced_pod",
    "k8s.appV1()": "k8s has no 'appV1'; did you mean appsV1",
    "k8s.pods()": "k8s has no 'pods'; write k8s.get('pods', namespace=...)",
    "k8s.list_pods()": "k8s has no 'list_pods'; it is in k8s.coreV1(): list_namespaced_pod or list_pod_for_all_namespaces",
    # parameters
    "k8s.coreV1().list_namespaced_pod('shop', labels='a=b')": "list_namespaced_pod(namespace) has no parameter 'labels'; did you mean 'label_selector'?",
    "k8s.coreV1().list_pod_for_all_namespaces(namespace='shop')": "for one use list_namespaced_pod(namespace=...)",
    "k8s.coreV1().read_namespaced_pod('web')": "read_namespaced_pod(name, namespace) is missing 'namespace'",
    "k8s.get('pods', ns='shop')": "has no parameter 'ns'; did you mean 'namespace'?",
    "table([1], column=['a'])": "table() has no parameter 'column'; it has columns, tsv, headers, header, width",
    # fields
    "k8s.get('pods', namespace='shop')[0].status.phas": "V1PodStatus has no field 'phas'; did you mean 'phase'?",
    "k8s.get('pods', namespace='shop')[0].metadata.nodeName": "V1ObjectMeta has no field 'nodeName'; it is in spec",
    "k8s.get('pods', namespace='shop')[0]['metadata']['labels']['ap']": "KeyError: this object has no key 'ap'; did you mean 'app'?",
    "k8s.get('pods', namespace='shop')[0]['stats']": "KeyError: V1Pod has no field 'stats'; did you mean 'status'?",
    "k8s.get('pods', namespace='shop')[0].ready()": "write any(c.type == 'Ready' and c.status == 'True' for c in pod.status.conditions)",
    "k8s.get('pods', namespace='shop')[0].logs()": "write k8s.coreV1().read_namespaced_pod_log(name, namespace, tail_lines=50)",
    "k8s.get('deployments', namespace='shop')[0].scale(2)": "write k8s.scale(obj, 3)",
    "p = k8s.get('pods', namespace='shop')[0]\np.__dict__": "`__dict__` is not available: use vars(x), x.to_dict() of a Kubernetes object",
    "k8s.get('pods', namespace='shop').status": "has no field 'status'; loop over it: `for item in pods: item.status`",
    # imports
    "import yaml": "ModuleNotFoundError: there is no module 'yaml' here: use json, or return the object",
    "from kubernetes import clients": "ImportError: cannot import 'clients' from 'kubernetes': kubernetes has no 'clients'; did you mean 'client'?",
    "from kubernetes.client import V1Podd": "ImportError: cannot import 'V1Podd' from 'kubernetes.client': kubernetes.client has no 'V1Podd'; did you mean 'V1Pod'?",
    "from kubernetes import utils\nutils.create_from_yaml(None, 'f')": "there are no files here: write the manifest as a dict, and utils.create_from_dict(None, manifest)",
    # 403: whose no it is, and to what
    "k8s.coreV1().delete_namespaced_pod('web', 'shop')": "403 policy.read_only: delete pods web in namespace shop: this server is read-only; return",
    "k8s.coreV1().create_namespaced_service_account_token('a', 'shop', {})": "create serviceaccounts/token a in namespace shop: the operator denies core/serviceaccounts/token; do without it",
    # 404: what there is instead
    "k8s.coreV1().read_namespaced_pod('storefront', 'shop')": "pods \"storefront\" not found; did you mean 'storefront-",
    "k8s.coreV1().read_namespaced_pod('storefront', 'shop') ": "Names of pods made by a controller end in a hash: list, and look for it",
    "k8s.appsV1().read_namespaced_deployment('storefrnt', 'shop')": "not found; did you mean 'storefront'",
    "k8s.get('deployments', 'storefrnt', 'shop')": "not found; did you mean 'storefront'",
    "k8s.coreV1().read_namespaced_pod('x', 'shopp')": "not found; there are no pods in namespace 'shopp'",
    "k8s.coreV1().read_node('node-a')": "nodes \"node-a\" not found; did you mean 'node-a",
    "k8s.coreV1().read_namespaced_service('zzzzzz', 'payments')": "not found; there are in namespace 'payments': ",
    "k8s.get('certificates.cert-manager.io', 'portal', 'payments')": "not found; did you mean 'portal-tls'",
    "k8s.get('deploymnets')": "no resource 'deploymnets'; did you mean 'deployments'?",
    # what stays refused
    "pods = await k8s.coreV1().list_node()": "line 1: the SDK is synchronous: drop `await` and `async`, and call the method directly",
    "async def main():\n    return 1": "line 1: the SDK is synchronous: drop `await` and `async`",
    "try:\n    1\nexcept* ValueError:\n    2": "line 1: `except*` is not available: use `except`",
    "from json import *": "line 1: `import *` is not available: name what you need, or write `import json`",
    "exec('1')": "line 1: `exec` is not available: code cannot be made at run time: write it into the script",
    "class A(metaclass=type): pass": "line 1: the class keyword `metaclass` is not available: use a plain class",
    "x = ().__class__": "line 1: the attribute `__class__` is not available: use type(x)",
    "kubectl get pods": 'this is a shell command; write Python, such as `k8s.get("pods", namespace=namespace)`',
}  # fmt: skip


async def _ask(kubeconfig: Path) -> dict[str, str]:
    async with clients.connect("memory", ["--kubeconfig", str(kubeconfig), "--log-level", "error"]) as client:
        return {script: clients.text(await clients.evaluate(client, script)) for script in (*TOLD, *QUIET)}


QUIET = {
    "try:\n    k8s.coreV1().read_namespaced_pod('storefront', 'shop')\nexcept ApiException as e:\n    found = (e.status, e.reason, e.message)\nfound": '[404,"Not Found","pods \\"storefront\\" not found"]',
    "def exists(name):\n    try:\n        k8s.coreV1().read_namespaced_pod(name, 'shop')\n        return True\n    except ApiException as e:\n        return e.status != 404\nexists('x')": "false",
}


@pytest.fixture(scope="module")
def answers(kubeconfig: Path) -> dict[str, str]:
    """What each script is told; one server, so that every error is followed by a call that must work."""
    return anyio.run(_ask, kubeconfig)


@pytest.mark.parametrize("script", TOLD)
def test_the_error_says_what_to_write(script: str, answers: dict[str, str]) -> None:
    """The sentence is in the first line of what the script did, and nothing is dumped behind it."""
    told = answers[script]
    assert TOLD[script] in told, told
    assert len(told) < 1_200 and len(told.splitlines()) <= 6


@pytest.mark.parametrize("script", QUIET)
def test_an_expected_404_stays_plain(script: str, answers: dict[str, str]) -> None:
    """Status, reason and message are the API server's; hints are in the text only."""
    assert answers[script] == QUIET[script]


def _calls(script: str, kubeconfig: Path) -> list[str]:
    """What the broker was asked, as its log says."""
    command = [clients.KUBESCRIPT, "run", "-", "--kubeconfig", str(kubeconfig), "--log-level", "debug"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=240, check=False)
    return [line.split('"what":"')[1].split('"')[0] for line in done.stderr.splitlines() if '"what":"' in line]


def test_a_hint_costs_one_counted_call_and_only_when_it_is_read(kubeconfig: Path) -> None:
    """An expected 404 asks nothing; ten texts of one kind's errors ask once; both calls are in the record."""
    read = "def f(n):\n    try:\n        k8s.coreV1().read_namespaced_pod(n, 'shop')\n    except ApiException as e:\n        return {}\n"
    quiet = _calls(read.format("e.status") + "[f(str(i)) for i in range(10)]", kubeconfig)
    loud = _calls(read.format("str(e)") + "[f(str(i)) for i in range(10)]", kubeconfig)
    assert [call for call in quiet if call.startswith("list")] == [] and len(quiet) == 10
    assert [call for call in loud if call.startswith("list")] == ["list pods in namespace shop"] and len(loud) == 11
