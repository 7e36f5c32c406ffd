"""The contents of a script's or call's record: parsed fields and sizes, never a query value, a body, a header or a
result.

The recorder builds all records of scripts here. Free text (names, a client's own name) may be a misplaced secret, so it
passes `TextFilter` first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kubescript import types
from kubescript.audit import chain
from kubescript.broker import records, summary
from kubescript.changes import plan
from kubescript.output import sanitizing
from kubescript.request import request
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation

__all__ = [
    "Redact",
    "Subject",
    "TextFilter",
    "describe_call",
    "describe_refusal",
    "describe_runbook",
    "describe_script",
    "describe_sending",
    "patience",
]

Check = Callable[[], None]
"""A check that raises KubescriptError when the text is no longer needed."""


class Redact(Protocol):
    """A function that masks the secrets in a text, and passes the kind of each to `found`; withholds the text when
    `check` raises."""

    def __call__(self, text: str, found: Callable[[str], None], check: Check | None = None, /) -> str:
        """Returns the text masked."""


# Seconds that masking the texts of one record may take. Attack: a script puts a text that compromises a masker into the
# name of each call of a batch, to delay their records to ten seconds after its answer.
_MASKING_S: Final = 2.0
# Attack: a script cancels a call to hide the names in it.
_HURRIED_S: Final = 0.2
"""Seconds that masking may still take once the call was cancelled."""
_MAX_TEXT: Final = 300
_MAX_KINDS: Final = 100
"""How many kinds of secrets a record may name."""
_OTHER: Final = "other"
_FIELDS: Final = ("verb", "group", "version", "resource", "subresource", "namespace", "name")


@dataclass(frozen=True, slots=True)
class Subject:
    """The first fields of every record of one script."""

    session: str
    client: str
    client_version: str
    tool: str
    user: str
    """The authenticated user; empty where callers do not authenticate."""
    issuer: str
    """Who vouched for the user."""
    subject: str
    """The issuer's own name for the user."""
    evaluation: str
    script: str
    """SHA-256 of the script's text."""

    def fields(self, kind: str) -> dict[str, Any]:
        """Returns the first fields of a record of this kind, with the current time."""
        fields = {"type": kind, "time": chain.now()}
        for name in self.__slots__:
            fields[name] = getattr(self, name)
        return fields


class TextFilter:
    """A filter that masks and bounds free text for a record."""

    def __init__(self, redact: Redact) -> None:
        self.redact = redact

    def __call__(self, text: str, check: Check | None = None) -> str:
        """Returns the text masked, on one line, of bounded length."""
        if not text:
            return ""
        masked = self.redact(text, lambda _: None, check)
        # The cut comes after masking, since half a secret matches no pattern.
        return sanitizing.printable(masked[:_MAX_TEXT])


def describe_sending(
    subject: Subject, parsed: request.Request, context: str, text_filter: TextFilter
) -> dict[str, Any]:
    """Returns the record of a call that is about to be sent, which remains if the server dies before the answer."""
    fields = subject.fields("sent")
    check = patience(parsed)
    return fields | _target_fields(parsed, text_filter, check) | {"context": text_filter(context, check)}


def describe_call(subject: Subject, done: records.Record, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of one call, whatever its outcome."""
    fields = subject.fields("call")
    check = patience(done.call)
    if done.call is not None:
        fields |= _target_fields(done.call, text_filter, check)
    else:
        fields["what"] = done.what
    if done.call is not None and done.call.metadata_rule:
        fields["served"] = "keys" if done.call.serves_keys else "metadata"
    elif done.call is not None and done.call.is_release:
        fields["served"] = "release"
    return fields | {
        "context": text_filter(done.context, check),
        "decision": done.verdict,
        "rule": done.rule,
        "status": done.status,
        "fault": done.fault,
        "bytes": done.bytes,
        "ms": done.ms,
        "redactions": _most_frequent(done.redacted),
    }


def describe_runbook(subject: Subject, used: plan.Runbook, code: str, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of a runbook that is about to run, or with a `code`, of one that is not run or has failed."""
    check = patience()
    arguments = {}
    for name, value in used.arguments.items():
        arguments[name] = text_filter(value, check) if isinstance(value, str) else value
    return subject.fields("runbook") | {
        "name": text_filter(used.name, check),
        "sha256": used.sha256,
        "arguments": arguments,
        "code": code or "ok",
    }


def describe_script(
    subject: Subject,
    size: int,
    outcome: runs.Outcome,
    answer: types.Answer,
    summary: summary.Summary,
) -> dict[str, Any]:
    """Returns the record of one script at its end."""
    usage = outcome.usage
    return subject.fields("script") | {
        "script_bytes": size,
        "code": answer.code or "ok",
        "limits": _limits_hit(outcome, answer),
        "calls": usage.api_calls,
        "not_allowed": sum(summary.denied.values()),
        "fetched_bytes": usage.bytes_fetched,
        "answer_bytes": len(answer.text.encode("utf-8", "replace")),
        "ms": round(usage.wall_ms, 1),
        "cpu_ms": round(usage.cpu_ms, 1),
        "peak_mib": usage.peak_bytes >> 20,
        "redactions": _most_frequent(summary.redacted),
    }


def describe_refusal(subject: Subject, size: int, code: str) -> dict[str, Any]:
    """Returns the record of a script that did not run."""
    return subject.fields("script") | {
        "script_bytes": size,
        "code": code,
        "limits": [],
        "calls": 0,
    }


def _most_frequent(redacted: Mapping[str, int]) -> dict[str, int]:
    """Returns how often each kind was masked; when there are very many kinds, the rare ones are added up."""
    # Attack: a compromised masker reports so many kinds that the record would be too long.
    counts = sorted(redacted.items(), key=lambda item: -item[1])
    rest = sum(count for _, count in counts[_MAX_KINDS:])
    if not rest:
        return dict(redacted)
    kept = dict(counts[:_MAX_KINDS])
    kept[_OTHER] = kept.get(_OTHER, 0) + rest
    return kept


def _limits_hit(outcome: runs.Outcome, answer: types.Answer) -> list[str]:
    """Returns every limit that the script hit, including those whose errors it caught."""
    codes = set(outcome.limits_hit)
    if outcome.fault is not None:
        codes.add(outcome.fault.code)
    hit = {code for code in codes if code.startswith("limit.")}
    if answer.cut:
        hit.add("limit.output")
    return sorted(hit)


def patience(parsed: request.Request | None = None) -> Check:
    """Returns the check of one record's texts: they have two seconds, or a fifth of a second once their call was
    cancelled."""
    cancelled = bool if parsed is None else parsed.cancelled
    # Some time remains, so that cancelling a call cannot hide its target.
    return cancellation.Patience(_MASKING_S, cancelled, grace_s=_HURRIED_S)


def _target_fields(parsed: request.Request, text_filter: TextFilter, check: Check) -> dict[str, Any]:
    """Returns a record's fields about the call itself."""
    fields: dict[str, Any] = {}
    # A name may be a misplaced secret.
    for name in _FIELDS:
        value = getattr(parsed, name)
        fields[name] = text_filter(value, check)
    if not parsed.is_resource:
        # The path is one of a short list of documents (discovery, health, version), so it contains no name.
        fields["path"] = text_filter(parsed.path, check)
    fields["audit_id"] = parsed.audit_id
    if parsed.dry_run:
        fields["dry_run"] = True
    if parsed.plan:
        fields["plan"] = parsed.plan
    return fields
