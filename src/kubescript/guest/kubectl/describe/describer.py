"""`kubectl_describe` and `k8s.describe`: finds the kind, reads the object and related ones in one round of calls, and
lets the kind's module write them."""

from __future__ import annotations

import functools
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
    text_writer,
    texts,
    volume_claims,
)
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import methods
from kubescript.guest.sdk.objects import views
from kubescript.guest.sdk.values import builtin_kinds, exceptions, lazy_json, masks, names, operations
from kubescript.wire import messages

__all__ = ["Describe", "kubectl_describe"]


@dataclass(frozen=True, slots=True)
class Describer:
    """How a kind is described."""

    write: Callable[[subject.Subject, text_writer.Writer], None]
    reads: subject.Reads = lambda _k8s, _name, _namespace: {}
    """Returns the calls that read related objects."""
    events: bool = True
    """Whether kubectl shows its events."""


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
        kind = _kind(k8s, resource)
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
        return _describe_by_name(self._k8s, _kind(self._k8s, subject), name, namespace)

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
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def describer(self) -> Describer:
        return _DESCRIBERS.get(self.full_name, _ANY)


def _describe_by_name(k8s: client.K8s, kind: _Kind, name: str, namespace: str | None) -> str:
    """Describes the object with this name."""
    if kind.namespaced and not namespace:
        raise TypeError(f"{kind.kind} lives in a namespace: {_EXAMPLE}")
    where = str(namespace) if kind.namespaced else ""
    place = (name, where) if where else (name,)
    reads = {"object": functools.partial(kind.read, *place), **_beside(k8s, kind, name, where)}
    found = k8s.parallel(reads) if len(reads) > 1 else {"object": kind.read(*place)}
    if isinstance(found["object"], Exception):
        raise found["object"]
    return _describe(k8s, kind, found.pop("object"), found)


def _describe_view(k8s: client.K8s, view: views.View) -> str:
    """Describes an object that a script has read."""
    metadata = view.get("metadata") or {}
    api_version, kind = texts.text(view.get("apiVersion")), texts.text(view.get("kind"))
    if not kind or not metadata.get("name"):
        raise TypeError(f"k8s.describe: this is no object with kind and name; {_EXAMPLE}")
    where = texts.text(metadata.get("namespace"))
    own = _Kind(kind, api_version.rpartition("/")[0], bool(where), view.copy)
    reads = _beside(k8s, own, metadata["name"], where)
    if k8s._contexts.several:
        place = (metadata["name"], where) if where else (metadata["name"],)
        reads["same"] = functools.partial(_kind(k8s, own.full_name).read, *place)
    found = k8s.parallel(reads)
    _check_cluster(k8s, metadata, found.pop("same", view))
    return _describe(k8s, own, view, found)


def _check_cluster(k8s: client.K8s, metadata: Mapping[str, Any], same: Any) -> None:
    """Raises TypeError for an object from another cluster, whose events are not in this one."""
    if isinstance(same, Exception) and not isinstance(same, exceptions.NotFoundException):
        raise same
    if isinstance(same, Exception) or (same.get("metadata") or {}).get("uid") != metadata.get("uid"):
        raise TypeError(
            f"k8s.describe: {k8s.name!r} does not have this object; for one of another cluster write "
            "k8s.context(name).describe(object)"
        )


def _beside(k8s: client.K8s, kind: _Kind, name: str, namespace: str) -> dict[str, subject.Read]:
    """Returns the calls that read related objects and events."""
    reads = kind.describer.reads(k8s, name, namespace)
    if kind.describer.events:
        selector = _event_selector(kind, name)
        if namespace:
            listed = functools.partial(k8s.coreV1().list_namespaced_event, namespace)
        else:
            listed = functools.partial(k8s.coreV1().list_event_for_all_namespaces)
        reads["events"] = functools.partial(listed, field_selector=selector)
    return reads


def _event_selector(kind: _Kind, name: str) -> str:
    # The uid is compared later, because this call is made in parallel with that for the object.
    return f"involvedObject.name={name},involvedObject.kind={kind.kind}"


def _describe(k8s: client.K8s, kind: _Kind, view: views.View, found: dict[str, Any]) -> str:
    """Returns the text. Raises ToolError if the object does not have its kind's shape."""
    try:
        return _write(k8s, kind, view, found)
    except tool_errors.SHAPE as error:
        raise tool_errors.of_shape("describe", error) from None


def _write(k8s: client.K8s, kind: _Kind, view: views.View, found: dict[str, Any]) -> str:
    described = lazy_json.whole(view._data)
    described.setdefault("kind", kind.kind)
    beside = {name: subject.plain(value) for name, value in found.items()}
    about = subject.Subject(k8s, described, view._shape.metadata_rule, beside)
    out = text_writer.Writer()
    if about.metadata_rule:
        config_maps.metadata(about, out)
        out.field("Data", messages.text("describe_metadata_only", kind=kind.kind, rule=about.metadata_rule))
    else:
        kind.describer.write(about, out)
    if kind.describer.events:
        _write_events(about, out)
    return masks.note(out.text())


def _write_events(about: subject.Subject, out: text_writer.Writer) -> None:
    listed = about.beside["events"]
    own = listed if isinstance(listed, Exception) else events.about(about.object, listed)
    events.write(out, own)


def _kind(k8s: client.K8s, resource: str) -> _Kind:
    """Returns the kind for any name that kubectl accepts: built-in kinds without a call, others by discovery."""
    known = tool_kinds.find_built_in(resource)
    method = _reader(k8s, known) if known is not None else None
    if known is not None and method is not None:
        return _Kind(known.kind, known.group, method.name.startswith("read_namespaced_"), method)
    served = k8s.dynamic().resource(resource)
    return _Kind(served.kind, served.group, served.namespaced, served.get)


def _reader(k8s: client.K8s, kind: builtin_kinds.Kind) -> methods.Method | None:
    """Returns the method that reads one object of a built-in kind."""
    wanted = {f"read{names.fold(kind.kind)}", f"readnamespaced{names.fold(kind.kind)}"}
    for api in operations.apis():
        if kind.version not in api.lower():
            continue
        for name in operations.operations(api):
            if names.fold(name) in wanted and operations.operation(api, name).returns == kind.model:
                return getattr(k8s.api(api), name)  # type: ignore[no-any-return]
    return None
