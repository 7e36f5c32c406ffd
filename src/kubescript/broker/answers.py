"""Whether an answer is one that an API server gives to a request: its status and its form. The broker asks before a
script sees anything of it: a login page, or an answer without content, must not look like an empty log or cluster."""

from __future__ import annotations

from typing import Final

from kubescript import errors, types
from kubescript.request import request
from kubescript_masking.wire import masking

__all__ = ["NO_API_SERVER", "fault", "form", "is_absence", "is_log"]

_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_DOCUMENTS: Final = (_JSON, _TEXT, "application/jwk-set+json")
"""Media types of what is no resource. kube-apiserver calls /openapi/v3 text, and the masking process finds it JSON."""
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
"""How the paths of the only documents begin that are no JSON."""
_DISCOVERY: Final = ("/api", "/version")
"""How the paths begin of documents that say what there is: without one of a group, its kinds are not seen."""
_DONE: Final = frozenset({200, 201, 202})
_ENCODINGS: Final = ("yaml", "protobuf", "cbor")
"""Forms that API servers know and nobody asked for."""
NO_API_SERVER: Final = "check that `server` in the kubeconfig is an API server, not a login page or a proxy"
"""What to do about an answer that no API server gives."""


def fault(call: request.Request, response: types.Response) -> errors.ClusterError | None:
    """Returns what is wrong with the answer; None when nothing is."""
    if not _answers(call, response.status):
        text = f"the API server answered {response.status}, which is not an answer to {call.verb}"
        return errors.ClusterError(text, code="cluster.broken", remedy=NO_API_SERVER)
    is_promised = response.status < 300 and response.status != 204
    if (is_promised and not response.content_type.startswith(_types(call))) or _is_encoded(response):
        media_type = response.content_type.partition(";")[0][:50] or "nothing"
        text = f"the API server answered with {media_type} instead of {'text' if is_log(call) else 'JSON'}"
        return errors.ClusterError(text, code="cluster.broken", remedy=NO_API_SERVER)
    return None


def form(call: request.Request, response: types.Response) -> masking.Form:
    """Returns what the body must be, to be whole."""
    # An error may come from a proxy, in words of its own; 204 comes with nothing.
    if response.status >= 300 or response.status == 204:
        return "text"
    if is_log(call):
        return "log"
    if not call.is_resource:
        return "text" if call.path.startswith(_HEALTH) else "json"
    if call.method == "GET" and call.verb == "list":
        return "table" if "as=Table" in call.accept else "list"
    return "watch" if call.verb == "watch" else "object"


def is_log(call: request.Request) -> bool:
    """Says whether the request is for the log of a container."""
    return call.is_resource and call.verb == "get" and call.subresource == "log"


def is_absence(call: request.Request, response: types.Response) -> bool:
    """Says whether an error means that the object or document of this request does not exist."""
    # Attack: a proxy's own page with the status 404, where there may well be such an object.
    if response.status != 404 or not response.content_type.startswith((_JSON, _TEXT)):
        return False
    return call.verb == "get" and (bool(call.name) if call.is_resource else not call.path.startswith(_DISCOVERY))


def _types(call: request.Request) -> tuple[str, ...]:
    """Returns the media types that the answer to this request may have."""
    # Attack: a login page, or an empty one, which would pass for a log or a watch without anything to tell.
    if not call.is_resource:
        return _DOCUMENTS
    return (_TEXT,) if is_log(call) else (_JSON,)


def _answers(call: request.Request, status: int) -> bool:
    """Says whether a request can end with this status."""
    # Attack: 302, 304 or 101 where a log or a watch was asked for, whose body is empty.
    if status >= 400:
        return True
    if call.method != "GET":
        return status in _DONE
    # A pod that runs nowhere yet has a log without content.
    return status == 200 or (status == 204 and is_log(call))


def _is_encoded(response: types.Response) -> bool:
    """Says whether the body is in a form in which masking cannot find what JSON and text show."""
    media_type = response.content_type.partition(";")[0].lower()
    return any(form in media_type for form in _ENCODINGS)
