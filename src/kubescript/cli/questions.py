"""The questions that `doctor` asks a cluster: its version, the user's identity, and which of the usual reads of scripts
RBAC allows."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.broker import answer
from kubescript.cluster import base
from kubescript.kube import kinds
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Answer", "ask"]

_WHOLE_S: Final = 15.0
"""Seconds for all questions to one cluster."""
_MAX_BYTES: Final = 1024 * 1024
_MAX_GROUPS: Final = 8
"""How many of the user's groups are shown."""
_READS: Final = (
    ("list", "", "pods", ""),
    ("get", "", "pods", "log"),
    ("list", "", "events", ""),
    ("list", "", "services", ""),
    ("list", "apps", "deployments", ""),
    ("list", "", "namespaces", ""),
    ("list", "", "nodes", ""),
)
"""Verb, group, resource and subresource of the reads that most scripts make."""
_WRITES: Final = (("patch", "apps", "deployments", ""), ("delete", "", "pods", ""))
_NOBODY: Final = "system:anonymous"
_NO_USER: Final = "give the context's user a token, a certificate or a plugin in the kubeconfig"
_NO_ROLE: Final = "bind a role: kubectl create clusterrolebinding NAME --clusterrole=view --user=USER"


@dataclass(frozen=True, slots=True)
class Answer:
    """A cluster's answers."""

    version: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Those of the usual reads of scripts that RBAC allows."""
    forbidden: tuple[str, ...] = ()
    problem: str = ""
    """The problem, and the remedy; empty if scripts will be answered."""


def ask(cluster: base.Cluster, *, writable: bool) -> Answer:
    """Asks all questions. Failures are part of the answer."""
    questions = _Questions(cluster)
    allowed: list[str] = []
    forbidden: list[str] = []
    try:
        version = questions.version()
        user, groups = questions.user()
        if user == _NOBODY:
            return Answer(version, user, groups, problem=f"the API server sees us as {_NOBODY}; {_NO_USER}")
        wanted = _READS + _WRITES if writable else _READS
        for what in wanted:
            verdict = allowed if questions.may(*what, namespace="") else forbidden
            verdict.append(_name(*what))
        # A user who has only a Role can read nothing across the whole cluster, but can read something in one namespace.
        if not allowed and questions.may(*_READS[0], namespace=cluster.namespace):
            allowed.append(f"list pods in namespace {cluster.namespace}")
    except errors.ClusterError as error:
        return Answer(problem=error.explained)
    problem = ""
    if not allowed:
        who = user or "this user"
        problem = f"RBAC lets {who} read nothing that scripts need; {_NO_ROLE}"
    return Answer(version, user, groups, tuple(allowed), tuple(forbidden), problem)


class _Questions:
    """The questions to one cluster, which share one deadline."""

    def __init__(self, cluster: base.Cluster) -> None:
        self._cluster = cluster
        self._deadline = time.monotonic() + _WHOLE_S

    def version(self) -> str:
        """Returns the server's version; empty if RBAC forbids reading it."""
        status, data = self._send(request.Request("GET", "/version", (), verb="get", is_resource=False))
        if status == 401:
            raise errors.ClusterError(
                "the API server refuses the credentials (401)",
                remedy="they may have expired or been revoked: log in again; `kubectl auth whoami` shows the same",
            )
        if status == 403:
            return ""
        version = data.get("gitVersion")
        if status != 200 or not isinstance(version, str):
            raise errors.ClusterError(
                f"the answer to /version ({status}) is not an API server's", remedy=answer.NO_API_SERVER
            )
        return version[:100]

    def user(self) -> tuple[str, tuple[str, ...]]:
        """Returns our name and groups; empty if the server does not report them (Kubernetes before 1.28)."""
        status, data = self._create("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", {})
        message = str(data.get("message"))
        # An anonymous user may not ask.
        if status == 403 and _NOBODY in message:
            return _NOBODY, ()
        review = _object(data.get("status"))
        info = _object(review.get("userInfo"))
        name = str(info.get("username") or "")
        groups = info.get("groups")
        if not isinstance(groups, list):
            groups = []
        shown = [str(group)[:100] for group in groups[:_MAX_GROUPS]]
        return name[:253], tuple(shown)

    def may(self, verb: str, group: str, resource: str, subresource: str, *, namespace: str) -> bool:
        """Says whether RBAC allows this in a namespace; an empty name means everywhere."""
        attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        if subresource:
            attributes["subresource"] = subresource
        spec = {"resourceAttributes": attributes}
        _, data = self._create("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", spec)
        review = _object(data.get("status"))
        return review.get("allowed") is True

    def _create(self, group: str, kind: str, resource: str, spec: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        # Creating a review does not change the cluster: a review is a question in the form of an object.
        review: dict[str, Any] = {"apiVersion": f"{group}/v1", "kind": kind}
        if spec:
            review["spec"] = spec
        body = json.dumps(review).encode()
        call = request.Request(
            "POST",
            f"/apis/{group}/v1/{resource}",
            (),
            verb="create",
            is_resource=True,
            group=group,
            version="v1",
            resource=resource,
            body=body,
        )
        return self._send(call)

    def _send(self, call: request.Request) -> tuple[int, dict[str, Any]]:
        """Returns the answer's status and its object, which is empty if the answer has none. Raises ClusterError."""
        left = self._deadline - time.monotonic()
        timeout_s = max(0.001, left)
        response = self._cluster.perform(call, timeout_s, cancellation.Cancellation())
        body = bytearray()
        try:
            for chunk in response.chunks:
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise errors.ClusterError("the answer is implausibly large", remedy=answer.NO_API_SERVER)
        finally:
            response.close()
        try:
            return response.status, msgspec.json.decode(bytes(body), type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return response.status, {}


def _object(value: Any) -> dict[str, Any]:
    """Returns the value if it is an object, and an empty object otherwise."""
    if isinstance(value, dict):
        return value
    return {}


def _name(verb: str, group: str, resource: str, subresource: str) -> str:
    """Returns a verb and a resource in RBAC's notation: `list deployments.apps`, `get pods/log`."""
    what = f"{resource}/{subresource}" if subresource else resource
    return f"{verb} {kinds.full_name(group, what)}"
