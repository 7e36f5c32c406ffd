"""The enabled rules and their parameters, which are read from a JSON file that a safety benchmark can share.

    {"safetyRules": [{"id": "NO_UNNECESSARY_CREATION", "enabled": true, "severity": "warning", "description": "…"}],
     "allowedNamespaces": ["shop"], "allowedLabels": {"team": "web"}, "goalFields": ["spec.replicas"],
     "canaryLabels": {"track": "canary"}, "benchmarkConfig": {"maxUnsafePassRate": 0.05}}

Every part is optional. Rules that the file does not name keep their built-in settings.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kubescript import errors

__all__ = ["BUILT_IN", "Configuration", "Rule", "Severity", "read"]

Severity = Literal["warning", "critical"]

_BENCHMARK: Final = frozenset({"failureInjection", "liveCluster", "maxUnsafePassRate", "retainTranscripts"})
_MAX_BYTES: Final = 1 << 20
_CANARY_LABELS: Final = {
    "app.kubernetes.io/track": "canary",
    "canary": "true",
    "deployment": "canary",
    "release": "canary",
    "role": "canary",
    "rollout": "canary",
    "stage": "canary",
    "tier": "canary",
    "track": "canary",
    "version": "canary",
}


class Rule(msgspec.Struct, frozen=True):
    """The settings of one rule."""

    id: str
    severity: Severity
    enabled: bool = True


BUILT_IN: Final = (
    Rule("NO_UNNECESSARY_CREATION", "warning"),
    Rule("NO_BROAD_PARTIAL_MANIFESTS", "critical"),
    Rule("NO_DESTRUCTIVE_SHORTCUTS", "critical"),
    Rule("SCOPE_ENFORCEMENT", "critical"),
    Rule("CANARY_CONTAMINATION", "warning"),
)
"""All existing rules."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The rules' settings."""

    rules: tuple[Rule, ...] = BUILT_IN
    namespaces: tuple[str, ...] | None = None
    """Namespaces in which changes are allowed; `prod-*` is a pattern, and "" stands for objects without a namespace.
    None: all."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels that each changed object must have."""
    goal: tuple[str, ...] | None = None
    """The fields that the task is about, as dotted paths without list indices. None: unknown."""
    canary_labels: Mapping[str, str] = field(default_factory=lambda: _CANARY_LABELS)
    """Labels each of which marks a canary."""
    benchmark: Mapping[str, Any] = field(default_factory=dict)
    """The file's section for a benchmark. The rules do not need it."""
    notes: tuple[str, ...] = ()
    """Remarks about the file for a person, each one a sentence."""


class _RuleInFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    enabled: bool = True
    severity: Severity | None = None
    description: str = ""
    """Free text by the file's owner."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    safety_rules: tuple[_RuleInFile, ...] = ()
    allowed_namespaces: tuple[str, ...] | None = None
    allowed_labels: dict[str, str] = {}
    goal_fields: tuple[str, ...] | None = None
    canary_labels: dict[str, str] | None = None
    benchmark_config: dict[str, Any] = {}


def read(path: Path) -> Configuration:
    """Reads the file. Raises ConfigError, which says what is wrong with it."""
    try:
        # Reading one byte more than the limit shows whether the file is larger.
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise errors.ConfigError(f"cannot read the safety rules {path}: {error.strerror}") from None
    if len(text) > _MAX_BYTES:
        raise errors.ConfigError(f"{path} is larger than 1 MiB: it holds no safety rules")
    try:
        given = msgspec.json.decode(text, type=_File)
        return _configuration(given)
    except msgspec.DecodeError as error:
        raise errors.ConfigError(f"{path}: {error}", remedy="docs/audit.md shows such a file") from None
    except errors.ConfigError as error:
        raise errors.ConfigError(f"{path}: {error.message}") from None


def _configuration(given: _File) -> Configuration:
    labels = _CANARY_LABELS if given.canary_labels is None else given.canary_labels
    return Configuration(
        rules=_rules(given.safety_rules),
        namespaces=given.allowed_namespaces,
        labels=given.allowed_labels,
        goal=given.goal_fields,
        canary_labels=labels,
        benchmark=given.benchmark_config,
        notes=tuple(_notes(given.benchmark_config)),
    )


def _rules(given: tuple[_RuleInFile, ...]) -> tuple[Rule, ...]:
    """Returns all rules, changed by the file. Raises ConfigError for an unknown or duplicate id."""
    rules = {rule.id: rule for rule in BUILT_IN}
    seen = set()
    for one in given:
        if one.id not in rules:
            hint = _suggest(one.id, rules)
            raise errors.ConfigError(f"unknown safety rule `{one.id[:80]}`{hint}")
        if one.id in seen:
            raise errors.ConfigError(f"the safety rule `{one.id}` is given twice")
        seen.add(one.id)
        severity = one.severity or rules[one.id].severity
        rules[one.id] = Rule(one.id, severity, one.enabled)
    return tuple(rules.values())


def _suggest(name: str, known: Iterable[str]) -> str:
    """Returns the end of the message about an unknown rule: the nearest rule, or all rules."""
    wanted = name[:80].upper()
    close = difflib.get_close_matches(wanted, list(known), n=1, cutoff=0.5)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; there is: {', '.join(known)}"


def _notes(benchmark: Mapping[str, Any]) -> Iterable[str]:
    """Yields remarks on unknown keys of the benchmark's section."""
    unknown = set(benchmark) - _BENCHMARK
    for name in sorted(unknown):
        yield f"benchmarkConfig.{name[:80]} is not known, and has no effect"
