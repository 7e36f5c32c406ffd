"""The table of kubernetes-mcp-server's settings and flags, `foreign.toml`. `migrate` translates files by it."""

from __future__ import annotations

import importlib.resources
import tomllib
from typing import Any

import msgspec

__all__ = ["Row", "Table", "explain_flag", "read_table"]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one or several of their settings mean here."""

    theirs: str
    """Their names, with the table before a dot, separated by blanks. The first that a file gives counts."""
    ours: str = ""
    """Our setting, with its table before a dot; empty where none has the meaning."""
    note: str = ""
    """What differs, or what to do instead."""
    flag: str = ""
    """Our flag, where there is one under another name."""
    needs: str = ""
    """Another setting of theirs without which ours would be refused, or open a door."""
    values: dict[str, Any] = {}
    """Our value for each of theirs, or for each member of a list."""
    fields: list[str] = []
    """The fields of each table of a list; those that are missing become empty texts."""
    is_list: bool = False
    """Ours is a list of what theirs has one of."""
    default: Any = None
    """What theirs assumes where the file gives nothing, if ours assumes something else."""

    @property
    def names(self) -> list[str]:
        """Returns their names."""
        return self.theirs.split()

    @property
    def meaning(self) -> str:
        """Returns what the settings mean here in words, as docs/migration.md has it."""
        setting = f"`{self.ours}`" if self.ours else ""
        return "; ".join(filter(None, (setting, self.note)))


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All their settings, and the flags that are none."""

    rows: list[Row]
    flags: dict[str, str]


def read_table() -> Table:
    """Returns the table that lies beside this file."""
    text = importlib.resources.files("kubescript.cli").joinpath("foreign.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Table)


def explain_flag(flag: str) -> str:
    """Returns what a flag of theirs is here; nothing for any other flag."""
    name = flag.removeprefix("--")
    table = read_table()
    for row in table.rows:
        if name.replace("-", "_") in row.names:
            return row.flag or row.meaning
    return table.flags.get(name, "")
