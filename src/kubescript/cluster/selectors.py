"""Label and field selectors, read and applied as kube-apiserver does. Called by the snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["SelectorError", "fields", "labels"]

Predicate = Callable[[Mapping[str, Any]], bool]
"""Takes an object with at least its metadata decoded."""

_KEY: Final = r"(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_TERM: Final = re.compile(
    rf"\s*(?:(?P<absent>!)\s*(?P<k1>{_KEY})|(?P<k2>{_KEY})\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)"
    rf"|(?P<k3>{_KEY})\s*(?P<op>==|=|!=|>|<)\s*(?P<value>{_VALUE})|(?P<k4>{_KEY}))\s*(?:,|$)"
)
_ANY_FIELD: Final = frozenset({"metadata.name", "metadata.namespace"})
_EVENT: Final = frozenset(
    {
        f"involvedObject.{part}"
        for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    }
    | {"reason", "reportingComponent", "source", "type"}
)
_FIELDS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("", "pods"): frozenset({
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    }),
    ("", "events"): _EVENT,
    ("", "nodes"): frozenset({"spec.unschedulable"}),
    ("", "namespaces"): frozenset({"status.phase"}),
    ("", "services"): frozenset({"spec.clusterIP", "spec.type"}),
    ("", "replicationcontrollers"): frozenset({"status.replicas"}),
    ("", "secrets"): frozenset({"type"}),
    ("apps", "replicasets"): frozenset({"status.replicas"}),
    ("batch", "jobs"): frozenset({"status.successful"}),
    ("certificates.k8s.io", "certificatesigningrequests"): frozenset({"spec.signerName"}),
    ("events.k8s.io", "events"): frozenset(
        {term.replace("involvedObject", "regarding") for term in _EVENT if term.startswith("involvedObject")}
        | {"reason", "reportingController", "type"}
    ),
}  # fmt: skip
_DEFAULTS: Final = {
    "spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0", "status.successful": "0",
}  # fmt: skip


class SelectorError(ValueError):
    """The selector cannot be read, or names a field the API server does not index. Its text is the server's message."""


def labels(selector: str) -> Predicate | None:
    """What objects `selector` picks by label; None for an empty one, which picks all. Raises SelectorError."""
    checks: list[Callable[[Mapping[str, str]], bool]] = []
    position = 0
    while position < len(selector.rstrip()):
        match = _TERM.match(selector, position)
        if match is None:
            raise SelectorError(f"unable to parse requirement: found {selector[position : position + 60]!r}")
        checks.append(_requirement(match))
        position = match.end()
    if selector.rstrip().endswith(","):
        raise SelectorError("unable to parse requirement: found '', expected: identifier after ','")
    if not checks:
        return None
    return lambda item: all(check(item["metadata"].get("labels") or {}) for check in checks)


def fields(selector: str, group: str, resource: str) -> tuple[Predicate | None, bool]:
    """What objects `selector` picks by field, and whether that needs more than their metadata. Raises SelectorError."""
    known = _ANY_FIELD | _FIELDS.get((group, resource), frozenset())
    terms = [_field_term(term, known) for term in re.split(r"(?<!\\),", selector) if term]
    if not terms:
        return None, False
    deep = any(key not in _ANY_FIELD for key, _, _ in terms)
    return (lambda item: all((_field(item, key) == value) is equal for key, value, equal in terms)), deep


def _requirement(match: re.Match[str]) -> Callable[[Mapping[str, str]], bool]:
    key = match["k1"] or match["k2"] or match["k3"] or match["k4"]
    if match["absent"]:
        return lambda own: key not in own
    if match["set"]:
        values = frozenset(value.strip() for value in match["values"].split(","))
        return _is_in(key, values, member=match["set"] == "in")
    if match["op"] in {">", "<"}:
        return _compare(key, match["op"], match["value"])
    if match["op"]:
        return _is_in(key, frozenset({match["value"]}), member=match["op"] != "!=")
    return lambda own: key in own


def _is_in(key: str, values: frozenset[str], *, member: bool) -> Callable[[Mapping[str, str]], bool]:
    """`in` needs the label; `notin` and `!=` also pick objects without it."""
    return (lambda own: own.get(key) in values) if member else (lambda own: own.get(key) not in values)


def _compare(key: str, operator: str, text: str) -> Callable[[Mapping[str, str]], bool]:
    if not re.fullmatch(r"-?\d+", text):
        raise SelectorError(f"for 'Gt', 'Lt' operators, the value must be an integer: {text!r}")

    def check(labels_: Mapping[str, str]) -> bool:
        own = labels_.get(key, "")
        return bool(re.fullmatch(r"-?\d+", own)) and (int(own) > int(text) if operator == ">" else int(own) < int(text))

    return check


def _field_term(term: str, known: frozenset[str]) -> tuple[str, str, bool]:
    match = re.fullmatch(r"\s*([^=!]+?)\s*(==|!=|=)(.*)", term)
    if match is None:
        raise SelectorError(f"invalid selector: {term!r}; can't understand {term!r}")
    key, operator, value = match.groups()
    if key not in known:
        raise SelectorError(f"field label not supported: {key}")
    return key, re.sub(r"\\(.)", r"\1", value), operator != "!="


def _field(item: Mapping[str, Any], path: str) -> str:
    value: Any = item
    if path == "source":
        path = "source.component"
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(one.get("ip", one)) if isinstance(one, Mapping) else str(one) for one in value)
    return _DEFAULTS.get(path, "") if value is None else str(value)
