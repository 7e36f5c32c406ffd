"""The folder of runbooks. Each file is read once, its bytes are hashed, and those very bytes are what runs.

The lock file is read again with each call, so that a runbook changed and locked while the server runs counts at once.
Whether it is read before or after the runbook makes no difference: only bytes whose hash it has are ever parsed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript import config, errors
from kubescript.runbooks import header, lock_file

__all__ = ["Folder", "Runbook", "digest"]

_SUFFIX: Final = ".py"
_NAME: Final = re.compile(config.RUNBOOK_NAME)
MAX_BYTES: Final = 128 * 1024
"""How many bytes a runbook may have."""
MAX_RUNBOOKS: Final = 200
"""How many runbooks a folder may have."""
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Runbook:
    """One reviewed script."""

    name: str
    sha256: str
    """Of its bytes, in hexadecimal."""
    source: str
    header: header.Header


class Folder:
    """The runbooks of one server. It keeps nothing between calls, and is safe for use from many threads."""

    def __init__(self, path: Path | None) -> None:
        """None: there are no runbooks."""
        self._path = path

    @property
    def path(self) -> Path:
        """The folder. Raises RunbookError if there is none."""
        if self._path is None:
            raise errors.RunbookError(
                "this server has no runbooks; write the steps into the script itself",
                code="runbook.none",
                remedy='name their folder: [runbooks] folder = "…"',
            )
        return self._path

    def get(self, name: str) -> Runbook:
        """Returns the runbook of this name, as it is locked. Raises RunbookError."""
        # Attack: a name with a path in it, such as `../../etc/passwd`.
        if not _NAME.fullmatch(name):
            raise errors.RunbookError(
                f"{name[:64]!a} cannot be the name of a runbook; k8s.runbooks() lists them", code="runbook.name"
            )
        digests = self.read_lock()
        if name not in digests:
            raise errors.RunbookError(
                f"there is no runbook {name} in the lock file; k8s.runbooks() lists those that there are",
                code="runbook.locked",
                remedy="review it, and run `kubescript runbooks lock`",
            )
        return _make(name, self.read_script(name), digests[name])

    def list_valid(self) -> list[Runbook]:
        """Returns the runbooks that may run, in order of name; one that differs from the lock file is not among them.
        Raises RunbookError if the lock file cannot be read."""
        found = []
        for name in sorted(self.read_lock()):
            try:
                found.append(self.get(name))
            except errors.RunbookError:
                continue
        return found

    def list_names(self) -> list[str]:
        """Returns the names of all files that may be runbooks, locked or not. Raises RunbookError."""
        try:
            entries = sorted(entry.name for entry in os.scandir(self.path))
        except OSError as error:
            raise _unreadable(self.path.name, os.strerror(error.errno or 0)) from None
        names = [entry.removesuffix(_SUFFIX) for entry in entries if entry.endswith(_SUFFIX)]
        names = [name for name in names if _NAME.fullmatch(name)]
        if len(names) > MAX_RUNBOOKS:
            raise _unreadable(self.path.name, f"it has more than {MAX_RUNBOOKS} runbooks")
        return names

    def read_lock(self) -> dict[str, str]:
        """Returns the digests in the lock file by name. Raises RunbookError."""
        digests = lock_file.parse(self._read(lock_file.NAME, lock_file.MAX_BYTES))
        if len(digests) > MAX_RUNBOOKS:
            raise _unreadable(lock_file.NAME, f"it names more than {MAX_RUNBOOKS} runbooks")
        return digests

    def read_script(self, name: str) -> bytes:
        """Returns the bytes of a runbook, locked or not. Raises RunbookError."""
        return self._read(name + _SUFFIX, MAX_BYTES)

    def _read(self, file: str, most: int) -> bytes:
        """Returns a file of the folder. Raises RunbookError."""
        try:
            # A pipe does not block, and a terminal is not taken over.
            descriptor = os.open(self.path / file, _FLAGS)
        except OSError as error:
            raise _unreadable(file, os.strerror(error.errno or 0)) from None
        with open(descriptor, "rb") as opened:  # noqa: PTH123  it is a descriptor
            self._check(file, descriptor)
            try:
                content = opened.read(most + 1)
            except OSError as error:
                raise _unreadable(file, os.strerror(error.errno or 0)) from None
        if len(content) > most:
            raise _unreadable(file, f"it has more than {most >> 10} KiB")
        return content

    def _check(self, file: str, descriptor: int) -> None:
        """Raises RunbookError unless the open file is a regular one within the folder."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable(file, "it is not a regular file")
        # A folder that is a ConfigMap consists of links, all of which stay in it. Attack: a link leads out of the
        # folder. The open file is asked, so that nothing can be exchanged after the check.
        real = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not real.is_relative_to(self.path.resolve()):
            raise _unreadable(file, "it is a link that leads out of the folder")


def digest(content: bytes) -> str:
    """Returns the SHA-256 of a runbook's bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _make(name: str, content: bytes, locked: str) -> Runbook:
    """Returns the runbook with these bytes. Raises RunbookError if they are not the locked ones."""
    found = digest(content)
    if found != locked:
        raise errors.RunbookError(
            f"runbook {name} is not as it was reviewed, so it is not run; tell the operator of this server",
            code="runbook.locked",
            remedy=f"its SHA-256 is {found}, and the lock file has {locked}: review it, and run "
            "`kubescript runbooks lock`",
        )
    try:
        source = content.decode()
    except UnicodeDecodeError:
        raise _unreadable(name, "it is not UTF-8 text") from None
    return Runbook(name, found, source, header.parse(source))


def _unreadable(file: str, why: str) -> errors.RunbookError:
    return errors.RunbookError(
        f"the runbooks cannot be read ({file}: {why}); tell the operator of this server", code="runbook.unreadable"
    )
