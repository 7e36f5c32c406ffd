"""An answer on its way from a cluster to a script: whether an API server could have given it, and its body.

The broker calls `find_fault` before a script sees anything of an answer: a login page, or an answer without content,
must not look like an empty log or cluster. It makes one `Body` for each answer, which is masked and counted, and whose
end is recorded once. A body that cannot be masked is withheld. A body that is cut short, or that the masking process
does not confirm to be complete, ends with an error.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from kubescript import errors, redaction, types
from kubescript.broker import call, logview
from kubescript.request import request
from kubescript_masking.wire import masking

__all__ = ["API_SERVER", "NO_API_SERVER", "Body", "Masked", "Peer", "Redactor", "find_fault", "find_form", "is_log"]

log = logging.getLogger(__name__)

Masked = Generator[bytes, None, masking.Trailer | None]
Redactor = Callable[[request.Request, Iterator[bytes], redaction.Report], Masked]
"""A function that masks secret values in a body on its way to the script, decompresses it when the request says `gzip`,
and returns the findings of a process without credentials about the body."""

_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_DOCUMENTS: Final = (_JSON, _TEXT, "application/jwk-set+json", "application/stream+json")
"""Media types of documents, in all of which the masking process finds JSON. kube-apiserver labels /openapi/v3 as text,
and VictoriaMetrics its answer to `mem[5m]` as a stream."""
_SHARE: Final = 4
"""The part of a script's remaining bytes that the answer of one of several clusters may have, as a divisor."""
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
"""Path prefixes of the only documents that are not JSON."""
_DONE: Final = frozenset({200, 201, 202})
_NO_LOG_QUERY: Final = "this node's kubelet answers no queries of logs (enableSystemLogQuery)"
_SET_LOG_QUERY: Final = "set enableSystemLogQuery in the kubelet's configuration (Kubernetes 1.30 or later)"
_ENCODINGS: Final = ("yaml", "protobuf", "cbor")
"""Formats that API servers support and none of our requests accepts."""
NO_API_SERVER: Final = "check that `server` in the kubeconfig is an API server, not a login page or a proxy"
"""Advice about an answer that no API server would give."""


class Peer(NamedTuple):
    """Who answers calls."""

    name: str
    """What messages call it."""
    remedy: str
    """Advice about an answer that it would not give."""


API_SERVER: Final = Peer("the API server", NO_API_SERVER)


class Body:
    """A body that counts its bytes as they arrive, and logs once how it ended."""

    def __init__(self, call: call.Call, response: types.Response) -> None:
        self._call = call
        self._response = response
        self._received = 0
        self._unpacked = 0
        """Bytes reported by the masking process, which alone decompresses."""
        self._passed: int | None = 0 if call.sent.namespaces else None
        """Masked bytes, counted if the script may see only some of the objects."""
        self._size = 0
        """Bytes counted so far: those that passed, or the larger of the other two counts."""
        self._most = _find_most(call)
        """How many bytes may arrive; None if any number."""
        self._redacted: dict[str, int] = {}
        self._has_error = False
        self._trailer: masking.Trailer | None = None
        self._lock = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """Ends a pending read. Any thread may call it, any number of times."""
        self._response.close()
        # The journal remembers that it lost a call, and withholds the script's answer.
        with contextlib.suppress(errors.AuditError):
            self._end(call.CLOSED)

    def mask(self, redact: Redactor) -> Iterator[bytes]:
        """Yields the masked body; for a log, only the requested lines. Raises KubescriptError when the body is cut
        short or cannot be masked."""
        form = find_form(self._call.request, self._response)
        about = replace(self._call.sent, gzip=self._response.gzip, form=form)
        try:
            masked = redact(about, self._read_chunks(), self)
            shown = self._check_whole(masked)
            if form == "log":
                shown = logview.shape(self._call.request, shown, self._response.date)
            if self._passed is not None:
                shown = self._count_passed(shown)
            yield from shown
        except errors.KubescriptError as error:
            self._end(error.code)
            raise
        except Exception:
            # Fail closed: after a redactor's failure, a body must neither pass unmasked nor look merely short.
            log.exception("a body could not be redacted", extra={"event": "broker.bug"})
            self._end("redaction.failed")
            raise errors.RedactionError("the answer could not be redacted and was withheld") from None
        else:
            self._end("")
        finally:
            self.close()

    def found(self, kind: str) -> None:
        """Counts a masked value."""
        self._redacted[kind] = self._redacted.get(kind, 0) + 1

    def read(self, size: int) -> None:
        """Counts bytes that the masking process read. Raises LimitExceeded."""
        self._unpacked += size
        self._count()

    def event_error(self, status: int) -> None:
        """Notes once that a watch ended with an error, which a script may swallow."""
        if not self._has_error:
            self._has_error = True
            self._call.note_failure(status)

    def _read_chunks(self) -> Iterator[bytes]:
        """Yields the body as it arrives from the cluster."""
        for chunk in self._response.chunks:
            self._received += len(chunk)
            self._count()
            yield chunk

    def _count_passed(self, shown: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the masked body, of which a part was left out, and counts it."""
        for chunk in shown:
            self._passed = (self._passed or 0) + len(chunk)
            self._count()
            yield chunk

    def _count(self) -> None:
        # Attack: a script fetches a list of 700 MB again and again, of which masking, metadata or tailing leave only a
        # few bytes.
        arrived = max(self._received, self._unpacked)
        # Attack: of Namespaces that may not be seen, a script learns how many bytes were left out, by its limits or
        # from the metrics.
        size = arrived if self._passed is None else self._passed
        more = size - self._size
        self._size = size
        self._call.operation.summary.take(more)
        if self._most is not None and arrived > self._most:
            raise errors.ClusterError(
                f"the answer has more than {self._most >> 20} MiB, all that one answer may use of "
                "`limits.response_mib`; use limit=, selectors or one namespace",
                code="cluster.too_large",
            )

    def _check_whole(self, masked: Masked) -> Iterator[bytes]:
        """Yields the masked body. Raises ClusterError at its end unless the masking process has read all of it."""
        self._trailer = yield from masked
        if self._trailer is None:  # Attack: a body that was not read to its end passes for a complete one
            raise errors.ClusterError("nothing has checked whether the answer is whole", code="cluster.broken")

    def _end(self, fault: str) -> None:
        # The reader and a thread that cancels the call may both end it; it is recorded once.
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._call.end(self._response.status, fault, self._size, self._redacted, self._trailer)


def _find_most(call: call.Call) -> int | None:
    """Returns how many bytes of an answer may arrive; None if only what is left of the script's bytes bounds it."""
    summary = call.operation.summary
    # The bytes that are left would tell a script how long the list with the others is.
    if call.sent.namespaces:
        return summary.most_bytes
    # Attack: one of 200 clusters sends a list without end, which uses up the bytes that are left for the others.
    return summary.bytes_left // _SHARE if call.cluster else None


def find_fault(asked: request.Request, response: types.Response, peer: Peer = API_SERVER) -> errors.ClusterError | None:
    """Returns the fault of an answer of this peer; None if it has none."""
    if not _answers(asked, response.status):
        text = f"{peer.name} answered {response.status}, which is not an answer to {asked.verb}"
        return errors.ClusterError(text, code="cluster.broken", remedy=peer.remedy)
    has_content = response.status < 300 and response.status != 204
    is_promised_type = response.content_type.startswith(_types(asked))
    if (has_content and not is_promised_type) or _is_encoded(response):
        media_type = response.content_type.partition(";")[0][:50] or "nothing"
        if asked.kubelet == "logs":
            return errors.ClusterError(_NO_LOG_QUERY, code="cluster.broken", remedy=_SET_LOG_QUERY)
        expected = "text" if is_log(asked) else "JSON"
        text = f"{peer.name} answered with {media_type} instead of {expected}"
        return errors.ClusterError(text, code="cluster.broken", remedy=peer.remedy)
    return None


def find_form(asked: request.Request, response: types.Response) -> masking.Form:
    """Returns the form that a complete body must have."""
    # An error may be a proxy's free text; 204 has no body.
    if response.status >= 300 or response.status == 204:
        return "text"
    if is_log(asked):
        return "log"
    if asked.kubelet or not asked.is_resource:
        # A source's operation has said which.
        own = asked.form if asked.form != "text" else "json"
        return "text" if asked.path.startswith(_HEALTH) else own
    if asked.verb == "watch":
        return "watch"
    if asked.method == "GET" and asked.verb == "list":
        return "table" if "as=Table" in asked.accept else "list"
    return "object"


def is_log(asked: request.Request) -> bool:
    """Says whether the request is for a log, of a container or of a node's service."""
    return asked.kubelet == "logs" or (asked.is_resource and asked.verb == "get" and asked.subresource == "log")


def _types(asked: request.Request) -> tuple[str, ...]:
    """Returns the permitted media types of the answer to this request."""
    # Attack: a login page, or an empty one, would pass for an empty log or watch.
    if not asked.is_resource:
        return _DOCUMENTS
    return (_TEXT,) if is_log(asked) else (_JSON,)


def _answers(asked: request.Request, status: int) -> bool:
    """Says whether a request can end with this status."""
    # Attack: 302, 304 or 101 answers a request for a log or watch with an empty body.
    if status >= 400:
        return True
    if asked.method != "GET":
        return status in _DONE
    # The log of a pod that is not running yet has no content.
    return status == 200 or (status == 204 and is_log(asked))


def _is_encoded(response: types.Response) -> bool:
    """Says whether the body has an encoding in which masking cannot find secrets as it does in JSON and text."""
    media_type = response.content_type.partition(";")[0].lower()
    return any(form in media_type for form in _ENCODINGS)
