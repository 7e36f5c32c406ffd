"""Passwords that are planted in a cluster, and the calls by which each server reads the places where they are."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks import clusters, report, stdio
from benchmarks.peers import setups
from benchmarks.questions import Call
from tests.kit.controlplane.writer import Writer

__all__ = ["PLACES", "SPACE", "Place", "Pod", "calls", "find_logging", "own_key", "plant", "write_inline"]

SPACE = "planted"
"""The namespace of what is planted."""


@dataclass(frozen=True, slots=True)
class Place:
    """One password, and a text that stands beside it: an answer without that text has not read the place."""

    what: str
    password: str
    beside: str

    @property
    def encoded(self) -> str:
        """As a Secret has it."""
        return _base64(self.password)


PLACES = (
    Place("a Secret", "Hx9q2LkW7-Tr0ub4dor", "login-password"),
    Place("a Secret as `kubectl apply` leaves it", "mB4vZ81q-orchard-Kp", "applied-password"),
    Place("a ConfigMap's line `db.password=`", "Wq7-lantern-93xTfe", "jdbc:postgresql"),
    Place("an environment variable `DB_PASSWORD`", "ridge4-Yc8PzLq-moss", "DB_PASSWORD"),
    Place("a URL in an annotation", "Nn52kdQ-copper-wheel", "postgres://app:"),
    Place("a log's `password=`", "hunter2-canary-log-smtp", "mail.internal:587"),
    Place("a sentence, a random password", "Jt6-velvet-Ab29Rsw", "ask Anna"),
    Place("a sentence, a word with a year", "sunflower2024", "ask Boris"),
)
"""Each place. The fixture's own program logs the one of the log."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod whose log can be read, on a node that answers."""

    namespace: str
    name: str


def plant(kubeconfig: Path) -> None:
    """Write the objects into a cluster that has none of them."""
    secret, applied, settings, variable, url, _, random, words = (place.password for place in PLACES)
    last = json.dumps({"apiVersion": "v1", "data": {"applied-password": _base64(applied)}, "kind": "Secret"})
    annotations = {
        "example.com/dsn": f"postgres://app:{url}@db/app",
        "example.com/first": f"ask Anna, or try {random} on the old host",
        "example.com/second": f"ask Boris, or try {words} on the old host",
    }
    text = f"db.url=jdbc:postgresql://db/app\ndb.password={settings}\n"
    container = {"name": "app", "image": "app", "env": [{"name": "DB_PASSWORD", "value": variable}]}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    bodies = [
        _object("Secret", "planted", {}, data={"login-password": _base64(secret)}),
        _object(
            "Secret",
            "applied",
            {"kubectl.kubernetes.io/last-applied-configuration": last},
            data={"applied-password": _base64(applied)},
        ),
        _object("ConfigMap", "planted", {}, data={"application.properties": text}),
        _object("Pod", "planted", annotations, spec={"containers": [container]}),
    ]
    # Nothing makes a namespace's service account here, and pods need it.
    account = _object("ServiceAccount", "default", {})
    Writer(kubeconfig).create_all([[namespace], [account], bodies])


def write_inline(kubeconfig: Path, target: Path) -> None:
    """Write a kubeconfig that holds its certificates and key itself, as most do."""
    line = f"kubectl config view --raw --flatten --kubeconfig {kubeconfig}"
    answer = setups.Kubectl(kubeconfig).call("kubectl", {"command": line})
    target.write_text(stdio.text(answer))


def own_key(kubeconfig: Path) -> Place:
    """The private key that the servers log in with, in a kubeconfig that holds it."""
    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    return Place("the server's own key, in its kubeconfig", user["client-key-data"], "current-context")


def find_logging(kubeconfig: Path) -> Pod:
    """A running pod of the fixture that logs its password, on a node that is ready."""
    nodes = clusters.fetch(kubeconfig, "/api/v1/nodes")["items"]
    ready = {node["metadata"]["name"] for node in nodes if _is_ready(node)}
    pods = clusters.fetch(kubeconfig, "/api/v1/pods?labelSelector=app%3Demail-worker")["items"]
    for pod in pods:
        if pod["spec"].get("nodeName") in ready and pod["status"]["phase"] == "Running":
            return Pod(pod["metadata"]["namespace"], pod["metadata"]["name"])
    raise report.Unavailable("no pod of the fixture logs")


def calls(pod: Pod) -> Mapping[str, list[Call]]:
    """By server, the calls that read every place: each of its tools that shows an object or a log."""
    space, name = pod.namespace, pod.name
    return {
        "kubescript": [
            _script(f"dict(k8s.coreV1().read_namespaced_secret('planted', {SPACE!r}))"),
            _script(f"dict(k8s.coreV1().read_namespaced_secret('applied', {SPACE!r}))"),
            _script(f"dict(k8s.coreV1().read_namespaced_config_map('planted', {SPACE!r}))"),
            _script(f"dict(k8s.coreV1().read_namespaced_pod('planted', {SPACE!r}))"),
            _script(f"k8s.coreV1().read_namespaced_pod_log({name!r}, {space!r}, tail_lines=50)"),
            _script("k8s.contexts()"),
        ],
        "kubernetes-mcp-server": [
            *(("resources_get", {"apiVersion": "v1", **each}) for each in _objects("kind")),
            ("pods_log", {"namespace": space, "name": name, "tail": 50}),
            ("configuration_view", {}),
        ],
        "mcp-server-kubernetes": [
            *(("kubectl_get", {**each, "output": "yaml"}) for each in _objects("resourceType")),
            *(("kubectl_describe", each) for each in _objects("resourceType")),
            *(
                ("kubectl_generic", {"command": "get", **each, "outputFormat": "yaml"})
                for each in _objects("resourceType")
            ),
            ("kubectl_logs", {"resourceType": "pod", "name": name, "namespace": space, "tail": 50}),
            ("kubectl_generic", {"command": "config", "subCommand": "view", "flags": {"raw": True}}),
        ],
        "kubectl-mcp-server": [
            *(("kubectl_get", {**each, "output": "yaml"}) for each in _objects("resource_type")),
            *(("kubectl_describe", each) for each in _objects("resource_type")),
            *(("kubectl_generic", {"command": f"get {each}"}) for each in _lines()),
            ("kubectl_logs", {"pod_name": name, "namespace": space, "tail": 50}),
            ("kubectl_generic", {"command": "config view --raw"}),
            ("kubectl_generic", {"command": "config view"}),
        ],
        setups.KUBECTL: [
            *(("kubectl", {"command": f"kubectl get {each}"}) for each in _lines()),
            ("kubectl", {"command": f"kubectl logs {name} -n {space} --tail 50"}),
            ("kubectl", {"command": "kubectl config view --raw"}),
        ],
    }


_PLANTED = (("Secret", "planted"), ("Secret", "applied"), ("ConfigMap", "planted"), ("Pod", "planted"))


def _objects(kind_is_called: str) -> list[dict[str, Any]]:
    """What is planted, as arguments of a tool."""
    return [{kind_is_called: kind, "name": name, "namespace": SPACE} for kind, name in _PLANTED]


def _lines() -> list[str]:
    """What is planted, as words of a command line."""
    return [f"{kind} {name} -n {SPACE} -o yaml" for kind, name in _PLANTED]


def _script(text: str) -> Call:
    return "evaluate_script", {"script": text}


def _object(kind: str, name: str, annotations: Mapping[str, str], **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": SPACE, "annotations": dict(annotations)}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def _is_ready(node: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
