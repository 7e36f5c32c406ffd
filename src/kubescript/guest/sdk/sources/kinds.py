"""The kinds of sources, and what scripts call the first one of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import labelled
from kubescript.guest.sdk.sources import alertmanager, loki, prom, source, tempo
from kubescript.guest.sdk.values import names

__all__ = ["first_of_each", "open_source"]

_KINDS: Final[Mapping[str, tuple[str, type[source.Source]]]] = {
    "prometheus": ("prom", prom.Prometheus),
    "alertmanager": ("alertmanager", alertmanager.Alertmanager),
    "loki": ("loki", loki.Loki),
    "tempo": ("tempo", tempo.Tempo),
}
"""For each kind, the global of scripts and its class."""


def open_source(known: Mapping[str, str], name: Any, session: session.Session, objects: labelled.Objects) -> Any:
    """Returns a source by its name; `known` has the kinds by name. Raises ValueError, which names the nearest ones."""
    # A script's own class of str may equal every name.
    plain = str.__str__(name) if isinstance(name, str) else repr(name)
    if plain not in known:
        raise ValueError(f"there is no source {plain!r}; {names.suggestion(plain, known)}")
    own, opened = _KINDS[known[plain]]
    spoken = own if first_of_each(known)[own] == plain else f"k8s.source({plain!r})"
    return opened(session, plain, spoken, objects)


def first_of_each(known: Mapping[str, str]) -> dict[str, str]:
    """Returns the globals of scripts: for each, the name of the first source of its kind."""
    found: dict[str, str] = {}
    for name, kind in known.items():
        found.setdefault(_KINDS[kind][0], name)
    return found
