"""Provides the writes that are named by their purpose: `k8s.apply`, `scale`, `restart`, `set_image`, `delete` and
`evict`. Each sends one request, as small as possible, and returns the API server's answer.

client.py offers them. They take an object that the script has read, or a name such as "deployments/web".
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk import container_images, subjects
from kubescript.guest.sdk.calls import methods, session
from kubescript.guest.sdk.discovery import dynamic
from kubescript.guest.sdk.values import exceptions, names, operations

__all__ = ["BY_NAME", "RESTARTED_AT", "Intents"]

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""The annotation that `kubectl rollout restart` writes to a pod template."""
_MANAGER: Final = "kubescript"
"""The field manager of `apply`."""
_APPLY: Final = "application/apply-patch+yaml"
_JSON: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_RESTARTED: Final = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
_INSTEAD: Final = {
    ("scale", "DaemonSet"): "it has one pod on each node that it selects",
    ("scale", "HorizontalPodAutoscaler"): "patch its minReplicas and maxReplicas",
    ("scale", "Job"): "patch its spec.parallelism",
    ("scale", "Pod"): "scale what owns it",
    ("restart", "Pod"): "k8s.delete(pod): what owns it makes another",
    ("restart", "ReplicaSet"): "restart the Deployment that owns it",
}
"""What a script should do instead, by intent and kind."""


class Intents:
    """The writes of one cluster."""

    __slots__ = ("_session", "_subjects")

    def __init__(self, session: session.Session, client: dynamic.DynamicClient) -> None:
        self._session = session
        self._subjects = subjects.Subjects(session, client)

    def apply(self, manifest: Any, namespace: str | None = None, *, force: bool = False, **options: Any) -> Any:
        """Server-side apply of a manifest, a dict, or of each in a list: creates the object, or sets the fields that
        the manifest has. force=True takes fields over from other field managers."""
        if isinstance(manifest, list | tuple):
            return [self.apply(each, namespace, force=force, **options) for each in manifest]
        _check_manifest(manifest)
        is_list = str(manifest["kind"]).endswith("List")
        if is_list and "items" in manifest:
            items = list(manifest["items"])
            return self.apply(items, namespace, force=force, **options)
        found = self._subjects.of_object("apply", manifest, namespace)
        options = {"field_manager": _MANAGER, "force": force or None, **options}
        return found.resource.patch(manifest, found.name, found.namespace, content_type=_APPLY, **options)

    def scale(
        self,
        subject: Any,
        replicas: int | None = None,
        namespace: str | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Any:
        """Set the number of replicas: k8s.scale(deployment, 3), k8s.scale("deployments/web", 3, namespace="shop").
        Returns the Scale."""
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise TypeError(f"k8s.scale takes a whole number of replicas: {subjects.EXAMPLES['scale']}")
        found = self._subjects.find("scale", subject, name, namespace)
        resource = found.resource
        # Built-in kinds are described without a call, and thus without their subresources.
        scalable = resource.kind in _SCALED if found.built_in else "scale" in resource.subresources
        if not scalable:
            raise _wrong("scale", found, "Deployments, StatefulSets and ReplicaSets have replicas")
        patch = {"spec": {"replicas": replicas}}
        return self._patch(found, patch, _MERGE, subresource="scale", **options)

    def restart(self, subject: Any, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Replace the pods of a Deployment, StatefulSet or DaemonSet one after the other, as kubectl rollout restart:
        k8s.restart(deployment), k8s.restart("deployments/web", namespace="shop")."""
        found = self._subjects.find("restart", subject, name, namespace)
        if found.resource.kind not in _RESTARTED or not found.built_in:
            raise _wrong("restart", found, "Deployments, StatefulSets and DaemonSets can be restarted")
        now = datetime.datetime.now(datetime.UTC)
        annotations = {RESTARTED_AT: now.strftime("%Y-%m-%dT%H:%M:%SZ")}
        template = {"metadata": {"annotations": annotations}}
        return self._patch(found, {"spec": {"template": template}}, _STRATEGIC, **options)

    def set_image(
        self, subject: Any, *given: Any, namespace: str | None = None, name: str | None = None, **containers: Any
    ) -> Any:
        """Set images by container: k8s.set_image(deployment, web="nginx:1.29"), k8s.set_image("deployments/web",
        {"side-car": "envoy:2"}, namespace="shop")."""
        found = self._subjects.find("set_image", subject, name, namespace)
        if found.read is None:
            current = found.resource.get(found.name, found.namespace)
            found = found._replace(read=current)
        known = container_images.of(found.resource.kind, found.read)
        if not known.main:
            raise _wrong("set_image", found, "what has containers, or a template of pods, has images")
        images = container_images.parse_images(given, containers, known, str(found))
        if found.built_in:
            return self._patch(found, known.merge_patch(images), _STRATEGIC)
        # The API server cannot merge the containers of a custom resource by name.
        return self._patch(found, known.json_patch(images), _JSON)

    def delete(self, subject: Any, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Delete one object, and in the background what it owns: k8s.delete(pod), k8s.delete("jobs/once",
        namespace="shop"). An object that was read must still be the same one."""
        found = self._subjects.find("delete", subject, name, namespace)
        # As in kubectl. Without this option, the pods of a Job would stay.
        folded = {names.fold(each) for each in options}
        if not folded & {"propagationpolicy", "orphandependents"}:
            options["propagation_policy"] = "Background"
        body = None
        if found.uid:
            body = {"preconditions": {"uid": found.uid}}
        return found.resource.delete(found.name, found.namespace, body, **options)

    def evict(self, pod: Any, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Evict a pod, if its PodDisruptionBudgets allow it: k8s.evict(pod), k8s.evict("web-0", namespace="shop")."""
        if isinstance(pod, str) and "/" not in pod and name is None:
            pod = f"pods/{pod}"
        found = self._subjects.find("evict", pod, name, namespace)
        if found.resource.kind != "Pod" or not found.built_in:
            raise _wrong("evict", found, "only a Pod can be evicted")
        if not found.namespace:
            raise TypeError(f"a Pod lives in a namespace: {subjects.EXAMPLES['evict']}")
        metadata = {"name": found.name, "namespace": found.namespace}
        operation = operations.operation("CoreV1Api", "create_namespaced_pod_eviction")
        evict = methods.Method(self._session, operation, info=False)
        return evict(found.name, found.namespace, {"metadata": metadata}, **options)

    def _patch(self, found: subjects.Subject, body: Any, media: str, subresource: str = "", **options: Any) -> Any:
        """Sends a patch. With several clusters, the patch contains the uid of an object that was read."""
        # The script may have read the object in another cluster: the patch must not change an object of the same name
        # in this one.
        guarded = bool(self._session.context and found.uid)
        if guarded and media == _JSON:
            body = [{"op": "test", "path": "/metadata/uid", "value": found.uid}, *body]
        elif guarded:
            body = {"metadata": {"uid": found.uid}, **body}
        resource = found.resource
        if subresource:
            resource = resource.subresource(subresource)
        try:
            return resource.patch(body, found.name, found.namespace, content_type=media, **options)
        except exceptions.ApiException as error:
            # The refusal of a JSON patch does not say which of its tests failed.
            if guarded and error.status in (409, 422) and (media == _JSON or "uid" in error.message.lower()):
                error.message += "; an object that was read in another cluster is changed there: k8s.context(name)"
            raise


def _check_manifest(manifest: Any) -> None:
    """Raises TypeError for a value that cannot be applied."""
    if isinstance(manifest, str | bytes):
        raise TypeError(
            f"k8s.apply takes a dict, or a list of dicts, for there is no YAML here: {subjects.EXAMPLES['apply']}"
        )
    if not isinstance(manifest, Mapping | dict) or not manifest.get("apiVersion") or not manifest.get("kind"):
        raise TypeError(
            f"k8s.apply takes a manifest with apiVersion, kind and metadata.name: {subjects.EXAMPLES['apply']}"
        )
    if (manifest.get("metadata") or {}).get("uid"):
        raise TypeError(
            "k8s.apply takes the fields that you want, and not an object that was read: it would take all of its "
            "fields over. Write a manifest of those that change, or send the object back with replace_…(body=…)"
        )


def _wrong(intent: str, found: subjects.Subject, rule: str) -> TypeError:
    """Returns the error for a kind that an intent does not support."""
    kind = found.resource.kind
    instead = _INSTEAD.get((intent, kind), rule)
    return TypeError(f"k8s.{intent}: {found} is a {kind}; {instead}")


BY_NAME: Final = {
    **{names.fold(each): each for each in ("apply", "scale", "restart", "set_image", "delete", "evict")},
    "rolloutrestart": "restart",
}
"""The intents as attributes of `k8s`, by folded name."""
