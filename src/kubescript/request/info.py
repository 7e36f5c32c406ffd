"""kube-apiserver's rules for reading verb, group and resource from a path. `request` calls them.

The rules are those of k8s.io/apiserver/pkg/endpoints/request/requestinfo.go, applied to exactly the segments that are
sent. A path that two programs could read differently is refused: the policy would decide on one reading, and a proxy or
the API server would act on the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubescript import errors
from kubescript.kube import metrics_apis, paths

__all__ = ["Info", "Options", "parse"]

_MAX_SEGMENTS: Final = 24
_MAX_SEGMENT: Final = 253
"""The maximum number of characters of a name in Kubernetes."""
# Printable ASCII without characters at which a parser may split, decode or cut a path: / % ? # \ ; space, quotes and
# angle brackets.
_SEGMENT: Final = re.compile(r"[!$&'()*+,\-.0-9:=@A-Z_a-z~^|\[\]{}]+")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_RESOURCE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_METRIC: Final = re.compile(r"[A-Za-z0-9_:][-A-Za-z0-9_:.|]*")
"""The names of metrics, of Prometheus' and of clouds' external ones: `pubsub.googleapis.com|subscription|age`."""
_METHOD_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_HEALTH: Final = frozenset({"healthz", "livez", "readyz"})
_DOCUMENTS: Final = frozenset({
    ("version",), ("api",), ("api", "v1"), ("apis",), ("openapi", "v2"), ("openapi", "v3"),
    (".well-known", "openid-configuration"), ("openid", "v1", "jwks"),
})  # fmt: skip


Options = tuple[tuple[str, str], ...]
"""The keys and values of a query string, in order."""


@dataclass(slots=True)
class Info:
    """The parts of a request, as in kube-apiserver's RequestInfo."""

    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def parse(method: str, path: tuple[str, ...], options: Options) -> Info:
    """Returns the parts of the request for the segments `path`. Raises RequestError for malformed, ambiguous or unknown
    paths."""
    _check_path(path)
    found = paths.split_root(path)
    if found is None:
        return _document(method, path)
    group, version, parts = found
    return _resource(method, group, version, parts, options)


def _check_path(path: tuple[str, ...]) -> None:
    """Refuses a path that two programs could read differently. Raises RequestError."""
    if not 1 <= len(path) <= _MAX_SEGMENTS:
        raise _refusal(f"a path has 1 to {_MAX_SEGMENTS} segments, got {len(path)}")
    for segment in path:
        if not segment:
            raise _refusal("a path segment is empty: a name or namespace argument was ''?")
        # Attack: `..` climbs out of the path that the policy has judged, in any program that normalizes it.
        is_relative = segment in {".", ".."}
        if is_relative or len(segment) > _MAX_SEGMENT or not _SEGMENT.fullmatch(segment):
            raise _refusal(f"{segment[:80]!r} cannot be a path segment: pass one plain name per argument")


def _document(method: str, segments: tuple[str, ...]) -> Info:
    """Reads a path that is not a resource. Raises RequestError unless it is on the list."""
    shown = "/".join(segments)[:100]
    # Attack: /logs, /debug and /metrics expose the internals of the control plane.
    if not _is_document(segments):
        raise errors.RequestError(
            f"{shown!r} is not a path for scripts; resources are in /api/v1 and /apis/GROUP/VERSION",
            code="request.unknown_path",
        )
    if method != "GET":
        raise errors.RequestError(f"{shown!r} can only be read (GET)", code="request.method")
    return Info("get")


def _is_document(segments: tuple[str, ...]) -> bool:
    """Says whether a path is one of the documents that scripts may read."""
    head = segments[0]
    count = len(segments)
    if head in _HEALTH:
        return count <= 2
    if head == "apis" and 2 <= count <= 3:
        return _are_domains(segments[1:])
    if segments[:2] == ("openapi", "v3"):
        return count <= 5 and _are_domains(segments[2:])
    return segments in _DOCUMENTS


def _are_domains(segments: tuple[str, ...]) -> bool:
    """Says whether each segment may be a group or a version."""
    return all(_DOMAIN.fullmatch(segment) for segment in segments)


def _resource(method: str, group: str, version: str, parts: Sequence[str], options: Options) -> Info:
    """Reads the path of a resource as kube-apiserver does. Raises RequestError."""
    info = Info(_METHOD_VERBS[method], True, group, version)
    if parts[0] in {"watch", "proxy"}:
        parts = _read_special_verb(info, method, parts)
    info.namespace, rest = paths.split_namespace(parts)
    _read_names(info, rest)
    has_no_namespace = rest is parts
    if has_no_namespace and info.resource == "namespaces":  # it counts as inside itself, as in kube-apiserver
        info.namespace = info.name
    _check_names(info)
    _refine_verb(info, dict(options))
    return info


def _read_special_verb(info: Info, method: str, parts: Sequence[str]) -> Sequence[str]:
    """Reads /api/v1/watch/… and /api/v1/proxy/…; returns the segments that follow."""
    # These paths are deprecated, but the API server still reads them, so they must not be mistaken for something else.
    verb = parts[0]
    if len(parts) < 2:
        raise _refusal(f"the path ends after {verb!r}; name a resource")
    if verb == "watch" and method != "GET":
        raise errors.RequestError("a watch is a GET", code="request.method")
    info.verb = verb
    return parts[1:]


def _read_names(info: Info, parts: Sequence[str]) -> None:
    """Reads resource, name and subresource. Raises RequestError for a path with more segments."""
    info.resource = parts[0]
    info.name = parts[1] if len(parts) > 1 else ""
    if info.verb == "proxy":
        return
    if len(parts) > 2:
        info.subresource = parts[2]
    known = 2 if info.verb == "watch" else 3
    # What follows a proxied object is a path of its own; the policy refuses it with a better explanation.
    if len(parts) > known and info.subresource != "proxy":
        shown = "/".join(parts[:known])[:120]
        raise _refusal(f"the path goes on after {shown!r}; no resource has that many parts")


def _check_names(info: Info) -> None:
    """Checks group, version, resource, subresource and namespace against their narrow grammars."""
    # Text outside these grammars is an attack or a mistake.
    resource = subresource = _RESOURCE
    if info.group == metrics_apis.CUSTOM:
        resource, subresource = _DOMAIN, _METRIC
    elif info.group == metrics_apis.EXTERNAL:
        resource = _METRIC
    checks = (
        ("API group", info.group, _DOMAIN),
        ("API version", info.version, _LABEL),
        ("resource", info.resource, resource),
        ("subresource", info.subresource, subresource),
        ("namespace", info.namespace, _LABEL),
    )
    for what, text, grammar in checks:
        if text and not grammar.fullmatch(text):
            hint = "; resources are lower-case plurals: pods, deployments" if what == "resource" else ""
            raise _refusal(f"{text[:80]!r} is not a valid {what}{hint}")


def _refine_verb(info: Info, options: dict[str, str]) -> None:
    """Converts the HTTP method's verb to the API's: without a name, get is list or watch, delete is deletecollection.

    A field selector may still name one object.
    """
    if info.verb == "delete" and not info.name:
        info.verb = "deletecollection"
    if info.name or info.verb not in {"get", "watch"}:
        return
    if info.verb == "get":
        info.verb = "watch" if options.get("watch") in {"true", "1"} else "list"
    info.name = _find_name(options.get("fieldSelector", ""))


def _find_name(selector: str) -> str:
    """Returns the NAME of metadata.name=NAME in a field selector, as the API server reads it; empty if there is
    none."""
    for term in selector.split(","):
        match = re.fullmatch(r"metadata\.name==?([^=!\\]+)", term)
        if match is None:
            continue
        name = match[1]
        is_relative = name in {".", ".."}
        if not is_relative and not re.search(r"[/%]", name):
            return name
    return ""


def _refusal(message: str) -> errors.RequestError:
    return errors.RequestError(message, code="request.path")
