"""Requests for which the policy permits only a part of the objects. The broker sends the result of `only`, `keys` or
`within`.

For metadata the API server itself leaves out everything else (PartialObjectMetadata). No other form is accepted, so a
server that cannot do that answers with 406. No form of an answer has the names of a Secret's keys without the values:
the whole Secrets are asked for, and `inspection` lets the keys pass.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from kubescript import errors
from kubescript.kube import selectors
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["keys", "only", "within"]

_ACCEPT: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_ACCEPT_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_KEYS: Final = frozenset({
    "watch", "allowWatchBookmarks", "sendInitialEvents", "limit", "timeoutSeconds", "labelSelector", "fieldSelector",
    "continue", "resourceVersion", "resourceVersionMatch",
})  # fmt: skip
"""Query parameters that are sent. Others have no meaning for metadata."""
_NAMESPACES_KEYS: Final = _KEYS - {"limit", "continue", "labelSelector", "fieldSelector"}
"""Query parameters that are sent for Namespaces of which only some may pass."""
_PHASE: Final = "select by labels or metadata.name when you read only metadata of Namespaces"
_WATCH: Final = (
    "a watch of Namespaces can only be selected by metadata.name here; watch without the selector, and check "
    "the labels or the phase of each event's object"
)
# Attack: a selector on a field of the object's content reveals that content character by character. Values may contain
# no escapes or operators, in which another reader may see a different term.
_TERM: Final = re.compile(r"([a-z.]+)(?:==?|!=)[A-Za-z0-9 ._:/@~+-]*")
_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})
_OWN_FIELDS: Final = {("", "secrets"): frozenset({"type"})}
"""Fields by which Kubernetes itself selects a resource's objects and that hold no content."""


def only(call: request.Request, rule: str, kind: str) -> request.Request:
    """Returns the request for the metadata of the same objects.

    Raises PolicyDenied for a field selector that could reveal other content.
    """
    return _reduce(call, rule, kind, f"only metadata of {rule} is served")


def keys(call: request.Request, rule: str, kind: str) -> request.Request:
    """Returns the request for the metadata and keys of the same Secrets; for the metadata alone if the script asks for
    no more.

    Raises PolicyDenied like `only`.
    """
    reduced = _reduce(call, rule, kind, f"only metadata and key names of {rule} are served")
    if "as=PartialObjectMetadata" in call.accept:
        return reduced
    return replace(reduced, accept="application/json", serves_keys=True)


def within(call: request.Request, patterns: tuple[str, ...]) -> request.Request:
    """Returns the request for all Namespaces at once, of whose answer only those pass whose name matches and that the
    script has selected.

    Raises RequestError for a selector that is wrong, or that cannot be applied to the answer.
    """
    # Attack: a continue token has the name of the next Namespace, and a page's count tells how many others there are.
    # A selector makes the answer longer where a Namespace that it guesses exists: the masking process applies it.
    given = dict(call.query)
    served = inspection.Namespaces(patterns, given.get("labelSelector", ""), given.get("fieldSelector", ""))
    is_partial = "as=PartialObjectMetadata" in call.accept
    _check_selectors(served, is_watch=call.verb == "watch", is_partial=is_partial)
    query = tuple(pair for pair in call.query if pair[0] in _NAMESPACES_KEYS)
    accept = call.accept if is_partial else "application/json"
    return replace(call, query=query, accept=accept, namespaces=served)


def _check_selectors(served: inspection.Namespaces, *, is_watch: bool, is_partial: bool) -> None:
    """Raises RequestError unless both selectors can be read and applied to the answer."""
    try:
        selectors.labels(served.label_selector)
        known = selectors.list_indexed("", "namespaces")
        _, needs_all = selectors.fields(served.field_selector, known)
    except selectors.SelectorError as error:
        raise errors.RequestError(str(error), code="request.query") from None
    # An API server reports an object whose label changes as added or deleted; its events alone do not tell.
    if is_watch and (needs_all or served.label_selector):
        raise errors.RequestError(_WATCH, code="request.query")
    if is_partial and needs_all:
        raise errors.RequestError(_PHASE, code="request.query")


def _reduce(call: request.Request, rule: str, kind: str, reason: str) -> request.Request:
    """Returns the request for metadata. Raises PolicyDenied with this reason."""
    query = tuple(pair for pair in call.query if pair[0] in _KEYS)
    selector = dict(query).get("fieldSelector", "")
    _check_selector(call, reason, selector)
    accept = _ACCEPT_LIST if call.verb == "list" else _ACCEPT
    return replace(call, query=query, accept=accept, metadata_rule=rule, kind=kind)


def _check_selector(call: request.Request, reason: str, selector: str) -> None:
    """Refuses a selector on a field that is not metadata. Raises PolicyDenied."""
    own_fields = _OWN_FIELDS.get((call.group, call.resource), frozenset())
    known = _FIELDS | own_fields
    for term in selector.split(","):
        match = _TERM.fullmatch(term)
        is_known = match is not None and match[1] in known
        if term and not is_known:
            names = ", ".join(sorted(known))
            raise errors.PolicyDenied(
                f"{reason}; select by labels, or {names}",
                code="policy.denied_resource",
            )
