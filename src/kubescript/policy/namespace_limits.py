"""Decides whether a request stays within the namespaces to which a caller is limited, on its parsed fields alone.

A request in a permitted namespace does. Of all others, only those on a short list do, so nothing depends on whether a
kind is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.kube import kinds, metrics_apis, namespace_patterns, wildcards
from kubescript.request import request

__all__ = ["find_denial", "is_listing"]

_LISTS: Final = frozenset({"list", "watch"})
_WHO_AM_I: Final = ("authentication.k8s.io", "selfsubjectreviews")
"""Tells the caller's own name and groups. Other reviews tell rights, and with them names, in any namespace."""


def find_denial(call: request.Request, patterns: Sequence[str]) -> tuple[str, str] | None:
    """Returns why a request for a resource leaves the permitted namespaces, and what to do instead; None if it does
    not."""
    if _is_within(call, patterns):
        return None
    place = call.group, call.resource
    if kinds.is_namespace(*place) and call.method != "GET":
        return "who is limited to some namespaces changes no Namespace itself", "ask the server's operator"
    permitted = f"you are limited to the namespaces {namespace_patterns.describe(patterns)}"
    if call.namespace or kinds.is_namespace(*place):
        return permitted, "name one of these"
    if place in kinds.NAMESPACED:
        return permitted, "send one request for each of these"
    if kinds.kind_of(*place) is not None:
        return permitted, "do without what is in no namespace"
    return permitted, "name one of these if the kind is in namespaces, or do without it"


def is_listing(call: request.Request) -> bool:
    """Says whether the answer has several Namespaces, of which only the permitted ones may pass."""
    return kinds.is_namespace(call.group, call.resource) and call.verb in _LISTS


def _is_within(call: request.Request, patterns: Sequence[str]) -> bool:
    """Says whether a request stays within the permitted namespaces."""
    if call.namespace and not wildcards.matches(call.namespace, patterns):
        return False
    if kinds.is_namespace(call.group, call.resource):
        is_own = call.verb == "get" and wildcards.matches(call.name, patterns)
        # What does not match is left out of a list or watch.
        return call.method == "GET" and (is_own or call.verb in _LISTS)
    # Attack: an adapter answers for all nodes, whatever the namespace in the path of their metric.
    if call.group == metrics_apis.CUSTOM:
        described = metrics_apis.list_described(call.resource)
        return bool(call.namespace) and call.resource != "namespaces" and kinds.NAMESPACED.issuperset(described)
    # Attack: a custom resource is called `namespaces`, and its name counts as the namespace of its objects.
    if call.namespace:
        return call.resource != "namespaces"
    return (call.group, call.resource) == _WHO_AM_I and call.verb == "create"
