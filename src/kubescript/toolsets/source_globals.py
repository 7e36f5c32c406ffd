"""What the definition of `evaluate_script` says about the globals for metrics, alerts, logs and traces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kubescript import config

__all__ = ["describe"]

_SOURCES: Final = {
    "prometheus": ("prom", "query, query_range, rules, targets"),
    "alertmanager": ("alertmanager", "alerts, silences"),
    "loki": ("loki", "query, query_range"),
    "tempo": ("tempo", "search, trace"),
}
"""The global for each kind of source, and its most important methods."""
_SERIES: Final = " Series: .labels, .value, .values (t, v), .min, .max, .last, .pod()."
_TIMES: Final = ' Times: datetime or "-1h".'
_ONE_NAMESPACE: Final = ' Each call of {names} needs namespace="...".'
_MAX_SOURCES_LENGTH: Final = 22
"""How many characters of the names of further sources the definition shows."""


def describe(settings: config.Settings, source_kinds: Collection[str]) -> str:
    """Returns a description of the sources; empty if there are none. `source_kinds` are those of saved ones, too."""
    named = settings.source_kinds
    # Attack: the names of a stranger's saved sources speak to the model in the definition.
    saved = {kind: kind for kind in source_kinds if kind not in named.values()}
    return _list_globals(named | saved) + _tell_tenancy(settings)


def _list_globals(kinds: Mapping[str, str]) -> str:
    """Returns a description of the sources with these kinds by name; empty if there are none."""
    if not kinds:
        return ""
    known = [_SOURCES[kind] for kind in _SOURCES if kind in kinds.values()]
    listed = ", ".join(f"{name} ({methods})" for name, methods in known)
    text = f" More globals: {listed}: lists."
    if not {"prometheus", "loki"}.isdisjoint(kinds.values()):
        text += _SERIES
    if set(kinds.values()) != {"alertmanager"}:
        text += _TIMES
    text += f" help({known[0][0]})."
    first_of_kind = {kind: name for name, kind in [*kinds.items()][::-1]}
    others = [name for name in kinds if name not in first_of_kind.values()]
    if not others:
        return text
    names = ", ".join(others)
    # An unknown name's error lists all.
    shown = names if len(names) <= _MAX_SOURCES_LENGTH else f"{others[0]}, …"
    return f"{text} k8s.source(name): {shown[:_MAX_SOURCES_LENGTH]}"


def _tell_tenancy(settings: config.Settings) -> str:
    """Returns what calls of sources that show one namespace at a time need; empty if there are none."""
    names = {_SOURCES[own.kind][0]: None for own in settings.sources.values() if own.tenancy == "namespace"}
    return _ONE_NAMESPACE.format(names=", ".join(names)) if names else ""
