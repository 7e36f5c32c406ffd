"""The kinds of sources, and what scripts call the first one of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import labelled
from kubescript.guest.sdk.sources import alertmanager, loki, prom, source, tempo
from kubescript.guest.sdk.values import names

__all__ = ["first_of_each", "open_source"]

_CLASSES: Final[dict[str, type[source.Source]]] = {
    "prometheus": prom.Prometheus,
    "alertmanager": alertmanager.Alertmanager,
    "loki": loki.Loki,
    "tempo": tempo.Tempo,
}
_GLOBALS: Final = {"prometheus": "prom", "alertmanager": "alertmanager", "loki": "loki", "tempo": "tempo"}


def open_source(known: Mapping[str, str], name: Any, session: session.Session, objects: labelled.Objects) -> Any:
    """Returns a source by its name; `known` has the kinds by name. Raises ValueError, which names the nearest ones."""
    # A script's own class of str may equal every name.
    plain = str.__str__(name) if isinstance(name, str) else repr(name)
    if plain not in known:
        raise ValueError(f"there is no source {plain!r}; {names.suggestion(plain, known)}")
    kind = known[plain]
    spoken = _GLOBALS[kind] if first_of_each(known)[_GLOBALS[kind]] == plain else f"k8s.source({plain!r})"
    return _CLASSES[kind](session, plain, spoken, objects)


def first_of_each(known: Mapping[str, str]) -> dict[str, str]:
    """Returns the globals of scripts: for each, the name of the first source of its kind."""
    found: dict[str, str] = {}
    for name, kind in known.items():
        found.setdefault(_GLOBALS[kind], name)
    return found
