"""`kubectl_describe` and `k8s.describe`: finds the kind, reads the object and related ones in one round of calls, and
lets the kind's module write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubescript.guest import tool_errors
from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.describe import (
    autoscaler,
    config_maps,
    controllers,
    events,
    generic,
    jobs,
    namespace_limits,
    networking,
    node,
    pod,
    roles,
    subject,
    texts,
    volume_claims,
)
from kubescript.guest.kubectl.describe.subject import Read, Reads, Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import methods
from kubescript.guest.sdk.objects import views
from kubescript.guest.sdk.values import builtin_kinds, exceptions, lazy_json, masks, names, operations
from kubescript.wire import messages

__all__ = ["Describe", "kubectl_describe"]


@dataclass(frozen=True, slots=True)
class Describer:
    """How a kind is described."""

    write: Callable[[Subject, Writer], None]
    reads: Reads = lambda _k8s, _name, _namespace: {}
    """Returns the calls that read related objects."""
    events: bool = True
    """Whether kubectl shows the events of objects of this kind."""


_DESCRIBERS: Final = {
    "Pod": Describer(pod.write),
    "Node": Describer(node.write, node.reads),
    "Service": Describer(networking.write, networking.reads),
    "ReplicationController": Describer(controllers.replication_controller),
    "ConfigMap": Describer(config_maps.config_map),
    "Secret": Describer(config_maps.secret, events=False),
    "ServiceAccount": Describer(config_maps.service_account),
    "Namespace": Describer(namespace_limits.write, namespace_limits.reads, events=False),
    "PersistentVolume": Describer(volume_claims.persistent_volume),
    "PersistentVolumeClaim": Describer(volume_claims.persistent_volume_claim, volume_claims.claim_reads),
    "Deployment.apps": Describer(controllers.deployment),
    "ReplicaSet.apps": Describer(controllers.replica_set),
    "StatefulSet.apps": Describer(controllers.stateful_set),
    "DaemonSet.apps": Describer(controllers.daemon_set),
    "Job.batch": Describer(jobs.job),
    "CronJob.batch": Describer(jobs.cron_job),
    "HorizontalPodAutoscaler.autoscaling": Describer(autoscaler.write),
    "Ingress.networking.k8s.io": Describer(networking.write_ingress),
    "Role.rbac.authorization.k8s.io": Describer(roles.role, events=False),
    "ClusterRole.rbac.authorization.k8s.io": Describer(roles.role, events=False),
    "RoleBinding.rbac.authorization.k8s.io": Describer(roles.binding, events=False),
    "ClusterRoleBinding.rbac.authorization.k8s.io": Describer(roles.binding, events=False),
}
_ANY: Final = Describer(generic.write)


def kubectl_describe(k8s: client.K8s, resource: str, name: str, namespace: str | None = None) -> str:
    """Describes one object in detail, with its events."""
    try:
        kind = _find_kind(k8s, resource)
    except exceptions.NotFoundException:
        raise tool_kinds.explain_unsupported(k8s, resource) from None
    return _describe_by_name(k8s, kind, name, namespace or "default")


class Describe:
    """k8s.describe(pod), k8s.describe("deployment", "web", "shop"): the output of kubectl describe, as text."""

    __slots__ = ("_k8s",)

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s

    def __call__(self, subject: Any, name: str | None = None, namespace: str | None = None) -> str:
        """Takes an object, or a kind, a name and a namespace."""
        if isinstance(subject, views.View) and name is None:
            return _describe_view(self._k8s, subject)
        if not isinstance(subject, str):
            raise TypeError(f"k8s.describe takes one object of the cluster, or kind, name and namespace: {_EXAMPLE}")
        if name is None:
            subject, _, name = subject.partition("/")
        if not name:
            raise TypeError(f"k8s.describe: which {subject}? {_EXAMPLE}")
        kind = _find_kind(self._k8s, subject)
        return _describe_by_name(self._k8s, kind, name, namespace)

    def __repr__(self) -> str:
        return f"{_EXAMPLE}: what kubectl describe tells, with the events"


_EXAMPLE: Final = "k8s.describe(pod) or k8s.describe('pod', 'web-0', 'shop')"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind, and the function that reads one of its objects."""

    kind: str
    group: str
    namespaced: bool
    read: Callable[..., Any]

    @property
    def full_name(self) -> str:
        """Kind and group, such as Deployment.apps."""
        if not self.group:
            return self.kind
        return f"{self.kind}.{self.group}"

    @property
    def describer(self) -> Describer:
        """The describer of the kind; for a kind without a module of its own, that of all fields."""
        return _DESCRIBERS.get(self.full_name, _ANY)

    def read_one(self, name: str, namespace: str) -> Any:
        """Reads the object with this name. The namespace of a cluster-wide object is empty."""
        if not namespace:
            return self.read(name)
        return self.read(name, namespace)


def _describe_by_name(k8s: client.K8s, kind: _Kind, name: str, namespace: str | None) -> str:
    """Describes the object with this name."""
    if kind.namespaced and not namespace:
        raise TypeError(f"{kind.kind} lives in a namespace: {_EXAMPLE}")
    where = str(namespace) if kind.namespaced else ""
    reads = _related_reads(k8s, kind, name, where)
    if not reads:
        return _describe(k8s, kind, kind.read_one(name, where), {})
    found = k8s.parallel({"object": lambda: kind.read_one(name, where), **reads})
    view = found.pop("object")
    if isinstance(view, Exception):
        raise view
    return _describe(k8s, kind, view, found)


def _describe_view(k8s: client.K8s, view: views.View) -> str:
    """Describes an object that a script has read."""
    metadata = view.get("metadata") or {}
    api_version = texts.text(view.get("apiVersion"))
    name = texts.text(view.get("kind"))
    if not name or not metadata.get("name"):
        raise TypeError(f"k8s.describe: this is no object with kind and name; {_EXAMPLE}")
    namespace = texts.text(metadata.get("namespace"))
    group = api_version.rpartition("/")[0]
    kind = _Kind(name, group, bool(namespace), view.copy)
    reads = _related_reads(k8s, kind, metadata["name"], namespace)
    # If there is only one cluster, the object can only be from that one.
    if k8s._contexts.several:
        served = _find_kind(k8s, kind.full_name)
        reads["same"] = lambda: served.read_one(metadata["name"], namespace)
    found = k8s.parallel(reads)
    _check_cluster(k8s, metadata, found.pop("same", view))
    return _describe(k8s, kind, view, found)


def _check_cluster(k8s: client.K8s, metadata: Mapping[str, Any], same: Any) -> None:
    """Raises TypeError for an object from another cluster, whose events are not in this one."""
    if isinstance(same, Exception) and not isinstance(same, exceptions.NotFoundException):
        raise same
    if isinstance(same, Exception) or _uid(same) != metadata.get("uid"):
        raise TypeError(
            f"k8s.describe: {k8s.name!r} does not have this object; for one of another cluster write "
            "k8s.context(name).describe(object)"
        )


def _uid(view: views.View) -> Any:
    """Returns an object's uid."""
    metadata = view.get("metadata") or {}
    return metadata.get("uid")


def _related_reads(k8s: client.K8s, kind: _Kind, name: str, namespace: str) -> dict[str, Read]:
    """Returns the calls that read related objects and events."""
    reads = kind.describer.reads(k8s, name, namespace)
    if kind.describer.events:
        reads["events"] = _read_events(k8s, kind, name, namespace)
    return reads


def _read_events(k8s: client.K8s, kind: _Kind, name: str, namespace: str) -> Read:
    """Returns the call that reads the events about an object."""
    core = k8s.coreV1()
    # The uid is compared later, because this call is made in parallel with that for the object.
    selector = f"involvedObject.name={name},involvedObject.kind={kind.kind}"

    def read() -> Any:
        if namespace:
            return core.list_namespaced_event(namespace, field_selector=selector)
        return core.list_event_for_all_namespaces(field_selector=selector)

    return read


def _describe(k8s: client.K8s, kind: _Kind, view: views.View, related: dict[str, Any]) -> str:
    """Returns the text. Raises ToolError if the object does not have its kind's shape."""
    try:
        return _write(k8s, kind, view, related)
    except tool_errors.SHAPE as error:
        raise tool_errors.of_shape("describe", error) from None


def _write(k8s: client.K8s, kind: _Kind, view: views.View, related: dict[str, Any]) -> str:
    """Returns the text of an object and of the related objects that were read."""
    described = lazy_json.whole(view._data)
    # Items of a list lack their kind.
    described.setdefault("kind", kind.kind)
    beside = {name: subject.plain(answer) for name, answer in related.items()}
    rule = view._shape.metadata_rule
    about = Subject(k8s, described, rule, beside)
    out = Writer()
    if rule:
        config_maps.metadata(about, out)
        out.field("Data", messages.text("describe_metadata_only", kind=kind.kind, rule=rule))
    else:
        kind.describer.write(about, out)
    if kind.describer.events:
        _write_events(about, out)
    # A mask in the text is remembered, so that the answer can explain it.
    return masks.note(out.text())


def _write_events(about: Subject, out: Writer) -> None:
    """Writes the events about the object, or why they could not be read."""
    found = about.beside["events"]
    if isinstance(found, Exception):
        events.write(out, found)
        return
    own = events.about(about.object, found)
    events.write(out, own)


def _find_kind(k8s: client.K8s, resource: str) -> _Kind:
    """Returns the kind for any name that kubectl accepts: built-in kinds without a call, others by discovery."""
    known = tool_kinds.find_built_in(resource)
    method = None
    if known is not None:
        method = _find_method(k8s, known)
    if known is None or method is None:
        served = k8s.dynamic().resource(resource)
        return _Kind(served.kind, served.group, served.namespaced, served.get)
    is_namespaced = method.name.startswith("read_namespaced_")
    return _Kind(known.kind, known.group, is_namespaced, method)


def _find_method(k8s: client.K8s, kind: builtin_kinds.Kind) -> methods.Method | None:
    """Returns the method that reads one object of a built-in kind."""
    folded = names.fold(kind.kind)
    wanted = {f"read{folded}", f"readnamespaced{folded}"}
    for api in operations.apis():
        if kind.version not in api.lower():
            continue
        for name in operations.operations(api):
            # Several API groups have methods of the same name, such as read_namespaced_event.
            if names.fold(name) in wanted and operations.operation(api, name).returns == kind.model:
                return getattr(k8s.api(api), name)  # type: ignore[no-any-return]
    return None
