"""A hub of a fleet: a namespace of an API server, where tests write what names the clusters.

hub = Hub(scratch.kubeconfig, namespace)
hub.put(hub.secret("eu", hub.member("eu"), env="prod"))

Every member is that same API server, under a service account of its own: so a script reaches it for real.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kubernetes import client

from tests.kit import patience
from tests.kit.controlplane import official_client, rights, writer

__all__ = ["MANAGED_CLUSTER", "PROFILE", "Hub", "definition"]

Object = dict[str, Any]

MANAGED_CLUSTER: Final = "cluster.open-cluster-management.io/v1"
PROFILE: Final = "multicluster.x-k8s.io/v1alpha1"
_APPLY: Final = "application/apply-patch+yaml"


def definition(api_version: str, kind: str, *, namespaced: bool) -> Object:
    """A CustomResourceDefinition with the names and scope of its project's, which no module proxy has, and any fields."""
    group, _, version = api_version.partition("/")
    plural = writer.plural(kind)
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": loose, "status": loose}}
    served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [served | {"schema": {"openAPIV3Schema": schema}}],
        },
    }


class Hub:
    """What an administrator writes to a hub."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self._api = official_client.connect(kubeconfig)
        self._core: Any = client.CoreV1Api(self._api)
        self.server: str = self._api.configuration.host
        self.authority = Path(self._api.configuration.ssl_ca_cert).read_bytes()

    def put(self, body: Object) -> None:
        """Makes an object so, with its status."""
        patience.until(lambda: self._send("PATCH", writer.path(body), body) in {200, 201})
        if "status" in body:
            assert self._send("PATCH", f"{writer.path(body)}/status", body) == 200

    def remove(self, body: Object) -> None:
        """Deletes an object."""
        assert self._send("DELETE", writer.path(body), {}) == 200

    def token(self, account: str) -> str:
        """A token of a service account of the namespace, which may do nothing."""
        meta = {"name": account, "namespace": self.namespace}
        self.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        made = self._core.create_namespaced_service_account_token(account, self.namespace, {"spec": {}})
        return str(made.status.token)

    def bind(self, account: str, rules: Sequence[Object], *, in_all: bool) -> None:
        """Gives a service account of the namespace rights there, or in all namespaces, and waits until it has them."""
        prefix = "Cluster" if in_all else ""
        name = f"{self.namespace}-{account}"
        meta = {"name": name} if in_all else {"name": name, "namespace": self.namespace}
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": meta}
        self.put(rbac | {"kind": f"{prefix}Role", "rules": rules})
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": name}
        self.put(rbac | {"kind": f"{prefix}RoleBinding", "subjects": subjects, "roleRef": role})
        rule = rules[0]
        group, resource, verb = rule["apiGroups"][0], rule["resources"][0], rule["verbs"][0]
        where = {} if in_all else {"namespace": self.namespace}
        if names := rule.get("resourceNames"):
            where["name"] = names[0]
        user = f"system:serviceaccount:{self.namespace}:{account}"
        rights.wait(self.kubeconfig, user, verb, resource, group=group, **where)

    def cluster(self) -> Object:
        """The section of a kubeconfig that names the API server."""
        return {"server": self.server, "certificate-authority-data": base64.b64encode(self.authority).decode()}

    def member(self, account: str) -> Object:
        """A kubeconfig of the API server, with the token of a service account."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": self.cluster()}],
            "users": [{"name": "u", "user": {"token": self.token(account)}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": self.namespace}}],
            "current-context": "x",
        }

    def secret(self, name: str, data: Mapping[str, object], labels: Mapping[str, str]) -> Object:
        """A Secret of the namespace; what is no text becomes JSON."""
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in data.items()}
        meta = {"name": name, "namespace": self.namespace, "labels": dict(labels)}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": texts}

    def _send(self, method: str, path: str, body: Object) -> int:
        headers = {"Content-Type": _APPLY if method == "PATCH" else "application/json"}
        self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, None)
        url = f"{self.server}{path}" + ("?fieldManager=hub&force=true" if method == "PATCH" else "")
        answer = self._api.rest_client.pool_manager.request(method, url, body=json.dumps(body), headers=headers)
        assert answer.status in {200, 201, 404}, answer.data[:1000]
        return int(answer.status)
