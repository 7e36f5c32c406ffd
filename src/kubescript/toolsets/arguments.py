"""Checks the arguments of the classic tools. Refuses arguments that violate the tools' preconditions or the rules for
strings, names, labels and selectors, before anything is sent. `classic` calls `check` with arguments that have passed
the tool's schema.

The rules are those of the API contract that these tools follow, except that they permit harmless Kubernetes syntax:
set-based selectors have parentheses, `filter` is a regular expression, names of RBAC objects have colons, many others
have dots. docs/toolsets.md lists each rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from kubescript import errors
from kubescript.kube import object_names
from kubescript.toolsets import base
from kubescript.wire import messages

__all__ = ["Refusal", "check", "check_unknown_cluster", "with_location"]

_MAX_TEXT: Final = 1000
_MAX_QUERY: Final = 8_000
_MAX_PREFIX: Final = 253
_MAX_LABEL: Final = 63
_MAX_RELEASE: Final = 53
_MAX_CLUSTER: Final = 64
_MAX_SHOWN: Final = 63
"""How many characters of a refused value the error repeats."""
_LEAST_WAIT_S: Final = 30
_LONGEST_WAIT_S: Final = 1800
_FORBIDDEN: Final = re.compile(r"[;&|><`$()\0]")
_FORBIDDEN_IN: Final = {
    "labelSelector": re.compile(r"\0"),
    "cluster": re.compile(r"\0"),
    "filter": re.compile(r"[;&><`\0]"),
    "query": re.compile(r"\0"),
}
"""Arguments in which some of these characters have a meaning, or are part of a name that the operator has given."""
_CLUSTER: Final = re.compile(r"[a-zA-Z0-9]+(?:[._-][a-zA-Z0-9]+)*")
_LABEL_PART: Final = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SINCE: Final = re.compile(r"(?=\d)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_LOCATION: Final = re.compile(r"[a-z][-a-z0-9]{0,62}")
_GKE_ID: Final = re.compile(r"gke_[^_]+_[^_]+_.+")
"""gcloud's name for the context of a cluster."""
_SET: Final = re.compile(r"(?P<key>\S++)\s++(?P<operator>in|notin)\s*+(?P<rest>.*)", re.DOTALL)


class Refusal(errors.RequestError):
    """An argument that the tool does not accept. Codes: `tool.*`, by the message."""

    def __init__(self, message: str, /, **values: object) -> None:
        super().__init__(messages.text(message, **values), code=f"tool.{message}")


def check(tool: str, given: base.Arguments, known: Collection[str]) -> dict[str, Any]:
    """Returns the checked arguments. `known` are the names that the tool accepts. Raises Refusal."""
    arguments = {name: _read_whole(value) for name, value in given.items()}
    for name, value in arguments.items():
        if name not in known:
            names = ", ".join(known)
            raise Refusal("unknown_argument", name=name[:_MAX_SHOWN], known=names)
        if isinstance(value, str):
            _check_text(name, value)
        check_value = _CHECKS.get(name)
        if check_value is not None:
            check_value(value)
    _check_namespaces(arguments)
    for check_together in _PRECONDITIONS.get(tool, ()):
        check_together(arguments)
    return arguments


def with_location(cluster: str, location: str) -> str:
    """Returns the id of a GKE cluster, gke_PROJECT_LOCATION_NAME, with another location."""
    parts = cluster.split("_", 3)
    return "_".join((*parts[:2], location, parts[3]))


def _read_whole(value: Any) -> Any:
    """Returns a whole number as an int, and any other value as it is."""
    # JSON has no integer type, and a client may write 3.0.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _check_text(name: str, text: str) -> None:
    most = _MAX_QUERY if name == "query" else _MAX_TEXT
    if len(text) > most:
        raise Refusal("too_long", name=name, most=most)
    _refuse_characters(text, _FORBIDDEN_IN.get(name, _FORBIDDEN))


def _refuse_characters(text: str, forbidden: re.Pattern[str]) -> None:
    found = forbidden.search(text)
    if found:
        character = found[0].replace("\0", r"\0")
        raise Refusal("forbidden_character", character=character)


def check_unknown_cluster(cluster: str) -> None:
    """Raises Refusal for the name of a cluster that this server does not have, if it breaks the contract's rules for
    ids of clusters."""
    _refuse_characters(cluster, _FORBIDDEN)
    if not _fits(cluster, _CLUSTER, _MAX_CLUSTER):
        raise Refusal("invalid_cluster", name=cluster[:_MAX_SHOWN])


def _check_name(name: str) -> None:
    _require_name(name, is_valid=object_names.is_subdomain(name))


def _check_container(name: str) -> None:
    _require_name(name, is_valid=object_names.is_label(name))


def _check_release(name: str) -> None:
    _require_name(name, is_valid=len(name) <= _MAX_RELEASE and object_names.is_subdomain(name))


def _require_name(name: str, *, is_valid: bool) -> None:
    if not is_valid:
        raise Refusal("invalid_name", name=name[:_MAX_SHOWN])


def _check_namespace(name: str) -> None:
    if not object_names.is_label(name):
        raise Refusal("invalid_namespace", name=name[:_MAX_SHOWN])


def _check_since(text: str) -> None:
    if not _SINCE.fullmatch(text):
        raise Refusal("invalid_since", since=text[:_MAX_SHOWN])


def _check_labels(labels: Mapping[str, Any]) -> None:
    size = sum(len(key) + len(str(value)) for key, value in labels.items())
    if size > _MAX_TEXT:
        raise Refusal("too_long", name="labels", most=_MAX_TEXT)
    for key, value in labels.items():
        _check_label_key(key)
        # JSON has numbers and booleans, which Kubernetes refuses as labels.
        if not isinstance(value, str):
            raise Refusal("label_not_text", key=key[:_MAX_SHOWN])
        _check_label_value(value)


def _check_label_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    is_prefix = not slash or _fits(prefix, _PREFIX, _MAX_PREFIX)
    if not is_prefix or not _fits(name, _LABEL_PART, _MAX_LABEL):
        raise Refusal("invalid_label_key", key=key[:_MAX_SHOWN])


def _fits(text: str, grammar: re.Pattern[str], most: int) -> bool:
    """Says whether a string has at most `most` characters, and follows the grammar."""
    return len(text) <= most and grammar.fullmatch(text) is not None


def _check_label_value(value: str) -> None:
    if len(value) > _MAX_LABEL:
        raise Refusal("label_value_too_long")
    if value and not _LABEL_PART.fullmatch(value):
        raise Refusal("invalid_label_value", value=value)


def _check_selector(selector: str) -> None:
    for requirement in _requirements(selector):
        if requirement:
            _check_requirement(requirement)


def _requirements(selector: str) -> list[str]:
    """Returns the parts between commas outside parentheses."""
    parts = [""]
    depth = 0
    for character in selector:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _check_requirement(requirement: str) -> None:
    by_set = _SET.fullmatch(requirement)
    if by_set:
        _check_label_key(by_set["key"])
        _check_values(by_set["operator"], by_set["rest"].strip())
        return
    key, operator, value = _split(requirement)
    if not operator:
        key = key.removeprefix("!").strip()
    _check_label_key(key)
    _check_label_value(value)


def _split(requirement: str) -> tuple[str, str, str]:
    """Returns key, operator and value; without an operator the requirement is a key that must be present or absent."""
    for operator in ("==", "!=", "=", ">", "<"):
        key, found, value = requirement.partition(operator)
        if found:
            return key.strip(), operator, value.strip()
    return requirement, "", ""


def _check_values(operator: str, values: str) -> None:
    is_enclosed = values.startswith("(") and values.endswith(")")
    inner = values[1:-1].strip()
    if not is_enclosed or not inner:
        raise Refusal("invalid_set", operator=operator)
    for part in inner.split(","):
        value = part.strip()
        _check_label_value(value)


def _check_timeout(seconds: int) -> None:
    if not _LEAST_WAIT_S <= seconds <= _LONGEST_WAIT_S:
        raise Refusal("invalid_timeout", least=_LEAST_WAIT_S, most=_LONGEST_WAIT_S, seconds=seconds)


def _check_follow(follow: bool) -> None:
    if follow:
        raise Refusal("follow_disabled")


_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    **dict.fromkeys(("pod", "podName", "deploymentName", "hpaName"), _check_name),
    "container": _check_container,
    "releaseName": _check_release,
    "namespace": _check_namespace,
    "labels": _check_labels,
    "labelSelector": _check_selector,
    "since": _check_since,
    "follow": _check_follow,
    "timeout": _check_timeout,
}
"""Checks of one argument, by its name."""


def _check_namespaces(arguments: base.Arguments) -> None:
    if "namespace" in arguments and arguments.get("allNamespaces"):
        raise Refusal("namespace_conflict")


def _check_name_of_kind(arguments: base.Arguments) -> None:
    name = arguments.get("name")
    if name is not None:
        resource = arguments.get("resource", "")
        _require_name(name, is_valid=object_names.is_name_of(resource, name))


def _check_one_selector(arguments: base.Arguments) -> None:
    if arguments.get("labels") and arguments.get("labelSelector"):
        raise Refusal("selector_conflict")


def _check_replicas(arguments: base.Arguments) -> None:
    least = arguments.get("minReplicas")
    most = arguments.get("maxReplicas")
    if least is None and most is None:
        raise Refusal("no_replicas")
    if least is None or most is None:
        return
    if least > most:
        raise Refusal("replicas_crossed", least=least, most=most)


def _check_region(arguments: base.Arguments) -> None:
    region = arguments.get("region")
    if not region:
        return
    if not _LOCATION.fullmatch(region):
        raise Refusal("invalid_region", region=region[:_MAX_SHOWN])
    # A region takes the place of the location, which only gcloud's name for a cluster has.
    cluster = arguments["cluster"]
    if not _GKE_ID.fullmatch(cluster):
        raise Refusal("region_without_id", cluster=cluster[:_MAX_SHOWN])


_PRECONDITIONS: Final[Mapping[str, tuple[Callable[[base.Arguments], None], ...]]] = {
    "kubectl_get": (_check_name_of_kind, _check_one_selector),
    "kubectl_get_yaml": (_check_name_of_kind,),
    "kubectl_describe": (_check_name_of_kind,),
    "kubectl_edit_hpa": (_check_replicas,),
    "gke_auth": (_check_region,),
}
"""Checks of several arguments together, by tool."""
