"""A script's calls and the answers that its worker got, from which `kubescript audit replay` gives the same answers
again. The recorder makes one `Capture` per script if the operator asked for that (`audit.responses`)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import msgspec

from kubescript import errors, types
from kubescript.audit import attachments, script_records
from kubescript.broker import summary
from kubescript.output import notes
from kubescript.wire import exchanges
from kubescript_sandbox import runs

__all__ = ["Capture", "fingerprint"]


def fingerprint(call: exchanges.Call) -> str:
    """Returns a hash that identifies the call without revealing query values or the body."""
    data = msgspec.json.encode(call)
    return hashlib.sha256(data).hexdigest()


class Capture:
    """The recording of the answers to a script's calls, after redaction. Calls may be answered concurrently."""

    def __init__(self, kept_files: attachments.Store, redact: script_records.Redact) -> None:
        self._store = kept_files
        self._redact = redact
        self._lock = threading.Lock()
        self._calls: list[dict[str, Any]] = []
        self.failed: errors.AuditError | None = None
        """Why the first missing answer could not be saved."""

    def wrap(self, on_call: types.OnCall) -> types.OnCall:
        """Returns `on_call`, wrapped so that its answers are saved on their way to the worker."""

        def answer(call: exchanges.Call, timeout_s: float) -> tuple[exchanges.Reply, types.Response | None]:
            reply, response = on_call(call, timeout_s)
            captured: dict[str, Any] = {
                "request": fingerprint(call),
                "reply": self._mask(msgspec.to_builtins(reply), script_records.patience()),
                "fault": None,
            }
            with self._lock:
                self._calls.append(captured)
            if response is not None:
                chunks = self._save_chunks(response.chunks, captured)
                response = replace(response, chunks=chunks)
            return reply, response

        return answer

    def _mask(self, value: Any, check: Callable[[], None] | None = None) -> Any:
        """Returns the value with every string in it masked."""
        # Some strings quote the script (a refused name) or the API server (a warning).
        if isinstance(value, str):
            return self._redact(value, lambda _: None, check)
        if not isinstance(value, dict):
            return value
        masked = {}
        for name, part in value.items():
            masked_name = self._redact(name, lambda _: None, check)
            masked[masked_name] = self._mask(part, check)
        return masked

    def _save_chunks(self, chunks: Iterator[bytes], captured: dict[str, Any]) -> Iterator[bytes]:
        """Yields a body's chunks, each saved before the worker gets it."""
        try:
            sink = self._store.sink()
            # This fault remains if the script stops reading early: the generator is then closed at a `yield`.
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
        limits: runs.Limits,
        where: exchanges.Parameters,
        summary: summary.Summary,
        missed: Sequence[notes.Note],
        answer: types.Answer,
    ) -> str:
        """Saves the whole evaluation; returns its hash. Raises AuditError."""
        if self.failed is not None:
            raise self.failed
        return self._store.save_replay(
            {
                "limits": asdict(limits),
                "contexts": where.contexts,
                "namespace": where.namespace,
                "namespaces": where.namespaces,
                "sources": list(where.sources.items()),  # the first of a kind is the script's global
                "calls": self._calls,
                "tally": {"redacted": self._mask(summary.redacted)},
                "notes": [(self._mask(note.sentence), tuple(map(self._mask, note.values))) for note in missed],
                "answer": self._mask(answer.text),
            }
        )
