"""The API of Alertmanager over its captured alerts and silences."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from kubescript import errors, types
from kubescript.snapshot import collection, responses
from kubescript.snapshot.sources import patterns, saved_source, selectors, server

__all__ = ["Alerts"]

_UNQUOTED: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)
_STATES: Final = ("active", "silenced", "inhibited", "unprocessed")
_Condition = tuple[str, Callable[[str], bool]]


class Alerts:
    """One saved Alertmanager."""

    def __init__(self, source: saved_source.SavedSource) -> None:
        self._source = source

    def answer(self, operation: str, arguments: server.Arguments, check: collection.Check) -> types.Response:
        """Returns the answer of an operation. Raises KubescriptError."""
        found = server.list_dicts(self._source.read(operation))
        conditions = [_read_filter(text, check) for text in arguments.list("filter")]
        if operation == "silences":
            return responses.document([each for each in found if _silences(each, conditions)])
        hidden = {name for name in _STATES if arguments.text(name) == "false"}
        receiver = arguments.text("receiver")
        is_receiver = patterns.compare(receiver, check, is_whole=True) if receiver else None
        return responses.document([
            each for each in found
            if _fits(each, conditions) and not _states_of(each) & hidden and (
                is_receiver is None or any(map(is_receiver, _receivers_of(each)))
            )
        ])  # fmt: skip


def _read_filter(text: str, check: collection.Check) -> _Condition:
    """Returns the label that a filter is about, and which values pass. Raises RequestError."""
    quoted = selectors.read(f"{{{text.strip().removeprefix('{').removesuffix('}')}}}")
    unquoted = _UNQUOTED.fullmatch(text)
    if quoted is not None and len(quoted.matchers) == 1:
        (matcher,) = quoted.matchers
    elif unquoted is not None:
        matcher = selectors.Matcher(*unquoted.groups())
    else:
        raise errors.RequestError(
            f'{text[:60]!r} is no filter; write one label each, such as severity="critical"', code="request.source"
        )
    return matcher.label, matcher.compile(check)


def _fits(alert: dict[str, Any], conditions: list[_Condition]) -> bool:
    labels = alert.get("labels")
    known = labels if isinstance(labels, dict) else {}
    return all(passes(str(known.get(label, ""))) for label, passes in conditions)


def _states_of(alert: dict[str, Any]) -> set[str]:
    """Returns what hides an alert if the question leaves it out."""
    status = alert.get("status")
    known = status if isinstance(status, dict) else {}
    states = {str(known.get("state", ""))}
    if known.get("silencedBy"):
        states.add("silenced")
    if known.get("inhibitedBy"):
        states.add("inhibited")
    return states


def _receivers_of(alert: dict[str, Any]) -> list[str]:
    return [str(each.get("name", "")) for each in server.list_dicts(alert.get("receivers"))]


def _silences(silence: dict[str, Any], conditions: list[_Condition]) -> bool:
    """Says whether a silence has a matcher for each condition."""
    matchers = server.list_dicts(silence.get("matchers"))
    return all(
        any(each.get("name") == label and passes(str(each.get("value", ""))) for each in matchers)
        for label, passes in conditions
    )
