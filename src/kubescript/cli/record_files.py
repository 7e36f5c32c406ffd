"""The argument FILE of `kubescript audit …`, and the check of its chain before a command trusts what it reads there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import click

from kubescript.cli import user_path

__all__ = [
    "BROKEN", "KEY_OPTION", "file_argument", "files_argument", "refuse_unverified", "verifies_first", "verify", "worst",
]  # fmt: skip

BROKEN: Final = 1
"""The exit code for a chain that is broken."""
_UNKNOWN: Final = 2
"""The exit code for a keyed chain without its key."""
KEY_OPTION: Final = click.option(
    "--key", "key_file", type=user_path.UserPath(), help="The chain's key file (audit.key_file)."
)


def file_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the argument FILE, which the command gets as `file`."""
    path = user_path.UserPath(dir_okay=False)
    add_argument = click.argument("file", type=path)
    return add_argument(command)


def _find_files(_context: click.Context, _argument: click.Parameter, given: tuple[Path, ...]) -> tuple[Path, ...]:
    """Returns the files, and in place of a folder the `.jsonl` files in it: pods have no shell that would find them."""
    found: list[Path] = []
    for path in given:
        inside = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise click.BadParameter(f"{path} has no file that ends in .jsonl")
        found += inside
    return tuple(found)


def files_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the argument FILE..., which the command gets as `files`; a folder stands for its `.jsonl` files."""
    path = user_path.UserPath()
    add_argument = click.argument("files", type=path, nargs=-1, required=True, metavar="FILE...", callback=_find_files)
    return add_argument(command)


def worst(codes: Iterable[int]) -> int:
    """Returns the exit code of several chains."""
    return max(codes, key=(0, _UNKNOWN, BROKEN).index)


def verify(file: Path, key_file: Path | None, wanted: frozenset[str] = frozenset()) -> tuple[int, str, set[str]]:
    """Returns the exit code of `verify`, its text, and the wanted heads that are in the chain."""
    from kubescript.audit import file_checks
    from kubescript.audit import verify as checking

    key = file_checks.read_key(key_file)
    report = checking.verify(file, key, wanted)
    is_checked = key_file is not None or not report.keyed
    text = checking.as_text(report, checked=is_checked)
    if report.broken is not None:
        return BROKEN, text, report.found
    return 0 if is_checked else _UNKNOWN, text, report.found


def verifies_first(command: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a command verify the chain first.

    The command gets the exit code of `verify` as `code`. Problems are written to stderr.
    """
    # A record is only as trustworthy as its chain.

    @KEY_OPTION
    @click.option("--unverified", is_flag=True, help="Continue, with exit code 0, even if `audit verify` fails.")
    @functools.wraps(command)
    def run(*arguments: Any, key_file: Path | None, unverified: bool, **flags: Any) -> Any:
        # Some commands take several files, others one.
        files = flags.get("files") or (flags["file"],)
        codes = [_verify_first(file, key_file) for file in files]
        return command(*arguments, code=0 if unverified else worst(codes), **flags)

    return run


def _verify_first(file: Path, key_file: Path | None) -> int:
    """Returns the exit code of `verify`, and writes problems to stderr."""
    from kubescript.audit import reader

    code, text, _ = verify(file, key_file)
    if code:
        # Raises the error if the file is not an audit record at all.
        next(reader.records(file), None)
        why = text if code == BROKEN else "NOT CHECKED: the chain is keyed; give its --key FILE"
        click.echo(f"{file}: {why}", err=True)
    return code


def refuse_unverified(code: int) -> None:
    """Stops a command that prints totals, if the chain was not verified."""
    if not code:
        return
    # Attack: a forged record falsifies the totals. `show` prints each record by itself, and so goes on.
    click.echo("stopped; see `kubescript audit verify`, or continue with --unverified", err=True)
    click.get_current_context().exit(code)
