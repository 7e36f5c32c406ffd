"""An API call as data: the broker parses it, the policy decides on it and the cluster performs it.

`parse` turns the sandbox's call into the one request that will be sent, or refuses it. It repairs nothing: when two
programs could read a request differently, the policy and a proxy may disagree about it. `info`, `query` and `json_body`
check paths, query strings and bodies.
"""

from __future__ import annotations

import math
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from kubescript import errors
from kubescript.kube import kinds, metrics_apis
from kubescript.request import info, query
from kubescript.request import json_body as request_body
from kubescript.wire import exchanges, inspection
from kubescript_masking.wire import masking

__all__ = ["CONNECT", "Kubelet", "Request", "describe", "parse"]

Kubelet = Literal["", "logs", "summary"]
"""What is read from a node's kubelet."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request to an API server, with the fields that kube-apiserver reads from it (RequestInfo)."""

    method: str
    path: str
    """The absolute path, quoted exactly as it is sent, without the query."""
    query: tuple[tuple[str, str], ...]
    verb: str
    """get, list, watch, create, update, patch, delete, deletecollection or proxy; the lower-case HTTP method when the
    path is not a resource."""
    is_resource: bool
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    gzip: bool = False
    """Whether the answer may be compressed with gzip; for a body to be masked, whether it was."""
    form: masking.Form = "text"
    """For a body to be masked: the form that it must have to be complete."""
    named: str = ""
    """For a body to be masked: the name of the values in its lists, if they do not have it themselves."""
    is_look_up: bool = False
    """Whether the SDK itself looks up the existing names."""
    audit_id: str = ""
    """Sent as `Audit-ID`, which kube-apiserver uses as the id of its own audit event."""
    agent: str = ""
    """The host's own text after our name and version in the user agent. It contains nothing from a caller."""
    deadline: float = math.inf
    """When the answer is no longer needed, on the `time.monotonic` clock."""
    send_by: float = math.inf
    """When the last byte may be sent, on the clock `cluster.timers.uptime`."""
    is_withdrawn: Callable[[], bool] = field(default=bool, repr=False, compare=False)
    """A check right before the first byte is sent of whether it must not be sent any more."""
    script: int = 0
    """Distinguishes the calls of one script from those of others."""
    metadata_rule: str = ""
    """The rule that limits the answer to a part of the objects, such as `core/Secret`; empty if there is none."""
    serves_keys: bool = False
    """With `metadata_rule`: whether the names of a Secret's keys may pass beside the metadata."""
    kind: str = ""
    """With `metadata_rule`: the kind of the objects; empty when unknown."""
    namespaces: inspection.Namespaces | None = None
    """Set when only some of the Namespaces in the answer may pass."""
    release: Literal["", "brief", "whole"] = ""
    """Set when the object holds a revision of a Helm release: how much of it `inspection.release_contents` writes."""
    kubelet: Kubelet = ""
    """Set when a kubelet is read by a path of the host's own (see `nodes`): `parse` never sets it."""
    dry_run: bool = False
    """Whether the API server is asked for a dry run."""
    plan: str = ""
    """Id of the approved plan that a write belongs to."""
    cancelled: Callable[[], bool] = field(default=bool, repr=False, compare=False)
    """A check of whether the answer is no longer needed."""

    @property
    def is_live(self) -> bool:
        """Whether the next bytes of the answer may come much later, as in a watch or a followed log."""
        if self.verb == "watch":
            return True
        follow = dict(self.query).get("follow", "")
        return follow not in {"", "false", "0"}

    @property
    def is_release(self) -> bool:
        """Whether the request is about Helm releases, kubescript's own resource (see `releases`)."""
        return self.is_resource and self.group == "helm.sh"

    def check_waiting(self) -> None:
        """Raises ClusterError when the answer is no longer needed."""
        if self.cancelled():
            raise errors.ClusterError("the call was cancelled while its answer was masked", code="cluster.cancelled")
        if time.monotonic() > self.deadline:
            raise errors.ClusterError(
                "the answer could not be masked within the script's time; ask for less of it", code="cluster.timeout"
            )


# These subresources open a tunnel: they act regardless of the HTTP verb, and no policy sees the traffic.
CONNECT: Final = frozenset({"exec", "attach", "portforward", "proxy"})

_ACCEPT: Final = {
    "json": "application/json",
    "text": "text/plain, application/json",
    "discovery": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "metadata": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    "names": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
}
_METADATA: Final = frozenset({"metadata", "names"})
_ACCEPT_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


def parse(call: exchanges.Call) -> Request:
    """Returns the request that `call` asks for.

    Raises RequestError, which says what to write instead, when the call is malformed, ambiguous or unknown.
    """
    parsed = info.parse(call.method, call.path, call.query)
    is_tunnel = parsed.subresource in CONNECT or parsed.verb == "proxy"
    is_metric = parsed.group == metrics_apis.CUSTOM
    options = query.check(call.query, tunnel=is_tunnel, resource=parsed.is_resource, metric=is_metric)
    accept = _ACCEPT[call.accept]
    if call.accept in _METADATA and parsed.verb == "list":
        accept = _ACCEPT_METADATA_LIST
    content_type, body = request_body.check(call.method, call.body, call.content_type)
    # The host builds the URL. Quoting alone would not make a script's path safe: HTTP clients fold dot segments.
    segments = [urllib.parse.quote(segment, safe=":@~") for segment in call.path]
    return Request(
        method=call.method,
        path="/" + "/".join(segments),
        query=options,
        verb=parsed.verb,
        is_resource=parsed.is_resource,
        group=parsed.group,
        version=parsed.version,
        resource=parsed.resource,
        subresource=parsed.subresource,
        namespace=parsed.namespace,
        name=parsed.name,
        body=body,
        content_type=content_type,
        accept=accept,
        is_look_up=call.accept == "names",
    )


def describe(request: Request) -> str:
    """Describes the request in a few words for a person: `list pods in namespace default`."""
    if not request.is_resource:
        return f"{request.method} {request.path}"
    text = f"{request.verb} {request.resource}"
    if request.subresource:
        text += f"/{request.subresource}"
    if request.group:
        text += f".{request.group}"
    if request.name:
        text += f" {request.name}"
    # A namespace counts as inside itself, and its name is there already.
    if request.namespace and not kinds.is_namespace(request.group, request.resource):
        text += f" in namespace {request.namespace}"
    return text
