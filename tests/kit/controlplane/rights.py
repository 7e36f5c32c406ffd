"""Rights that a test has given: an API server learns of a role and its binding some time after it has stored them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubernetes import client

from tests.kit import patience
from tests.kit.controlplane import official_client

__all__ = ["wait"]


def wait(kubeconfig: Path, user: str, verb: str, resource: str, **where: str) -> None:
    """Waits until the API server lets a user do what one rule of a new role permits, by the word of the server itself;
    the kubeconfig is an administrator's. `where` is more of its question: group, namespace, subresource, name."""
    reviews: Any = client.AuthorizationV1Api(official_client.connect(kubeconfig))
    asked = {"verb": verb, "resource": resource, **where}
    review = {"spec": {"user": user, "resourceAttributes": asked}}
    patience.until(lambda: bool(reviews.create_subject_access_review(review).status.allowed), 120)
