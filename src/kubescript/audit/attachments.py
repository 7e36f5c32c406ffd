"""Files kept beside the audit file on the operator's request: scripts, and what they received and answered.

    FILE.d/scripts/HASH.py     a script's text, its secrets masked; HASH is that of the text as it ran
    FILE.d/bodies/HASH         one answer's body as the worker received it, after redaction
    FILE.d/replays/HASH.json   one evaluation: its calls in order, the headers of each answer, and the answer it gave

The recorder writes here; `replay` and `export` read. Each name is the SHA-256 of the content (except for masked
scripts), and a script's record names its replay, so the chain covers all of it.

The folder that is read may come from a stranger. A file is found only by its hash in the chain; paths, links and
devices are refused. A file whose hash or format differs from what is written here counts as changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import uuid
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import orjson

from kubescript import errors
from kubescript.audit import file_checks, script_records
from kubescript.output import notes
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.wire import protocol

__all__ = [
    "FOLDERS",
    "CapturedCall",
    "Changed",
    "Document",
    "Sink",
    "Skipped",
    "Store",
    "document",
    "folder_of",
    "read",
    "script",
]

FOLDERS: Final = ("scripts", "bodies", "replays")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Attack: a sparse file claims any size.
_MAX_FILE_BYTES: Final = 1 << 30
"""The default limit on what one script may fetch."""
_SourceName = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")]
"""As in the settings. Attack: a name of 200,000 letters is printed with the call that was not recorded."""
_SourceKind = Literal["prometheus", "alertmanager", "loki", "tempo"]
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Skipped(Exception):
    """The comparison is impossible."""


class Changed(Exception):
    """A kept file was changed."""


class _OtherContent(Changed):
    """The content has a different hash."""


class CapturedCall(msgspec.Struct, frozen=True):
    """One call and its answer."""

    request: str
    """Fingerprint of the request."""
    reply: exchanges.Reply
    fault: protocol.ScriptFault | None = None
    """The fault that cut the body short."""
    body: str = ""
    """Hash of the body; empty when the script read none of it."""


class Document(msgspec.Struct, frozen=True):
    """One evaluation, in the format of FILE.d/replays."""

    limits: runs.Limits
    contexts: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    namespace: str
    calls: tuple[CapturedCall, ...]
    summary: dict[str, dict[str, int] | bool] = msgspec.field(name="tally")
    notes: list[notes.Note | str]
    """Some are strings in documents that an earlier version wrote."""
    answer: str
    namespaces: tuple[str, ...] = ()
    """The patterns of the only namespaces that the script could see; none: all."""
    sources: tuple[tuple[_SourceName, _SourceKind], ...] = ()
    """The names of the sources that the script could ask, and the kind of each, in the settings' order."""

    def __post_init__(self) -> None:
        """Raises ValueError for a note whose values do not fit into its sentence."""
        for each in self.notes:
            if isinstance(each, notes.Note) and each.sentence.count(notes.PLACE) != len(each.values):
                raise ValueError("a note has more or fewer values than places")


def folder_of(path: Path) -> Path:
    """Returns the folder beside an audit file."""
    return path.with_name(path.name + ".d")


class Store:
    """The folder FILE.d. Safe for use from many threads and processes: a named file never changes."""

    def __init__(self, path: Path, *, scripts: bool, responses: bool) -> None:
        self.folder = folder_of(path)
        # A replay needs the script too.
        self.scripts = scripts or responses
        self.responses = responses
        if self.scripts:
            file_checks.make_folder(self.folder)
            for name in FOLDERS:
                file_checks.make_folder(self.folder / name)

    @staticmethod
    def check(path: Path) -> None:
        """Checks whether the folder beside this audit file could be used, without creating it. Raises AuditError."""
        folder = folder_of(path)
        parts = [folder / name for name in FOLDERS]
        for one in (folder, *parts):
            if os.path.lexists(one):
                file_checks.check_folder(one)

    def save_script(self, text: str, digest: str, redact: script_records.Redact) -> None:
        """Saves a script's text, masked. Raises AuditError."""
        # The hash is that of the unmasked text, so the same name means the same script.
        target = self.folder / "scripts" / f"{digest}.py"
        if target.exists():
            return
        masked = redact(text, lambda _: None)
        self._save(target, masked.encode("utf-8", "surrogatepass"))

    def save_replay(self, document: dict[str, Any]) -> str:
        """Saves one evaluation; returns its hash. Raises AuditError."""
        # Sorted keys give the same evaluation the same hash.
        data = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(data).hexdigest()
        self._save(self.folder / "replays" / f"{digest}.json", data)
        return digest

    def sink(self) -> Sink:
        """Returns a file for one body. Raises AuditError."""
        return Sink(self.folder / "bodies")

    # A file gets its name only when complete, so that no reader finds half of one.
    def _save(self, target: Path, data: bytes) -> None:
        sink = Sink(target.parent)
        sink.write(data)
        sink.close(target)


class Sink:
    """A file that gets its name when its content is complete."""

    def __init__(self, folder: Path) -> None:
        self._digest = hashlib.sha256()
        self._path = folder / f"new-{uuid.uuid4().hex}"
        self.size = 0
        try:
            descriptor = os.open(self._path, _NEW_FLAGS, 0o600)
            self._file = os.fdopen(descriptor, "wb")
        except OSError as error:
            raise self._abandon(error) from None

    def write(self, data: bytes) -> None:
        """Writes the next piece. Raises AuditError."""
        self._digest.update(data)
        self.size += len(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise self._abandon(error) from None

    def close(self, target: Path | None = None) -> str:
        """Names the file `target`, or after its hash if no target is given; returns the hash. Raises AuditError."""
        digest = self._digest.hexdigest()
        if target is None:
            target = self._path.with_name(digest)
        try:
            self._file.close()
            self._path.replace(target)
        except OSError as error:
            raise self._abandon(error) from None
        return digest

    def _abandon(self, error: OSError) -> errors.AuditError:
        """Removes the file and returns the error for it."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        why = os.strerror(error.errno or 0)
        return file_checks.unavailable(self._path.parent, why, "free some space, or check the disk")


def document(folder: Path, entry: dict[str, Any]) -> Document:
    """Returns the evaluation that a script's record names. Raises Skipped, or Changed when its hash does not match."""
    digest = entry.get("replay", "")
    if not digest:
        raise Skipped("what it saw was not recorded: set audit.responses")
    data = read(folder / "replays", digest, ".json")
    try:
        return msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, RecursionError):
        raise Changed("the kept file is not in the format that kubescript writes") from None


def script(folder: Path, digest: str) -> str:
    """Returns a script's text. Raises Skipped or Changed."""
    try:
        data = read(folder / "scripts", digest, ".py")
    except _OtherContent:
        raise Skipped("its text contained a secret, which is masked in the kept copy") from None
    return data.decode("utf-8", "surrogatepass")


def read(folder: Path, digest: Any, suffix: str = "") -> bytes:
    """Returns the content of the file named by its hash. Raises Skipped when it does not exist, Changed when its
    content is wrong."""
    # Attack: a stranger's record names `../../etc/shadow`, or a number.
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise Changed("the record's name of a file is not a hash")
    name = digest + suffix
    try:
        data = _read_regular_file(folder / name)
    except FileNotFoundError:
        raise Skipped(f"{name} does not exist") from None
    except OSError:
        raise Changed(f"{name} is not a readable file") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise _OtherContent(f"{name} is not what was recorded")
    return data


def _read_regular_file(file: Path) -> bytes:
    """Returns the content of a regular file. Raises OSError for anything else."""
    # Attack: reading a pipe or a device never ends.
    descriptor = os.open(file, _READ_FLAGS)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE_BYTES:
            raise OSError
        return stream.read(_MAX_FILE_BYTES)
