"""Reads files that settings name, such as certificates and tokens; an error names the setting."""

from __future__ import annotations

import os
from pathlib import Path

from kubescript import errors

__all__ = ["read", "read_text", "unreadable"]


def read(path: Path, setting: str) -> bytes:
    """Returns the bytes of the file that a setting names. Raises ConfigError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, setting, error) from None


def read_text(path: Path, setting: str) -> str:
    """Returns the text of the file that a setting names. Raises ConfigError."""
    try:
        return read(path, setting).decode("utf-8")
    except UnicodeDecodeError:
        raise errors.ConfigError(f"{setting}: {path} is not UTF-8 text") from None


def unreadable(path: Path, setting: str, error: OSError) -> errors.ConfigError:
    """Returns the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return errors.ConfigError(
            f"{setting}: no such file: {path}", remedy="make the file, or correct the path in the setting"
        )
    why = os.strerror(error.errno or 0)
    return errors.ConfigError(
        f"{setting}: cannot read {path}: {why}", remedy=f"let the server's user (uid {os.geteuid()}) read it"
    )
