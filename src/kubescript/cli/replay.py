"""Runs recorded scripts again without a cluster: each call gets the answer that it got in the first run, byte for byte.

The scripts run in the sandbox. Calls are matched by content, and equal calls by their order, so parallel calls may come
in any order. A call that was not recorded is refused and named.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from kubescript import config, errors, evaluator, types
from kubescript.audit import attachments, reader, replays, script_records
from kubescript.broker import operation, summary
from kubescript.output import fencing, notes
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import executor
from kubescript_sandbox.wire import protocol

__all__ = ["Verdict", "replay"]

_PIECE: Final = 256 * 1024
_JOINT: Final = re.compile(r"[;:]?\s+")
_KEYED_MASK: Final = re.compile("(«redacted:[a-z0-9-]+):[0-9a-f]+(?=»)")
"""The part of a mask that differs between two servers for the same value."""
_CLOCK: Final = re.compile(
    r"\b(now|utcnow|today|time|time_ns|monotonic|perf_counter|remaining_ms|time_left|random|uuid4)\b"
    r"|\b(age|hash|id)\("
)
# Attack: a record of unknown origin runs its script with limits that no configuration may contain (`config.Limits`).
_MAX_LIMITS: Final = runs.Limits(
    timeout_ms=300_000, memory_bytes=65_536 * config.MIB, depth=1_024, output_bytes=4 * config.MIB, output_lines=100_000
)
"""The highest limits of a script."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one script."""

    evaluation: str
    script: str
    state: str
    """same, differs, damaged (the kept data does not match the chain) or skipped."""
    why: str = ""


def replay(
    path: Path,
    runner: executor.Executor,
    settings: config.Settings,
    wanted: reader.Filter,
    redact: script_records.Redact,
) -> Iterator[Verdict]:
    """Runs every recorded script that can be run again."""
    for entry in reader.records(path, wanted):
        if entry["type"] != "script":
            continue
        try:
            state, why = _compare(path, entry, runner, settings, redact)
        except attachments.Changed as error:
            state, why = "damaged", str(error)
        except attachments.Skipped as error:
            state, why = "skipped", str(error)
        yield Verdict(entry["evaluation"], entry["script"], state, why)


def _compare(
    path: Path,
    entry: dict[str, Any],
    runner: executor.Executor,
    settings: config.Settings,
    redact: script_records.Redact,
) -> tuple[str, str]:
    if entry["code"] == "cancelled":
        raise attachments.Skipped("it was cancelled and has no answer")
    folder = attachments.folder_of(path)
    document = attachments.document(folder, entry)
    script = attachments.script(folder, entry["script"])
    cluster = _RecordedCluster(folder, document)
    limited = _with_limits(settings, document.limits).limit_namespaces(document.namespaces or None)
    session = evaluator.Evaluator(limited, evaluator.Host(runner), cluster)
    answer = anyio.run(session.evaluate, script, document.limits.timeout_ms)
    if cluster.lost is not None:
        raise cluster.lost
    masked = redact(answer.text, lambda _: None)
    now = _remove_mark(masked)
    then = _remove_mark(document.answer)
    if cluster.unknown or _remove_keys(now) != _remove_keys(then):
        return "differs", _difference(script, then, now, cluster)
    if now != then:
        return "same", "except masks, whose key differs in each server"
    return "same", ""


def _remove_mark(answer: str) -> str:
    """Returns an answer without its mark, whose number is random."""
    # With a mark, text after an error follows on a separate line, so whitespace is normalized.
    return _JOINT.sub(" ", fencing.unfence(answer))


def _remove_keys(answer: str) -> str:
    """Returns an answer without the part of each mask that differs between servers."""
    return _KEYED_MASK.sub(r"\1", answer)


def _difference(script: str, before: str, after: str, cluster: _RecordedCluster) -> str:
    """Returns why two answers of one script differ."""
    if cluster.unknown:
        calls = ", ".join(cluster.unknown[:3])
        return f"makes calls that were not recorded: {calls}"
    start = _first_difference(before, after)
    end = start + 40
    then = before[start:end]
    now = after[start:end]
    difference = f"at character {start}: {then!r} then, {now!r} now"
    if not _CLOCK.search(script):
        return difference
    return f"{difference}; the script reads the clock or random numbers, which have changed"


def _first_difference(before: str, after: str) -> int:
    """Returns the position of the first character that differs; the shorter length if one text begins with the
    other."""
    for position, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return position
    return min(len(before), len(after))


def _with_limits(settings: config.Settings, limits: runs.Limits) -> config.Settings:
    """Returns the settings with the limits of the first run, as far as a configuration may set them."""
    timeout_ms = min(limits.timeout_ms, _MAX_LIMITS.timeout_ms)
    memory_bytes = min(limits.memory_bytes, _MAX_LIMITS.memory_bytes)
    output_bytes = min(limits.output_bytes, _MAX_LIMITS.output_bytes)
    chosen = config.Limits.model_construct(
        default_timeout_ms=timeout_ms,
        max_timeout_ms=timeout_ms,
        memory_mib=memory_bytes // config.MIB,
        depth=min(limits.depth, _MAX_LIMITS.depth),
        output_kib=output_bytes // 1024,
        output_lines=min(limits.output_lines, _MAX_LIMITS.output_lines),
        api_calls=limits.api_calls,
        response_mib=limits.response_bytes // config.MIB,
    )
    return settings.model_copy(update={"limits": chosen})


@dataclass
class _RecordedCluster:
    """A cluster that answers each call as it was answered when the script was recorded."""

    folder: Path
    document: attachments.Document
    unknown: list[str] = field(default_factory=list)
    """Calls that were not recorded."""
    lost: attachments.Changed | attachments.Skipped | None = None
    """Why a body could not be returned again."""

    def __post_init__(self) -> None:
        self._answers: defaultdict[str, deque[attachments.CapturedCall]] = defaultdict(deque)
        for call in self.document.calls:
            equal_calls = self._answers[call.request]
            equal_calls.append(call)

    @property
    def names(self) -> tuple[str, ...]:
        """The recorded contexts."""
        return self.document.contexts

    @property
    def namespace(self) -> str:
        """The recorded default namespace."""
        return self.document.namespace

    @property
    def sources(self) -> dict[str, str]:
        """The recorded sources."""
        return dict(self.document.sources)

    @property
    def is_named_by_data(self) -> bool:
        """True: the record does not say where the names came from."""
        return True

    def handle(
        self, call: exchanges.Call, operation: operation.Operation, timeout_s: float
    ) -> tuple[exchanges.Reply, types.Response | None]:
        """Returns the recorded answer, and restores the recorded notes."""
        # Equal calls are answered in their order.
        waiting = self._answers[replays.fingerprint(call)]
        if not waiting:
            path = "/".join(call.path)
            self.unknown.append(f"{call.method} /{path}")
            fault = protocol.ScriptFault("cluster.not_captured", "this call was not made when the script was recorded")
            return exchanges.Reply(0, fault=fault), None
        seen = waiting.popleft()
        self._restore_notes(operation.summary)
        if seen.reply.fault is not None:
            return seen.reply, None
        return seen.reply, self._response(seen)

    def _restore_notes(self, tally: summary.Summary) -> None:
        """Copies the contents of the recorded summary into the script's summary."""
        for name, value in self.document.summary.items():
            # Attack: a record of unknown origin names another attribute, or gives a value that the summary cannot use.
            known = getattr(tally, name, None)
            if type(known) is type(value):
                setattr(tally, name, value)
        tally.replayed = [notes.Note(note) if isinstance(note, str) else note for note in self.document.notes]

    def _response(self, seen: attachments.CapturedCall) -> types.Response:
        reply = seen.reply
        return types.Response(
            status=reply.status,
            reason=reply.reason,
            content_type=reply.content_type,
            chunks=self._body(seen),
            close=lambda: None,
            headers=reply.headers,
        )

    def _body(self, seen: attachments.CapturedCall) -> Iterator[bytes]:
        data = b""
        bodies = self.folder / "bodies"
        try:
            if seen.body:
                data = attachments.read(bodies, seen.body)
        except (attachments.Changed, attachments.Skipped) as error:
            self.lost = error
            raise errors.ClusterError("the recorded answer is no longer there", code="cluster.broken") from None
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]
        if seen.fault is not None:
            raise errors.ClusterError(seen.fault.message, code=seen.fault.code)
