"""`kubescript migrate`: converts a configuration of kubernetes-mcp-server to ours. It needs no cluster."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kubescript.cli import process, user_path

if TYPE_CHECKING:
    from kubescript.cli import foreign

__all__ = ["migrate"]

_TABLES: Final = ("http", "telemetry", "toolset_configs")
"""Tables of theirs whose members are separate settings."""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_UNKNOWN: Final = "kubernetes-mcp-server has no such setting at this place"
_WIDTH: Final = 110
_HEADING: Final = (
    "Writes are on there unless read_only says otherwise. Here they are off until read_only = false or writes is set."
)


@click.command(short_help="Print a configuration of kubernetes-mcp-server as ours.")
@click.argument("file", type=user_path.UserPath(dir_okay=False))
def migrate(file: Path) -> None:
    """Print the TOML FILE of kubernetes-mcp-server as settings of kubescript.

    Comments say what differs and what has no equivalent. docs/migration.md has the same as tables, also for flags and
    tools.
    """
    from kubescript.cli import foreign

    theirs = _flatten(_read(file))
    rows = foreign.read_table().rows
    known: set[str] = set()
    for row in rows:
        known.update(row.names)
    if theirs and known.isdisjoint(theirs):
        raise click.ClickException(f"{file}: it has no setting of kubernetes-mcp-server")
    sections: dict[str, list[str]] = {"": []}
    left_out: list[str] = []
    for row in rows:
        table, _, _ = row.ours.rpartition(".")
        section = sections.setdefault(table, []) if row.ours else left_out
        section += _translate(row, theirs)
    for name in theirs:
        if name not in known:
            shown = name if _PLAIN.fullmatch(name) else _write(name)
            left_out += _comment(f"{shown}: {_UNKNOWN}")
    lines = _assemble(file, sections, left_out)
    process.echo("\n".join(lines))


def _read(file: Path) -> dict[str, Any]:
    """Returns the file's tables. Raises ClickException."""
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except (ValueError, RecursionError) as error:
        why = f"it is not TOML: {error}"
    raise click.ClickException(f"{file}: {why}")


def _flatten(file: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all settings, those in tables with the table's name before a dot."""
    settings: dict[str, Any] = {}
    for name, value in file.items():
        is_table = name in _TABLES and isinstance(value, dict)
        if not is_table:
            settings[name] = value
            continue
        for member, inner in value.items():
            settings[f"{name}.{member}"] = inner
    return settings


def _translate(row: foreign.Row, theirs: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines for one row of the table: a comment, and our setting."""
    given = _given_names(row, theirs)
    value = None
    if given:
        first = theirs.get(given[0], row.default)
        value = _convert(row, first)
    # A setting without an equivalent that is just `false` needs no comment.
    if value is None and not any(theirs.get(name) for name in given):
        return
    _, _, own = row.ours.rpartition(".")
    if row.note or given != [own]:
        names = ", ".join(given)
        words = filter(None, (names, row.note))
        yield from _comment(": ".join(words))
    if value is None:
        return
    # Without the setting that it needs, ours would be refused, or be insecure.
    is_safe = not row.needs or theirs.get(row.needs)
    mark = "" if is_safe else "# "
    yield f"{mark}{own} = {_write(value)}"


def _given_names(row: foreign.Row, theirs: Mapping[str, Any]) -> list[str]:
    """Returns the names of the row that have a value, in the file or by default."""
    names = []
    for name in row.names:
        value = theirs.get(name, row.default)
        if value not in (None, "", [], {}):
            names.append(name)
    return names


def _convert(row: foreign.Row, value: Any) -> Any:
    """Returns our value for one of theirs; None if there is none."""
    # Wrong types are left to our loader, whose errors name the setting.
    if not row.ours:
        return None
    if row.fields and isinstance(value, list):
        return [_complete(table, row.fields) for table in value]
    if row.values and isinstance(value, list):
        known = [member for member in value if isinstance(member, str) and member in row.values]
        return [row.values[member] for member in known]
    if row.values:
        name = str(value).lower()
        return row.values.get(name)
    if row.is_list:
        return [value]
    return value


def _complete(table: Any, fields: list[str]) -> Any:
    """Returns the table with only these fields, and an empty string for each missing one."""
    if not isinstance(table, dict):
        return table
    return {field: table.get(field, "") for field in fields}


def _assemble(file: Path, sections: Mapping[str, list[str]], left_out: list[str]) -> Iterator[str]:
    """Yields our file: settings, tables, and the settings that were omitted."""
    origin = _write(file.name)
    yield from _comment(f"Settings of kubescript, from {origin} of kubernetes-mcp-server.")
    yield from _comment(_HEADING)
    for table, lines in sections.items():
        if not lines:
            continue
        yield ""
        if table:
            yield f"[{table}]"
        yield from lines
    if left_out:
        yield ""
        yield "# Left out:"
        yield from left_out


def _comment(text: str) -> list[str]:
    """Returns the text as comment lines."""
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def _write(value: Any) -> str:
    """Returns a value from a TOML file in TOML."""
    if isinstance(value, str):
        # Attack: a key or value contains a line break, which would end a comment and make the rest a setting.
        escaped = "".join(map(_escape, value))
        return f'"{escaped}"'
    if isinstance(value, list):
        items = ", ".join(map(_write, value))
        return f"[{items}]"
    if isinstance(value, dict):
        members = [f"{_write_key(key)} = {_write(member)}" for key, member in value.items()]
        return "{ " + ", ".join(members) + " }"
    return str(value).lower()


def _write_key(name: str) -> str:
    """Returns the name of a setting, quoted if TOML requires it."""
    return name if _BARE.fullmatch(name) else _write(name)


def _escape(character: str) -> str:
    """Returns the character, escaped if it ends a string or is invisible."""
    if character.isprintable() and character not in '"\\':
        return character
    code_point = ord(character)
    return f"\\U{code_point:08x}"
