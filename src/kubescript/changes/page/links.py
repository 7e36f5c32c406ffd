"""Where the pages of running servers are, for the commands of the same user: `kubescript plans link` makes a link with
it. Each server keeps a file beside the store, which goes when it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib import parse

import msgspec

from kubescript import errors, private_files
from kubescript.changes.page import access

__all__ = ["find", "publish"]

_PREFIX: Final = "page-"
_ANSWER_S: Final = 1.0
"""Seconds for a server on this machine to take a connection."""
_MAX_BYTES: Final = 10_000


class _Page(msgspec.Struct, frozen=True):
    """What is in a file."""

    url: str
    secret: bytes
    store: str
    """Where its plans are kept."""


def publish(folder: Path, link: access.Link, store: str) -> Callable[[], None]:
    """Tells the user's other processes how to make links to this server's page; returns a function that ends it.
    `folder` is one that `private_files` has made or checked, `store` says where the plans are kept. Raises
    PlanError."""
    path = folder / f"{_PREFIX}{os.getpid()}.json"
    content = msgspec.json.encode(_Page(link.url, link.secret, store))
    try:
        # The number of a server that was killed may come again.
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        raise errors.PlanError(
            f"{path} cannot be written: {os.strerror(error.errno or 0)}",
            code="plan.page",
            remedy="let the server's user write there",
        ) from None

    def withdraw() -> None:
        with contextlib.suppress(OSError):
            path.unlink()

    return withdraw


def find(folder: Path, store: str) -> access.Link | None:
    """Returns what makes links to the page of a server that runs and keeps its plans in this store; None when there is
    none. Files of servers that were killed are removed."""
    for path in sorted(folder.glob(f"{_PREFIX}*.json")):
        page = _read(path)
        if page is None:
            continue
        if not _answers(page.url):
            path.unlink(missing_ok=True)
        elif page.store == store:
            return access.Link(page.url, page.secret)
    return None


def _read(path: Path) -> _Page | None:
    """Returns what a file says; None when it is none of this user's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            private_files.check_status(path, os.fstat(descriptor))
            return msgspec.json.decode(file.read(_MAX_BYTES), type=_Page)
    except (OSError, private_files.NotPrivate, msgspec.MsgspecError):
        return None


def _answers(url: str) -> bool:
    at = parse.urlsplit(url)
    try:
        socket.create_connection((at.hostname or "", at.port or 0), timeout=_ANSWER_S).close()
    except OSError:
        return False
    return True
