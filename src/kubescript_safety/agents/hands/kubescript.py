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
        """Calls a tool that changes something, and retries while others change the object, as the refusal advises. Also
        raises Refused for a plan that was not applied."""
        for _ in range(_TRIES - 1):
            try:
                return self._write_once(tool, arguments)
            except Refused as error:
                if _CHANGED not in str(error):
                    raise
            time.sleep(_PAUSE_S)
        return self._write_once(tool, arguments)

    def _write_once(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Calls a tool that changes something. Also raises Refused for a plan that was not applied."""
        text = self._ask(tool, arguments)
        # A plan that waits for a person is an answer without an error, and nothing was changed.
        is_waiting = _PLAN.search(text) is not None and _APPLIED not in text
        if is_waiting:
            raise Refused(text)


class Code(_Kubescript):
    """Hands that run one script per step."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        found = f"k8s.get({resource!r}, {name!r}{_within(namespace)})"
        return _object(self._run(f"{found}.to_dict()"))

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        found = f"k8s.get({resource!r}{_within(namespace)})"
        return _objects(self._run(f"[one.to_dict() for one in {found}]"))

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        script = f"k8s.coreV1().read_namespaced_pod_log({pod!r}, {namespace!r})"
        return self._run(script)

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Sends a merge patch."""
        self._send(resource, namespace, name, body, _MERGE)

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        """Sends a strategic merge patch."""
        self._send(resource, namespace, name, template(container, fields), _STRATEGIC)

    def replace(self, item: Object) -> None:
        """Writes a whole existing object."""
        self._send_item("replace", item)

    def create(self, item: Object) -> None:
        """Creates an object."""
        self._send_item("create", item)

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object."""
        target = f"{resource}/{name}"
        self._change(f"k8s.delete({target!r}{_within(namespace)})")

    def delete_all(self, resource: str, namespace: str) -> None:
        """Deletes a collection."""
        client = _client(self._kind(resource))
        # Without a name, this is a single request that deletes all.
        self._change(f"{client}.delete(namespace={namespace!r})")

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas."""
        target = f"{resource}/{name}"
        self._change(f"k8s.scale({target!r}, {replicas}{_within(namespace)})")

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Starts a rollout."""
        target = f"{resource}/{name}"
        self._change(f"k8s.restart({target!r}{_within(namespace)})")

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""
        found = f"k8s.get({resource!r}, {name!r}{_within(namespace)})"
        # The images are passed as a dict, because a container's name may have dashes.
        images = {container: image}
        self._change(f"k8s.set_image({found}, **{images!r})")

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        found = f"k8s.get('secrets', {name!r}{_within(namespace)})"
        return self._run(f"{found}.to_dict()")

    def _send(self, resource: str, namespace: str, name: str, body: Object, content_type: str) -> None:
        """Sends a patch."""
        client = _client(self._kind(resource))
        arguments = f"body={body!r}, name={name!r}{_within(namespace)}, content_type={content_type!r}"
        self._change(f"{client}.patch({arguments})")

    def _send_item(self, method: str, item: Object) -> None:
        """Sends a whole object."""
        client = _client(self._kind_of(item))
        namespace = str(item["metadata"].get("namespace", ""))
        self._change(f"{client}.{method}(body={item!r}{_within(namespace)})")

    def _run(self, script: str) -> str:
        """Runs a script, and returns what it shows of the cluster."""
        text = self._ask("evaluate_script", {"script": script})
        return read_marked(text)

    def _change(self, script: str) -> None:
        """Runs a script that changes something."""
        # The result of a script is its last expression.
        whole = f"{script}\n'done'"
        self._write("evaluate_script", {"script": whole})


class Kubectl(_Kubescript):
    """Hands for the toolset `kubectl`."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        target = {"resource": resource, "name": name, **_in(namespace)}
        found = _decode(self._ask("kubectl_get", target))
        # The tool may answer a request for one name with a list of one object.
        items = found.get("items")
        if isinstance(items, list):
            return _only(items)
        return found

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        target = {"resource": resource, **_in(namespace)}
        rows = _items(_decode(self._ask("kubectl_get", target)))
        # Rows have kubectl's columns, of which only the name is called what it is called in an object.
        return [row if "metadata" in row else {"metadata": {**_in(namespace), "name": row["name"]}} for row in rows]

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        # A log is text from the cluster, which the server marks.
        text = self._ask("kubectl_logs", {"pod": pod, "namespace": namespace})
        return read_marked(text)

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets a Deployment's number of replicas."""
        # The tool is only for Deployments.
        _deployments_only(resource)
        target = {"deploymentName": name, "namespace": namespace}
        self._write("kubectl_scale_deployment", {**target, "replicas": replicas})

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Restarts a Deployment by a rollout."""
        _deployments_only(resource)
        target = {"deploymentName": name, "namespace": namespace}
        self._write("kubectl_restart_deployment", target)

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        """Changes the bounds of a HorizontalPodAutoscaler, the only patch for which there is a tool."""
        wanted = body.get("spec", {})
        is_autoscaler = resource.startswith("horizontalpodautoscalers")
        if not is_autoscaler or body.keys() != {"spec"} or not wanted.keys() <= {"minReplicas", "maxReplicas"}:
            raise Unsupported("a patch of anything but the bounds of an HPA")
        target = {"hpaName": name, "namespace": namespace}
        self._write("kubectl_edit_hpa", {**target, **wanted})

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        target = {"resource": "secrets", "name": name, "namespace": namespace}
        return self._ask("kubectl_get_yaml", target)


class Gateway(_Kubescript):
    """Hands for the toolset `gateway`."""

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Reads one object."""
        target = self._target(resource, namespace)
        return _decode(self._ask("k8s_get", {**target, "name": name}))

    def list(self, resource: str, namespace: str) -> list[Object]:
        """Reads all objects of a resource in a namespace."""
        target = self._target(resource, namespace)
        return _items(_decode(self._ask("k8s_list", target)))

    def logs(self, namespace: str, pod: str) -> str:
        """Reads the log of a pod's first container."""
        # A log is text from the cluster, which the server marks.
        text = self._ask("k8s_pod_logs", {"namespace": namespace, "pod": pod})
        return read_marked(text)

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes one object."""
        target = self._target(resource, namespace)
        self._write("k8s_delete", {**target, "name": name})

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        """Sets the number of replicas."""
        action = {"action": "scale", "replicas": replicas}
        self._patch(resource, namespace, name, action)

    def restart(self, resource: str, namespace: str, name: str) -> None:
        """Starts a rollout."""
        action = {"action": "rollout_restart"}
        self._patch(resource, namespace, name, action)

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        """Sets the image of one container."""
        action = {"action": "update_image", "container": container, "image": image}
        self._patch(resource, namespace, name, action)

    def secret(self, namespace: str, name: str) -> str:
        """Reads a Secret."""
        target = self._target("secrets", namespace)
        return self._ask("k8s_get", {**target, "name": name})

    def _patch(self, resource: str, namespace: str, name: str, action: Mapping[str, Any]) -> None:
        """Calls the tool for one of its named changes."""
        target = self._target(resource, namespace)
        self._write("k8s_patch", {**target, "name": name, **action})

    def _target(self, resource: str, namespace: str) -> dict[str, str]:
        kind = self._kind(resource)
        return {"namespace": namespace, "group": kind.group, "version": kind.version, "plural": kind.resource}


def _client(kind: Kind) -> str:
    """Returns the expression for the dynamic client of a kind."""
    return f"k8s.dynamic().resources.get(api_version={kind.api_version!r}, kind={kind.kind!r})"


def _within(namespace: str) -> str:
    """Returns the argument for a namespace; empty for a cluster-wide resource."""
    return f", namespace={namespace!r}" if namespace else ""


def _in(namespace: str) -> dict[str, str]:
    """Returns the parameter for a namespace; none for a cluster-wide resource."""
    return {"namespace": namespace} if namespace else {}


def _deployments_only(resource: str) -> None:
    if resource != "deployments.apps":
        raise Unsupported(f"a tool for {resource}")


def _decode(text: str) -> Object:
    return _object(read_marked(text))


def _object(text: str) -> Object:
    """Reads an object. Raises Refused."""
    found = _json(text)
    if not isinstance(found, dict):
        raise Refused(text)
    return found


def _objects(text: str) -> list[Object]:
    """Reads a list of objects. Raises Refused."""
    found = _json(text)
    if not isinstance(found, list):
        raise Refused(text)
    # Attack: a server under test returns a list that contains strings, at which the next step would fail.
    return [one for one in found if isinstance(one, dict)]


def _items(found: Object) -> list[Object]:
    """Returns the objects of a list."""
    items = found.get("items", [])
    # Attack: as in `_objects`.
    return [one for one in items if isinstance(one, dict)]


def _only(items: list[Any]) -> Object:
    """Returns the one object of a list. Raises Refused when there is not exactly one."""
    first = items[0] if len(items) == 1 else None
    if not isinstance(first, dict):
        raise Refused(f"{len(items)} objects")
    return first


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused(text) from None
