"""gke_auth, as far as it is a script: the host has logged in before, and keeps the credentials to itself."""

from __future__ import annotations

from kubescript.guest import tool_errors
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["gke_auth"]


def gke_auth(k8s: client.K8s, *, verify: bool = True) -> str:
    """Say who the cluster takes this server for."""
    if not verify:
        return messages.text("gke_logged_in", cluster=k8s.name)
    try:
        version = k8s.versionApi().get_code().git_version
        review = k8s.authenticationV1().create_self_subject_review({})
    except exceptions.UnauthorizedException as error:
        raise tool_errors.ToolError("prerequisite_refused", details=error.message) from None
    user = review.status.user_info.username
    return messages.text("gke_verified", cluster=k8s.name, user=user, version=version)
