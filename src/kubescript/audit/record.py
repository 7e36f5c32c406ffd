"""What a record says: parsed fields and sizes. Never a query value, a body, a header or a result.

Free text (names, what a client calls itself) may be a secret in the wrong place, so it passes `TextFilter` first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubescript import types
from kubescript.audit import chain
from kubescript.broker import records, summary
from kubescript.output import sanitizing
from kubescript.request import request

__all__ = ["Redact", "Subject", "TextFilter", "call", "refused", "script", "sent", "unmasked"]

Redact = Callable[[str, Callable[[str], None]], str]
"""Masks secrets in a text and tells the kind of each to the second argument."""

_MAX_TEXT: Final = 300
_FIELDS: Final = ("verb", "group", "version", "resource", "subresource", "namespace", "name")


def unmasked(text: str, _found: Callable[[str], None]) -> str:
    """For servers without redaction."""
    return text


@dataclass(frozen=True, slots=True)
class Subject:
    """What every record of one script begins with."""

    session: str
    client: str
    client_version: str
    evaluation: str
    script: str
    """SHA-256 of its text."""

    def fields(self, kind: str) -> dict[str, Any]:
        """A record of this kind, its time being now."""
        return {"type": kind, "time": chain.now(), **{name: getattr(self, name) for name in self.__slots__}}


class TextFilter:
    """Free text as it may be written down."""

    def __init__(self, redact: Redact) -> None:
        self.redact = redact

    def __call__(self, text: str) -> str:
        """Masked, on one line, of bounded length."""
        if not text:
            return ""
        masked = self.redact(text, lambda _: None)  # before the cut: half a secret matches no pattern
        return sanitizing.printable(masked[:_MAX_TEXT])


def sent(subject: Subject, parsed: request.Request, clean_text: TextFilter) -> dict[str, Any]:
    """A call that may change something is about to leave: should the server die now, this is what is known."""
    return {**subject.fields("sent"), **_target_fields(parsed, clean_text)}


def call(subject: Subject, done: records.Record, clean_text: TextFilter) -> dict[str, Any]:
    """One call, however it ended."""
    return {
        **subject.fields("call"),
        **(_target_fields(done.call, clean_text) if done.call is not None else {"what": done.what}),
        "context": clean_text(done.context),
        "decision": done.verdict,
        "rule": done.rule,
        "status": done.status,
        "fault": done.fault,
        "bytes": done.bytes,
        "ms": done.ms,
        "redactions": dict(done.redacted),
    }


def script(
    subject: Subject,
    size: int,
    limits: types.Limits,
    outcome: types.Outcome,
    answer: types.Answer,
    summary: summary.Summary,
) -> dict[str, Any]:
    """One script, at its end."""
    usage = outcome.usage
    return {
        **subject.fields("script"),
        "script_bytes": size,
        "code": answer.code or "ok",
        "limits": _limits_hit(limits, outcome, answer),
        "calls": usage.api_calls,
        "not_allowed": sum(summary.denied.values()),
        "fetched_bytes": usage.bytes_fetched,
        "answer_bytes": len(answer.text.encode()),
        "ms": round(usage.wall_ms, 1),
        "cpu_ms": round(usage.cpu_ms, 1),
        "peak_mib": usage.peak_bytes >> 20,
        "redactions": dict(summary.redacted),
    }


def refused(subject: Subject, size: int, code: str) -> dict[str, Any]:
    """A script that was not run."""
    return {**subject.fields("script"), "script_bytes": size, "code": code, "limits": [], "calls": 0}


def _limits_hit(limits: types.Limits, outcome: types.Outcome, answer: types.Answer) -> list[str]:
    """Every limit the script ran into, also those whose errors it caught."""
    fault = outcome.fault.code if outcome.fault is not None else ""
    hit = {fault} if fault.startswith("limit.") else set()
    if outcome.usage.api_calls > limits.api_calls:
        hit.add("limit.calls")
    if outcome.usage.bytes_fetched > limits.response_bytes:
        hit.add("limit.bytes")
    if answer.cut:
        hit.add("limit.output")
    return sorted(hit)


def _target_fields(parsed: request.Request, clean_text: TextFilter) -> dict[str, Any]:
    fields = {name: clean_text(getattr(parsed, name)) for name in _FIELDS}
    if not parsed.is_resource:  # from a short list of documents: discovery, health, version
        fields["path"] = clean_text(parsed.path)
    return {**fields, "audit_id": parsed.audit_id}
