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
    """Whether it was answered with an error, refused or declined."""
    id: str = ""
    """The id of the call or the audit event, which evidence refers to."""


def of(run: transcript.Transcript) -> tuple[Moment, ...]:
    """Returns the moments in order. For a run without an end, these are those until it broke off."""
    began = min((one.at for one in (*run.calls, *run.texts, *run.failures)), default=run.run.at)
    moments = [_call(one, began) for one in run.calls]
    moments += [_question(one, began) for one in run.asked]
    moments += [_failure(one, began) for one in run.failures]
    moments += [_event(one, began, run.run.user) for one in run.events if _is_shown(one)]
    moments.sort(key=lambda moment: (moment.lane == "others", moment.start, moment.id, moment.label))
    return tuple(sorted(moments[:_MAX_MOMENTS], key=lambda moment: (moment.start, moment.id, moment.label)))


def _is_shown(event: transcript.Event) -> bool:
    """Says whether a request changed something or was refused, including refused dry runs."""
    return events.is_write(event) and not (event.is_dry and event.status < 400)


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
    sent = msgspec.json.encode(call.arguments).decode()[:_MAX_TEXT]
    shown = call.result[:_MAX_TEXT] if call.ended is not None else "(no answer)"
    times = call.at - began, (call.ended or call.at) - began
    return _moment("call", times, call.tool, f"{sent}\n→ {shown}", is_error=call.is_error, name=call.id)


def _question(asked: transcript.Asked, began: float) -> Moment:
    at = asked.at - began
    return _moment("asked", (at, at), asked.answer, asked.message[:_MAX_TEXT], is_error=asked.answer != "accept")


def _failure(failed: transcript.Failed, began: float) -> Moment:
    at = failed.at - began
    return _moment("failure", (at, at), failed.name, failed.what[:_MAX_TEXT])


def _event(event: transcript.Event, began: float, user: str) -> Moment:
    below = f"/{event.subresource}" if event.subresource else ""
    place = f"{event.namespace}/{event.name}" if event.namespace else event.name
    return _moment(
        "agent" if event.user in {user, "agent"} else "others",
        (event.at - began, event.ended - began),
        f"{event.verb} {kinds.full_name(event.group, event.resource)}{below} {place}",
        f"{event.user}: {event.status}{' (dry run)' if event.is_dry else ''}"[:_MAX_TEXT],
        is_error=not 200 <= event.status < 300,
        name=event.audit,
    )
