"""Decides whether a command of openstackclient may run, by its full name (`openstack_commands.toml`)."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Classification", "load"]

_FILE: Final = Path(__file__).parent / "openstack_commands.toml"
_WITHHELD: Final = {
    "credentials": "it gives, takes or shows a credential",
    "files": "it reads or writes files of the server",
    "terminals": "it needs a terminal",
}
_ASK: Final = "If you need it, ask the operator of this server for a setting"


@dataclass(frozen=True)
class Classification:
    """The classification of every command that a person has reviewed."""

    reads: frozenset[str]
    writes: frozenset[str]
    """The commands that write, including those that read by POST."""
    withheld: Mapping[str, str]
    """The reason why no setting allows a command, by the command's name."""
    options: Mapping[str, frozenset[str]]
    """The options of a command that no setting allows, by the command's name."""

    def names(self) -> frozenset[str]:
        """Returns every classified command."""
        return self.reads | self.writes | frozenset(self.withheld)

    def refusal(self, name: str, allowed: Iterable[str], *, allow_write: bool) -> str | None:
        """Returns why the command may not run, and what to do; None if it may. `allowed` are the first words of the
        commands that the operator allows."""
        if name in self.withheld:
            return f"`{name}` is refused: {self.withheld[name]}, and no setting allows that."
        # The words are compared with a space after them, so that `server list` does not allow `server listen`.
        beginnings = tuple(f"{words} " for words in allowed)
        is_allowed = f"{name} ".startswith(beginnings)
        if name in self.reads or is_allowed:
            return None
        if name not in self.writes:
            return f"`{name}` is refused: nobody has classified it as a read. {_ASK}: openstack.allowed_commands."
        if allow_write:
            return None
        return f"`{name}` is refused: it is a write, and this server only reads. {_ASK}: openstack.allow_write."


@functools.cache
def load() -> Classification:
    """Returns the classification in the file beside this one."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    reads = _names(data["reads"])
    writes = _names(data["writes"])
    # The gate lets no POST but the one for a token pass without `allow_write`.
    writes |= _names(data["reads_by_post"])
    withheld: dict[str, str] = {}
    for section, why in _WITHHELD.items():
        names = _names(data[section])
        withheld |= dict.fromkeys(names, why)
    options = {name: frozenset(_split(text)) for name, text in data["options"].items()}
    return Classification(reads, writes, withheld, options)


def _names(section: Mapping[str, Any]) -> frozenset[str]:
    """Returns all commands of a section."""
    names: set[str] = set()
    for text in section.values():
        names.update(_split(text))
    return frozenset(names)


def _split(text: str) -> list[str]:
    """Returns the names in a comma-separated list, which may break its lines anywhere."""
    parts = text.split(",")
    return [" ".join(part.split()) for part in parts]
