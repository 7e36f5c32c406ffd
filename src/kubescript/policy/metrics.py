"""Decides which requests to the APIs for custom and external metrics read a metric, on their parsed fields alone.

A metric may have any name, so no list of subresources has it. What passes is a GET of exactly the paths of these APIs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kubescript.kube import metrics_apis
from kubescript.request import request

__all__ = ["find_denial", "is_of_unknown", "list_described"]

_INSTEAD: Final = "get pods/*/METRIC or pods/NAME/METRIC in a namespace, or of the external API namespaces/NS/METRIC"


def find_denial(call: request.Request) -> tuple[str, str] | None:
    """Returns why a request to one of these APIs is no read of a metric, and what to do instead; None if it is one."""
    if call.method != "GET" or call.verb not in {"get", "list"}:
        return "metrics can only be read, with get", _INSTEAD
    if not _names_metric(call):
        return "this path names no metric", _INSTEAD
    # Attack: an adapter takes `node` for `nodes`, which are outside of every namespace.
    if is_of_unknown(call) and "." not in call.resource:
        return (
            "no built-in resource has this name",
            "write the plural; of custom resources with the group: as.example.com",
        )
    return None


def is_of_unknown(call: request.Request) -> bool:
    """Says whether a metric describes objects that are not built in: only an adapter knows which."""
    return _is_of_objects(call) and not metrics_apis.list_described(call.resource)


def list_described(call: request.Request) -> list[request.Request]:
    """Returns the requests for the built-in objects that a metric describes; the answer has their names."""
    places = metrics_apis.list_described(call.resource) if _is_of_objects(call) else []
    return [
        replace(call, verb="list", group=group, version="v1", resource=plural, subresource="", name="")
        for group, plural in places
    ]


def _is_of_objects(call: request.Request) -> bool:
    return call.group == metrics_apis.CUSTOM and bool(call.subresource)


def _names_metric(call: request.Request) -> bool:
    if _is_of_objects(call):
        return bool(call.name)
    if not call.namespace or call.subresource:
        return False
    if call.group == metrics_apis.CUSTOM:
        return call.resource == metrics_apis.OF_NAMESPACE and bool(call.name)
    return not call.name
