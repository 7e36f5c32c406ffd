"""Checks and creates files and folders that only their owner may change.

A user who can write to the audit record or to the store of plans can forge it. The audit record and the store check
their paths here.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["NotPrivate", "check_folder", "check_links", "check_status", "make_folder", "make_folders", "state_folder"]


class NotPrivate(Exception):
    """An error for a path that others can change, or that cannot be used at all."""

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.remedy = remedy


def state_folder() -> Path:
    """Returns kubescript's folder in the user's state directory, as XDG defines it; it may not exist. Raises NotPrivate
    if the user has no home."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        base = given if given.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        raise NotPrivate(Path("~"), "this user has no home", "set XDG_STATE_HOME to a folder") from None
    return base / "kubescript"


def make_folders(path: Path) -> None:
    """Makes the folder `path` and its missing parents, accessible only to their owner. Raises NotPrivate."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        make_folder(folder)


def make_folder(path: Path) -> None:
    """Makes the folder `path`, accessible only to its owner. Raises NotPrivate."""
    try:
        path.mkdir(mode=0o700, exist_ok=True, parents=False)
    except OSError as error:
        raise NotPrivate(path, os.strerror(error.errno or 0), "let the server's user write there") from None
    check_folder(path)


def check_folder(path: Path) -> None:
    """Checks that `path` is a folder like those that `make_folder` makes. Raises NotPrivate."""
    try:
        status = path.lstat()
    except OSError as error:
        raise NotPrivate(path, os.strerror(error.errno or 0), "let the server's user write there") from None
    # `lstat`: a link is not accepted, since its owner could point it elsewhere later.
    is_own_folder = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    others_can_write = bool(status.st_mode & 0o022)
    if not is_own_folder or others_can_write:
        raise NotPrivate(path, "is not a folder that only the server's user can write to", "remove it, or chmod 700")


def check_status(path: Path, status: os.stat_result) -> None:
    """Checks that this is the status of a file that only its owner can read and write. Raises NotPrivate."""
    if not stat.S_ISREG(status.st_mode):
        raise NotPrivate(path, "is not a regular file", "name another file")
    if status.st_uid != os.geteuid():
        raise NotPrivate(path, "belongs to another user", "name another file")
    if status.st_mode & 0o077:
        raise NotPrivate(path, "can be read or written by others", f"chmod 600 {path}")
    # Under its second name, a hard link, the file may be in another user's folder.
    if status.st_nlink > 1:
        raise NotPrivate(path, "has a second name (hard link)", "name another file")


def check_links(path: Path) -> None:
    """Checks that every link on the way to `path` is in, and leads to, folders that no other user can change. Raises
    NotPrivate."""
    try:
        real = path.parent.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
        raise NotPrivate(path, "its folder does not exist", "create it, for the server's user alone") from None
    given = path.parent.absolute()
    if real == given:
        return
    # Attack: a user who can change one of these folders or links redirects the path to another file.
    for folder in (given, *given.parents, real, *real.parents):
        if _can_be_changed_by_others(folder.lstat()) or _can_be_changed_by_others(folder.stat()):
            why = f"is reached through a link, and others can change {folder}"
            raise NotPrivate(path, why, f"name {real} itself")


def _can_be_changed_by_others(status: os.stat_result) -> bool:
    """Says whether another user owns this link or folder, or can rename its contents."""
    if status.st_uid not in {0, os.geteuid()}:
        return True
    # In a folder with the sticky bit, such as /tmp, only the owner of a file can rename it.
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    is_of_other_group = status.st_gid != os.getegid()
    return is_of_other_group and bool(status.st_mode & stat.S_IWGRP)
