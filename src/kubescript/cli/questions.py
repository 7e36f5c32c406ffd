"""The questions that `doctor` asks a cluster: its version, the user's identity, and which of the rights that the user
needs RBAC gives."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.broker import answer
from kubescript.cli import rights
from kubescript.cluster import base, bodies
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Answer", "ask"]

_WHOLE_S: Final = 15.0
"""Seconds for all questions to one cluster."""
_MAX_BYTES: Final = 1024 * 1024
_MAX_GROUPS: Final = 8
"""How many of the user's groups are shown."""
_NOBODY: Final = "system:anonymous"
_NO_USER: Final = "give the context's user a token, a certificate or a plugin in the kubeconfig"
_NO_ROLE: Final = "bind a role: kubectl create clusterrolebinding NAME --clusterrole=view"
# Attack: an API server calls us a name with commands in it, and a person types the advice.
_ACCOUNT: Final = re.compile(r"system:serviceaccount:([a-z0-9-]+:[a-z0-9.-]+)")
"""The name of a service account."""
_MASTERS: Final = "system:masters"
_NEEDED: Final = "bind the role of docs/deploy.md, section `Who acts on the cluster`"


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
    warnings: tuple[str, ...] = ()
    """The rights that are more than a server should have, or may be too few."""


def ask(cluster: base.Cluster, needs: rights.Needs) -> Answer:
    """Asks all questions. Failures are part of the answer."""
    questions = _Questions(cluster)
    try:
        version = questions.version()
        user, groups = questions.user()
        if user == _NOBODY:
            return Answer(
                version, user, groups[:_MAX_GROUPS], problem=f"the API server sees us as {_NOBODY}; {_NO_USER}"
            )
        allowed, forbidden = _ask_usual(questions, needs, cluster.namespace)
        lacking = [str(right) for right in needs.required if not questions.may(right)]
        warnings = tuple(_find_excess(questions, needs, groups))
        warnings += tuple(f"RBAC may not let us {right}" for right in needs.expected if not questions.may(right))
    except errors.ClusterError as error:
        return Answer(problem=error.explained)
    who = user or "this user"
    problem = ""
    if lacking:
        problem = f"RBAC does not let {who} {', '.join(lacking)}; {_NEEDED}"
    elif needs.usual and not allowed:
        problem = f"RBAC lets {who} read nothing that scripts need; {_NO_ROLE} {_subject(user)}"
    return Answer(version, user, groups[:_MAX_GROUPS], allowed, forbidden, problem, warnings)


def _subject(user: str) -> str:
    """Returns the flag with which kubectl binds a role to a user of this name."""
    account = _ACCOUNT.fullmatch(user)
    return f"--serviceaccount={account[1]}" if account is not None else "--user=USER"


def _ask_usual(questions: _Questions, needs: rights.Needs, namespace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the usual rights that RBAC gives, and those that it does not give."""
    allowed: list[str] = []
    forbidden: list[str] = []
    for right in needs.usual:
        verdict = allowed if questions.may(right) else forbidden
        verdict.append(str(right))
    # A user who has only a Role can read nothing across the whole cluster, but can read something in one namespace.
    if forbidden and not allowed and questions.may(needs.usual[0], namespace):
        allowed.append(f"{needs.usual[0]} in namespace {namespace}")
    return tuple(allowed), tuple(forbidden)


def _find_excess(questions: _Questions, needs: rights.Needs, groups: Sequence[str]) -> Iterator[str]:
    """Yields warnings of rights with which RBAC is no wall behind our own."""
    if _MASTERS in groups:
        yield f"the user is in {_MASTERS}, to which RBAC refuses nothing: give the server an account of its own"
    elif questions.may(rights.EVERYTHING):
        yield "the user may do everything (* on *), so RBAC refuses nothing: give the server an account of its own"
    elif needs.impersonates and questions.may(rights.ANY_GROUP):
        yield f"the user may impersonate any group, {_MASTERS} too: list the groups in the role's resourceNames"


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
        shown = [str(group)[:100] for group in groups]
        return name[:253], tuple(shown)

    def may(self, right: rights.Right, namespace: str = "") -> bool:
        """Says whether RBAC gives a right in a namespace; an empty name means everywhere."""
        attributes = right._asdict() | {"namespace": namespace}
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
        too_large = errors.ClusterError("the answer is implausibly large", remedy=answer.NO_API_SERVER)
        with contextlib.closing(self._cluster.perform(call, timeout_s, cancellation.Cancellation())) as response:
            body = bodies.read_whole(response.chunks, _MAX_BYTES, too_large)
        try:
            return response.status, msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return response.status, {}


def _object(value: Any) -> dict[str, Any]:
    """Returns the value if it is an object, and an empty object otherwise."""
    if isinstance(value, dict):
        return value
    return {}
