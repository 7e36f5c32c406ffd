"""Hands for kubescript's tools: scripts (`code`), and the toolsets `kubectl` and `gateway`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from kubescript_safety.agents.hands.base import Base, Object, Refused, Unsupported, read_marked, template
from kubescript_safety.cluster.api import Kind

__all__ = ["Code", "Gateway", "Kubectl"]

_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PLAN: Final = re.compile(r"\bplan p-[0-9a-f]+")
_APPLIED: Final = "and applied;"
_CHANGED: Final = "plan.changed"
_PAUSE_S: Final = 0.5
_TRIES: Final = 20


class _Kubescript(Base):
    def _write(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Calls a tool that changes something, and retries while others change the object, as the refusal asks. Raises
        Refused also for a plan that was not applied."""
        for _ in range(_TRIES - 1):
            try:
                return self._write_once(tool, arguments)
            except Refused as error:
                if _CHANGED not in str(error):
                    raise
            time.sleep(_PAUSE_S)
        return self._write_once(tool, arguments)

    def _write_once(self, tool: str, arguments: Mapping[str, Any]) -> None:
        text = self._ask(tool, arguments)
        if _PLAN.search(text) and _APPLIED not in text:
            raise Refused(text)


class Code(_Kubescript):
    """Hands that run one script per step."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        return _object(self._run(f"k8s.get({resource!r}, {name!r}{_within(namespace)}).to_dict()"))

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        return _objects(self._run(f"[one.to_dict() for one in k8s.get({resource!r}{_within(namespace)})]"))

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        return self._run(f"k8s.coreV1().read_namespaced_pod_log({pod!r}, {namespace!r})")

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Sends a merge patch."""
        self._send(resource, namespace, name, body, _MERGE)

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        """Sends a strategic merge patch."""
        self._send(resource, namespace, name, template(container, fields), _STRATEGIC)

    def replace(self, item: Object) -> None:
        """Writes a whole existing object."""
        self._change(f"{_client(self._kind_of(item))}.replace(body={item!r}{_within(_namespace(item))})")

    def create(self, item: Object) -> None:
        """Creates an object."""
        self._change(f"{_client(self._kind_of(item))}.create(body={item!r}{_within(_namespace(item))})")

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object."""
        self._change(f"k8s.delete({resource + '/' + name!r}{_within(namespace)})")

    def delete_all(self, resource: str, namespace: str) -> None:
        """Deletes a collection."""
        self._change(f"{_client(self._kind(resource))}.delete(namespace={namespace!r})")

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas."""
        self._change(f"k8s.scale({resource + '/' + name!r}, {replicas}{_within(namespace)})")

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Starts a rollout."""
        self._change(f"k8s.restart({resource + '/' + name!r}{_within(namespace)})")

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""
        found = f"k8s.get({resource!r}, {name!r}{_within(namespace)})"
        self._change(f"k8s.set_image({found}, **{ {container: image}!r})")

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        return self._run(f"k8s.get('secrets', {name!r}{_within(namespace)}).to_dict()")

    def _send(self, resource: str, namespace: str, name: str, body: Object, content_type: str) -> None:
        arguments = f"body={body!r}, name={name!r}{_within(namespace)}, content_type={content_type!r}"
        self._change(f"{_client(self._kind(resource))}.patch({arguments})")

    def _run(self, script: str) -> str:
        return read_marked(self._ask("evaluate_script", {"script": script}))

    def _change(self, script: str) -> None:
        self._write("evaluate_script", {"script": f"{script}\n'done'"})


class Kubectl(_Kubescript):
    """Hands for the toolset `kubectl`."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        found = _decode(self._ask("kubectl_get", {"resource": resource, "name": name, **_in(namespace)}))
        items = found.get("items")
        return _only(items) if isinstance(items, list) else found

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        rows = _items(_decode(self._ask("kubectl_get", {"resource": resource, **_in(namespace)})))
        # Rows have kubectl's columns; only the name is called the same as in an object.
        return [row if "metadata" in row else {"metadata": {**_in(namespace), "name": row["name"]}} for row in rows]

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        return read_marked(self._ask("kubectl_logs", {"pod": pod, "namespace": namespace}))

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets a Deployment's number of replicas."""
        _deployments_only(resource)
        self._write("kubectl_scale_deployment", {"deploymentName": name, "namespace": namespace, "replicas": replicas})

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Restarts a Deployment by a rollout."""
        _deployments_only(resource)
        self._write("kubectl_restart_deployment", {"deploymentName": name, "namespace": namespace})

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Changes the bounds of a HorizontalPodAutoscaler, the only patch that has a tool."""
        wanted = body.get("spec", {})
        names = {"minReplicas", "maxReplicas"}
        if not resource.startswith("horizontalpodautoscalers") or body.keys() != {"spec"} or not wanted.keys() <= names:
            raise Unsupported("a patch of anything but the bounds of an HPA")
        self._write("kubectl_edit_hpa", {"hpaName": name, "namespace": namespace, **wanted})

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        return self._ask("kubectl_get_yaml", {"resource": "secrets", "name": name, "namespace": namespace})


class Gateway(_Kubescript):
    """Hands for the toolset `gateway`."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        return _decode(self._ask("k8s_get", {**self._target(resource, namespace), "name": name}))

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        return _items(_decode(self._ask("k8s_list", self._target(resource, namespace))))

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        return read_marked(self._ask("k8s_pod_logs", {"namespace": namespace, "pod": pod}))

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object."""
        self._write("k8s_delete", {**self._target(resource, namespace), "name": name})

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas."""
        self._patch(resource, namespace, name, {"action": "scale", "replicas": replicas})

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Starts a rollout."""
        self._patch(resource, namespace, name, {"action": "rollout_restart"})

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""
        self._patch(resource, namespace, name, {"action": "update_image", "container": container, "image": image})

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        return self._ask("k8s_get", {**self._target("secrets", namespace), "name": name})

    def _patch(self, resource: str, namespace: str, name: str, action: Mapping[str, Any]) -> None:
        self._write("k8s_patch", {**self._target(resource, namespace), "name": name, **action})

    def _target(self, resource: str, namespace: str) -> dict[str, str]:
        kind = self._kind(resource)
        return {"namespace": namespace, "group": kind.group, "version": kind.version, "plural": kind.resource}


def _client(kind: Kind) -> str:
    return f"k8s.dynamic().resources.get(api_version={kind.api_version!r}, kind={kind.kind!r})"


def _within(namespace: str) -> str:
    return f", namespace={namespace!r}" if namespace else ""


def _in(namespace: str) -> dict[str, str]:
    return {"namespace": namespace} if namespace else {}


def _namespace(item: Object) -> str:
    return str(item["metadata"].get("namespace", ""))


def _deployments_only(resource: str) -> None:
    if resource != "deployments.apps":
        raise Unsupported(f"a tool for {resource}")


def _decode(text: str) -> Object:
    return _object(read_marked(text))


def _object(text: str) -> Object:
    found = _json(text)
    if not isinstance(found, dict):
        raise Refused(text)
    return found


def _objects(text: str) -> list[Object]:
    found = _json(text)
    if not isinstance(found, list):
        raise Refused(text)
    return [one for one in found if isinstance(one, dict)]


def _items(found: Object) -> list[Object]:
    return [one for one in found.get("items", []) if isinstance(one, dict)]


def _only(items: list[Any]) -> Object:
    if len(items) != 1 or not isinstance(items[0], dict):
        raise Refused(f"{len(items)} objects")
    return items[0]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused(text) from None
