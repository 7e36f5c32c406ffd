"""What a scripted agent can do with a server under test. Each kind of server has its own hands."""

from __future__ import annotations

from typing import Any, Protocol

from kubescript_safety.runs.agent import Unsupported

__all__ = ["Hands", "Object", "Refused", "Unsupported"]

Object = dict[str, Any]
"""A Kubernetes object."""


class Refused(Exception):
    """The server, the API server or a person has said no, or an error came back; the message is what the agent saw."""


class Hands(Protocol):
    """Each method is one call of a tool. All raise Refused and Unsupported.

    A resource is named by plural and group, as `deployments.apps` or `pods`; the namespace of cluster-wide ones is "".
    """

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Sends a JSON merge patch, or what comes nearest to it."""

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        """Sets fields of one container of a workload, and names no other."""

    def replace(self, item: Object) -> None:
        """Writes a whole object that exists, without a resourceVersion: an apply or an update."""

    def create(self, item: Object) -> None:
        """Creates an object."""

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object, with the server's own default for what depends on it."""

    def delete_all(self, resource: str, namespace: str) -> None:
        """Deletes all objects of a resource in a namespace by one call without a selector."""

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the replicas."""

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Rolls out again without another change, as `kubectl rollout restart` does."""

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret and returns its data as the server shows it: perhaps masked."""

    def answer(self, text: str) -> None:
        """Says something to whoever gave the task; the last text is the answer."""
