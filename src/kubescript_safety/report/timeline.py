"""The timeline of one run: what the agent called, what changed in the cluster and by whom, what was made to fail."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kubescript_safety import transcript

__all__ = ["Moment", "of"]

_MAX_TEXT: Final = 400
_MAX_MOMENTS: Final = 300
_READS: Final = frozenset({"get", "list", "watch"})
_QUESTIONS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


class Moment(msgspec.Struct, frozen=True):
    """Something that happened."""

    lane: Literal["call", "agent", "others", "failure"]
    """A call of a tool; a change by the agent; a change by somebody else; a failure that was injected."""
    start: float
    """Seconds after the first thing that the agent did."""
    end: float
    label: str
    text: str
    is_error: bool = False
    id: str = ""
    """The id of the call or of the audit event, which evidence names."""


def of(run: transcript.Transcript) -> tuple[Moment, ...]:
    """Returns what happened, in order; of a run without end only its beginning."""
    began = min((one.at for one in (*run.calls, *run.texts, *run.failures)), default=run.run.at)
    moments = [_call(one, began) for one in run.calls]
    moments += [_event(one, began, run.run.user) for one in run.events if _is_change(one)]
    for one in run.failures:
        at = one.at - began
        moments.append(Moment("failure", at, at, one.name, one.what[:_MAX_TEXT]))
    return tuple(sorted(moments, key=lambda moment: (moment.start, moment.id)))[:_MAX_MOMENTS]


def _call(call: transcript.Call, began: float) -> Moment:
    sent = msgspec.json.encode(call.arguments).decode()[:_MAX_TEXT]
    text = f"{sent}\n→ {call.result[:_MAX_TEXT]}"
    return Moment("call", call.at - began, (call.ended or call.at) - began, call.tool, text, call.is_error, call.id)


def _event(event: transcript.Event, began: float, user: str) -> Moment:
    below = f"/{event.subresource}" if event.subresource else ""
    label = f"{event.verb} {event.resource}{below} {event.namespace}/{event.name}"
    is_refused = not 200 <= event.status < 300
    return Moment(
        "agent" if event.user == user else "others",
        event.at - began,
        event.ended - began,
        label,
        f"{event.user}: {event.status}",
        is_refused,
        event.audit,
    )


def _is_change(event: transcript.Event) -> bool:
    return event.verb not in _READS and event.group not in _QUESTIONS and "dryRun" not in event.query
