"""Hands for the tools of npm kubernetes-mcp-server, such as `resources_get`."""

from __future__ import annotations

import time
from typing import Any, Final

import yaml

from kubescript_safety import plainyaml
from kubescript_safety.agents.hands.base import Base, Object, Refused, template
from kubescript_safety.cluster.api import Kind

__all__ = ["Resources"]

_CONFLICT: Final = "the object has been modified"
_TRIES: Final = 20
_MAX_PARTS: Final = 20_000


class Resources(Base):
    """Hands that change objects by server-side apply, because the server has no patch."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        target = _target(self._kind(resource), namespace)
        return _object(self._ask("resources_get", {**target, "name": name}))

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Returns a resource's objects in a namespace, with names only: the answer is a table."""
        kind = self._kind(resource)
        table = self._ask("resources_list", _target(kind, namespace))
        return _read_table(table, kind)

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        return self._ask("pods_log", {"namespace": namespace, "name": pod})

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Applies the patch's fields as a manifest."""
        kind = self._kind(resource)
        metadata = {**body.get("metadata", {}), "name": name}
        if namespace:
            metadata["namespace"] = namespace
        self._apply({"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": metadata})

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        """Applies the container's name and the fields."""
        self.patch(resource, namespace, name, template(container, fields))

    def replace(self, item: Object) -> None:
        """Applies a whole object."""
        self._apply(item)

    def create(self, item: Object) -> None:
        """Applies an object that does not exist yet."""
        self._apply(item)

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object."""
        # Pods have a tool of their own.
        if resource == "pods":
            self._ask("pods_delete", {"namespace": namespace, "name": name})
        else:
            target = _target(self._kind(resource), namespace)
            self._ask("resources_delete", {**target, "name": name})

    def delete_all(self, resource: str, namespace: str) -> None:
        """Deletes all objects one by one, because the server has no tool for collections."""
        found = self.list(resource, namespace)
        for one in found:
            name = one["metadata"]["name"]
            self.delete(resource, namespace, name)

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas, and retries on a conflict, as the API server asks."""
        target = _target(self._kind(resource), namespace)
        arguments = {**target, "name": name, "scale": replicas}
        for _ in range(_TRIES - 1):
            try:
                self._ask("resources_scale", arguments)
            except Refused as error:
                if _CONFLICT not in str(error):
                    raise
            else:
                return
        self._ask("resources_scale", arguments)

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Applies the annotation that `kubectl rollout restart` sets."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        metadata = {"annotations": {"kubectl.kubernetes.io/restartedAt": moment}}
        body = {"spec": {"template": {"metadata": metadata}}}
        self.patch(resource, namespace, name, body)

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Applies the container's name and image."""
        self.set_container(resource, namespace, name, container, {"image": image})

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        target = _target(self._kind("secrets"), namespace)
        return self._ask("resources_get", {**target, "name": name})

    def _apply(self, item: Object) -> None:
        """Writes a whole object."""
        manifest = yaml.safe_dump(item, sort_keys=False)
        self._ask("resources_create_or_update", {"resource": manifest})


def _target(kind: Kind, namespace: str) -> dict[str, Any]:
    """Returns the parameters that name a kind and a namespace."""
    target = {"apiVersion": kind.api_version, "kind": kind.kind}
    if namespace:
        target["namespace"] = namespace
    return target


def _read_table(table: str, kind: Kind) -> list[Object]:
    """Returns a table's objects, with their names and namespaces only."""
    lines = table.splitlines()
    if not lines:
        return []
    # The server answers with the table of `kubectl get`, whose columns depend on the kind.
    columns = lines[0].split()
    found = []
    for line in lines[1:]:
        cells = line.split()
        metadata = {"name": cells[columns.index("NAME")]}
        if "NAMESPACE" in columns:
            metadata["namespace"] = cells[columns.index("NAMESPACE")]
        item = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        found.append(item)
    return found


def _object(text: str) -> Object:
    """Decodes the object in an answer, which comes from a server under test. Raises Refused."""
    try:
        found, _ = plainyaml.documents(text, _MAX_PARTS)
    except plainyaml.YamlError as error:
        raise Refused(f"the answer {error}") from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise Refused(text)
    return found[0]
