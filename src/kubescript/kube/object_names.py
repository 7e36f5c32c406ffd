"""The names that objects can have, by kind, as kube-apiserver validates them. Strict names save a call for an object
that cannot exist; kinds whose names allow more have only the rules of a path segment."""

from __future__ import annotations

import re
from typing import Final

from kubescript.kube import kinds

__all__ = ["is_label", "is_name_of", "is_segment", "is_subdomain"]

_MAX_NAME: Final = 253
_MAX_LABEL: Final = 63
_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_IS_LABEL: Final = re.compile(_LABEL)
_IS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# kube-apiserver refuses `/` and `%`; the broker refuses all at which a parser may split, decode or cut a path.
_IS_SEGMENT: Final = re.compile(r"(?!\.{1,2}\Z)[!'*+,\-.0-9:=@A-Z_a-z~^\[\]{}]+")

_LABELS: Final = frozenset({("", "namespaces"), ("", "services")})
"""Resources whose names are RFC 1123 labels."""
_FREE_GROUPS: Final = frozenset({"helm.sh", "internal.apiserver.k8s.io", "rbac.authorization.k8s.io"})
_FREE: Final = frozenset(
    {
        ("", "componentstatuses"),
        ("", "events"),
        ("apiregistration.k8s.io", "apiservices"),
        ("certificates.k8s.io", "certificatesigningrequests"),
        ("certificates.k8s.io", "clustertrustbundles"),
        ("coordination.k8s.io", "leasecandidates"),
        ("events.k8s.io", "events"),
        ("networking.k8s.io", "ipaddresses"),
        ("policy", "poddisruptionbudgets"),
    }
)
"""Resources whose names kube-apiserver 1.29 to 1.36 does not require to be RFC 1123 subdomains."""


def is_label(name: str) -> bool:
    """Says whether a name is an RFC 1123 label, as those of namespaces and containers."""
    return len(name) <= _MAX_LABEL and _IS_LABEL.fullmatch(name) is not None


def is_subdomain(name: str) -> bool:
    """Says whether a name is an RFC 1123 subdomain, as those of pods and most other objects."""
    return len(name) <= _MAX_NAME and _IS_SUBDOMAIN.fullmatch(name) is not None


def is_segment(name: str) -> bool:
    """Says whether a name can stand in a path, as those of roles (`system:node`) and of unknown kinds."""
    return len(name) <= _MAX_NAME and _IS_SEGMENT.fullmatch(name) is not None


def is_name_of(resource: str, name: str) -> bool:
    """Says whether an object of the kind that kubectl understands by `resource` can have this name."""
    found = _find(resource)
    if not found:
        return is_segment(name)
    return any(_is_allowed(group, plural, name) for group, plural in found)


def _find(resource: str) -> list[tuple[str, str]]:
    """Returns the built-in resources that kubectl may understand by a word such as po, Deployment or
    deployments.v1.apps."""
    word, _, rest = resource.lower().partition(".")
    word = kinds.SHORT_NAMES.get(word, word)
    found = []
    for group, resources in kinds.BUILT_IN.items():
        # A version may stand before the group.
        if rest and rest != group and not rest.endswith(f".{group}"):
            continue
        found += [(group, plural) for plural, kind in resources.items() if word in (plural, kind.lower())]
    return found


def _is_allowed(group: str, plural: str, name: str) -> bool:
    if group in _FREE_GROUPS or (group, plural) in _FREE:
        return is_segment(name)
    if (group, plural) in _LABELS:
        return is_label(name)
    return is_subdomain(name)
