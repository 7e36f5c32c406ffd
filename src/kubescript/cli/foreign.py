"""The table of kubernetes-mcp-server's settings and flags, `foreign.toml`, with which `migrate` translates files."""

from __future__ import annotations

import importlib.resources
import tomllib
from typing import Any

import msgspec

__all__ = ["Row", "Table", "explain_flag", "read_table"]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one or several of their settings mean in kubescript."""

    theirs: str
    """Their names, with the table before a dot, separated by spaces. The first that is in the file counts."""
    ours: str = ""
    """Our setting, with its table before a dot; empty if there is no equivalent."""
    note: str = ""
    """The difference, or what to do instead."""
    flag: str = ""
    """Our flag, if its name differs."""
    needs: str = ""
    """Another setting of theirs without which ours would be refused, or be insecure."""
    values: dict[str, Any] = {}
    """Our value for each of theirs, or for each member of a list."""
    fields: list[str] = []
    """The fields of each table in a list; missing ones become empty strings."""
    is_list: bool = False
    """Whether ours is a list where theirs is a single value."""
    default: Any = None
    """Their default, if ours differs."""

    @property
    def names(self) -> list[str]:
        """Their names."""
        return self.theirs.split()

    @property
    def meaning(self) -> str:
        """What the settings mean in kubescript, in the words of docs/migration.md."""
        if not self.ours:
            return self.note
        setting = f"`{self.ours}`"
        return f"{setting}; {self.note}" if self.note else setting


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table of all their settings, and of the flags that are not settings."""

    rows: list[Row]
    flags: dict[str, str]


def read_table() -> Table:
    """Returns the table from `foreign.toml` beside this file."""
    folder = importlib.resources.files("kubescript.cli")
    text = folder.joinpath("foreign.toml").read_text("utf-8")
    document = tomllib.loads(text)
    return msgspec.convert(document, Table)


def explain_flag(flag: str) -> str:
    """Returns what one of their flags means in kubescript; empty for any other flag."""
    name = flag.removeprefix("--")
    table = read_table()
    for row in table.rows:
        if name.replace("-", "_") in row.names:
            return row.flag or row.meaning
    return table.flags.get(name, "")
