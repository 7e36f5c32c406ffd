"""What one script saw: each call it made and the answer its worker got, kept so that `replay` can give it again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import msgspec

from kubescript import errors, types
from kubescript.audit import record, store
from kubescript.broker import summary
from kubescript.executor import conversation
from kubescript.wire import protocol

__all__ = ["Capture", "fingerprint"]


def fingerprint(call: protocol.Call) -> str:
    """The same for the same question: no query value or body can be read from it."""
    return hashlib.sha256(msgspec.json.encode(call)).hexdigest()


class Capture:
    """Looks on while a script's calls are answered, after redaction. Calls may be answered side by side."""

    def __init__(self, kept: store.Store, redact: record.Redact) -> None:
        self._store = kept
        self._redact = redact
        self._lock = threading.Lock()
        self._calls: list[dict[str, Any]] = []
        self.failed: errors.AuditError | None = None
        """The first answer that could not be kept."""

    def wrap(self, on_call: conversation.OnCall) -> conversation.OnCall:
        """`on_call`, its answers kept on their way."""

        def answer(call: protocol.Call, timeout_s: float) -> tuple[protocol.Reply, types.Response | None]:
            reply, response = on_call(call, timeout_s)
            captured: dict[str, Any] = {
                "request": fingerprint(call),
                "reply": self._masked(msgspec.to_builtins(reply)),
                "fault": None,
            }
            with self._lock:
                self._calls.append(captured)
            if response is not None:
                response = replace(response, chunks=self._saved_chunks(response.chunks, captured))
            return reply, response

        return answer

    def _masked(self, value: Any) -> Any:
        """Texts that quote the script (a refused name) or the API server (a warning) pass redaction like all others."""
        if isinstance(value, str):
            return self._redact(value, lambda _: None)
        return (
            {self._redact(name, lambda _: None): self._masked(part) for name, part in value.items()}
            if isinstance(value, dict)
            else value
        )

    def _saved_chunks(self, chunks: Iterator[bytes], captured: dict[str, Any]) -> Iterator[bytes]:
        try:
            sink = self._store.sink()
            captured["fault"] = {"code": "closed", "message": "the script did not read to the end"}
            try:
                for chunk in chunks:
                    sink.write(chunk)
                    yield chunk
                captured["fault"] = None
            except errors.AuditError:
                raise
            except errors.KubescriptError as error:
                captured["fault"] = {"code": error.code, "message": error.message}
                raise
            finally:
                captured["body"] = sink.close()
        except errors.AuditError as error:
            self.failed = self.failed or error
            raise

    def save(
        self,
        limits: types.Limits,
        where: tuple[tuple[str, ...], str],
        summary: summary.Summary,
        notes: Sequence[str],
        answer: types.Answer,
    ) -> str:
        """The whole evaluation, kept; gives its hash. Raises AuditError."""
        if self.failed is not None:
            raise self.failed
        values = {one.name: getattr(summary, one.name) for one in fields(summary)}
        return self._store.save_replay({
            "limits": asdict(limits), "contexts": where[0], "namespace": where[1], "calls": self._calls,
            "tally": {name: self._masked(value) for name, value in values.items() if isinstance(value, dict | bool)},
            "notes": [self._masked(note) for note in notes], "answer": self._masked(answer.text),
        })  # fmt: skip
