"""Static tokens from a file like that of kube-apiserver's `--token-auth-file`: token,user,uid,"group1,group2"."""

from __future__ import annotations

import csv
import hashlib
import logging
import re
import stat
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript import errors
from kubescript.auth import user
from kubescript.config import named_files

__all__ = ["TokensFile", "find_exposure", "names", "read_users"]

log = logging.getLogger(__name__)

_SETTING: Final = "auth.tokens_file"

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
# Short tokens can eventually be guessed, although the rate of guesses is limited.
_SHORTEST: Final = 16
"""The minimum number of characters of a token."""
_SENDABLE: Final = re.compile(r"[!-~]*")
"""What a header can have; a blank is a comma that was forgotten."""
_SHOWN: Final = 10
"""How many lines are named at the same time."""
_LOOK_S: Final = 1.0
# Attack: a caller keeps a token that was removed from the file in the same edit that broke it.
_KEPT_S: Final = 60.0
"""Seconds for which the last tokens stay valid while the file cannot be read."""


class TokensFile:
    """The tokens of one file, which is read again when it changes. Used by many threads at once.

    A mistake that comes later costs its own line: every other one counts, and one that is gone does not.
    """

    def __init__(self, path: Path) -> None:
        """Raises ConfigError for an unusable file."""
        self._path = path
        self._lock = threading.Lock()
        self._looked = self._read_at = time.monotonic()
        self._version = _version(path)
        self._users = _read_whole(path)
        self._mistakes: tuple[str, ...] = ()
        """What is wrong with lines that let nobody in."""
        self._problem = ""
        """Why the file could not be read when last looked at; empty if it could."""
        if exposed := find_exposure(path):
            log.warning("%s", exposed, extra={"event": "auth.tokens_file"})

    def find(self, token: str) -> user.User | None:
        """Returns the user of a token; None for an unknown token."""
        self._refresh()
        age = time.monotonic() - self._read_at
        if age > _KEPT_S:
            return None
        return self._users.get(_digest(token))

    def check(self) -> str:
        """Returns `ok`, or what is wrong with the file now, or with the first line that lets nobody in."""
        self._refresh()
        wrong = (self._problem, *self._mistakes)
        return next(filter(None, wrong), "ok")

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._looked + _LOOK_S:
                return
            self._looked = now
            try:
                version = _version(self._path)
                if version != self._version:
                    self._adopt(_read(self._path))
                    self._version = version
                self._read_at = now
                self._problem = ""
            except errors.ConfigError as error:
                # The file may be about to be replaced.
                self._problem = error.message
                log.warning("%s; the tokens of before count", error.message, extra={"event": "auth.tokens_file"})

    def _adopt(self, found: _Lines) -> None:
        self._users = found.users
        self._mistakes = found.mistakes
        for mistake in found.mistakes[:_SHOWN]:
            log.error("%s; this line lets nobody in", mistake, extra={"event": "auth.tokens_file"})


@dataclass(frozen=True, slots=True)
class _Lines:
    """What the lines of a file say."""

    users: Mapping[str, user.User]
    """By the digests of their tokens."""
    mistakes: tuple[str, ...]
    """What is wrong with each other line: the file and the number, never the content."""


def read_users(path: Path) -> tuple[user.User, ...]:
    """Returns the users of all tokens. Raises ConfigError for an unusable file, and for one with an unusable line."""
    return tuple(_read_whole(path).values())


def find_exposure(path: Path) -> str:
    """Returns a warning when every user of this machine can read the file, else an empty text. Raises OSError."""
    if not path.stat().st_mode & stat.S_IROTH:
        return ""
    return f"everybody on this machine can read {path}: chmod 600 {path}"


def names(path: Path, known: user.User) -> bool:
    """Says whether the file has a token for this user with the same groups. Raises ConfigError for an unusable file."""
    return known in _read(path).users.values()


def _read_whole(path: Path) -> Mapping[str, user.User]:
    """Returns the users by the digests of their tokens. Raises ConfigError, also for one unusable line."""
    found = _read(path)
    if found.mistakes:
        raise errors.ConfigError("; ".join(found.mistakes[:_SHOWN]))
    return found.users


def _read(path: Path) -> _Lines:
    """Returns what the file's lines say. Raises ConfigError if it is no text."""
    users: dict[str, user.User] = {}
    mistakes = []
    first: dict[str, int] = {}
    for number, line in enumerate(named_files.read_text(path, _SETTING).split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key, found = _user(line)
        except ValueError as error:
            mistakes.append(f"{path}, line {number}: {error}")
            continue
        if first.setdefault(key, number) == number:
            users[key] = found
            continue
        # Which of the two is meant is not known, so neither counts.
        users.pop(key, None)
        mistakes.append(f"{path}, line {number}: this token is there twice, first in line {first[key]}")
    return _Lines(users, tuple(mistakes))


def _user(line: str) -> tuple[str, user.User]:
    """Returns the digest of a line's token, and its user. Raises ValueError."""
    try:
        # Each line by itself: with a quote that is left open, the next line would give this user its groups.
        (row,) = csv.reader([line.strip()], strict=True)
    except csv.Error as error:
        raise ValueError(f"this is not CSV: {error}") from None
    cells = [cell.strip() for cell in row]
    # The uid and the groups may be left out.
    token, name, uid, listed, *_ = (*cells, "", "", "", "")
    # A fifth cell is a group that stands outside of the quotes: it would not count.
    if not name or not name.isprintable() or any(cells[4:]):
        raise ValueError('expected token,user,uid,"group1,group2"')
    key = _key(token)
    groups = {group.strip() for group in listed.split(",")}
    groups.discard("")
    subject = uid or name
    found = user.User(name, "tokens_file", subject, tuple(sorted(groups)))
    return key, found


def _key(token: str) -> str:
    """Returns the digest of a token, which the file may give in its place. Raises ValueError."""
    digest = _DIGEST.fullmatch(token)
    if digest is not None:
        return digest.group(1)
    if token.startswith("sha256:"):
        raise ValueError("a digest is `sha256:` and 64 digits, 0-9 and a-f, and then a comma")
    if not _SENDABLE.fullmatch(token):
        raise ValueError("a token is ASCII without blanks, and a comma follows it")
    if len(token) < _SHORTEST:
        raise ValueError(f"a token has at least {_SHORTEST} characters; `openssl rand -hex 32` makes one")
    return _digest(token)


def _digest(token: str) -> str:
    data = token.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _version(path: Path) -> tuple[int, int, int]:
    """Returns a value that changes when the file changes. Raises ConfigError."""
    try:
        state = path.stat()
    except OSError as error:
        raise named_files.unreadable(path, _SETTING, error) from None
    return state.st_ino, state.st_size, state.st_mtime_ns
