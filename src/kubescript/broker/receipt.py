"""The line under an answer: what the script did not get to see, even if it swallowed the error.

An empty list must never look like a healthy cluster. A line that stands under every second answer is read by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kubescript import types
from kubescript.broker import summary

__all__ = ["notes"]

_VARIABLES: Final = "env-"
"""Kinds of what is masked as the value of an environment variable, or where a text sets one."""
_MASK: Final = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}redacted:"
_LOOKS: Final = re.compile(
    r"(?i)env|\b(?:data|args|command|annotations|messages?)\b|\bvalues?\b(?!\()|to_?dict|to_?str\b|json|yaml|\b(?:str|repr|vars|isinstance)\(|\braw\b"
)
"""What a script says that looks where variables are, or at objects as a whole."""


_NAMESPACE: Final = re.compile(r"in namespace \S+")
_SPREAD: Final = 3
"""Namespaces from which on they are counted instead of named."""
_NAMED: Final = 8
"""Things of a kind that are named."""


def notes(tally: summary.Summary, script: str, outcome: types.Outcome) -> list[str]:
    """A phrase for each kind of thing that is missing."""
    if tally.recalled is not None:
        return tally.recalled
    kinds = (
        ("denied", tally.denied),
        ("failed", tally.failed),
        ("partial", tally.pages.notes()),
        ("no such namespace", tally.absent),
        ("warning", tally.warnings),
    )
    said = [f"{kind}: {_counted(texts)}" for kind, texts in kinds if texts]
    if tally.redacted and (_elsewhere(tally) or _LOOKS.search(script) or _masked(outcome)):
        said.append("redacted: " + ", ".join(f"{count} {kind}" for kind, count in sorted(tally.redacted.items())))
    return said


def _elsewhere(tally: summary.Summary) -> bool:
    """Whether something was masked that is no variable of a container. Logs have variables anywhere."""
    return tally.workload_text or not all(kind.startswith(_VARIABLES) for kind in tally.redacted)


def _masked(outcome: types.Outcome) -> bool:
    """Whether the answer holds a mask."""
    fault = outcome.fault.message if outcome.fault is not None else ""
    result = (outcome.result or b"").decode("utf-8", "replace")
    return any(_MASK in text or "\\u00abredacted" in text for text in (outcome.printed, fault, result))


def _counted(texts: Mapping[str, int]) -> str:
    """All of one kind: what differs in the namespace alone is one thing, and of many the first are named."""
    groups: dict[str, dict[str, int]] = {}
    for text, count in dict(texts).items():
        groups.setdefault(_NAMESPACE.sub("in {}", text, count=1), {})[text] = count
    told = [phrase for template, group in groups.items() for phrase in _phrases(template, group)]
    more = [f"and {len(told) - _NAMED} more"] if len(told) > _NAMED else []
    return ", ".join([*told[:_NAMED], *more])


def _phrases(template: str, group: Mapping[str, int]) -> list[str]:
    if len(group) < _SPREAD:
        return [text if count == 1 else f"{text} x{count}" for text, count in group.items()]
    return [template.replace("in {}", f"in {len(group)} namespaces", 1)]
