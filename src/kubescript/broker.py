"""The only door to a cluster: parse, decide, perform, redact, record.

Every toolset and every script goes through `handle`.

What comes in is hostile (any bytes that decode as a Call); what goes out is a reply the worker may see. A refused or
failed call is an answer, not an exception. What a script could not see is kept in its `Tally`, so that the answer can
say what is missing even when the script swallowed the error.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kubescript import cancellation, errors, policy, request, resolver, types
from kubescript.cluster import base
from kubescript.sandbox import protocol

__all__ = ["Broker", "Record", "Redactor", "Tally"]

log = logging.getLogger(__name__)

Redactor = Callable[[request.Request, Iterator[bytes]], Iterator[bytes]]
"""Masks secret values in a body on its way to the script."""

_MAX_NOTES: Final = 100
"""Distinct things a tally remembers; a hostile script could invent names for ever."""
_HARMLESS: Final = frozenset({400, 404, 405, 406, 409, 415, 422})
"""Answers about the request itself: a script that asks for what is not there has missed nothing."""


@dataclass(slots=True)
class Tally:
    """What one script did and did not get to see. Belongs to the thread that answers the script's calls."""

    calls: int = 0
    bytes: int = 0
    denied: dict[str, int] = field(default_factory=dict)
    """`list secrets (policy.denied_resource)` → how often."""
    failed: dict[str, int] = field(default_factory=dict)
    """`403 list nodes`, `cluster.timeout list pods` → how often."""
    warnings: dict[str, int] = field(default_factory=dict)
    """What the API server or the snapshot warned of."""

    @property
    def complete(self) -> bool:
        """Whether the script saw everything it asked for."""
        return not (self.denied or self.failed or self.warnings)

    def note(self, notes: dict[str, int], text: str) -> None:
        """Count `text` in one of the three; new texts beyond the cap are dropped, known ones still counted."""
        if text in notes or len(notes) < _MAX_NOTES:
            notes[text] = notes.get(text, 0) + 1


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


def _unchanged(_call: request.Request, chunks: Iterator[bytes]) -> Iterator[bytes]:
    return chunks


def _log(record: Record) -> None:
    level = logging.INFO if record.verdict == "allow" else logging.WARNING
    fields = {name: getattr(record, name) for name in ("what", "verdict", "rule", "status", "fault", "ms", "bytes")}
    log.log(
        level,
        "%s %s %s",
        record.verdict,
        record.what,
        record.fault or record.status,
        extra={"event": "broker.call", **fields},
    )


class Broker:
    """One cluster behind one policy. Stateless between calls; called from many threads at once."""

    def __init__(
        self,
        cluster: base.Cluster,
        rules: policy.Policy,
        *,
        resolve: resolver.KindResolver | None = None,
        redact: Redactor = _unchanged,
        record: Callable[[Record], None] = _log,
    ) -> None:
        self._cluster = cluster
        self._policy = rules
        self._resolve = resolve
        self._redact = redact
        self._record = record

    def handle(
        self, call: protocol.Call, tally: Tally, timeout_s: float, cancel: cancellation.Cancellation | None = None
    ) -> tuple[protocol.Reply, types.Response | None]:
        """Answer one call.

        Without a fault the response is there and its `chunks` must be read or closed; they may raise KubescriptError,
        after which the answer counts as broken off.
        """
        tally.calls += 1
        started = time.monotonic()
        try:
            parsed = request.parse(call)
        except errors.RequestError as error:
            self._record(Record(f"unparsed {call.method}", "refuse", fault=error.code))
            return _fault(error), None
        try:
            cancel = cancel or cancellation.Cancellation()
            self._decide(parsed, tally, timeout_s, cancel)
            left = timeout_s - (time.monotonic() - started)
            response = self._cluster.perform(parsed, max(0.001, left), cancel)
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
        tally.note(tally.denied, f"{_without_names(parsed)} ({rule})")
        self._record(Record(what, decision.verdict, rule, fault=rule, call=parsed))
        raise errors.PolicyDenied(
            f"{what}: denied by policy: {decision.reason}. {decision.instead}".rstrip(), code=rule
        )

    def _failed(
        self, parsed: request.Request, tally: Tally, started: float, error: errors.KubescriptError
    ) -> protocol.Reply:
        tally.note(tally.failed, f"{error.code} {_without_names(parsed)}")
        if error.remedy:
            log.warning("%s: %s", error.message, error.remedy, extra={"event": "cluster.remedy"})
        self._record(_finished(parsed, started, fault=error.code))
        return _fault(error)

    def _answered(
        self, parsed: request.Request, tally: Tally, started: float, response: types.Response
    ) -> tuple[protocol.Reply, types.Response | None]:
        if response.status >= 400 and not (response.status in _HARMLESS and parsed.verb != "list"):
            tally.note(tally.failed, f"{response.status} {_without_names(parsed)}")
        if "warning" in response.headers:
            tally.note(tally.warnings, response.headers["warning"])
        promised = response.status == 200 and _is_json(parsed)
        if promised and not response.content_type.startswith(_JSON):
            response.close()
            kind = response.content_type.partition(";")[0][:50] or "nothing"
            broken = errors.ClusterError(f"the API server answered with {kind} instead of JSON", code="cluster.broken")
            return self._failed(parsed, tally, started, broken), None
        reply = protocol.Reply(response.status, response.reason, response.content_type, dict(response.headers))
        body = _Body(
            response,
            tally,
            lambda fault, size: self._finish(parsed, tally, started, response.status, fault, size),
            json=promised,
        )
        chunks = body.redacted(self._redact, parsed)
        return reply, replace(response, chunks=chunks, close=body.close)

    def _finish(
        self, parsed: request.Request, tally: Tally, started: float, status: int, fault: str, size: int
    ) -> None:
        if fault not in {"", _CLOSED}:
            tally.note(tally.failed, f"{fault} {_without_names(parsed)}")
        self._record(_finished(parsed, started, status=status, fault=fault, size=size))


_JSON: Final = "application/json"
_TAIL: Final = 64
"""Bytes of a chunk's end that are looked at for the closing brace; API servers end with it or a newline."""
_CLOSED: Final = "closed"
"""The reader stopped before the end: its own choice, nothing failed."""


class _Body:
    """Counts a body's bytes as the cluster sends them, and reports once how it ended, whichever way that was."""

    def __init__(
        self, response: types.Response, tally: Tally, finish: Callable[[str, int], None], *, json: bool
    ) -> None:
        self._response = response
        self._json = json
        """A whole JSON object is promised; what is none must not pass for an empty list."""
        self._tally = tally
        self._finish = finish
        self._size = 0
        self._lock = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """End a pending read. Any thread, any number of times."""
        self._response.close()
        self._end(_CLOSED)

    def redacted(self, redact: Redactor, parsed: request.Request) -> Iterator[bytes]:
        """The body, masked. Raises KubescriptError when it breaks off or cannot be masked."""
        try:
            yield from redact(parsed, self._counted())
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

    def _counted(self) -> Iterator[bytes]:
        last = b""
        for chunk in self._response.chunks:
            self._size += len(chunk)
            self._tally.bytes += len(chunk)
            last = chunk[-_TAIL:].rstrip() or last
            yield chunk
        if self._json and not last.endswith(b"}"):
            raise errors.ClusterError("the answer ends before its JSON does", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._finish(fault, self._size)


def _finished(parsed: request.Request, started: float, *, status: int = 0, fault: str = "", size: int = 0) -> Record:
    ms = round((time.monotonic() - started) * 1000, 1)
    return Record(request.describe(parsed), "allow", status=status, fault=fault, ms=ms, bytes=size, call=parsed)


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
