"""Judges requests for `kubescript policy test`, from cases in YAML or from an audit file.

A case is judged as the broker judges a call: by the same policy, in the same masking process. Nothing is sent.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kubescript import config, errors
from kubescript.changes import requests
from kubescript.changes.rules import effects
from kubescript.changes.rules import writes as write_policy
from kubescript.policy import decisions, policy
from kubescript.request import request
from kubescript.snapshot import yaml_objects
from kubescript.wire import exchanges, inspection

__all__ = ["Case", "Judge", "Result", "is_audit", "judge_case", "judge_record", "read"]

Compare = Callable[[request.Request, bytes, bytes, Callable[[str], None]], inspection.Changes]
"""See `redaction.Engine.changes`."""
_ContentType = Literal[
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
_TYPES: Final[Mapping[str, Literal["json", "json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"]]] = {
    "application/json": "json",
    "application/json-patch+json": "json-patch",
    "application/merge-patch+json": "merge-patch",
    "application/strategic-merge-patch+json": "strategic-merge-patch",
    "application/apply-patch+yaml": "apply-patch",
}
_METHODS: Final = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
# The record lacks the object's name; no other part of a body is judged.
_NAMED: Final = b'{"metadata":{"name":"recorded"}}'
"""The body of a recorded creation."""


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request of a case."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    """May include a query."""
    query: dict[str, str] = {}
    body: Any = None
    content_type: _ContentType | None = None
    """Default: JSON, and for a PATCH a strategic merge patch."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case of a file."""

    request: Asked
    context: str = ""
    """The cluster, if there are several."""
    # There is no dry run, so a case gives the object before and after.
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    """Default: the body of a request that creates or replaces an object."""
    expect: Literal["allow", "deny", "plan", "direct"] | None = None
    rule: str = ""
    """The rule that is expected to decide, or to give a notice to the approver."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The policies that decide about the calls to one cluster."""

    calls: policy.Policy
    writes: write_policy.Policy
    compare: Compare


@dataclass(frozen=True, slots=True)
class Result:
    """The judgement on a request."""

    what: str
    verdict: str
    rule: str = ""
    reason: str = ""
    """Why it is denied, or which part of the objects is served."""
    notices: tuple[effects.Notice, ...] = ()
    unjudged: str = ""
    """What was not judged, and why."""

    def meets(self, case: Case) -> bool:
        """Says whether the verdict, and the rule that decided, match the case."""
        if case.expect is not None and case.expect != self.verdict:
            return False
        if not case.rule or case.rule == self.rule:
            return True
        return any(case.rule == notice.rule for notice in self.notices)


def is_audit(file: Path) -> bool:
    """Says whether the file begins like an audit record. Raises ConfigError."""
    first, _, _ = _content(file).lstrip().partition(b"\n")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "type" in record


def read(file: Path) -> list[Case]:
    """Reads the cases of a file. Raises ConfigError."""
    try:
        content = _content(file)
        documents = yaml_objects.documents(content)
        cases = documents[0] if documents else []
        return msgspec.convert(cases, list[Case])
    except ValueError as error:  # raised by msgspec too
        remedy = "write a list of cases, each with a `request` that has a `method` and a `path`"
        raise errors.ConfigError(f"{file}: {error}", remedy=remedy) from None


def judge_case(case: Case, judges: Mapping[str, Judge]) -> Result:
    """Judges a case. Raises ConfigError when it names an unknown cluster, and RedactionError."""
    judge = _find_judge(case.context, judges)
    try:
        call = _parse(case.request)
    except errors.RequestError as error:
        return Result(f"{case.request.method} {case.request.path}", "deny", error.code, error.message)
    first = _judge_request(call, judge)
    if first.verdict in {"allow", "deny"}:
        return first
    after = case.after
    # Such a request contains the whole object. An eviction is a creation, but deletes its pod.
    has_object = call.verb in {"create", "update"} and write_policy.verb(call) != "delete"
    if after is None and has_object:
        after = case.request.body
    missing = _missing(call, case.before, after)
    if missing:
        return replace(first, unjudged=f"{missing}: what it would change was not judged")
    before = _encode(case.before)
    changes = judge.compare(call, before, _encode(after), lambda _: None)
    found = effects.findings(call, changes, judge.writes)
    if found.denials:
        return _deny(call, found.denials[0], found.notices)
    unjudged = ""
    if changes.binds:
        unjudged = "the Role that it binds is not read here: where that leads was not judged"
    return replace(first, notices=found.notices, unjudged=unjudged)


def judge_record(record: Mapping[str, Any], judges: Mapping[str, Judge]) -> Result | None:
    """Judges the request of an audit record; returns None for any other record. Raises ConfigError when it names an
    unknown cluster."""
    if record.get("type") not in {"call", "sent"} or not record.get("resource"):
        return None
    verb = str(record.get("verb", ""))
    call = request.Request(
        method=_METHODS.get(verb, "GET"),
        path="",
        query=(),
        verb=verb,
        is_resource=True,
        group=str(record.get("group", "")),
        version=str(record.get("version", "")),
        resource=str(record.get("resource", "")),
        subresource=str(record.get("subresource", "")),
        namespace=str(record.get("namespace", "")),
        name=str(record.get("name", "")),
    )
    if verb == "create":
        call = replace(call, body=_NAMED)
    judge = _find_judge(str(record.get("context", "")), judges)
    return _judge_request(call, judge)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise errors.ConfigError(f"cannot read {file}: {error.strerror}") from None


def _find_judge(context: str, judges: Mapping[str, Judge]) -> Judge:
    """Returns the judge of one cluster; for an empty name, that of the first cluster."""
    if not context:
        return next(iter(judges.values()))
    if context not in judges:
        raise errors.ConfigError(f"no context {context[:80]!r}{config.nearest(context, judges)}")
    return judges[context]


def _parse(asked: Asked) -> request.Request:
    """Returns the request in its canonical form. Raises RequestError."""
    address = urllib.parse.urlsplit(asked.path)
    parts = address.path.strip("/").split("/")
    path = tuple(map(urllib.parse.unquote, parts))
    in_path = urllib.parse.parse_qsl(address.query, keep_blank_values=True)
    query = (*in_path, *asked.query.items())
    media_type = asked.content_type
    if media_type is None:
        is_patch = asked.method == "PATCH"
        media_type = "application/strategic-merge-patch+json" if is_patch else "application/json"
    content_type = _TYPES[media_type]
    body = msgspec.Raw(_encode(asked.body))
    call = exchanges.Call(asked.method, path, query, body, content_type)
    return requests.canonical(request.parse(call))


def _judge_request(call: request.Request, judge: Judge) -> Result:
    """Judges the request without its changes."""
    decision = judge.calls.decide(call)
    if decision.verdict in {"plan", "direct"}:
        objection = write_policy.find_objection(call, judge.writes)
        decision = objection or decision
    if decision.verdict == "deny":
        return _deny(call, decision)
    what = request.describe(call)
    served = f"served as {decision.serve}" if decision.serve != "whole" else ""
    return Result(what, decision.verdict, decision.rule, served)


def _deny(call: request.Request, decision: decisions.Decision, notices: tuple[effects.Notice, ...] = ()) -> Result:
    return Result(
        what=request.describe(call),
        verdict="deny",
        rule=decision.rule,
        reason=decision.reason,
        notices=notices,
    )


def _missing(call: request.Request, before: object, after: object) -> str:
    """Returns which object a case lacks for judging its request's changes; empty when none is missing."""
    if before is None and call.verb != "create":
        return "no `before`"
    if after is None and write_policy.verb(call) != "delete":
        return "no `after`"
    return ""


def _encode(document: object) -> bytes:
    if document is None:
        return b""
    return json.dumps(document).encode()
