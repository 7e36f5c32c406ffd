"""logs: lines of Loki by LogQL, the oldest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl import logs as pod_logs
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.observability import metrics, rows, sources
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import labelled, streams
from kubescript.wire import messages

__all__ = ["logs"]

_PLACES: Final = frozenset({
    "namespace", "pod", "container", "k8s_namespace_name", "k8s_pod_name", "k8s_container_name",
})  # fmt: skip
"""The labels that say where a line was written, by Promtail and by OpenTelemetry."""
_FORWARD: Final = "forward"


class _Line(NamedTuple):
    """One entry of a log."""

    ns: int
    place: str
    text: str


def logs(
    k8s: client.K8s,
    query: str,
    start: Any = None,
    end: Any = None,
    limit: int = 100,
    direction: str = "backward",
    *,
    source: str | None = None,
) -> str:
    """Returns lines, the oldest first: the newest `limit` ones, or with direction="forward" the oldest. A query that
    counts gives figures as prometheus_query_range does."""
    loki = sources.find(k8s, source, "loki")
    with sources.telling():
        found = loki.query_range(query, start, end, limit, direction)
    if not found:
        return messages.text("lines_none")
    if not isinstance(found[0], streams.Stream):
        return metrics.write_range(found, limit)
    return _write(found, limit, direction)


def _write(found: Sequence[streams.Stream], limit: int, direction: str) -> str:
    """Returns the lines of all streams, after a line with their range and the labels that are the same in all."""
    labels = [each.labels for each in found]
    same = labels[0] if len(labels) == 1 else labelled.find_shared(labels)
    entries = _list_entries(found, same)
    form = rows.time_format(_seconds(entries[0]), _seconds(entries[-1]))
    texts = [text for entry in entries for text in _split(entry, form)]
    # The lines that were asked for are kept: an answer that is too long is cut at its end.
    shown = pod_logs.fit_lines(texts[::-1])[::-1] if direction == _FORWARD else pod_logs.fit_lines(texts)
    range_ = messages.text(
        "lines_range", start=rows.iso(_seconds(entries[0])), end=rows.iso(_seconds(entries[-1])), count=len(entries)
    )
    head = [range_, rows.describe(same)] if same else [range_]
    if len(entries) >= limit or len(shown) < len(texts):
        head.append(messages.text(f"lines_cut_{direction}"))
    return "\n".join([*head, *shown])


def _list_entries(found: Sequence[streams.Stream], same: Mapping[str, str]) -> list[_Line]:
    """Returns the entries of all streams, the oldest first."""
    entries = []
    for each in found:
        differing = {name: value for name, value in each.labels.items() if name not in same}
        places = [value for name, value in differing.items() if name in _PLACES]
        place = cells.line("/".join(places or differing.values()))
        entries += [_Line(entry.ns, place, entry.line) for entry in each.values]
    return sorted(entries, key=lambda entry: entry.ns)


def _split(entry: _Line, form: str) -> list[str]:
    """Returns the lines of one entry."""
    beginning = " ".join(filter(None, (rows.write_time(_seconds(entry), form), entry.place)))
    # Attack: an entry with a line end adds one that seems to be another pod's, so all but the first are indented.
    first, *rest = pod_logs.LINE_END.split(entry.text.rstrip("\n"))
    return [f"{beginning} {first}", *(f"    {each}" for each in rest)]


def _seconds(entry: _Line) -> float:
    return entry.ns / 1e9
