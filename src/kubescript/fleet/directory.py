"""The clusters that one caller's scripts may name now: those of the settings, and the found ones within the caller's
reach.

Every question is answered by the members and labels of this moment, so a cluster that goes, or whose labels change, is
out of reach with the next call of a running script.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kubescript import config, errors
from kubescript.fleet import fleet
from kubescript.fleet.member import Member
from kubescript.kube import selectors

__all__ = ["Directory", "Entry"]

# Attack: a script's selector has 1,400 requirements, which the host checks against each of 1,000 clusters for 0.2 s.
_MAX_SELECTOR: Final = 512
"""Characters of a script's selector."""
_MAX_REQUIREMENTS: Final = 32
_MAX_KEPT: Final = 16
"""How many answers about selectors are kept for one caller; each has up to 8 KiB."""
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One cluster that scripts may name."""

    name: str
    """Empty for the server's only cluster."""
    labels: Mapping[str, str] = field(default_factory=dict)
    member: Member | None = None
    """None: a cluster of the settings."""
    table: config.FleetSettings | None = None
    """The settings of a found one, beyond the server's."""

    def is_as(self, other: Entry) -> bool:
        """Says whether a connection made for the other one serves this one too: same kubeconfig, same settings."""
        if self.member is None or other.member is None:
            return self.member is other.member
        return self.member.revision == other.member.revision and self.table is other.table


class Directory:
    """The clusters of one caller. Safe for use from many threads."""

    def __init__(self, settings: config.Settings, found: fleet.Fleet) -> None:
        self._settings = settings
        self._fleet = found
        reach = settings.reach
        self._hidden = reach.listed
        self._names = frozenset(reach.names) if reach.names is not None else None
        self._selects = selectors.on_labels(reach.selector or "")
        self._tables = [(selectors.on_labels(table.label_selector), table) for table in settings.fleet.settings]
        self._seen: tuple[Mapping[str, Member], tuple[str, ...]] = ({}, ())
        """The members for which the names were last listed, and these names."""
        self._selected: tuple[Mapping[str, Member], dict[tuple[str, str], tuple[str, ...]]] = ({}, {})
        """The members for which names were last selected, and these by selector and group."""
        self._selecting = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether clusters may come and go."""
        return self._settings.fleet.is_on

    def find(self, name: str) -> Entry | None:
        """Returns the cluster of this name; None if scripts may not name it now."""
        listed = self._settings.contexts.get(name)
        if listed is not None:
            return Entry(name, listed.labels)
        if not self.is_open:
            return Entry("") if not name and not self._settings.contexts else None
        found = self._fleet.members().get(name)
        if found is None or not self._reaches(found):
            return None
        table = next((table for fits, table in self._tables if fits(found.labels)), None)
        return Entry(name, found.labels, found, table)

    def settings_of(self, entry: Entry) -> config.Settings:
        """Returns the settings as they apply to one cluster."""
        if entry.member is not None:
            return self._settings.of_found(entry.name, entry.table)
        return self._settings.of_context(entry.name) if entry.name else self._settings

    def list_names(self) -> tuple[str, ...]:
        """Returns all names, the default one first: `context` of the settings, else the first listed one, else the
        first found one by name."""
        if not self.is_open:
            return self._settings.context_names or ("",)
        members = self._fleet.members()
        before, names = self._seen
        # A set of members never changes: a new one is a new mapping.
        if before is not members:
            names = tuple(self._list(members))
            self._seen = members, names
        return names

    def list_settings(self) -> tuple[str, ...]:
        """Returns the names of the clusters that the settings list, the default one first."""
        return self._settings.context_names

    def select(self, label_selector: str, group: str) -> list[str]:
        """Returns the names with these labels, in a group of the settings, or both; empty texts select all. Raises
        RequestError."""
        # Attack: eight calls at a time keep eight threads busy, between which a ping waits for its turn.
        with self._selecting:
            members = self._fleet.members()
            before, selected = self._selected
            if before is not members or len(selected) >= _MAX_KEPT:
                selected = {}
                self._selected = members, selected
            key = label_selector, group
            if key not in selected:
                selected[key] = tuple(self._select(label_selector, group))
            return list(selected[key])

    def _select(self, label_selector: str, group: str) -> Iterator[str]:
        """Yields the names that `select` returns. Raises RequestError."""
        checks = [self._read(label_selector)]
        if group:
            checks.append(selectors.on_labels(self._group(group)))
        for entry in filter(None, map(self.find, self.list_names())):
            if all(check(entry.labels) for check in checks):
                yield entry.name

    def _reaches(self, found: Member) -> bool:
        """Says whether the caller may use a found cluster."""
        # Attack: whoever may write a Secret in the hub names a cluster like a listed one, for callers who may use that.
        if found.name in self._hidden:
            return False
        is_named = self._names is None or found.name in self._names
        return is_named and self._selects(found.labels)

    def _list(self, members: Mapping[str, Member]) -> Iterator[str]:
        names = [*self._settings.contexts, *(each.name for each in members.values() if self._reaches(each))]
        default = self._settings.context
        if default in names:
            yield default
        yield from (name for name in names if name != default)

    @staticmethod
    def _read(selector: str) -> Callable[[Mapping[str, str]], bool]:
        """Returns the predicate of a script's selector. Raises RequestError."""
        if len(selector) > _MAX_SELECTOR:
            raise errors.RequestError(f"label_selector has more than {_MAX_SELECTOR} characters")
        try:
            return selectors.on_labels(selector, _MAX_REQUIREMENTS)
        except selectors.SelectorError as error:
            raise errors.RequestError(f"label_selector: {error}") from None

    def _group(self, name: str) -> str:
        """Returns the selector of a group. Raises RequestError."""
        groups = self._settings.fleet.groups
        if name not in groups:
            known = ", ".join(groups) or "none"
            raise errors.RequestError(f"there is no group {name[:_SHOWN]!r}; there is: {known}")
        return groups[name]
