"""The only door to a cluster: parse, decide, perform, redact, record.

Every toolset and every script goes through `handle`.

What comes in is hostile (any bytes that decode as a Call); what goes out is a reply the worker may see. A refused or
failed call is an answer, not an exception. What a script could not see is kept in its `Tally`, so that the answer can
say what is missing even when the script swallowed the error.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import msgspec

from kubescript import cancellation, errors, paging, policy, redaction, request, resolver, types
from kubescript.cluster import base
from kubescript.sandbox import protocol

__all__ = ["Broker", "Found", "Journal", "Mask", "Record", "Redactor", "Tally"]

log = logging.getLogger(__name__)

Found = Callable[[str], None]
"""Told the kind of each value that was masked."""
Redactor = Callable[[request.Request, Iterator[bytes], Found], Iterator[bytes]]
"""Masks secret values in a body on its way to the script."""
Mask = Callable[[str, Found], str]
"""Masks secret values in a text, and tells the kind of each."""

_MAX_NOTES: Final = 100
"""Distinct things a tally remembers; a hostile script could invent names for ever."""
_MAX_RECORDS: Final = 10_000
"""Records a tally keeps; far beyond the calls of a script, for `capture` makes more."""
_HARMLESS: Final = frozenset({400, 404, 405, 406, 409, 415, 422})
"""Answers about the request itself: a script that asks for what is not there has missed nothing."""


class Journal(Protocol):
    """Puts the calls of one script on record. Called from the threads that answer them."""

    agent: str
    """Tells the script in the user agent of its requests."""

    def before(self, call: request.Request) -> None:
        """`call` is about to be sent. Raises AuditError when it must not be, since nobody could prove it."""

    def record(self, record: Record) -> None:
        """A call has ended. Raises AuditError when that cannot be kept."""


class _NoJournal:
    agent = ""

    def before(self, call: request.Request) -> None:
        pass

    def record(self, record: Record) -> None:
        pass


@dataclass(slots=True)
class Tally:
    """What one script did and did not get to see. Several threads answer its calls at a time."""

    calls: int = 0
    bytes: int = 0
    pages: paging.Pages = field(default_factory=paging.Pages, compare=False)
    """Lists read page by page."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    denied: dict[str, int] = field(default_factory=dict)
    """`list secrets (policy.denied_resource)` → how often."""
    failed: dict[str, int] = field(default_factory=dict)
    """`403 list nodes`, `cluster.timeout list pods` → how often."""
    warnings: dict[str, int] = field(default_factory=dict)
    """What the API server or the snapshot warned of."""
    redacted: dict[str, int] = field(default_factory=dict)
    """Kind of secret → how many values of it were masked."""
    recalled: list[str] | None = None
    """What was noted when this script ran first; a replay notes that and nothing of its own."""
    journal: Journal = field(default_factory=_NoJournal)
    workload_text: bool = False
    """Whether the script has read what workloads write freely: logs or events."""
    records: list[Record] = field(default_factory=list)
    """Every call, as it was recorded; bounded by the calls a script may make."""

    @property
    def complete(self) -> bool:
        """Whether the script saw everything it asked for."""
        return not (self.denied or self.failed or self.warnings)

    def keep(self, record: Record) -> None:
        """Remember a call."""
        if len(self.records) < _MAX_RECORDS:
            self.records.append(record)

    def found(self, kind: str) -> None:
        """Count a value that was masked."""
        self.note(self.redacted, kind)

    def note(self, notes: dict[str, int], text: str, times: int = 1) -> None:
        """Count `text` in one of the four; new texts beyond the cap are dropped, known ones still counted."""
        with self.lock:
            if text in notes or len(notes) < _MAX_NOTES:
                notes[text] = notes.get(text, 0) + times

    def count(self, *, calls: int = 0, size: int = 0) -> None:
        """Count calls and bytes."""
        with self.lock:
            self.calls += calls
            self.bytes += size


@dataclass(frozen=True, slots=True)
class Record:
    """One call, for the log and the audit: parsed fields and sizes, never a body, a query value or a header."""

    what: str
    verdict: str
    rule: str = ""
    status: int = 0
    fault: str = ""
    ms: float = 0.0
    bytes: int = 0
    call: request.Request | None = None
    """None when the call could not be parsed."""
    redacted: Mapping[str, int] = field(default_factory=dict)
    """Kind of secret → how many values of it were masked in the answer."""
    context: str = ""
    """Which of several clusters; empty when the server has one."""
    at: float = field(default_factory=time.time)
    """When the call was over, in seconds since the epoch."""


def _unchanged(_call: request.Request, chunks: Iterator[bytes], _found: Found) -> Iterator[bytes]:
    return chunks


def _log(record: Record) -> None:
    level = logging.INFO if record.verdict == "allow" else logging.WARNING
    names = ("context", "what", "verdict", "rule", "status", "fault", "ms", "bytes")
    fields = {name: getattr(record, name) for name in names}
    log.log(
        level,
        "%s %s %s",
        record.verdict,
        record.what,
        record.fault or record.status,
        extra={"event": "broker.call", **fields},
    )


def _unmasked(text: str, _found: Found) -> str:
    return text


class Broker:
    """One cluster behind one policy. Stateless between calls; called from many threads at once."""

    def __init__(
        self,
        cluster: base.Cluster,
        rules: policy.Policy,
        *,
        resolve: resolver.KindResolver | None = None,
        redact: Redactor = _unchanged,
        redact_echo: Redactor | None = None,
        mask: Mask = _unmasked,
        record: Callable[[Record], None] = _log,
        context: str = "",
    ) -> None:
        """`context` names the cluster in records and receipts when it is one of several."""
        self._cluster = cluster
        self._policy = rules
        self._resolve = resolve
        self._redact = redact
        self._redact_echo = redact_echo or redact
        self._mask = mask
        self._sink = record
        self._context = context

    def handle(
        self, call: protocol.Call, tally: Tally, timeout_s: float, cancel: cancellation.Cancellation | None = None
    ) -> tuple[protocol.Reply, types.Response | None]:
        """Answer one call, no word of it unmasked.

        Without a fault the response is there and its `chunks` must be read or closed; they may raise KubescriptError,
        after which the answer counts as broken off.
        """
        tally.count(calls=1)
        try:
            reply, response = self._handle(call, tally, timeout_s, cancel or cancellation.Cancellation())
            return self._masked(reply, tally), response
        except errors.AuditError as error:  # what cannot be put on record is not done, or not told
            return self._unrecorded(tally, error), None

    def _handle(
        self, call: protocol.Call, tally: Tally, timeout_s: float, cancel: cancellation.Cancellation
    ) -> tuple[protocol.Reply, types.Response | None]:
        started = time.monotonic()
        try:
            parsed = _without_masks(request.parse(call))
            parsed = replace(
                parsed, audit_id=str(uuid.uuid4()), agent=tally.journal.agent, deadline=started + timeout_s
            )
        except errors.RequestError as error:
            self._tell(tally, Record(f"unparsed {call.method}", "refuse", fault=error.code))
            return _fault(error), None
        try:
            self._decide(parsed, tally, timeout_s, cancel)
            tally.journal.before(parsed)
            left = timeout_s - (time.monotonic() - started)
            response = self._cluster.perform(parsed, max(0.001, left), cancel)
        except errors.AuditError:
            raise
        except errors.PolicyDenied as error:
            return _fault(error), None
        except errors.KubescriptError as error:
            return self._failed(parsed, tally, started, error), None
        except Exception:
            log.exception("the cluster failed in an unforeseen way", extra={"event": "broker.bug"})
            bug = errors.KubescriptError(
                "the server failed to perform the call; this is a bug in kubescript, its log says more"
            )
            return self._failed(parsed, tally, started, bug), None
        return self._answered(parsed, tally, started, response)

    def _tell(self, tally: Tally, record: Record) -> None:
        """To the log, and on record. Raises AuditError."""
        record = replace(record, context=self._context)
        tally.keep(record)
        self._sink(record)
        tally.journal.record(record)

    def _decide(
        self, parsed: request.Request, tally: Tally, timeout_s: float, cancel: cancellation.Cancellation
    ) -> None:
        """Raises PolicyDenied unless the verdict is "allow": what nobody here can carry out (a plan) is refused too."""
        rules = self._policy
        if self._resolve is not None:  # a look-up in discovery ends with the call it decides on
            ask = functools.partial(self._resolve, timeout_s=timeout_s, cancel=cancel)
            rules = replace(rules, resolve=ask)
        decision = rules.decide(parsed)
        if decision.verdict == "allow":
            return
        what = request.describe(parsed)
        rule = decision.rule or "policy.denied"
        self._note(tally, tally.denied, f"{_without_names(parsed)} ({rule})")
        self._tell(tally, Record(what, decision.verdict, rule, fault=rule, call=parsed))
        raise errors.PolicyDenied(
            f"{what}: denied by policy: {decision.reason}. {decision.instead}".rstrip(), code=rule
        )

    def _failed(
        self, parsed: request.Request, tally: Tally, started: float, error: errors.KubescriptError
    ) -> protocol.Reply:
        self._note(tally, tally.failed, f"{error.code} {_without_names(parsed)}")
        if error.remedy:
            about = {"event": "cluster.remedy", "context": self._context}
            log.warning("%s: %s", self._text(error.message, tally), error.remedy, extra=about)
        self._tell(tally, _finished(parsed, started, fault=error.code))
        return _fault(error)

    def _masked(self, reply: protocol.Reply, tally: Tally) -> protocol.Reply:
        """The reply, masked: an API server's reason phrase, headers and error texts are its words as much as its bodies
        are."""
        fault = reply.fault
        if fault is not None:
            fault = msgspec.structs.replace(fault, message=self._text(fault.message, tally))
        return msgspec.structs.replace(
            reply,
            reason=self._text(reply.reason, tally),
            content_type=self._text(reply.content_type, tally),
            headers={name: self._text(value, tally) for name, value in reply.headers.items()},
            fault=fault,
        )

    def _text(self, text: str, tally: Tally) -> str:
        return self._mask(text, tally.found) if text else text

    def _answered(
        self, parsed: request.Request, tally: Tally, started: float, response: types.Response
    ) -> tuple[protocol.Reply, types.Response | None]:
        if response.status >= 400 and not (response.status in _HARMLESS and parsed.verb != "list"):
            self._note(tally, tally.failed, f"{response.status} {_without_names(parsed)}")
        if parsed.subresource == "log" or parsed.resource == "events":
            tally.workload_text = True
        if "warning" in response.headers:
            self._note(tally, tally.warnings, self._text(response.headers["warning"], tally))
        promised = response.status == 200 and _is_json(parsed)
        if promised and not response.content_type.startswith(_JSON):
            response.close()
            kind = response.content_type.partition(";")[0][:50] or "nothing"
            broken = errors.ClusterError(f"the API server answered with {kind} instead of JSON", code="cluster.broken")
            return self._failed(parsed, tally, started, broken), None
        reply = protocol.Reply(response.status, response.reason, response.content_type, dict(response.headers))
        body = _Body(
            tally.pages.followed(parsed, self._told(_without_names(parsed)), response) if promised else response,
            tally,
            functools.partial(self._finish, parsed, tally, started, response.status),
            json=promised,
        )
        echoes = response.status >= 400 or parsed.verb not in _ASKING
        chunks = body.masked(self._redact_echo if echoes else self._redact, parsed)
        return reply, replace(response, chunks=chunks, close=body.close)

    def _finish(self, parsed: request.Request, tally: Tally, started: float, status: int, body: _Body) -> None:
        if body.fault not in {"", _CLOSED}:
            self._note(tally, tally.failed, f"{body.fault} {_without_names(parsed)}")
        for kind, count in body.redacted.items():
            tally.note(tally.redacted, kind, count)
        done = _finished(parsed, started, status=status, fault=body.fault, size=body.size)
        self._tell(tally, replace(done, redacted=body.redacted))

    def refuse(self, call: protocol.Call, tally: Tally, error: errors.PolicyDenied) -> protocol.Reply:
        """Answer a call that is for no cluster at all: counted and recorded like any other, and not even parsed."""
        tally.count(calls=1)
        tally.note(tally.denied, f"{call.method} ({error.code})")
        record = Record(f"unparsed {call.method}", "deny", error.code, fault=error.code)
        tally.keep(record)
        self._sink(record)
        try:
            tally.journal.record(record)
        except errors.AuditError as worse:
            return self._unrecorded(tally, worse)
        return _fault(error)

    @staticmethod
    def _unrecorded(tally: Tally, error: errors.AuditError) -> protocol.Reply:
        tally.note(tally.failed, error.code)
        log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
        return _fault(error)

    def _note(self, tally: Tally, notes: dict[str, int], text: str) -> None:
        tally.note(notes, self._told(text))

    def _told(self, text: str) -> str:
        """With the cluster's name, where there are several."""
        return f"{self._context}: {text}" if self._context else text


_ASKING: Final = frozenset({"get", "list", "watch"})
"""Their answers hold what the cluster has, not what the script has sent."""
_JSON: Final = "application/json"
_TAIL: Final = 64
"""Bytes of a chunk's end that are looked at for the closing brace; API servers end with it or a newline."""
_CLOSED: Final = "closed"
"""The reader stopped before the end: its own choice, nothing failed."""


class _Body:
    """Counts a body's bytes as the cluster sends them, and reports once how it ended, whichever way that was."""

    def __init__(self, response: types.Response, tally: Tally, finish: Callable[[_Body], None], *, json: bool) -> None:
        self._response = response
        self._json = json
        """A whole JSON object is promised; what is none must not pass for an empty list."""
        self._tally = tally
        self._finish = finish
        self.size = 0
        self.fault = ""
        self.redacted: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """End a pending read. Any thread, any number of times."""
        self._response.close()
        with contextlib.suppress(errors.AuditError):  # the journal knows that it lost a call, and withholds the answer
            self._end(_CLOSED)

    def masked(self, redact: Redactor, parsed: request.Request) -> Iterator[bytes]:
        """The body, masked. Raises KubescriptError when it breaks off or cannot be masked."""
        try:
            yield from redact(parsed, self._counted(), self._found)
        except errors.KubescriptError as error:
            self._end(error.code)
            raise
        except Exception:
            # fail closed: whatever a redactor trips over must not pass unmasked, nor look like the end of the body
            log.exception("a body could not be redacted", extra={"event": "broker.bug"})
            self._end("redaction.failed")
            raise errors.KubescriptError(
                "the answer could not be redacted and was withheld", code="redaction.failed"
            ) from None
        else:
            self._end("")
        finally:
            self.close()

    def _found(self, kind: str) -> None:
        self.redacted[kind] = self.redacted.get(kind, 0) + 1

    def _counted(self) -> Iterator[bytes]:
        last = b""
        for chunk in self._response.chunks:
            self.size += len(chunk)
            self._tally.count(size=len(chunk))
            last = chunk[-_TAIL:].rstrip() or last
            yield chunk
        if self._json and not last.endswith(b"}"):
            raise errors.ClusterError("the answer ends before its JSON does", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self.fault = fault
        self._finish(self)


def _finished(parsed: request.Request, started: float, *, status: int = 0, fault: str = "", size: int = 0) -> Record:
    ms = round((time.monotonic() - started) * 1000, 1)
    return Record(request.describe(parsed), "allow", status=status, fault=fault, ms=ms, bytes=size, call=parsed)


def _without_masks(parsed: request.Request) -> request.Request:
    """Raises RequestError for a body with a mask in it: written back, it would destroy the secret it stands for."""
    if parsed.body is not None and redaction.carried(parsed.body):
        raise errors.RequestError(
            f"{request.describe(parsed)}: the body holds a masked value («redacted:…»), which would overwrite the real "
            "one; patch only the fields you change",
            code="request.masked",
        )
    return parsed


def _without_names(parsed: request.Request) -> str:
    """What receipts count: the same failure for a hundred pods is one line."""
    return request.describe(
        replace(parsed, name="") if parsed.resource != "namespaces" else replace(parsed, name="", namespace="")
    )


def _is_json(parsed: request.Request) -> bool:
    """Whether a 200 to this request is one JSON object: objects and lists are, logs, health checks and watches are
    not."""
    objects = parsed.is_resource and parsed.verb in {"get", "list"} and parsed.subresource != "log"
    return objects and parsed.accept.startswith(_JSON)


def _fault(error: errors.KubescriptError) -> protocol.Reply:
    return protocol.Reply(0, fault=protocol.ScriptFault(error.code, error.message))
