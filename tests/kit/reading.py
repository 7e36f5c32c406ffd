"""A broker whose answers are read as the masking process reads them, in the test's own process and without masks; and
what is told of a body while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

from kubescript import errors, redaction, types
from kubescript.broker import answer, broker
from kubescript.changes import writer
from kubescript.changes.rules import writes
from kubescript.cluster import base
from kubescript.inspection import metadata_bodies, served_objects
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_masking.engine import completeness
from kubescript_masking.wire import lists

Change = Callable[[request.Request, Iterator[bytes], Callable[[str], None]], Iterator[bytes]]


class Report:
    """What is told of a body."""

    def __init__(self, found: Callable[[str], None] = lambda _: None) -> None:
        self.found = found
        self.size = 0
        self.error = 0

    def read(self, size: int) -> None:
        """Bytes were read."""
        self.size += size

    def event_error(self, status: int) -> None:
        """A watch has ended with an error."""
        self.error = status


def formed(call: request.Request) -> request.Request:
    """The request as the broker has the body of its 200 read."""
    media_type = "text/plain" if answer.is_log(call) else "application/json"
    head = types.Response(200, "OK", media_type, iter(()), lambda: None)
    return replace(call, form=answer.find_form(call, head))


def changing(change: Change) -> answer.Redactor:
    """A redactor that checks a body as it comes, and passes on what `change` makes of it."""

    def redact(call: request.Request, chunks: Iterator[bytes], report: redaction.Report) -> answer.Masked:
        check = completeness.Check(call.form)

        def watched() -> Iterator[bytes]:
            try:
                for chunk in check.watch(chunks):
                    if check.error:
                        report.event_error(check.error)
                    yield chunk
            except lists.TooLargeError:
                raise errors.RedactionError("the answer has a part of more than can be held") from None
            except lists.FlawError as error:
                raise errors.ClusterError(f"this is no {error.reason}", code="cluster.broken") from None

        yield from change(call, watched(), report.found)
        return check.trailer()

    return redact


as_it_is = changing(lambda _call, chunks, _found: chunks)
"""A redactor that masks nothing."""


def made(cluster: base.Cluster, rules: policy.Policy, **hooks: Any) -> broker.Broker:
    """A broker that masks nothing, unless `hooks` do; it tries writes with `compare`, under `write_rules`."""
    own = writer.Writer(
        cluster,
        hooks.pop("compare", _incomparable),
        hooks.pop("write_rules", writes.Policy()),
        hooks.get("mask", lambda text, _found, _check: text),
        hooks.get("context", ""),
        log=hooks.get("record", broker.log_record),
    )
    return broker.Broker(cluster, rules, **{"redact": as_it_is, "writer": own, **hooks})


def _incomparable(*_: object) -> NoReturn:
    raise errors.PlanError("nothing compares objects here", code="plan.nobody")


def reduce_list(served: inspection.Metadata, body: bytes, size: int) -> bytes:
    """What passes of a list that arrives in pieces of this size; `refused` if nothing may."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    try:
        return b"".join(metadata_bodies.of_list(served, pieces))
    except served_objects.ShapeError:
        return b"refused"
