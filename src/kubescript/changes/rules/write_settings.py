"""Reads the settings of the policy for writes, and returns those on which plans depend."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kubescript import config, errors
from kubescript.changes.rules import table, writes
from kubescript.kube import images, kinds, selectors
from kubescript.wire import inspection

__all__ = ["approvals", "describe_levels", "digest", "expressions", "read"]

_NAMESPACE: Final = re.compile(r"[a-z0-9*?-]{0,63}")
_RESOURCE: Final = re.compile(r"[a-z0-9-]+(?:\.(?P<group>[a-z0-9.-]+))?(?:/[a-z]+)?")
_DECISIVE: Final = {"acts_as", "approval", "denied_resources", "deny_defaults", "impersonation", "write_policy"}
"""The settings that decide what a cluster's plans may contain, who approves them, and with whose identity they are
applied."""


def read(given: config.WritePolicy, mode: str = "plan", approval: str = "person") -> writes.Policy:
    """Converts the settings of a cluster in this mode, whose plans are approved in this way. Raises ConfigError for a
    rule that cannot have its intended effect."""
    _check_rules(given.levels)
    _check_namespaces(given.namespaces)
    for rule in given.approvals:
        _check_namespaces(rule.namespaces)
    _check_resources("verbs", [name for name in given.verbs if name != "*"])
    for expression in given.expressions:
        _check_resources("expressions", expression.resources)
    _check_registries(given.registries)
    _check_targets(given.targets)
    least, most = given.replicas
    if not 0 <= least <= most:
        raise _wrong("`replicas` must be two numbers, the smaller one first")
    ids = [expression.id for expression in given.expressions]
    if len(set(ids)) < len(ids):
        raise _wrong("two of `expressions` have the same id")
    asked: list[str] = []
    if mode == "direct":
        asked = [pattern for rule in given.approvals for pattern in rule.namespaces]
    return writes.Policy(
        given.namespaces,
        given.verbs or None,
        given.targets,
        (least, most),
        given.registries,
        given.levels,
        mode == "plan" and approval == "person",
        given.expressions,
        given.per_minute,
        tuple(asked),
    )


def describe_levels(rules: writes.Policy) -> tuple[str, ...]:
    """Returns the levels that the operator has set, in the order of the rules: `writes.nodes allow`."""
    described = []
    for rule in table.RULES:
        given = rules.levels.get(rule.id)
        if given is None:
            continue
        level = rules.level(rule)
        told = "" if level == given else f" ({given} needs a person who reads it)"
        described.append(f"{rule.id} {level}{told}")
    return tuple(described)


def approvals(given: config.WritePolicy, namespaces: Iterable[str | None]) -> int:
    """Returns how many people must approve a plan that changes something in these namespaces; "" stands for objects
    without a namespace, and None for all namespaces."""
    # The strictest rule decides.
    counts = [1]
    for namespace in namespaces:
        counts += [rule.count for rule in given.approvals if writes.may_reach(namespace, rule.namespaces)]
    return max(counts)


def digest(settings: config.Settings) -> str:
    """Returns the SHA-256, in hexadecimal, of all settings for the writes to one cluster. Raises ConfigError when the
    safety rules cannot be read."""
    decisive = settings.model_dump(mode="json", include=_DECISIVE)
    # The file's content counts: different rules in a file of the same name are different settings.
    if settings.safety_rules is not None:
        decisive["safety_rules"] = _file_digest(settings.safety_rules)
    if settings.namespaces is not None:
        decisive["namespaces"] = settings.namespaces
    decisive["mode"] = settings.mode
    text = json.dumps(decisive, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.ConfigError(f"cannot read the safety rules {path}: {error.strerror}") from None
    return hashlib.sha256(content).hexdigest()


def expressions(settings: config.Settings) -> tuple[inspection.Expression, ...]:
    """Returns the expressions of all writable clusters. Raises ConfigError when two clusters use one id for different
    expressions."""
    found: dict[str, inspection.Expression] = {}
    for cluster in settings.clusters:
        if cluster.mode == "off":
            continue
        for rule in cluster.write_policy.expressions:
            told = inspection.Expression(rule.id, rule.expression, rule.message)
            # The masking processes serve all clusters, and answer only with the id.
            if found.setdefault(rule.id, told) != told:
                raise _wrong(f"`expressions`: two clusters have different rules with the id `{rule.id}`")
    return tuple(found.values())


def _check_rules(names: Iterable[str]) -> None:
    """Refuses names of rules that do not exist, or that have no level."""
    known = {rule.id for rule in table.RULES}
    for name in names:
        if name in known:
            continue
        hint = config.nearest(name, known)
        raise _wrong(f"`levels`: no rule {name[:80]!r} has a level{hint}")


def _check_namespaces(patterns: Iterable[str]) -> None:
    """Refuses patterns that match no namespace."""
    for pattern in patterns:
        if not _NAMESPACE.fullmatch(pattern):
            raise _wrong(f"{pattern[:80]!r} can match no namespace; `*` and `?` stand for any characters")


def _check_resources(setting: str, names: Iterable[str]) -> None:
    """Refuses names of resources that do not exist: a rule for a misspelt name would restrict nothing."""
    built_in = _list_built_in()
    for name in names:
        if not _is_resource(name, built_in):
            hint = config.nearest(name, built_in)
            raise _wrong(f"`{setting}`: there is no resource {name[:80]!r}{hint}")


def _is_resource(name: str, built_in: set[str]) -> bool:
    match = _RESOURCE.fullmatch(name)
    if match is None:
        return False
    group = match["group"]
    # It is not known here which custom resources a cluster has.
    if group and group not in kinds.BUILT_IN:
        return True
    resource, _, _ = name.partition("/")
    return resource in built_in


def _list_built_in() -> set[str]:
    """Returns the names of the built-in resources, as rules write them: `deployments.apps`."""
    found = set()
    for group, names in kinds.BUILT_IN.items():
        found |= {kinds.full_name(group, name) for name in names}
    return found


def _check_registries(prefixes: Iterable[str]) -> None:
    """Refuses prefixes that no image's name can have."""
    for prefix in prefixes:
        if not images.is_registry(prefix):
            raise _wrong(f"`registries`: {prefix[:80]!r} is no registry; write host/path, as in docker.io/library")


def _check_targets(selector: str) -> None:
    try:
        selectors.labels(selector)
    except selectors.SelectorError as error:
        raise _wrong(f"`targets`: {error}") from None


def _wrong(text: str) -> errors.ConfigError:
    return errors.ConfigError(f"`write_policy`: {text}")
