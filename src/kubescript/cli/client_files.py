"""Adds a server to an MCP client's configuration file, or takes it out. Everything else in the file is kept, and the
old file is kept beside it.

A file that could not be written back with the same content (a comment, a key that occurs twice, a number with more
digits than Python keeps) is refused.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kubescript import errors

__all__ = ["add", "remove"]

_MAX_BYTES: Final = 64 * 1024 * 1024
_OWNER_ONLY: Final = 0o600
"""The mode of new files: the environment of an entry may contain credentials."""
_UNKEPT: Final = "it has a number with more digits than could be written back"


class _RefusedError(Exception):
    """Why a file is not changed."""


def add(file: Path, key: str, name: str, entry: dict[str, Any]) -> str:
    """Puts the entry at KEY.NAME of the file, which may be missing. Returns a description of what was done. Raises
    ConfigError, and then changes nothing."""

    def put(servers: dict[str, Any]) -> bool:
        changed = servers.get(name) != entry
        servers[name] = entry
        return changed

    remedy = "leave out --write, and add the printed lines to it by hand"
    return _change(file, key, put, "already has this entry", remedy)


def remove(file: Path, key: str, name: str) -> str:
    """Takes KEY.NAME out of the file. Returns a description of what was done. Raises ConfigError, and then changes
    nothing."""

    def take(servers: dict[str, Any]) -> bool:
        is_there = name in servers
        servers.pop(name, None)
        return is_there

    remedy = f"take {name} out of `{key}` in it by hand"
    return _change(file, key, take, f"has no entry {name}", remedy)


def _change(file: Path, key: str, edit: Callable[[dict[str, Any]], bool], unchanged: str, remedy: str) -> str:
    """Edits the servers in the file, unless `edit` says that it has changed nothing. Raises ConfigError, with the
    remedy if the file is refused."""
    try:
        return _edit(file, key, edit, unchanged)
    except _RefusedError as why:
        raise errors.ConfigError(f"{file} was not changed: {why}", remedy=remedy) from None
    except OSError as error:
        raise errors.ConfigError(f"cannot write {error.filename or file}: {error.strerror}") from None


def _edit(file: Path, key: str, edit: Callable[[dict[str, Any]], bool], unchanged: str) -> str:
    """Does what `_change` does. Raises _RefusedError and OSError."""
    kept = ""
    try:
        file = file.resolve()  # a link into a repository of dotfiles stays a link
        old = _read(file)
        data: dict[str, Any] = {}
        if old is not None and old.strip():
            data = _parse(old)
        servers = _section(data, key)
        if not edit(servers):
            return f"{file} {unchanged}"
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        content = f"{text}\n".encode()
        if old is not None:
            copy = _copy(file, old)
            kept = f"; the old file is {copy}"
        _replace(file, content, old)
    except RuntimeError:
        raise _RefusedError("it is a link that leads to itself") from None
    except ValueError:  # a number or a string that JSON cannot express
        raise _RefusedError("it has values that JSON cannot express") from None
    return f"written to {file}{kept}"


def _read(file: Path) -> bytes | None:
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe has no end
            raise _RefusedError("it is no regular file")
        if status.st_size > _MAX_BYTES:
            raise _RefusedError(f"it is larger than {_MAX_BYTES >> 20} MiB")
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _parse(content: bytes) -> dict[str, Any]:
    """Returns the file's object. Raises _RefusedError."""
    # Anything but plain JSON could not be written back unchanged.
    try:
        data = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=_unique, parse_float=_parse_float, parse_int=_parse_int
        )
    except json.JSONDecodeError as error:
        raise _RefusedError(f"line {error.lineno} is not plain JSON") from None
    except UnicodeDecodeError:
        raise _RefusedError("it is not UTF-8 text") from None
    except RecursionError:
        raise _RefusedError("it is nested too deeply") from None
    if not isinstance(data, dict):
        raise _RefusedError("it is not a JSON object")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members of an object. Raises _RefusedError when a key occurs twice."""
    # Only the last member of each key would be written back.
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _RefusedError("a key occurs twice")
    return data


def _parse_float(text: str) -> float:
    """Returns the number. Raises _RefusedError when a float does not hold all of its digits."""
    number = float(text)
    try:
        is_kept = math.isfinite(number) and decimal.Decimal(text) == decimal.Decimal(repr(number))
    except decimal.InvalidOperation:  # an exponent of more than 18 digits
        is_kept = False
    if not is_kept:
        raise _RefusedError(_UNKEPT)
    return number


def _parse_int(text: str) -> int:
    """Returns the number. Raises _RefusedError for more digits than Python reads, 4300."""
    try:
        return int(text)
    except ValueError:
        raise _RefusedError(_UNKEPT) from None


def _section(data: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns the servers in the file, which may have none yet."""
    servers = data.setdefault(key, {})
    if not isinstance(servers, dict):
        raise _RefusedError(f"`{key}` is not an object")
    return servers


def _copy(file: Path, content: bytes) -> Path:
    """Writes the old content to a new file beside it, with the same owner and permissions."""
    now = datetime.datetime.now().astimezone()
    kept = file.with_name(f"{file.name}.{now:%Y%m%d-%H%M%S-%f}.bak")
    # O_EXCL never writes into an earlier copy, nor through a link of that name.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    descriptor = os.open(kept, flags, _OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as out:
        _keep_access(descriptor, file)
        out.write(content)
    return kept


def _replace(file: Path, content: bytes, old: bytes | None) -> None:
    """Replaces the old content, completely or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because only there a rename is atomic.
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            if old is not None:
                _keep_access(descriptor, file)
            out.write(content)
            out.flush()
            os.fsync(descriptor)
        if _read(file) != old:  # a running client may write its file at any time
            raise _RefusedError("another program has just written it")
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _keep_access(descriptor: int, file: Path) -> None:
    """Gives a new file the owner and the permissions of another. Raises OSError."""
    # Under sudo, a client could not read its own file otherwise.
    old, new = file.stat(), os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, old.st_mode & 0o777)
