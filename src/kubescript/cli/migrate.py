"""`kubescript migrate`: the configuration of kubernetes-mcp-server as ours, and the hint at it for whoever starts this
server with theirs. It needs no cluster."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubescript.cli import paths, process

if TYPE_CHECKING:
    from kubescript import errors
    from kubescript.cli import translation

__all__ = ["hinted", "migrate"]


@click.command(short_help="Print a configuration of kubernetes-mcp-server as ours.")
@click.argument("file", type=paths.UserPath(dir_okay=False))
def migrate(file: Path) -> None:
    """Print the TOML FILE of kubernetes-mcp-server as settings of kubescript.

    Comments say what differs and what has no equivalent. docs/migration.md has the same as tables, also for flags and
    tools.
    """
    from kubescript import errors
    from kubescript.cli import translation
    from kubescript.output import sanitizing

    try:
        entries = translation.translate(_read(file))
    except errors.ConfigError as error:
        raise click.ClickException(sanitizing.clean(f"{file}: {error.explained}")) from None
    process.echo("\n".join(_lines(file, entries)))


def hinted(error: errors.ConfigError, file: Path | None, folder: Path | None) -> errors.ConfigError:
    """Returns the error, with a hint when a file of the settings looks like kubernetes-mcp-server's."""
    from kubescript import config, errors
    from kubescript.cli import translation

    for path in _files(file, folder):
        try:
            read = _read(path)
        except errors.ConfigError:
            continue
        if translation.is_foreign(read, config.Settings.model_fields):
            command = f"kubescript migrate {shlex.quote(str(path))}"
            hint = f"this looks like kubernetes-mcp-server's configuration: run `{command}`"
            return errors.ConfigError(error.message, remedy="; ".join(filter(None, (error.remedy, hint))))
    return error


def _files(file: Path | None, folder: Path | None) -> Iterator[Path]:
    """Yields the files that the settings were read from."""
    from kubescript.config import loading

    named = os.environ.get(loading.CONFIG_VARIABLE)
    if file is not None or named:
        yield file or Path(named or "").expanduser()
    if folder is not None and folder.is_dir():
        yield from sorted(folder.glob("*.toml"))


def _read(file: Path) -> dict[str, Any]:
    """Returns the file's tables. Raises ConfigError."""
    import tomllib

    from kubescript import errors

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise errors.ConfigError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ConfigError("it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise errors.ConfigError(f"it is not TOML: {error}") from None


def _lines(file: Path, entries: Iterable[translation.Entry]) -> Iterator[str]:
    """Yields our file: settings, tables, lists of tables, and what was left out."""
    from kubescript.cli import toml_text

    tables: dict[str, dict[str, list[translation.Entry]]] = {"": {}}
    left_out: dict[str, list[str]] = {}
    for entry in entries:
        table, _, name = entry.name.rpartition(".")
        if name:
            tables.setdefault(table, {}).setdefault(name, []).append(entry)
        else:
            left_out.setdefault(entry.note, []).append(entry.theirs)
    yield from _heading(file)
    lists = {}
    for table, settings in tables.items():
        if table:
            yield from ("", f"[{table}]")
        for name, said in settings.items():
            if _is_tables(said[-1].value):
                lists[name] = said
                continue
            yield from _comments(said)
            yield f"{name} = {toml_text.value(said[-1].value)}"
    for name, said in lists.items():
        yield ""
        yield from _comments(said)
        yield from _tables(name, said[-1].value)
    if left_out:
        yield from ("", "# Left out:")
    for note, theirs in left_out.items():
        yield from toml_text.comment(f"{', '.join(theirs)}: {note}.")


def _heading(file: Path) -> Iterator[str]:
    from kubescript.cli import toml_text

    name = toml_text.quoted(file.name)
    yield from toml_text.comment(f"Settings of kubescript, from {name} of kubernetes-mcp-server.")
    yield "# Comments say what a setting was called there, and what differs."
    if (file.parent / "conf.d").is_dir():
        yield "# Files of conf.d were read by themselves there: migrate each, and name their folder with --config-dir."
    yield ""


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _tables(name: str, tables: Any) -> Iterator[str]:
    from kubescript.cli import toml_text

    for number, table in enumerate(tables):
        if number:
            yield ""
        yield f"[[{name}]]"
        yield from (f"{toml_text.key(key)} = {toml_text.value(value)}" for key, value in table.items())


def _comments(said: Iterable[translation.Entry]) -> Iterator[str]:
    """Yields what is to be said of one setting: what it was called, and what differs."""
    from kubescript.cli import toml_text

    for entry in said:
        was = "" if entry.theirs == entry.name else entry.theirs
        text = ": ".join(filter(None, (was, entry.note)))
        if text:
            yield from toml_text.comment(text)
