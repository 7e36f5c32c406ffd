"""Label and field selectors, read and applied as kube-apiserver does. The host uses them to select objects of a saved
cluster, the worker to select planned objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubescript.kube import documents

__all__ = ["SelectorError", "fields", "labels", "list_indexed", "on_labels", "write"]

Predicate = Callable[[Mapping[str, Any]], bool]
"""A check of an object, of which at least the metadata is decoded."""

_KEY: Final = r"(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_TERM: Final = re.compile(
    rf"\s*(?:(?P<absent>!)\s*(?P<k1>{_KEY})|(?P<k2>{_KEY})\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)"
    rf"|(?P<k3>{_KEY})\s*(?P<op>==|=|!=|>|<)\s*(?P<value>{_VALUE})|(?P<k4>{_KEY}))\s*(?:,|$)"
)
_OPERATOR: Final = re.compile("!=|==?")
_INTEGER: Final = re.compile(r"-?[0-9]{1,63}")  # as long as a label may be
_ANY_FIELD: Final = frozenset({"metadata.name", "metadata.namespace"})
"""Fields that are indexed for every resource."""
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


_OPERATORS: Final = {"In": "in", "NotIn": "notin"}


class SelectorError(ValueError):
    """The selector cannot be read, or names a field that the API server does not index. Its text is the server's
    message."""


def labels(selector: str, most: float = math.inf) -> Predicate | None:
    """Returns a predicate on an object's labels; None for an empty selector, which matches all. Raises
    SelectorError, also for more than `most` requirements."""
    checks: list[Callable[[Mapping[str, str]], bool]] = []
    text = selector.rstrip()
    position = 0
    while position < len(text):
        match = _TERM.match(selector, position)
        if match is None:
            rest = selector[position : position + 60]
            raise SelectorError(f"unable to parse requirement: found {rest!r}")
        checks.append(_requirement(match))
        position = match.end()
    if text.endswith(","):
        raise SelectorError("unable to parse requirement: found '', expected: identifier after ','")
    if not checks:
        return None
    if len(checks) > most:
        raise SelectorError(f"there are more than {most} requirements; write fewer")

    def picks(item: Mapping[str, Any]) -> bool:
        own = item["metadata"].get("labels") or {}
        return all(check(own) for check in checks)

    return picks


def on_labels(selector: str, most: float = math.inf) -> Callable[[Mapping[str, str]], bool]:
    """Returns a predicate on labels alone, as `labels` does on an object. Raises SelectorError."""
    picks = labels(selector, most)
    if picks is None:
        return lambda _own: True
    return lambda own: picks({"metadata": {"labels": own}})


def write(selector: Any) -> str:
    """Returns an object's label selector in the syntax of queries; an empty string if it has no requirements."""
    matched = documents.mapping(selector, "matchLabels")
    expressions = selector.get("matchExpressions") if isinstance(selector, dict) else None
    requirements = [(key, f"{key}={value}") for key, value in matched.items()]
    listed = expressions if isinstance(expressions, list) else []
    requirements += [(str(each.get("key")), _write_expression(each)) for each in listed if isinstance(each, dict)]
    # Sorted by key alone: among requirements for the same key, labels come first and expressions keep their order.
    requirements.sort(key=lambda each: each[0])
    return ",".join(text for _, text in requirements)


def _write_expression(expression: Mapping[str, Any]) -> str:
    """Returns an expression such as `tier in (front,web)`, `!gpu` or `gpu`."""
    key = expression.get("key")
    operator = expression.get("operator", "")
    if operator in _OPERATORS:
        word = _OPERATORS[operator]
        values = expression.get("values")
        texts = sorted(map(str, values)) if isinstance(values, list) else []
        return f"{key} {word} ({','.join(texts)})"
    if operator == "DoesNotExist":
        return f"!{key}"
    return str(key)


def list_indexed(group: str, resource: str) -> frozenset[str]:
    """Returns the fields that a selector may name."""
    return _ANY_FIELD | _FIELDS.get((group, resource), frozenset())


def fields(selector: str, known: frozenset[str] | None = None) -> tuple[Predicate | None, bool]:
    """Returns a predicate on an object's fields, and whether it needs more than the metadata. Raises SelectorError,
    also for a field that is not in `known`; with None, any field may be named."""
    # A comma after a backslash is part of a value.
    parts = re.split(r"(?<!\\),", selector)
    terms = [_field_term(part, known) for part in parts if part]
    if not terms:
        return None, False

    def picks(item: Mapping[str, Any]) -> bool:
        for key, value, must_equal in terms:
            equals = _field(item, key) == value
            if equals is not must_equal:
                return False
        return True

    needs_all = any(key not in _ANY_FIELD for key, _, _ in terms)
    return picks, needs_all


def _requirement(match: re.Match[str]) -> Callable[[Mapping[str, str]], bool]:
    """Returns one term of a label selector, as a predicate on an object's labels."""
    key = match["k1"] or match["k2"] or match["k3"] or match["k4"]
    operator = match["op"]
    if match["absent"]:
        return lambda own: key not in own
    if match["set"]:
        parts = match["values"].split(",")
        values = frozenset(part.strip() for part in parts)
        return _is_in(key, values, member=match["set"] == "in")
    if operator in {">", "<"}:
        return _compare(key, operator, match["value"])
    if operator:
        values = frozenset({match["value"]})
        return _is_in(key, values, member=operator != "!=")
    return lambda own: key in own


def _is_in(key: str, values: frozenset[str], *, member: bool) -> Callable[[Mapping[str, str]], bool]:
    """Returns a predicate on whether the label's value is among `values`, or is not."""

    # `in` needs the label; `notin` and `!=` also match objects without it.
    def check(own: Mapping[str, str]) -> bool:
        return (own.get(key) in values) is member

    return check


def _compare(key: str, operator: str, text: str) -> Callable[[Mapping[str, str]], bool]:
    """Returns the predicate of `>` or `<`, which selects objects whose label is an integer above, or below, this
    one."""
    if not _INTEGER.fullmatch(text):
        raise SelectorError(f"for 'Gt', 'Lt' operators, the value must be an integer: {text!r}")
    bound = int(text)
    is_lower_bound = operator == ">"

    def check(own: Mapping[str, str]) -> bool:
        value = own.get(key, "")
        if not _INTEGER.fullmatch(value):
            return False
        number = int(value)
        return number > bound if is_lower_bound else number < bound

    return check


def _field_term(term: str, known: frozenset[str] | None) -> tuple[str, str, bool]:
    """Returns field, value, and whether they must be equal. Raises SelectorError."""
    # Attack: a selector has 16,000 spaces before a field, at which a single pattern for the whole term would backtrack.
    operator = _OPERATOR.search(term)
    if operator is None:
        raise SelectorError(f"invalid selector: {term!r}; can't understand {term!r}")
    key = term[: operator.start()].strip()
    if known is not None and key not in known:
        raise SelectorError(f"field label not supported: {key}")
    value = term[operator.end() :]
    unescaped = re.sub(r"\\(.)", r"\1", value)
    return key, unescaped, operator[0] != "!="


def _field(item: Mapping[str, Any], path: str) -> str:
    """Returns the value of a field as the API server indexes it, which is always a string."""
    # kube-apiserver indexes an event's source by its component.
    if path == "source":
        path = "source.component"
    value: Any = item
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return _DEFAULTS.get(path, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, list):
        return str(value)
    entries = []
    for entry in value:
        shown = entry.get("ip", entry) if isinstance(entry, Mapping) else entry  # status.podIPs
        entries.append(str(shown))
    return ",".join(entries)
