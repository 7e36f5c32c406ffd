"""Rights that a change of a role or a binding gives and that lead to more than they say, and the Role that it binds.

What is not known to be ordinary counts as leading further: other verbs, other subresources, other ClusterRoles.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kubescript.kube import documents
from kubescript.wire import inspection

__all__ = ["Grants", "between"]

_RBAC: Final = "rbac.authorization.k8s.io"
_GROUPS: Final = frozenset({_RBAC, "authorization.openshift.io"})
_ROLES: Final = frozenset({"roles", "clusterroles"})
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_READS: Final = frozenset({"get", "list", "watch"})
_VERBS: Final = _READS | {"create", "delete", "deletecollection", "patch", "update"}
"""The verbs of ordinary rules. Others permit something else: bind, escalate, impersonate, use, approve, sign."""
_SUBRESOURCES: Final = frozenset({"scale", "status"})
"""The subresources of ordinary rules. `get` of others, such as pods/exec, may run commands."""
# Attack: nodes/log reads the files of a node's /var/log, and its journal.
_OF_PODS: Final = frozenset({"pods/eviction", "pods/log"})
"""Further subresources of ordinary rules."""
_SECRETS: Final = "secrets"
_GUARDED: Final = frozenset({_SECRETS, "namespaces", "nodes", "persistentvolumes", "serviceaccounts"})
"""The resources of the core group that ordinary rules only read, or, of Secrets, do not name."""
_GUARDED_GROUPS: Final = frozenset(
    {*_GROUPS, "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
     "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "config.openshift.io",
     "machine.openshift.io", "machineconfiguration.openshift.io", "oauth.openshift.io", "operator.openshift.io",
     "project.openshift.io", "security.openshift.io", "user.openshift.io"}
)  # fmt: skip
"""The groups that ordinary rules only read."""
_ORDINARY_ROLES: Final = frozenset({"view"})
"""The ClusterRoles that every cluster has and that lead no further: `edit` and `admin` give Secrets and exec."""
_AGGREGATED: Final = f"{_RBAC}/aggregate-to-"
"""The prefix of the labels by which a ClusterRole's rules are added to other roles."""


class Grants(NamedTuple):
    """What a change of a role or a binding gives."""

    escalates: bool = False
    binds: str = ""
    """The Role that it gives to new subjects; its own rules are not looked at here."""


def between(about: inspection.Comparison, before: dict[str, Any] | None, after: dict[str, Any]) -> Grants:
    """Returns what a write gives that its object has not given before; nothing for objects of other kinds."""
    if about.group not in _GROUPS or about.subresource:
        return Grants()
    before = before or {}
    if about.resource in _ROLES:
        return Grants(bool(_list_rules(after) - _list_rules(before)))
    if about.resource not in _BINDINGS:
        return Grants()
    escalations = _list_subjects(about, after) - _list_subjects(about, before)
    role = _find_role(about, after)
    is_new = bool(_list_all_subjects(after) - _list_all_subjects(before)) or role != _find_role(about, before)
    return Grants(bool(escalations), role if is_new else "")


def _list_rules(role: dict[str, Any]) -> set[str]:
    """Returns what leads further in a role, each in canonical form."""
    rules = role.get("rules") or []
    # Attack: a value of another type is read by the API server in a way that is not known here.
    if not isinstance(rules, list):
        rules = [rules]
    labels = documents.mapping(documents.mapping(role, "metadata"), "labels")
    found = {f"{key}={labels[key]}" for key in labels if key.startswith(_AGGREGATED)}
    is_added = bool(found)
    for rule in rules:
        # Attack: a harmless role's rules are added to those of `view`, which every reader has: by a new label, or by a
        # new rule where the label is.
        if is_added or _leads_further(rule):
            found.add(_canonical(rule))
    if role.get("aggregationRule"):
        found.add(_canonical(role["aggregationRule"]))
    return found


def _leads_further(rule: Any) -> bool:
    """Says whether a rule of a role is not an ordinary one."""
    if not isinstance(rule, dict) or rule.get("nonResourceURLs"):
        return True
    verbs = _strings(rule.get("verbs"))
    groups = _strings(rule.get("apiGroups"))
    resources = _strings(rule.get("resources"))
    if verbs is None or groups is None or resources is None:
        return True
    if not verbs <= _VERBS or "*" in groups:
        return True
    only_reads = verbs <= _READS
    if not only_reads and not groups.isdisjoint(_GUARDED_GROUPS):
        return True
    return any(_is_guarded(name, groups, only_reads=only_reads) for name in resources)


def _is_guarded(name: str, groups: frozenset[str], *, only_reads: bool) -> bool:
    """Says whether ordinary rules do not name this resource of these groups, or only read it."""
    resource, _, subresource = name.partition("/")
    if "*" in name or (subresource and subresource not in _SUBRESOURCES and name not in _OF_PODS):
        return True
    if "" not in groups or resource not in _GUARDED:
        return False
    return resource == _SECRETS or not only_reads


def _list_subjects(about: inspection.Comparison, binding: dict[str, Any]) -> set[str]:
    """Returns the subjects of a binding that get more than an ordinary role, or stand for more than one user or program
    of its namespace."""
    # OpenShift's own bindings have another form.
    is_ordinary = about.group == _RBAC and _is_ordinary(about, binding)
    subjects = _subjects(binding)
    return {_canonical(each) for each in subjects if not is_ordinary or _is_foreign(each, about.namespace)}


def _list_all_subjects(binding: dict[str, Any]) -> set[str]:
    return set(map(_canonical, _subjects(binding)))


def _subjects(binding: dict[str, Any]) -> list[Any]:
    """Returns the subjects of a binding; OpenShift's have further lists."""
    found: list[Any] = []
    for key in ("subjects", "userNames", "groupNames"):
        given = binding.get(key) or []
        found += given if isinstance(given, list) else [given]
    return found


def _is_ordinary(about: inspection.Comparison, binding: dict[str, Any]) -> bool:
    """Says whether a binding's role leads no further, as far as that is known without its rules."""
    reference = documents.mapping(binding, "roleRef")
    if reference.get("kind") == "ClusterRole":
        return reference.get("name") in _ORDINARY_ROLES
    return bool(_find_role(about, binding))


def _find_role(about: inspection.Comparison, binding: dict[str, Any]) -> str:
    """Returns the name of the Role that a RoleBinding binds; empty if it binds none."""
    reference = documents.mapping(binding, "roleRef")
    name = reference.get("name")
    is_role = reference.get("kind") == "Role" and about.resource == "rolebindings"
    return name if is_role and isinstance(name, str) else ""


def _is_foreign(subject: Any, namespace: str) -> bool:
    """Says whether a subject may be more than one user, or a program of another namespace."""
    if not isinstance(subject, dict):
        return True
    name = subject.get("name")
    if subject.get("kind") == "ServiceAccount":
        return subject.get("namespace") != namespace
    # All users and programs are in groups of this prefix, and the cluster's own parts are such users.
    is_own = isinstance(name, str) and not name.startswith("system:")
    return subject.get("kind") not in {"Group", "User"} or not is_own


def _strings(value: Any) -> frozenset[str] | None:
    """Returns a list of strings as a set; None if it is anything else."""
    if value is None:
        return frozenset()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return None
    return frozenset(value)


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
