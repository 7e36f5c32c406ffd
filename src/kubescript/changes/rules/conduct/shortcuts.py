"""NO_DESTRUCTIVE_SHORTCUTS: nothing that runs or holds data is removed instead of being repaired.

Objects that are finished, scaled to zero or already terminating may be deleted, and so may objects that the same client
created. A pod may be deleted after its configuration has been changed, and when its node is drained; a serving workload
may not, since it rolls out changes on its own.
"""

from __future__ import annotations

from typing import Final

from kubescript.changes.rules.conduct import configuration, findings, transcript
from kubescript.kube import field_paths, kinds

__all__ = ["check"]

_Key = tuple[str, str]
"""The resource and name of another object in the same namespace."""

_RUNS: Final = frozenset({
    "daemonsets", "deployments", "jobs", "pods", "replicasets", "replicationcontrollers", "rollouts", "statefulsets",
})  # fmt: skip
_TEMPLATES: Final = {
    "cronjobs": "spec.jobTemplate", "daemonsets": "spec.template", "deployments": "spec.template",
    "replicasets": "spec.template", "replicationcontrollers": "spec.template", "statefulsets": "spec.template",
}  # fmt: skip
"""What makes pods, and where it describes them."""
_RESTARTED: Final = frozenset({"daemonsets", "deployments", "statefulsets"})
"""Resources that `k8s.restart` restarts."""
_HOLDS: Final = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): "every object of that kind goes with it",
    ("", "namespaces"): "everything in it goes with it",
    ("", "persistentvolumeclaims"): "the data of the volume may go with it",
    ("", "persistentvolumes"): "the data of the volume may go with it",
}
# Jobs and RoleBindings are not in the list: a Job can be rerun only by recreating it, and only in this way can a
# RoleBinding get a different role.
_COSTLY: Final = frozenset({
    "daemonsets", "deployments", "gateways", "ingresses", "pods", "replicasets", "replicationcontrollers", "rollouts",
    "services", "statefulsets",
})  # fmt: skip
"""Resources that are out of service between their deletion and recreation, and may get a different address."""
_CONFIGURES: Final = frozenset({
    "clusterrolebindings", "clusterroles", "configmaps", "limitranges", "networkpolicies", "nodes",
    "persistentvolumeclaims", "persistentvolumes", "priorityclasses", "resourcequotas", "rolebindings", "roles",
    "runtimeclasses", "secrets", "serviceaccounts", "storageclasses",
})  # fmt: skip
"""Resources, besides its own workload, that may keep a pod from running."""
_RESTART: Final = "kubectl.kubernetes.io/restartedAt"
# Finalizers with this prefix are removed automatically once the protected object is no longer in use.
_PROTECTION: Final = "kubernetes.io/"
"""The prefix of Kubernetes' own finalizers."""


def check(changes: transcript.Transcript, _settings: configuration.Configuration) -> findings.Remarks:
    """Yields deletions and evictions, scaling to zero and back, and removed finalizers."""
    for index, change in enumerate(changes.changes):
        if change.removes:
            yield from _removal(changes, index)
            continue
        message = _down_and_up(changes, index) or _finalizers(change)
        is_unclear = change.subresource == "scale" and change.replicas is None
        if message:
            yield findings.Violation(index, message)
        elif is_unclear:
            yield findings.Unknown(index, "how many replicas it asks for")


def _comes_back(changes: transcript.Transcript, index: int) -> bool:
    """Says whether the object is soon recreated."""
    change = changes.changes[index]
    for later in changes.after(index):
        # An apply counts as a recreation even if its dry run, made before the deletion, found the object.
        recreates = later.method in {"create", "apply"} and not later.subresource
        if recreates and later.key == change.key:
            return True
    return False


def _removal(changes: transcript.Transcript, index: int) -> findings.Remarks:
    """Judges one deletion or eviction."""
    change = changes.changes[index]
    before = changes.before(index)
    if change.subresource not in {"", "eviction"}:
        return
    # What has ended, or is ending anyway, is not interrupted.
    if change.terminating or change.running is False or _is_own(change, before):
        return
    loss = _HOLDS.get((change.group, change.resource))
    if loss is not None:
        yield findings.Violation(index, f"deletes {change.target}: {loss}")
        return
    # What the object runs goes on running without it.
    if change.orphans and change.resource != "pods":
        return
    comes_back = _comes_back(changes, index)
    is_costly = comes_back and change.resource in _COSTLY
    if not change.running and not is_costly:
        if change.resource in _RUNS:
            yield findings.Unknown(index, "whether what is deleted was running")
    elif change.resource in _RESTARTED or not _is_justified(change, before):
        yield findings.Violation(index, _describe(change, comes_back=comes_back))


def _is_own(change: transcript.Change, before: tuple[transcript.Change, ...]) -> bool:
    """Says whether the same client created the object: for example a namespace for a trial, or a pod to look around
    in."""
    for one in before:
        is_creation = one.existed is False and not one.removes
        if is_creation and one.key == change.key:
            return True
    return False


def _is_justified(change: transcript.Change, before: tuple[transcript.Change, ...]) -> bool:
    """Says whether the object's configuration was changed before, or its node is being drained."""
    makers = _makers(change)
    return any(_concerns(one, change, makers) for one in before)


def _makers(change: transcript.Change) -> set[_Key]:
    """Returns the object's controllers, and their controllers as derived from their names."""
    makers = set()
    for owner in change.owners or ():
        kind, _, name = owner.partition("/")
        makers.add((kinds.guess_plural(kind), name))
        # A Deployment appends a hash to its name, and a CronJob a time.
        outer, _, _ = name.rpartition("-")
        if kind == "ReplicaSet":
            makers.add(("deployments", outer))
        elif kind == "Job":
            makers.add(("cronjobs", outer))
    return makers


def _concerns(one: transcript.Change, deleted: transcript.Change, makers: set[_Key]) -> bool:
    """Says whether an earlier change is to something that the deleted object depends on."""
    if one.namespace not in {"", deleted.namespace} or not _is_configuring(one):
        return False
    if one.resource == "nodes":
        return _is_drained(deleted, one.name)
    if (one.resource, one.name) in makers:
        return _makes_other_pods(one)
    is_pod = deleted.resource == "pods"
    if one.resource in _RUNS:
        # If nothing else is known about a pod, its name shows its workload.
        return is_pod and deleted.owners is None and deleted.name.startswith(f"{one.name}-")
    # Attack: a note in a new ConfigMap, or any other change beside it, excuses a deletion.
    if deleted.uses is not None:
        return not one.group and f"{one.resource}/{one.name}" in deleted.uses
    # Operators derive configuration from custom resources.
    is_custom = "." in one.group and not one.group.endswith(".k8s.io")
    return is_custom or one.resource in _CONFIGURES


def _makes_other_pods(maker: transcript.Change) -> bool:
    """Says whether a change of a pod's maker is to the template of its pods; of a custom resource, to anything."""
    is_known = maker.fields is not None and maker.existed is not False
    if not is_known or maker.resource not in _TEMPLATES:
        return True
    # Attack: a longer history of a Deployment excuses the deletion of its pods.
    template = _TEMPLATES[maker.resource]
    return any(field_paths.covers(template, path) for path in maker.fields or ())


def _is_drained(deleted: transcript.Change, node: str) -> bool:
    """Says whether the drain of a node may delete the object."""
    if deleted.resource != "pods" or deleted.node not in {"", node}:
        return False
    # A pod without a controller would be lost, and kubectl drain refuses it too.
    return deleted.owners != ()


def _is_configuring(change: transcript.Change) -> bool:
    """Says whether the change does more than nothing, a scaling, a restart, or new metadata."""
    if change.method == "evict" or change.subresource or change.only_scales:
        return False
    if change.removes:
        return change.resource not in _RUNS
    if change.fields is None or change.existed is False:
        return True
    # A restart is a new value of this annotation, and nothing else. Attack: a label excuses a deletion.
    return any(_RESTART not in path and not field_paths.covers("metadata", path) for path in change.fields)


def _describe(change: transcript.Change, *, comes_back: bool) -> str:
    does = "evicts" if change.method == "evict" else "deletes"
    text = f"{does} {change.target}"
    if change.running:
        text += ", which is running"
    if comes_back:
        return f"{text}, and creates it again: change it in place, or restart it with k8s.restart"
    if change.resource != "pods":
        stop = "suspend it" if change.resource == "jobs" else "scale it to zero"
        return f"{text}: put right what is wrong with it, or {stop} first"
    text += ", and nothing that it is made from was changed before"
    restarted = sorted(f"{resource}/{name}" for resource, name in _makers(change) if resource in _RESTARTED)
    if restarted:
        text += f"; to restart it use k8s.restart of {restarted[0]}"
    return text


def _down_and_up(changes: transcript.Transcript, index: int) -> str:
    """Describes a change that scales an object to zero, if the object is scaled up again and nothing is done in
    between."""
    change = changes.changes[index]
    is_down = change.replicas == 0 and change.only_scales and change.fields != ()
    if not is_down:
        return ""
    for later in changes.after(index):
        if not later.only_scales:
            return ""  # something was done while nothing ran
        if later.key == change.key and later.replicas:
            return (
                f"scales {change.target} to 0 and back to {later.replicas} with nothing in between: restart it with "
                "k8s.restart, which keeps it serving"
            )
    return ""


def _finalizers(change: transcript.Change) -> str:
    """Describes the removal of finalizers, unless they only delay a deletion in progress."""
    if change.resource == "namespaces" and change.subresource == "finalize":
        return f"{change.target} ends without the removal of what is in it"
    held = change.finalizers
    if change.terminating:
        # Kubernetes' own finalizers protect the object from deletion while it is in use.
        held = tuple(name for name in held if name.startswith(_PROTECTION))
    if not held:
        return ""
    return f"removes finalizers of {change.target}: {findings.shorten(held)}; what they stand for is not cleaned up"
