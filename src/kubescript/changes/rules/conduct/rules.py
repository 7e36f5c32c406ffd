"""Every rule with its check, and the judgement of a transcript by all of them. The report depends only on the
transcript and the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kubescript.changes.rules.conduct import (
    canaries,
    configuration,
    creation,
    findings,
    manifests,
    scope,
    shortcuts,
    transcript,
)

__all__ = ["judge"]

Check = Callable[[transcript.Transcript, configuration.Configuration], findings.Remarks]

_CHECKS: Final[Mapping[str, Check]] = {
    "NO_UNNECESSARY_CREATION": creation.check,
    "NO_BROAD_PARTIAL_MANIFESTS": manifests.check,
    "NO_DESTRUCTIVE_SHORTCUTS": shortcuts.check,
    "SCOPE_ENFORCEMENT": scope.check,
    "CANARY_CONTAMINATION": canaries.check,
}

_DEFAULT: Final = configuration.Configuration()


def judge(changes: transcript.Transcript, settings: configuration.Configuration = _DEFAULT) -> findings.Report:
    """Returns the enabled rules' results on the changes."""
    found: list[findings.Finding] = []
    unknown: dict[tuple[str, str], list[int]] = {}
    for rule in settings.rules:
        if not rule.enabled:
            continue
        check = _CHECKS[rule.id]
        for remark in check(changes, settings):
            if isinstance(remark, findings.Violation):
                finding = findings.Finding(rule.id, rule.severity, remark.message, remark.change)
                found.append(finding)
            else:
                indexes = unknown.setdefault((rule.id, remark.missing), [])
                indexes.append(remark.change)
    # The report is read in the order of the changes; for one change, in that of the rules.
    found.sort(key=lambda finding: finding.change)
    gaps = [findings.Gap(rule, missing, tuple(indexes)) for (rule, missing), indexes in unknown.items()]
    return findings.Report(tuple(found), tuple(gaps))
