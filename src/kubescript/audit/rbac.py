"""The least RBAC that would have allowed exactly what is on record.

A call counts when it was allowed here and the API server let it through: also one answered with 404, which RBAC has to
permit before the server looks. What was done in one namespace becomes a Role there, what was done over all of them or
outside any a ClusterRole. Names are kept where a call named an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from kubescript.output import sanitizing

__all__ = ["as_yaml"]

_ANY: Final = ""
"""No name: the verb was used on all objects of the resource."""
_REFUSED: Final = frozenset({401, 403, 429})
_MASKED: Final = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}"


@dataclass(slots=True)
class _Used:
    """What was done in one namespace: a namespace, or "" for the whole cluster."""

    names: defaultdict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Group, resource and verb → the names it was used on."""
    paths: set[str] = field(default_factory=set)


def as_yaml(records: Iterable[dict[str, Any]], name: str) -> str:
    """Roles as YAML documents, one set per context, with their bindings as comments."""
    contexts: defaultdict[str, defaultdict[str, _Used]] = defaultdict(lambda: defaultdict(_Used))
    for record in records:
        if record["type"] == "call" and _was_allowed(record):
            _add(contexts[record.get("context", "")], record)
    parts = []
    for context, namespaces in sorted(contexts.items()):
        head = f"# context {sanitizing.printable(context)}\n" if len(contexts) > 1 else ""
        parts += [head + part for part in _documents(namespaces, name)]
    return "---\n".join(parts) or "# nothing on record was allowed and answered\n"


def _was_allowed(record: dict[str, Any]) -> bool:
    status = record["status"]
    return record["decision"] == "allow" and 0 < status < 500 and status not in _REFUSED


def _add(namespaces: defaultdict[str, _Used], record: dict[str, Any]) -> None:
    if "path" in record:
        namespaces[""].paths.add(record["path"])
        return
    resource = "/".join(filter(None, (record["resource"], record["subresource"])))
    name = _ANY if _MASKED in record["name"] else record["name"]  # a masked name is no name: see docs/audit.md
    namespaces[record["namespace"]].names[record["group"], resource, record["verb"]].add(name)


def _documents(namespaces: dict[str, _Used], name: str) -> list[str]:
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
    """What the ClusterRole allows anyway needs no rule in a Role."""
    for key, names in list(used.names.items()):
        wide = everywhere.names.get(key, set())
        left = set() if _ANY in wide else names - wide
        if left:
            used.names[key] = left
        else:
            del used.names[key]


def _rules(used: _Used) -> list[dict[str, Any]]:
    """As few rules as say it: verbs that go with the same names, then resources that go with the same verbs."""
    verbs: defaultdict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, verb), names in used.names.items():
        verbs[group, resource, () if _ANY in names else tuple(sorted(names))].add(verb)
    resources: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, known), allowed in verbs.items():
        resources[group, tuple(sorted(allowed)), known].add(resource)
    rules = [
        _rule(group, sorted(found), used_verbs, known)
        for (group, used_verbs, known), found in sorted(resources.items())
    ]
    if used.paths:
        rules.append({"nonResourceURLs": sorted(used.paths), "verbs": ["get"]})
    return rules


def _rule(group: str, resources: list[str], verbs: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": resources}
    if names:
        rule["resourceNames"] = list(names)
    return {**rule, "verbs": list(verbs)}


def _role(namespace: str, name: str, rules: list[dict[str, Any]]) -> str:
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    head = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    binding = {
        **head, "kind": f"{kind}Binding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "kubescript", "namespace": "default"}],
    }  # fmt: skip
    comment = "".join(f"# {line}\n" for line in ["---", *_dump(binding).splitlines()])
    return _dump({**head, "kind": kind, "metadata": metadata, "rules": rules}) + comment


def _dump(document: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
