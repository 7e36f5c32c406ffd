"""What is kept beside the audit file when the operator asks: scripts, and what they saw and answered.

    FILE.d/scripts/HASH.py     a script's text, its secrets masked; HASH is that of the text as it ran
    FILE.d/bodies/HASH         one answer's body as the worker saw it, after redaction
    FILE.d/replays/HASH.json   one evaluation: its calls in order, the head of each answer, and the answer it gave

Each name is the SHA-256 of the content (but for masked scripts), and a script's record names its replay, so the chain
covers all of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any, Final

import orjson

from kubescript import errors
from kubescript.audit import paths, record

__all__ = ["Sink", "Store"]

_FOLDERS: Final = ("scripts", "bodies", "replays")


class Store:
    """The folder FILE.d. Used from many threads and processes at once: what has a name never changes."""

    def __init__(self, path: Path, *, scripts: bool, responses: bool) -> None:
        self.folder = path.with_name(path.name + ".d")
        self.scripts = scripts or responses
        self.responses = responses
        if self.scripts:
            for folder in (self.folder, *(self.folder / name for name in _FOLDERS)):
                paths.folder(folder)

    @staticmethod
    def check(path: Path) -> None:
        """Whether the folder beside this audit file could be used, without making it. Raises AuditError."""
        folder = path.with_name(path.name + ".d")
        for one in (folder, *(folder / name for name in _FOLDERS)):
            if os.path.lexists(one):
                paths.check_folder(one)

    def keep_script(self, text: str, digest: str, redact: record.Redact) -> None:
        """A script's text, masked. Raises AuditError."""
        target = self.folder / "scripts" / f"{digest}.py"
        if self.scripts and not target.exists():
            self._put(target, redact(text, lambda _: None).encode("utf-8", "surrogatepass"))

    def keep_replay(self, document: dict[str, Any]) -> str:
        """One evaluation; gives its hash. Raises AuditError."""
        data = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(data).hexdigest()
        self._put(self.folder / "replays" / f"{digest}.json", data)
        return digest

    def sink(self) -> Sink:
        """Takes one body. Raises AuditError."""
        return Sink(self.folder / "bodies")

    def _put(self, target: Path, data: bytes) -> None:
        sink = Sink(target.parent)
        sink.write(data)
        sink.close(target)


class Sink:
    """A file that gets its name when its content is known."""

    def __init__(self, folder: Path) -> None:
        self._digest = hashlib.sha256()
        self._path = folder / f"new-{uuid.uuid4().hex}"
        self.size = 0
        try:
            self._file = os.fdopen(
                os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
            )
        except OSError as error:
            raise self._failed(error) from None

    def write(self, data: bytes) -> None:
        """The next piece. Raises AuditError."""
        self._digest.update(data)
        self.size += len(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise self._failed(error) from None

    def close(self, target: Path | None = None) -> str:
        """Name it, by its hash unless told otherwise; gives the hash. Raises AuditError."""
        digest = self._digest.hexdigest()
        try:
            self._file.close()
            self._path.replace(target or self._path.with_name(digest))
        except OSError as error:
            raise self._failed(error) from None
        return digest

    def _failed(self, error: OSError) -> errors.AuditError:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        return paths.unavailable(self._path.parent, os.strerror(error.errno or 0), "free some space, or check the disk")
