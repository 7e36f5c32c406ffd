"""Reads folders with scenarios of Evidra Bench: those that can run become our scenarios, the others get reasons."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kubescript_safety import scenario
from kubescript_safety.evidra import assembly, model, steps
from kubescript_safety.evidra.files import Files, Problem

__all__ = ["FILE", "NotRunnable", "Runnable", "is_scenario", "read", "read_all"]

FILE: Final = "scenario.yaml"
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_FOLDERS: Final = 20_000
_PARTS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(model.Top))
_AUTOPSY: Final = frozenset(field.encode_name for field in msgspec.structs.fields(model.Autopsy))


@dataclass(frozen=True, slots=True)
class Runnable:
    """A scenario that runs here."""

    scenario: scenario.Scenario
    left: tuple[str, ...]
    """The file's parts that have no effect here."""


@dataclass(frozen=True, slots=True)
class NotRunnable:
    """A scenario that cannot run here."""

    id: str
    reasons: tuple[str, ...]
    """The reasons, each a sentence for a person."""


def is_scenario(path: Path) -> bool:
    """Says whether a folder contains an Evidra Bench scenario."""
    return (path / FILE).is_file()


def read_all(
    folder: Path, *, allow_shell: bool = False, find: Callable[[str], str | None] = shutil.which
) -> Iterator[Runnable | NotRunnable]:
    """Yields all scenarios below a folder in the order of their paths; their files may be anywhere in it."""
    seen: set[str] = set()
    for path in _folders(folder):
        found = read(path, folder, allow_shell=allow_shell, find=find)
        name = found.scenario.id if isinstance(found, Runnable) else found.id
        # Scenarios are chosen by their ids.
        if isinstance(found, Runnable) and name in seen:
            found = NotRunnable(str(path.relative_to(folder)), (f"another scenario has the id {name}",))
        seen.add(name)
        yield found


def read(
    folder: Path,
    root: Path | None = None,
    *,
    allow_shell: bool = False,
    find: Callable[[str], str | None] = shutil.which,
) -> Runnable | NotRunnable:
    """Reads one scenario. No file outside `root` is read, which defaults to `folder`.

    `allow_shell` permits scripts, and command lines that may reach more than the cluster. `find` returns a program's
    path.
    """
    files = Files(folder, root or folder)
    try:
        raw = files.mapping(FILE)
        top = msgspec.convert(raw, model.Top)
    except Problem as problem:
        return NotRunnable(folder.name, (str(problem),))
    except (msgspec.ValidationError, RecursionError) as error:
        return NotRunnable(folder.name, (f"{FILE}: {error}",))
    # Attack: the id becomes part of a transcript's file name.
    if not _ID.fullmatch(top.id):
        return NotRunnable(folder.name, ("its id is no name of a file",))
    if reasons := tuple(assembly.excess(top)):
        return NotRunnable(top.id, reasons)
    work = assembly.Assembly(top, files, steps.Reader(files, find, allow_shell=allow_shell))
    found = work.scenario()
    if work.reasons:
        return NotRunnable(top.id, tuple(dict.fromkeys(work.reasons)))
    return Runnable(found, (*work.left, *_unknown(raw)))


def _folders(folder: Path) -> Iterator[Path]:
    """Yields the folders that contain a scenario, without following links."""
    for count, (path, folders, _) in enumerate(os.walk(folder)):
        # Attack: a folder contains a million folders.
        if count >= _MAX_FOLDERS:
            return
        # The list is changed in place, which tells `os.walk` where not to go.
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        if is_scenario(Path(path)):
            yield Path(path)


def _unknown(raw: dict[str, Any]) -> Iterator[str]:
    """Yields the fields that schema 2.1 does not define, which have no effect."""
    names = [name[:100] for name in sorted(raw.keys() - _PARTS)]
    given = raw.get("autopsy")
    if isinstance(given, dict):
        names += [f"autopsy.{name[:100]}" for name in sorted(given.keys() - _AUTOPSY)]
    for name in names:
        yield f"{name}, which is no field of schema 2.1"
