"""The minimal RBAC that would have allowed exactly the recorded calls. `kubescript audit role` prints it.

A call counts when it was allowed here, or tried for a plan, and the API server let it through: this includes answers
with 404, since RBAC comes before the look-up. Calls in one namespace become a Role there, calls across all namespaces
or outside of any become a ClusterRole. Names are kept where a call named an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from kubescript.output import sanitizing

__all__ = ["as_yaml"]

_Texts = tuple[str, ...]
_Shared = tuple[str, _Texts, _Texts]
"""Group, verbs and names that several resources share in one rule."""

_API: Final = "rbac.authorization.k8s.io"
_ANY: Final = ""
"""An empty name: the verb was used on all objects of the resource."""
_REFUSED: Final = frozenset({401, 403, 429})
_SOURCES: Final = "/kubescript/sources/"
_MASKED: Final = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}"


@dataclass(slots=True)
class _Used:
    """The permissions used in one namespace, or in the whole cluster under the name ""."""

    names: defaultdict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Group, resource and verb → the names that were used."""
    paths: set[str] = field(default_factory=set)


def as_yaml(records: Iterable[dict[str, Any]], name: str, *, metadata: bool = False) -> str:
    """Returns roles as YAML documents, one set per context, with their bindings as comments.

    RBAC cannot allow a part of an object. So calls that were served only metadata or a Helm release are in the roles
    only with `metadata`; without it a comment names them.
    """
    contexts: defaultdict[str, defaultdict[str, _Used]] = defaultdict(lambda: defaultdict(_Used))
    left_out: set[str] = set()
    sources: set[str] = set()
    for record in records:
        if record["type"] != "call" or not _was_allowed(record):
            continue
        if record.get("served") and not metadata:
            left_out.add(f"{record['verb']} {record['resource']}")
            continue
        # A source is no path of the API server.
        if record.get("path", "").startswith(_SOURCES):
            sources.add(record["path"].removeprefix(_SOURCES).partition("/")[0])
            continue
        context = record.get("context", "")
        _add(contexts[context], record)
    parts = []
    for context, namespaces in sorted(contexts.items()):
        comment = ""
        if len(contexts) > 1:
            comment = f"# context {sanitizing.printable(context)}\n"
        documents = _documents(namespaces, name)
        parts += [comment + document for document in documents]
    roles = "---\n".join(parts) or "# no recorded call to the API server was allowed and answered\n"
    return _left_out(left_out) + _list_sources(sources) + roles


def _left_out(calls: set[str]) -> str:
    """Returns the comment that names the omitted calls."""
    if not calls:
        return ""
    shown = sanitizing.printable(", ".join(sorted(calls)))
    return (
        f"# left out: {shown}; kubescript served only a part of these, and RBAC would allow whole objects\n"
        "# `kubescript audit role --metadata` includes them\n"
    )


def _list_sources(names: set[str]) -> str:
    """Returns the comment that says which sources were asked."""
    if not names:
        return ""
    shown = sanitizing.printable(", ".join(sorted(names)))
    return f"# sources asked: {shown}; each with `service` needs a Role of its own, see docs/sources.md\n"


def _was_allowed(record: dict[str, Any]) -> bool:
    """Says whether the policy here and RBAC there let the call through."""
    # A write that is only planned was tried by a dry run, for which the API server asks RBAC too.
    if record["decision"] not in {"allow", "plan"}:
        return False
    # A 404 counts too, since RBAC comes before the look-up.
    status = record["status"]
    return 0 < status < 500 and status not in _REFUSED


def _add(namespaces: defaultdict[str, _Used], record: dict[str, Any]) -> None:
    """Adds one call to the permissions used in its namespace."""
    # Requests for non-resource paths belong to no namespace.
    if "path" in record:
        namespaces[""].paths.add(record["path"])
        return
    group = record["group"]
    resource = record["resource"]
    if record["subresource"]:
        resource += f"/{record['subresource']}"
    # A release was read from a Secret or ConfigMap, as its version says.
    if record.get("served") == "release":
        group, resource = "", record["version"]
    name = record["name"]
    # A masked name is not the object's name, so its rule must allow all names: see docs/audit.md.
    # `pods/*/http_requests` is the metric of all pods.
    if _MASKED in name or name == "*":
        name = _ANY
    used = namespaces[record["namespace"]]
    names = used.names[group, resource, record["verb"]]
    names.add(name)


def _documents(namespaces: dict[str, _Used], name: str) -> list[str]:
    """Returns the roles of one context, each as YAML."""
    everywhere = namespaces.get("", _Used())
    documents = []
    for namespace, used in sorted(namespaces.items()):
        if namespace:
            _subtract(used, everywhere)
        rules = _rules(used)
        if rules:
            documents.append(_role(namespace, name, rules))
    return documents


def _subtract(used: _Used, everywhere: _Used) -> None:
    """Removes permissions that the ClusterRole already grants."""
    for key, names in list(used.names.items()):
        wide = everywhere.names.get(key, set())
        left = names - wide
        if left and _ANY not in wide:
            used.names[key] = left
        else:
            del used.names[key]


def _rules(used: _Used) -> list[dict[str, Any]]:
    """Returns the fewest rules: verbs with the same names share one, then resources with the same verbs."""
    shared = _resources_by_verbs(used)
    rules = []
    for key, resources in sorted(shared.items()):
        group, verbs, names = key
        rule = _rule(group, sorted(resources), verbs, names)
        rules.append(rule)
    if used.paths:
        paths = sorted(used.paths)
        rules.append({"nonResourceURLs": paths, "verbs": ["get"]})
    return rules


def _resources_by_verbs(used: _Used) -> dict[_Shared, set[str]]:
    """Returns group, verbs and names → the resources that they apply to."""
    resources: defaultdict[_Shared, set[str]] = defaultdict(set)
    for key, verbs in _verbs_by_names(used).items():
        group, resource, names = key
        shared = tuple(sorted(verbs))
        members = resources[group, shared, names]
        members.add(resource)
    return resources


def _verbs_by_names(used: _Used) -> dict[tuple[str, str, _Texts], set[str]]:
    """Returns group, resource and names → the verbs that they apply to."""
    verbs: defaultdict[tuple[str, str, _Texts], set[str]] = defaultdict(set)
    for key, names in used.names.items():
        group, resource, verb = key
        # A rule without names allows them all.
        known: _Texts = ()
        if _ANY not in names:
            known = tuple(sorted(names))
        members = verbs[group, resource, known]
        members.add(verb)
    return verbs


def _rule(
    group: str,
    resources: list[str],
    verbs: tuple[str, ...],
    names: tuple[str, ...],
) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": resources}
    if names:
        rule["resourceNames"] = list(names)
    rule["verbs"] = list(verbs)
    return rule


def _role(namespace: str, name: str, rules: list[dict[str, Any]]) -> str:
    """Returns a role as YAML, followed by its binding as a comment."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    role = {
        "apiVersion": f"{_API}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    }
    binding = {
        "apiVersion": f"{_API}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _API, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "kubescript", "namespace": "default"}],
    }
    # The binding is only a comment, since the record does not contain the subjects.
    lines = ["---", *_dump(binding).splitlines()]
    comment = "".join(f"# {line}\n" for line in lines)
    return _dump(role) + comment


def _dump(document: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
