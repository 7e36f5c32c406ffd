"""What was kept of an evaluation (`store`), read again. The folder may come from a stranger.

A file is read by the hash that the chain has of it, and nothing else is a name: not a path, not a link, not a device.
What does not have that hash, or not the shape that is written here, is as good as changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from kubescript import types
from kubescript.wire import protocol

__all__ = ["Changed", "Document", "Seen", "Skipped", "document", "read", "script", "shelf"]

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_MOST: Final = 1 << 30
"""Bytes of one file: what one script may fetch by default. A file with holes claims any size."""
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Skipped(Exception):
    """There is nothing to compare."""


class Changed(Exception):
    """What was kept was changed since."""


class _Other(Changed):
    """The content has another hash."""


class Seen(msgspec.Struct, frozen=True):
    """One call and its answer."""

    request: str
    """Its fingerprint."""
    reply: protocol.Reply
    fault: protocol.ScriptFault | None = None
    """How the body broke off."""
    body: str = ""
    """Its hash; empty when the script read none of it."""


class Document(msgspec.Struct, frozen=True):
    """One evaluation."""

    limits: types.Limits
    contexts: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    namespace: str
    calls: tuple[Seen, ...]
    tally: dict[str, dict[str, int] | bool]
    notes: list[str]
    answer: str


def shelf(path: Path) -> Path:
    """The folder beside an audit file."""
    return path.with_name(path.name + ".d")


def document(store: Path, entry: dict[str, Any]) -> Document:
    """What the script saw, if it is what the chain says. Raises Skipped or Changed."""
    digest = entry.get("replay", "")
    if not digest:
        raise Skipped("what it saw was not recorded: set audit.responses")
    data = read(store / "replays", digest, ".json")
    try:
        return msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, RecursionError):
        raise Changed("what it saw is not written as it would be here") from None


def script(store: Path, digest: str) -> str:
    """A script's text. Raises Skipped or Changed."""
    try:
        return read(store / "scripts", digest, ".py").decode("utf-8", "surrogatepass")
    except _Other:
        raise Skipped("its text held a secret, which is masked in what is kept") from None


def read(folder: Path, digest: Any, suffix: str = "") -> bytes:
    """The content of the file that is called by its hash. Raises Skipped when it is not there, else Changed."""
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise Changed("the record names a file by something else than its hash")
    name = digest + suffix
    try:
        data = _content(folder / name)
    except FileNotFoundError:
        raise Skipped(f"{name} is not there") from None
    except OSError:
        raise Changed(f"{name} cannot be read as a file") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise _Other(f"{name} is not what was recorded")
    return data


def _content(file: Path) -> bytes:
    """Of a regular file. Raises OSError for anything else: a pipe or a device has no end."""
    descriptor = os.open(file, _FLAGS)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST:
            raise OSError
        return stream.read(_MOST)
