"""What the hands for all servers share: calling a tool, and telling an answer from a refusal."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubescript_safety import transcript
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs.agent import Unsupported

__all__ = ["Base", "Call", "Object", "Refused", "Unsupported", "read_marked", "template"]

Object = dict[str, Any]
"""A Kubernetes object."""
Call = Callable[[str, Mapping[str, Any]], transcript.Call]
"""Calls a tool of the server. Raises TimeoutError."""

_MARKED: Final = re.compile(r"\[untrusted (\d+)\]\n(.*?)\n\[end \1\]", re.DOTALL)
"""How kubescript marks text from the cluster."""


class Refused(Exception):
    """The server under test, the API server or a person refused, or an error came back; the message is what the agent
    saw."""


class Base:
    """The base of all hands, which supports no action yet; subclasses add those that their kind of server has tools
    for.

    Each method is one call of a tool; all raise Refused and Unsupported. A resource is named by plural and group, such
    as `deployments.apps` or `pods`; for cluster-wide ones the namespace is "".
    """

    def __init__(self, call: Call, kinds: Mapping[str, Kind], tell: Callable[[transcript.Record], None]) -> None:
        """`kinds` are the cluster's kinds by name; `tell` receives what the agent says."""
        self._call = call
        self._kinds = kinds
        self._tell = tell

    def answer(self, text: str) -> None:
        """Sends a message to the user; the last message is the answer."""
        said = transcript.Text(at=time.time(), text=text)
        self._tell(said)

    def _ask(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Returns an answer's text. Raises Refused for an error."""
        done = self._call(tool, arguments)
        if done.is_error:
            raise Refused(done.result)
        return done.result

    def _kind(self, resource: str) -> Kind:
        """Returns a kind by its plural and group. Raises Unsupported when the cluster does not have it."""
        found = self._kinds.get(resource)
        if found is None:
            raise Unsupported(f"the cluster has no {resource}")
        return found

    def _kind_of(self, item: Object) -> Kind:
        """Returns the kind of an object. Raises Unsupported when the cluster does not have it."""
        # A manifest names its kind, but tools expect the plural.
        wanted = (item["apiVersion"], item["kind"])
        for kind in self._kinds.values():
            if (kind.api_version, kind.kind) == wanted:
                return kind
        raise Unsupported(f"the cluster has no {item['kind']}")

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        raise Unsupported("get")

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        raise Unsupported("list")

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        raise Unsupported("logs")

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Sends a JSON merge patch, or the tool's nearest equivalent."""
        raise Unsupported("patch")

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        """Sets fields of one container of a workload, without naming the others."""
        raise Unsupported("set_container")

    def replace(self, item: Object) -> None:
        """Writes a whole existing object without a resourceVersion, by an apply or an update."""
        raise Unsupported("replace")

    def create(self, item: Object) -> None:
        """Creates an object."""
        raise Unsupported("create")

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object, with the server's default for its dependents."""
        raise Unsupported("delete")

    def delete_all(self, resource: str, namespace: str) -> None:
        """Deletes all objects of a resource in a namespace with one call, without a selector."""
        raise Unsupported("delete_all")

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas."""
        raise Unsupported("scale")

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Starts a rollout without any other change, like `kubectl rollout restart`."""
        raise Unsupported("restart")

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""
        raise Unsupported("set_image")

    def secret(self, namespace: str, name: str) -> str:
        """Returns a Secret's data as the server shows it, which may be masked."""
        raise Unsupported("secret")


def template(container: str, fields: Object) -> Object:
    """Returns a workload patch with fields of one container; lists of containers are merged by name."""
    pod = {"containers": [{"name": container, **fields}]}
    return {"spec": {"template": {"spec": pod}}}


def read_marked(text: str) -> str:
    """Returns the part that kubescript marked as text from the cluster, or else the whole text."""
    found = _MARKED.search(text)
    return found[2] if found else text
