"""The origin of an image: its name as container runtimes complete it, and whether a registry's prefix covers it.

The rules are those of github.com/distribution/reference, which containerd and the kubelet use. Invalid names are
covered by no registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["is_from", "is_registry", "registry", "repository"]

# A repository has at most 255 characters, a tag at most 128, and a digest about a hundred.
_MAX_NAME: Final = 1_024
"""The maximum length of an image's name in characters."""
_HOST_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = re.compile(rf"(?:{_HOST_LABEL}(?:\.{_HOST_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PART: Final = re.compile(r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,128}")
_HUB: Final = "docker.io"
_OLD_HUB: Final = "index.docker.io"
_OFFICIAL: Final = "library"
_BARE_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def is_from(image: str, registries: Iterable[str]) -> bool:
    """Says whether one of the prefixes covers the image: `registry.example.com/team` covers everything below it."""
    name = repository(image)
    if not name:
        return False
    # Attack: registry.example.com.evil.org/x and registry.example.com/team-evil/x begin with a permitted prefix.
    folder = f"{name}/"
    return any(folder.startswith(f"{_lower(prefix)}/") for prefix in registries)


def registry(image: str) -> str:
    """Returns `docker.io` for `nginx:1.27`; an empty string for an invalid name."""
    host, _, _ = repository(image).partition("/")
    return host


def is_registry(prefix: str) -> bool:
    """Says whether the string is a valid prefix: a host, optionally with part of a path."""
    if len(prefix) > _MAX_NAME:
        return False
    host, slash, path = prefix.partition("/")
    if not _is_host(host) or not _HOST.fullmatch(host):
        return False
    return not slash or _is_path(path)


def repository(image: str) -> str:
    """Returns `docker.io/library/nginx` for `nginx:1.27`; an empty string for an invalid name."""
    if len(image) > _MAX_NAME:
        return ""
    name, has_digest, digest = image.partition("@")
    if has_digest and not _DIGEST.fullmatch(digest):
        return ""
    # A colon before the last slash precedes the registry's port, and one after it precedes the tag.
    slash = name.rfind("/")
    colon = name.find(":", slash + 1)
    if colon < 0:
        return _complete(name)
    tag = name[colon + 1 :]
    if not _TAG.fullmatch(tag):
        return ""
    return _complete(name[:colon])


def _complete(name: str) -> str:
    """Returns the repository with its host; an empty string if either is malformed."""
    host, slash, path = name.partition("/")
    if not slash or not _is_host(host):
        host, path = _HUB, name
    # The runtimes treat such a name as an image id.
    if _BARE_DIGEST.fullmatch(path) and path == name:
        return ""
    if host == _OLD_HUB:
        host = _HUB
    if host == _HUB and "/" not in path:
        path = f"{_OFFICIAL}/{path}"
    if not _HOST.fullmatch(host) or not _is_path(path):
        return ""
    return f"{host.lower()}/{path}"


def _is_path(text: str) -> bool:
    """Says whether every part of a repository's path is well-formed."""
    parts = text.split("/")
    return all(map(_PART.fullmatch, parts))


def _is_host(first: str) -> bool:
    """Says whether the first part of a name is a host, rather than part of a path at Docker Hub."""
    if "." in first or ":" in first:
        return True
    # A path contains no capital letters.
    return first == "localhost" or first != first.lower()


def _lower(prefix: str) -> str:
    """Returns a prefix with its host in lower case."""
    host, slash, path = prefix.partition("/")
    return f"{host.lower()}{slash}{path}"
