"""Has a cluster review tokens (TokenReview of authentication.k8s.io/v1). Blocking.

The server uses its own credentials for this, which need the ClusterRole system:auth-delegator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.auth import user
from kubescript.cluster import base, bodies
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["TokenReview"]

_PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_TIMEOUT_S: Final = 5.0
_MAX_BYTES: Final = 1 << 20


class _Account(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []


class _Status(msgspec.Struct):
    authenticated: bool = False
    user: _Account = msgspec.field(default_factory=_Account)
    audiences: list[str] = []


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_REVIEW: Final = msgspec.json.Decoder(_Review)


class TokenReview:
    """A verifier of tokens that one cluster accepts. Used by many threads at once."""

    def __init__(self, cluster: Callable[[], base.Cluster], audience: tuple[str, ...]) -> None:
        """`cluster` returns the cluster to ask. A token must be for one of `audience`, or if that is empty, for the API
        server itself."""
        self._cluster = cluster
        self._audience = audience

    def verify(self, token: str) -> user.Credential:
        """Returns the credential of a token. Raises AuthError."""
        cluster = self._cluster()
        status = _ask(cluster, token, self._audience).status
        account = status.user
        if not status.authenticated or not account.username:
            raise errors.AuthError("the cluster does not know the token")
        # An API server that does not support audiences returns none.
        if self._audience and set(self._audience).isdisjoint(status.audiences):
            raise errors.AuthError("the token is for another audience")
        groups = sorted(set(account.groups))
        subject = account.uid or account.username
        found = user.User(account.username, "token_review", subject, tuple(groups))
        return user.Credential(found, None, token, reviewer=cluster.address)


def _ask(cluster: base.Cluster, token: str, audience: tuple[str, ...]) -> _Review:
    spec: dict[str, Any] = {"token": token}
    if audience:
        spec["audiences"] = list(audience)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
    body = msgspec.json.encode(review)
    call = request.Request("POST", _PATH, (), "create", True, "authentication.k8s.io", "v1", "tokenreviews", body=body)
    try:
        answer = cluster.perform(call, _TIMEOUT_S, cancellation.Cancellation())
        content = bodies.read_whole(answer.chunks, _MAX_BYTES, errors.ClusterError("the answer is too long"))
        if answer.status != 201:
            raise errors.ClusterError(f"the API server answers {answer.status}")
        return _REVIEW.decode(content)
    except (errors.ClusterError, msgspec.MsgspecError, ValueError) as error:
        why = error.message if isinstance(error, errors.ClusterError) else "its answer cannot be read"
        raise errors.AuthError(
            "the cluster cannot be asked about the token now; try again",
            code="auth.unavailable",
            remedy=f"TokenReview: {why}; the server needs the ClusterRole system:auth-delegator",
        ) from None
