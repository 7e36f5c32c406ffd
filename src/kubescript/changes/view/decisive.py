"""The fields that decide what runs, and with which rights. A display shows them first, and never closed.

Attack: a command stands among forty harmless fields, in a change that is closed because of its size.
"""

from __future__ import annotations

from typing import Final

from kubescript.changes import plan
from kubescript.kube import field_paths
from kubescript.wire import inspection

__all__ = ["is_decisive"]

_RIGHTS: Final = frozenset({
    "authorization.openshift.io", "oauth.openshift.io", "rbac.authorization.k8s.io", "security.openshift.io",
    "user.openshift.io",
})  # fmt: skip
"""API groups in which every field but an annotation decides about rights: even labels, by which roles are
aggregated."""
_OF_CONTAINERS: Final = frozenset({
    "args", "automountServiceAccountToken", "command", "env", "envFrom", "hostAliases", "hostIPC", "hostNetwork",
    "hostPID", "hostUsers", "image", "imagePullSecrets", "lifecycle", "runtimeClassName", "securityContext",
    "serviceAccount", "serviceAccountName", "shareProcessNamespace", "volumeDevices", "volumeMounts", "volumes",
})  # fmt: skip
"""Fields of a pod, which custom resources have under the same names."""
_OF_PODS: Final = frozenset({"containers", "ephemeralContainers", "initContainers", "jobTemplate", "template"})
"""Fields below which a whole pod is described."""
_DESCRIBES: Final = frozenset({"metadata", "status"})
"""Parts of an object that run nothing."""
_DATA: Final = frozenset({"configmaps", "secrets"})
"""Resources with files and variables of pods: any of them may be a script, under whatever key."""
_EMPTY: Final = frozenset({"{}", "[]"})


def is_decisive(step: plan.Step, row: inspection.Row) -> bool:
    """Says whether a field decides what runs, or with which rights. Each change to a pod does, and new text behind
    masks may; of the defaults that the API server adds, only some fields do."""
    if row.hidden_lines:
        return True
    if step.group in _RIGHTS:
        return not field_paths.covers("metadata.annotations", row.path)
    first, *others = field_paths.plain(row.path).split(".")
    if first in _DESCRIBES:
        return False
    # Attack: a pod runs a script that a ConfigMap has under whatever key.
    if not step.group and step.resource in _DATA:
        return True
    names = {first, *others}
    if row.by_server and row.old is None:
        return row.new not in _EMPTY and not names.isdisjoint(_OF_CONTAINERS)
    is_of_pod = not step.group and step.resource == "pods" and first == "spec"
    return is_of_pod or not names.isdisjoint(_OF_CONTAINERS | _OF_PODS)
