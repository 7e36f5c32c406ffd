"""Whether an answer is one that an API server gives to a request: its status and its form. The broker asks before a
script sees anything of it: a login page, or an answer without content, must not look like an empty log or cluster."""

from __future__ import annotations

from typing import Final

from kubescript import errors, types
from kubescript.request import request

__all__ = ["NO_API_SERVER", "fault", "is_json", "is_log"]

_JSON: Final = "application/json"
_ENCODINGS: Final = ("yaml", "protobuf", "cbor")
"""Forms that API servers know and nobody asked for."""
NO_API_SERVER: Final = "check that `server` in the kubeconfig is an API server, not a login page or a proxy"
"""What to do about an answer that no API server gives."""


def fault(call: request.Request, response: types.Response) -> errors.ClusterError | None:
    """Returns what is wrong with the answer; None when nothing is."""
    if not _answers(call, response.status):
        text = f"the API server answered {response.status}, which is not an answer to {call.verb}"
        return errors.ClusterError(text, code="cluster.broken", remedy=NO_API_SERVER)
    promised = response.status == 200 and is_json(call)
    if (promised and not response.content_type.startswith(_JSON)) or _is_encoded(response):
        media_type = response.content_type.partition(";")[0][:50] or "nothing"
        text = f"the API server answered with {media_type} instead of JSON"
        return errors.ClusterError(text, code="cluster.broken", remedy=NO_API_SERVER)
    return None


def is_json(call: request.Request) -> bool:
    """Says whether a 200 to this request is one JSON object. Objects and lists are; logs, health checks and watches are
    not."""
    objects = call.is_resource and call.verb in {"get", "list"} and call.subresource != "log"
    return objects and call.accept.startswith(_JSON)


def is_log(call: request.Request) -> bool:
    """Says whether the request is for the log of a container."""
    return call.is_resource and call.verb == "get" and call.subresource == "log"


def _answers(call: request.Request, status: int) -> bool:
    """Says whether a request can end with this status."""
    # Attack: 302, 304 or 101 where a log or a watch was asked for, whose body is empty.
    if status >= 400:
        return True
    if call.method != "GET":
        return 200 <= status < 300
    # A pod that runs nowhere yet has a log without content.
    return status == 200 or (status == 204 and is_log(call))


def _is_encoded(response: types.Response) -> bool:
    """Says whether the body is in a form in which masking cannot find what JSON and text show."""
    media_type = response.content_type.partition(";")[0].lower()
    return any(form in media_type for form in _ENCODINGS)
