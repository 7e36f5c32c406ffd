"""One source, and one call to it: the broker's path of a call, with a source in the cluster's place.

Input is a hostile call; the output is masked as any answer of a cluster is. The host parses no answer of a source, and
sends only the requests of `operations`.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kubescript import config, errors, redaction, types
from kubescript.broker import answer, broker, call, summary
from kubescript.cluster import base
from kubescript.kube import namespace_patterns, wildcards
from kubescript.output import notes
from kubescript.policy import decisions, policy
from kubescript.request import request
from kubescript.sources import operations, question, remedies
from kubescript.wire import exchanges
from kubescript_masking.wire import masking

__all__ = ["Hooks", "Source", "SourceCall"]

log = logging.getLogger(__name__)

_SHARE: Final = 0.25
"""The largest part of a call's time left that counting its series once may take."""
_DIGITS: Final = 20
"""How many bytes of a count are read."""
_NOT_OF_A_NAMESPACE: Final = ("/targets", "/metadata")
"""The ends of the paths that proxies with one namespace at a time do not answer."""
_LABELS: Final = re.compile(rb"\{(?!\})")
"""The beginning of a label set with a label."""
_OBJECT: Final = b'{"'
"""The beginning of an error as JSON."""
_LABELS_WITHHELD: Final = b"(labels withheld)"
_UNCOUNTABLE: Final = 400
"""The status of a query that is wrong, or that gives no series: it is then sent as it is."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What every call to a source needs: the masking of its answer, and where calls are recorded."""

    redact: answer.Redactor
    redact_echo: answer.Redactor
    mask: call.Mask
    gzip: bool
    context: str = ""
    """The cluster's name when the server has several."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of one caller."""

    name: str
    settings: config.Source
    server: base.Server
    namespaces: tuple[str, ...] | None = None
    """The patterns of the only namespaces that the caller may see; None: there is no limit."""
    clock: Callable[[], float] = time.time
    """Returns the source's time, in seconds since the epoch: of a saved one, when it was saved."""

    @property
    def is_near(self) -> bool:
        """Whether it most likely is in the same network: plain http. Prometheus then needs longer to compress an answer
        than to send it: 10,000 series of 60 points take 0.1 s, and a third more than that compressed."""
        return (self.settings.url or "").startswith("http://")

    @property
    def kind(self) -> operations.Kind:
        """What it answers."""
        return operations.KINDS[self.settings.kind]


class SourceCall(broker.Broker):
    """One call to one source; made anew for each."""

    def __init__(self, source: Source, hooks: Hooks, *, is_ours: bool = False) -> None:
        """`is_ours` says that kubescript itself asks, not a script."""
        super().__init__(
            source.server,
            policy.Policy(),
            redact=hooks.redact,
            redact_echo=hooks.redact_echo,
            mask=hooks.mask,
            gzip=hooks.gzip and not source.is_near,
            context=hooks.context,
        )
        self._source = source
        self._hooks = hooks
        self._is_ours = is_ours
        self._peer = answer.Peer(f"{source.name}, the source,", remedies.for_stranger(source.name, source.settings))
        self._question: question.Question

    def _parse(self, call: call.Call, asked: exchanges.Call, timeout_s: float) -> None:
        # A refused question is on record with its source and operation, too; any other path is the script's text.
        if asked.path[-1] in self._source.kind.operations:
            call.request = replace(call.request, path=self._name(asked))
        super()._parse(call, asked, timeout_s)

    def _name(self, asked: exchanges.Call) -> str:
        """Returns the path of a call in records and notes, which say nothing of what was asked."""
        return "/" + "/".join((*exchanges.SOURCES, self._source.name, asked.path[-1]))

    def _read(self, asked: exchanges.Call) -> request.Request:
        source = self._source
        now = source.clock()
        self._question = question.read(source.kind, asked, source.settings, now, is_ours=self._is_ours)
        return request.Request(
            method="GET",
            path=self._name(asked),
            query=(),
            verb="get",
            is_resource=False,
            form=self._question.operation.form,
            named=self._question.label,
        )

    def _send_as(self, parsed: request.Request) -> request.Request:
        return replace(parsed, path=self._question.path, query=self._question.query)

    def _check_head(self, call: call.Call) -> exchanges.Reply:
        reply = super()._check_head(call)
        remedy = remedies.for_status(self._source.name, self._source.settings, reply.status)
        if remedy:
            about = {"event": "cluster.remedy", "context": call.cluster}
            log.warning("the source %s refuses a call (%s): %s", self._source.name, reply.status, remedy, extra=about)
        return reply

    def _is_echo(self, call: call.Call, response: types.Response) -> bool:
        # Attack: `absent(x{password="guess"})` gives a guess back as a label, whose mask would confirm it.
        is_query = bool(self._question.expression) and not self._is_ours
        return is_query or super()._is_echo(call, response)

    def _watch(self, call: call.Call, redact: answer.Redactor) -> answer.Redactor:
        def watch(about: request.Request, chunks: Iterator[bytes], report: redaction.Report) -> answer.Masked:
            masked = redact(about, chunks, report)
            if about.form == "text" and self._question.operation.form in {"series", "streams"}:
                masked = _withhold_labels(masked)
            trailer = yield from masked
            if trailer is not None and about.form == "count":
                yield str(trailer.items).encode()
            elif trailer is not None:
                self._judge_answer(call, trailer)
            return trailer

        return watch

    def _judge_answer(self, call: call.Call, trailer: masking.Trailer) -> None:
        """Notes that an answer is cut or lacks a part. Raises ClusterError if it has more than was asked for."""
        most = self._question.limit
        if trailer.items > most:
            raise errors.ClusterError(
                f"the source answered with {trailer.items} series or lines, and {most} is the most here; narrow the "
                "query, or take fewer steps",
                code="cluster.too_large",
            )
        what = self._describe(call)
        if trailer.is_partial:
            call.note_part(f"{what} (the source says that a part is missing)")
        if trailer.items == most:
            call.note_part(f"{what} ({most} only, there may be more)")

    def _describe(self, call: call.Call) -> str:
        """Returns the kind and the operation. They are kubescript's own words; the source's name may be that of a
        stranger's snapshot."""
        return f"{self._source.settings.kind} {call.request.path.rpartition('/')[2]}"

    def _decide(self, call: call.Call) -> None:
        decision = self._judge_caller() or self._judge_points(call)
        if decision is not None:
            raise call.deny(decision, notes.Note(self._describe(call)))
        call.decision = decisions.ALLOW
        if self._source.settings.kind == "prometheus" and self._question.expression:
            # The source stops working on a query that is not waited for.
            timeout = ("timeout", f"{call.seconds_left:.1f}")
            call.sent = replace(call.sent, query=(*call.sent.query, timeout))

    def _judge_caller(self) -> decisions.Decision | None:
        """Returns the denial of a call that this caller may not make; None if there is none."""
        tenancy, namespace = self._source.settings.tenancy, self._question.namespace
        is_of_all = self._question.operation.path.endswith(_NOT_OF_A_NAMESPACE)
        if tenancy == "namespace" and (is_of_all or not namespace):
            instead = 'add namespace="..."'
            if is_of_all:
                instead = (
                    'it answers no targets and no metadata, so query the metrics: prom.query("up", namespace="...")'
                )
            return _deny("policy.source", "this source shows one namespace at a time", instead)
        if tenancy != "namespace" and namespace:
            return _deny("policy.source", "this source takes no namespace", "name it in the query instead")
        patterns = self._source.namespaces
        if patterns is None or tenancy == "source":
            return None
        permitted = f"you are limited to the namespaces {namespace_patterns.describe(patterns)}"
        if tenancy == "none":
            # Attack: a caller who may see one namespace asks for the series and log lines of all.
            instead = "read the objects; the operator can name a source that keeps namespaces apart (tenancy)"
            return _deny("policy.source", f"{permitted}, and this source shows all", instead)
        if not wildcards.matches(namespace, patterns):
            return _deny("policy.namespace", permitted, "name one of these")
        return None

    def _judge_points(self, call: call.Call) -> decisions.Decision | None:
        """Returns the denial of a range query with too many points; None if it has few enough. Raises
        KubescriptError."""
        asked, most = self._question, self._source.settings.max_points
        if asked.points * self._source.settings.max_series <= most:
            return None
        is_counted = operations.COUNT in self._source.kind.operations and asked.points <= most
        # Attack: a query has no series at its end, and many before.
        for moment in (asked.end, asked.start, (asked.start + asked.end) / 2) if is_counted else ():
            series = self._count_series(call, moment)
            if series * asked.points > most:
                return _deny_points(f"{series} series with ", asked.points, most)
        return None if asked.points <= most else _deny_points("", asked.points, most)

    def _count_series(self, call: call.Call, moment: float) -> int:
        """Returns how many series the query has at a time, in seconds since the epoch. Raises KubescriptError."""
        count = ("query", f"count(\n{self._question.expression}\n)")
        arguments = [count, ("time", f"{moment:.3f}")]
        if self._question.namespace:
            arguments.append(("namespace", self._question.namespace))
        asked = exchanges.Call("GET", (*exchanges.SOURCES, self._source.name, operations.COUNT), tuple(arguments))
        own = SourceCall(self._source, self._hooks, is_ours=True)
        # The script's notes do not tell of it; its bytes and calls are the script's.
        aside = replace(call.operation.aside(), summary=summary.Summary(payer=call.operation.summary))
        reply, response = own.handle(asked, aside, call.seconds_left * _SHARE)
        if reply.fault is not None:
            raise errors.ClusterError(reply.fault.message, code=reply.fault.code)
        assert response is not None
        with contextlib.closing(response):
            if reply.status == _UNCOUNTABLE:
                return 1
            body = _read_digits(response) if reply.status == 200 else b""
        if not body.isdigit():
            raise errors.ClusterError(
                f"the source could not count the query's series ({reply.status}); narrow it", code="cluster.broken"
            )
        return int(body)


def _withhold_labels(masked: answer.Masked) -> answer.Masked:
    """Returns a source's error, plain or as JSON, up to the first label set that it quotes."""
    # Attack: a query has Loki fail at a line, and its error quotes the labels that a parser made of that line: without
    # the line, the masker cannot know which of them it would hide. Prometheus quotes those of series.
    opening, is_cut = b"", False
    while True:
        try:
            piece = next(masked)
        except StopIteration as end:
            trailer: masking.Trailer | None = end.value
            return trailer
        if is_cut:
            continue
        begins_json = not opening and piece.startswith(_OBJECT)
        labels = _LABELS.search(piece, int(begins_json))
        opening = opening or piece[:2]
        is_cut = labels is not None
        yield _cut(piece[: labels.start()], is_json=opening == _OBJECT) if labels else piece


def _cut(text: bytes, *, is_json: bool) -> bytes:
    """Returns the beginning of an error, closed."""
    if is_json and text.endswith(b'":'):  # the API server's Status has "details" after its message
        return text + b"null}"
    return text + _LABELS_WITHHELD + (b'"}' if is_json else b"")


def _read_digits(response: types.Response) -> bytes:
    """Returns the first bytes of a count."""
    body = b""
    for chunk in response.chunks:
        # Attack: a source, or a masking process that it has taken, answers with more than a number.
        body += chunk[:_DIGITS]
        if len(body) > _DIGITS:
            break
    return body


def _deny_points(series: str, points: int, most: int) -> decisions.Decision:
    return _deny(
        "policy.points",
        f"{series}{points} steps are more than {most} points",
        "a longer step=, a shorter range, or fewer series: sum by (...), topk(...)",
    )


def _deny(rule: str, reason: str, instead: str) -> decisions.Decision:
    return decisions.Decision("deny", rule, reason, instead)
