"""The lock file of a folder of runbooks: the SHA-256 of each, as a person has reviewed it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

from kubescript import errors

__all__ = ["MAX_BYTES", "NAME", "parse", "write"]

NAME: Final = "runbooks.lock"
MAX_BYTES: Final = 256 * 1024
"""How many bytes the file may have."""
_HEADING: Final = (
    "# The SHA-256 of each runbook. `kubescript runbooks lock` writes this file; review what it prints.\n"
    "version = 1\n\n[runbooks]\n"
)
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def parse(content: bytes) -> dict[str, str]:
    """Returns the digests by name. Raises RunbookError."""
    try:
        data = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _fault(f"is not TOML: {error}") from None
    digests = data.get("runbooks")
    if data.get("version") != 1 or not isinstance(digests, dict):
        raise _fault("is not of version 1")
    for name, digest in digests.items():
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _fault(f"has no SHA-256 for {name[:64]!a}")
    return digests


def write(digests: Mapping[str, str]) -> bytes:
    """Returns the file's content, with a line for each runbook in order of name."""
    lines = [f'"{name}" = "{digest}"\n' for name, digest in sorted(digests.items())]
    return (_HEADING + "".join(lines)).encode()


def _fault(why: str) -> errors.RunbookError:
    return errors.RunbookError(
        f"{NAME} {why}, so no runbook is run; tell the operator of this server",
        code="runbook.unreadable",
        remedy="review the folder, and run `kubescript runbooks lock`",
    )
