"""The pages of running servers, for commands of the same user: `kubescript plans link` makes links to them. Each server
keeps a file, which is removed when the server ends, beside the store."""

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
"""How many seconds a local server has to accept a connection."""
_MAX_BYTES: Final = 10_000


class _Page(msgspec.Struct, frozen=True):
    """The content of a file."""

    url: str
    secret: bytes
    store: str
    """The store of the server's plans."""


def publish(folder: Path, link: access.Link, store: str) -> Callable[[], None]:
    """Lets the user's other processes make links to this server's page; returns a function that stops this. `folder`
    was made or checked by `private_files`; `store` names the store of the plans. Raises PlanError."""
    path = folder / f"{_PREFIX}{os.getpid()}.json"
    content = msgspec.json.encode(_Page(link.url, link.secret, store))
    try:
        # A killed server may have left a file, and its process id may be reused.
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
    """Returns the link maker of a running server that uses this store; None if there is none. Files of killed servers
    are removed."""
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
    """Returns a file's content; None if the file is invalid or not this user's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            private_files.check_status(path, os.fstat(descriptor))
            return msgspec.json.decode(file.read(_MAX_BYTES), type=_Page)
    except (OSError, private_files.NotPrivate, msgspec.MsgspecError):
        return None


def _answers(url: str) -> bool:
    at = parse.urlsplit(url)
    address = (at.hostname or "", at.port or 0)
    try:
        socket.create_connection(address, timeout=_ANSWER_S).close()
    except OSError:
        return False
    return True
