"""Static tokens from a file like that of kube-apiserver's `--token-auth-file`: token,user,uid,"group1,group2"."""

from __future__ import annotations

import csv
import hashlib
import logging
import re
import stat
import threading
import time
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
_LOOK_S: Final = 1.0
# Attack: a caller keeps a token that was removed from the file in the same edit that broke it.
_KEPT_S: Final = 60.0
"""Seconds for which the last tokens stay valid while the file cannot be read."""


class TokensFile:
    """The tokens of one file, which is read again when it changes. Used by many threads at once."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError for an unusable file."""
        self._path = path
        self._lock = threading.Lock()
        self._looked = self._read_at = time.monotonic()
        self._version = _version(path)
        self._users = _read(path)
        if exposed := find_exposure(path):
            log.warning("%s", exposed, extra={"event": "auth.tokens_file"})

    def find(self, token: str) -> user.User | None:
        """Returns the user of a token; None for an unknown token."""
        self._refresh()
        age = time.monotonic() - self._read_at
        if age > _KEPT_S:
            return None
        return self._users.get(_digest(token))

    def _refresh(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._looked + _LOOK_S:
                return
            self._looked = now
            try:
                version = _version(self._path)
                if version != self._version:
                    self._users = _read(self._path)
                    self._version = version
                self._read_at = now
            except errors.ConfigError as error:
                # The file may be half written. Until it is complete, the last tokens stay valid.
                log.warning("%s; the tokens of before count", error.message, extra={"event": "auth.tokens_file"})


def read_users(path: Path) -> tuple[user.User, ...]:
    """Returns the users of all tokens. Raises ConfigError for an unusable file."""
    return tuple(_read(path).values())


def find_exposure(path: Path) -> str:
    """Returns a warning when every user of this machine can read the file, else an empty text. Raises OSError."""
    if not path.stat().st_mode & stat.S_IROTH:
        return ""
    return f"everybody on this machine can read {path}: chmod 600 {path}"


def names(path: Path, known: user.User) -> bool:
    """Says whether the file has a token for this user with the same groups. Raises ConfigError for an unusable file."""
    return known in _read(path).values()


def _read(path: Path) -> dict[str, user.User]:
    """Returns the users by the digests of their tokens. Raises ConfigError."""
    lines = named_files.read_text(path, _SETTING).splitlines()
    try:
        rows = list(csv.reader(lines))
    except csv.Error as error:
        raise errors.ConfigError(f"{_SETTING}: {path} is not CSV: {error}") from None
    users: dict[str, user.User] = {}
    for number, row in enumerate(rows, 1):
        if not row or row[0].lstrip().startswith("#"):
            continue
        where = f"{path}, line {number}"
        key, found = _user(row, where)
        if key in users:
            raise errors.ConfigError(f"{where}: this token is there twice")
        users[key] = found
    return users


def _user(row: list[str], where: str) -> tuple[str, user.User]:
    """Returns the digest of a row's token, and its user. Raises ConfigError."""
    cells = [cell.strip() for cell in row]
    # The uid and the groups may be left out.
    token, name, uid, listed, *_ = (*cells, "", "", "", "")
    if not name or not name.isprintable():
        raise errors.ConfigError(f'{where}: expected token,user,uid,"group1,group2"')
    key = _key(token, where)
    groups = {group.strip() for group in listed.split(",")}
    groups.discard("")
    subject = uid or name
    found = user.User(name, "tokens_file", subject, tuple(sorted(groups)))
    return key, found


def _key(token: str, where: str) -> str:
    """Returns the digest of a token, which the file may give in its place. Raises ConfigError."""
    digest = _DIGEST.fullmatch(token)
    if digest is not None:
        return digest.group(1)
    if len(token) < _SHORTEST:
        raise errors.ConfigError(
            f"{where}: a token has at least {_SHORTEST} characters; `openssl rand -hex 32` makes one"
        )
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
