"""The operator's rules about objects that scripts do not get, and what each rule names. `policy` decides by them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from kubescript.kube import kinds
from kubescript.request import request

__all__ = ["DEFAULT_RULES", "DeniedResource", "Serve", "is_any", "list_built_in", "list_defaults"]

Serve = Literal["nothing", "metadata", "keys"]
"""The part of its objects that a rule still serves. `keys`, for Secrets only: the metadata, the type, and the names of
the keys without their values."""

_BELOW: Final = kinds.READ_SUBRESOURCES | kinds.WRITE_SUBRESOURCES | request.CONNECT | set(kinds.SUBRESOURCE_KINDS)


@dataclass(frozen=True, slots=True)
class DeniedResource:
    """A rule against objects that scripts may not touch, or of which they may read only a part.

    A field that is empty or "*" matches everything. The core group is written "core".
    """

    group: str = ""
    version: str = ""
    kind: str = ""
    """The kind as in manifests: `Secret`. Case does not matter; the plural is accepted too."""
    resource: str = ""
    """The resource as in RBAC: `secrets` (which covers its subresources) or `serviceaccounts/token`."""
    serve: Serve = "nothing"

    @property
    def id(self) -> str:
        """The rule's name in decisions and in the audit log: `core/Secret`, `core/serviceaccounts/token`."""
        parts = (self.group, self.version, self.kind, self.resource)
        named = [part for part in parts if not is_any(part)]
        return "/".join(named) or "everything"

    @property
    def api_group(self) -> str | None:
        """The group as the API server writes it; None when the rule holds for every group."""
        if is_any(self.group):
            return None
        return "" if self.group == "core" else self.group

    def names(self, offered: Mapping[str, str]) -> bool:
        """Says whether a group that offers these (`certificates`, `certificates/status` → kind) serves anything the
        rule names."""
        wanted = self.kind.lower()
        for name, kind in offered.items():
            if not is_any(self.resource) and self.resource != name:
                continue
            # A rule against a kind covers its subresources, whose bodies may have kinds of their own.
            parent = name.partition("/")[0]
            parent_kind = offered.get(parent, kind)
            known = {kind.lower(), parent_kind.lower(), parent, name}
            if is_any(self.kind) or wanted in known:
                return True
        return False

    @property
    def is_about_secrets(self) -> bool:
        """Whether the rule names Secrets themselves and nothing else."""
        if self.api_group != "":
            return False
        named = {self.kind.lower(), self.resource} - {"", "*"}
        return bool(named) and named <= {"secret", "secrets"}

    @property
    def denies_objects(self) -> bool:
        """Whether the rule denies objects altogether, and not only a subresource or a part of them."""
        return self.serve == "nothing" and "/" not in self.resource

    @property
    def built_in(self) -> bool:
        """Whether the rule names something built into Kubernetes, which exists without asking discovery."""
        return _is_built_in(self)


DEFAULT_RULES: Final = (
    DeniedResource("core", kind="Secret", serve="metadata"),
    DeniedResource("core", resource="secrets", serve="metadata"),
    DeniedResource("core", resource="serviceaccounts/token"),
)


def list_defaults(rules: Iterable[DeniedResource]) -> tuple[DeniedResource, ...]:
    """Returns the default rules beside the operator's: those about Secrets serve keys if one of the operator's does."""
    if not any(rule.serve == "keys" for rule in rules):
        return DEFAULT_RULES
    return tuple(replace(rule, serve="keys") if rule.serve == "metadata" else rule for rule in DEFAULT_RULES)


def is_any(field: str) -> bool:
    """Says whether a field of a rule matches everything."""
    return field in {"", "*"}


@functools.lru_cache
def _is_built_in(rule: DeniedResource) -> bool:
    """Says whether a rule names something built in, including possible subresources."""
    if is_any(rule.kind) and is_any(rule.resource):
        return True
    return any(rule.names(_with_subresources(group)) for group in list_built_in(rule))


def list_built_in(rule: DeniedResource) -> list[dict[str, str]]:
    """Returns the resources and kinds of each built-in group that the rule covers."""
    if rule.api_group is None:
        return list(kinds.BUILT_IN.values())
    return [kinds.BUILT_IN.get(rule.api_group, {})]


def _with_subresources(group: Mapping[str, str]) -> dict[str, str]:
    """Adds the subresources that a built-in group may offer."""
    offered = dict(group)
    for plural, parent_kind in group.items():
        for name in _BELOW:
            kind = kinds.SUBRESOURCE_KINDS.get(name, parent_kind)
            offered[f"{plural}/{name}"] = kind
    return offered
