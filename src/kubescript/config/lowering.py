"""Settings that permit fewer changes: of a caller with fewer rights, or of a server whose flags permit less."""

from __future__ import annotations

from typing import Final, TypeVar

from kubescript.config.context_table import ClusterPolicy
from kubescript.config.settings import Mode, Settings

__all__ = ["lower", "lower_tables"]

_MODES: Final[tuple[Mode, ...]] = ("off", "plan", "direct")
"""In order: each mode permits more than the one before."""

_Policy = TypeVar("_Policy", bound=ClusterPolicy)


def lower(mode: Mode, most: Mode) -> Mode:
    """Returns the less permissive of two modes."""
    return min(mode, most, key=_MODES.index)


def lower_tables(settings: Settings, most: Mode) -> dict[str, object]:
    """Returns the tables of listed and found clusters and of `openstack`, with no mode above `most`."""
    contexts = {
        name: _lower_table(listed, settings.of_context(name).mode, most) for name, listed in settings.contexts.items()
    }
    found = [_lower_table(table, settings.of_found("", table).mode, most) for table in settings.fleet.settings]
    fleet = settings.fleet.model_copy(update={"settings": tuple(found)})
    tables: dict[str, object] = {"contexts": contexts, "fleet": fleet}
    # `openstack` makes no plans, so it writes nothing below `direct`. Writes by `oc` are subject to the cluster's own
    # mode.
    if most != "direct":
        tables["openstack"] = settings.openstack.model_copy(update={"allow_write": False})
    return tables


def _lower_table(own: _Policy, mode: Mode, most: Mode) -> _Policy:
    """Returns a cluster's table with a mode that is not above `most`."""
    return own.model_copy(update={"writes": lower(mode, most)})
