"""Requests of which the policy lets only the metadata of objects be read. The broker sends what `only` returns.

The API server itself then leaves out everything else (PartialObjectMetadata). It gets no other form to choose from: one
that cannot leave it out answers 406.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from kubescript import errors
from kubescript.request import request

__all__ = ["only"]

_ACCEPT: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_ACCEPT_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_KEYS: Final = frozenset({
    "watch", "allowWatchBookmarks", "sendInitialEvents", "limit", "timeoutSeconds", "labelSelector", "fieldSelector",
    "continue", "resourceVersion", "resourceVersionMatch",
})  # fmt: skip
"""Query parameters that are sent. No other one has a meaning for metadata."""
# Attack: a selector of a field of the object's content, which tells character by character what is in it. Values are
# written without the escapes and operators by which one reader may see another term in them.
_TERM: Final = re.compile(r"([a-z.]+)(?:==?|!=)[A-Za-z0-9 ._:/@~+-]*")
_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})
_OWN_FIELDS: Final = {("", "secrets"): frozenset({"type"})}
"""Fields by which Kubernetes itself selects objects of a resource and that hold no value."""


def only(call: request.Request, rule: str, kind: str) -> request.Request:
    """Returns the request for the metadata of the same objects.

    Raises PolicyDenied for a field selector that could tell what else is in them.
    """
    query = tuple(pair for pair in call.query if pair[0] in _KEYS)
    _check_selector(call, rule, dict(query).get("fieldSelector", ""))
    accept = _ACCEPT_LIST if call.verb == "list" else _ACCEPT
    return replace(call, query=query, accept=accept, metadata_rule=rule, kind=kind)


def _check_selector(call: request.Request, rule: str, selector: str) -> None:
    """Refuses a selector of a field that is not metadata. Raises PolicyDenied."""
    known = _FIELDS | _OWN_FIELDS.get((call.group, call.resource), frozenset())
    for term in selector.split(","):
        match = _TERM.fullmatch(term)
        if term and (match is None or match[1] not in known):
            raise errors.PolicyDenied(
                f"only metadata of {rule} is served; select by labels, or {', '.join(sorted(known))}",
                code="policy.denied_resource",
            )
