"""What `kubescript doctor` says about the folder of runbooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kubescript import config, errors
from kubescript.runbooks import folder

__all__ = ["Finding", "examine"]


class Finding(NamedTuple):
    """One finding."""

    ok: bool
    """False: a runbook is not run, or anyone who takes the server over can change what is run."""
    text: str


def examine(settings: config.Settings) -> tuple[Finding, ...]:
    """Returns the findings about the runbooks; none where no folder is named."""
    runbooks = settings.runbooks
    if runbooks.folder is None:
        return ()
    return (*_examine(runbooks, runbooks.folder), *_find_useless(settings))


def _find_useless(settings: config.Settings) -> Iterator[Finding]:
    """Yields the tables of approvals in advance that are for no cluster of the server."""
    if settings.fleet.is_on:  # a found cluster may have any name
        return
    known = settings.context_names
    for name, bounds in settings.runbooks.approved.items():
        is_for_one = bool(set(known).intersection(bounds.contexts)) if known else not bounds.contexts
        if not is_for_one:
            shown = ", ".join(known) or "none"
            yield Finding(
                False,
                f"[runbooks.approved.{name}] has none of the server's contexts ({shown}) in `contexts`, so its plans "
                "wait for a person all the same",
            )


def _examine(settings: config.Runbooks, path: Path) -> Iterator[Finding]:
    opened = folder.Folder(path)
    try:
        names = set(opened.read_lock())
    except errors.RunbookError as error:
        yield Finding(False, error.explained)
        return
    valid = []
    for name in sorted(names):
        try:
            valid.append(opened.get(name).name)
        except errors.RunbookError as error:
            yield Finding(False, error.explained)
    yield Finding(True, f"{len(valid)} runbooks in {path} are as they were locked")
    for name in sorted(settings.approved.keys() - names):
        yield Finding(False, f"{name} is approved in advance, and there is no such runbook in the lock file")
    # Attack: a server that was taken over changes a runbook and its hash, and has it approved in advance.
    if any(os.access(each, os.W_OK) for each in (path, *path.iterdir())):
        yield Finding(False, f"the server's user can write to {path} or a file in it; mount it read-only")
