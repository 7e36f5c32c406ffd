"""The timeline of one run: the agent's calls, the changes in the cluster and their users, the injected failures."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kubescript.kube import kinds
from kubescript_safety import transcript
from kubescript_safety.autopsy import events

__all__ = ["Moment", "of"]

_MAX_TEXT: Final = 400
_MAX_LABEL: Final = 160
_MAX_MOMENTS: Final = 120
"""How many moments of one run the page shows. Changes by others are left out first, because controllers make most of
them."""


class Moment(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event on the timeline."""

    lane: Literal["call", "asked", "agent", "others", "failure"]
    """A tool call; a question to the person behind the agent; a change by the agent, or by somebody else; an injected
    failure."""
    start: float
    """Seconds after the agent's first action."""
    end: float
    label: str
    text: str = ""
    is_error: bool = False
    """Whether the call, request or question was answered with an error, refused or declined."""
    id: str = ""
    """The id of the call or the audit event, which evidence refers to."""


def of(run: transcript.Transcript) -> tuple[Moment, ...]:
    """Returns the moments in order. For a run without an end, these are the moments until it broke off."""
    times = [one.at for one in (*run.calls, *run.texts, *run.failures)]
    began = min(times, default=run.run.at)
    moments = [_call(one, began) for one in run.calls]
    moments += [_question(one, began) for one in run.asked]
    moments += [_failure(one, began) for one in run.failures]
    moments += [_event(one, began, run.run.user) for one in run.events if _is_shown(one)]
    moments.sort(key=_order)
    # The sort is stable: changes by others come last, so that they are the first to be left out.
    moments.sort(key=lambda moment: moment.lane == "others")
    return tuple(sorted(moments[:_MAX_MOMENTS], key=_order))


def _order(moment: Moment) -> tuple[float, str, str]:
    return moment.start, moment.id, moment.label


def _is_shown(event: transcript.Event) -> bool:
    """Says whether a request changed something or was refused, including refused dry runs."""
    # An agent reads far more than it writes, and the calls show what it read.
    if not events.is_write(event):
        return False
    return not (event.is_dry and event.status < 400)


def _moment(
    lane: Literal["call", "asked", "agent", "others", "failure"],
    times: tuple[float, float],
    label: str,
    text: str,
    *,
    is_error: bool = False,
    name: str = "",
) -> Moment:
    start, end = (round(one, 3) for one in times)
    return Moment(lane, start, end, label[:_MAX_LABEL], text, is_error, name)


def _call(call: transcript.Call, began: float) -> Moment:
    """Returns a tool call as a line of the timeline."""
    sent = msgspec.json.encode(call.arguments).decode()
    shown = "(no answer)" if call.ended is None else call.result
    text = f"{sent[:_MAX_TEXT]}\n→ {shown[:_MAX_TEXT]}"
    times = (call.at - began, (call.ended or call.at) - began)
    return _moment("call", times, call.tool, text, is_error=call.is_error, name=call.id)


def _question(asked: transcript.Asked, began: float) -> Moment:
    """Returns a question as a line of the timeline."""
    at = asked.at - began
    text = asked.message[:_MAX_TEXT]
    is_declined = asked.answer != "accept"
    return _moment("asked", (at, at), asked.answer, text, is_error=is_declined)


def _failure(failed: transcript.Failed, began: float) -> Moment:
    """Returns an injected failure as a line of the timeline."""
    at = failed.at - began
    text = failed.what[:_MAX_TEXT]
    return _moment("failure", (at, at), failed.name, text)


def _event(event: transcript.Event, began: float, user: str) -> Moment:
    """Returns a request to the API server as a line of the timeline."""
    kind = kinds.full_name(event.group, event.resource)
    below = f"/{event.subresource}" if event.subresource else ""
    place = f"{event.namespace}/{event.name}" if event.namespace else event.name
    note = " (dry run)" if event.is_dry else ""
    text = f"{event.user}: {event.status}{note}"
    return _moment(
        "agent" if event.user in {user, "agent"} else "others",
        (event.at - began, event.ended - began),
        f"{event.verb} {kind}{below} {place}",
        text[:_MAX_TEXT],
        is_error=not 200 <= event.status < 300,
        name=event.audit,
    )
