"""kube-apiserver's rules for reading verb, group and resource from a path. `request` calls them.

The rules are those of k8s.io/apiserver/pkg/endpoints/request/requestinfo.go, applied to exactly the segments that are
sent. A path that two programs can read in two ways is refused: the policy would decide on one reading, and a proxy or
the API server would act on the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubescript import errors
from kubescript.kube import paths

__all__ = ["Info", "parse"]

_MAX_SEGMENTS: Final = 24
_MAX_SEGMENT: Final = 253
"""Most characters of a name in Kubernetes."""
# Printable ASCII without characters at which a parser may split, decode or cut a path: / % ? # \ ; space, quotes and
# angle brackets.
_SEGMENT: Final = re.compile(r"[!$&'()*+,\-.0-9:=@A-Z_a-z~^|\[\]{}]+")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_RESOURCE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_METHOD_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_HEALTH: Final = frozenset({"healthz", "livez", "readyz"})
_DOCUMENTS: Final = frozenset({
    ("version",), ("api",), ("api", "v1"), ("apis",), ("openapi", "v2"), ("openapi", "v3"),
    (".well-known", "openid-configuration"), ("openid", "v1", "jwks"),
})  # fmt: skip


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


def parse(method: str, path: tuple[str, ...], options: tuple[tuple[str, str], ...]) -> Info:
    """Returns the parts of the request for the segments `path`. Raises RequestError for malformed, ambiguous or unknown
    paths."""
    _check_path(path)
    found = paths.split_root(path)
    if found is None:
        return _document(method, path)
    group, version, parts = found
    return _resource(method, group, version, parts, options)


def _check_path(path: tuple[str, ...]) -> None:
    """Refuses a path that two programs may read in two ways. Raises RequestError."""
    if not 1 <= len(path) <= _MAX_SEGMENTS:
        raise errors.RequestError(f"a path has 1 to {_MAX_SEGMENTS} segments, got {len(path)}", code="request.path")
    for segment in path:
        if not segment:
            raise errors.RequestError(
                "a path segment is empty: a name or namespace argument was ''?", code="request.path"
            )
        if segment in {".", ".."} or len(segment) > _MAX_SEGMENT or not _SEGMENT.fullmatch(segment):
            raise errors.RequestError(
                f"{segment[:80]!r} cannot be a path segment: pass one plain name per argument", code="request.path"
            )


def _document(method: str, segments: tuple[str, ...]) -> Info:
    """Reads a path that is not a resource. Raises RequestError unless it is on the list."""
    # Attack: /logs, /debug and /metrics expose the internals of the control plane.
    if not _is_document(segments):
        raise errors.RequestError(
            f"{'/'.join(segments)[:100]!r} is not a path for scripts; resources are in /api/v1 and /apis/GROUP/VERSION",
            code="request.unknown_path",
        )
    if method != "GET":
        raise errors.RequestError(f"{'/'.join(segments)[:100]!r} can only be read (GET)", code="request.method")
    return Info("get")


def _is_document(segments: tuple[str, ...]) -> bool:
    """Says whether a path is one of the documents that scripts may read."""
    head, count = segments[0], len(segments)
    if head in _HEALTH:
        return count <= 2
    if head == "apis" and 2 <= count <= 3:
        return all(_DOMAIN.fullmatch(segment) for segment in segments[1:])
    if segments[:2] == ("openapi", "v3"):
        return count <= 5 and all(_DOMAIN.fullmatch(segment) for segment in segments[2:])
    return segments in _DOCUMENTS


def _resource(
    method: str, group: str, version: str, parts: Sequence[str], options: tuple[tuple[str, str], ...]
) -> Info:
    """Reads the path of a resource as kube-apiserver does. Raises RequestError."""
    info = Info(_METHOD_VERBS[method], True, group, version)
    if parts[0] in {"watch", "proxy"}:
        parts = _special_verb(info, method, parts)
    info.namespace, rest = paths.split_namespace(parts)
    _name_parts(info, rest)
    if rest is parts and info.resource == "namespaces":  # a namespace counts as inside itself, as in kube-apiserver
        info.namespace = info.name
    _check_names(info)
    _refine_verb(info, dict(options))
    return info


def _special_verb(info: Info, method: str, parts: Sequence[str]) -> Sequence[str]:
    """Reads /api/v1/watch/… and /api/v1/proxy/…; returns the segments that follow."""
    # These paths are deprecated, but the API server still reads them, so they must not be mistaken for something else.
    if len(parts) < 2:
        raise errors.RequestError(f"the path ends after {parts[0]!r}; name a resource", code="request.path")
    if parts[0] == "watch" and method != "GET":
        raise errors.RequestError("a watch is a GET", code="request.method")
    info.verb = parts[0]
    return parts[1:]


def _name_parts(info: Info, parts: Sequence[str]) -> None:
    """Reads resource, name and subresource. Raises RequestError for a path with more segments."""
    info.resource = parts[0]
    info.name = parts[1] if len(parts) > 1 else ""
    if len(parts) > 2 and info.verb != "proxy":
        info.subresource = parts[2]
    known = 2 if info.verb == "watch" else 3
    if len(parts) > known and info.verb != "proxy" and info.subresource != "proxy":
        raise errors.RequestError(
            f"the path goes on after {'/'.join(parts[:known])[:120]!r}; no resource has that many parts",
            code="request.path",
        )


def _check_names(info: Info) -> None:
    """Checks group, version, resource, subresource and namespace against their narrow grammars."""
    # Text outside these grammars is an attack or a mistake.
    checks = (
        ("API group", info.group, _DOMAIN),
        ("API version", info.version, _LABEL),
        ("resource", info.resource, _RESOURCE),
        ("subresource", info.subresource, _RESOURCE),
        ("namespace", info.namespace, _LABEL),
    )
    for what, text, grammar in checks:
        if text and not grammar.fullmatch(text):
            hint = "; resources are lower-case plurals: pods, deployments" if what == "resource" else ""
            raise errors.RequestError(f"{text[:80]!r} is not a valid {what}{hint}", code="request.path")


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
    """Returns the NAME of metadata.name=NAME in a field selector, as the API server reads it; empty without one."""
    for term in selector.split(","):
        match = re.fullmatch(r"metadata\.name==?([^=!\\]+)", term)
        if match and match[1] not in {".", ".."} and not re.search(r"[/%]", match[1]):
            return match[1]
    return ""
