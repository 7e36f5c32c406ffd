"""Copies a chain, and the files needed to replay it, to a new folder. `kubescript audit replay --snapshot` calls it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kubescript import errors
from kubescript.audit import attachments, reader, rotation

__all__ = ["export"]

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def export(path: Path, out: Path, record_filter: reader.Filter) -> int:
    """Creates the folder `out`; returns how many scripts can be replayed from it. Raises ConfigError when it exists."""
    if out.exists():
        raise errors.ConfigError(f"{out} exists already; name a new folder")
    out.mkdir(mode=0o700, parents=True)
    target = out / "audit.jsonl"
    _copy_chain(path, target)
    source = attachments.folder_of(path)
    copies = attachments.folder_of(target)
    for name in attachments.FOLDERS:
        folder = copies / name
        folder.mkdir(mode=0o700, parents=True)
    count = 0
    for entry in reader.records(path, record_filter):
        if entry["type"] != "script":
            continue
        with contextlib.suppress(attachments.Skipped, attachments.Changed):
            _copy_evaluation(source, copies, entry)
            count += 1
    return count


def _copy_chain(path: Path, target: Path) -> None:
    """Copies the files of the chain as they are at one moment."""
    prefix = len(path.name)
    with rotation.frozen(path) as parts:
        for part in parts:
            # FILE.N becomes audit.jsonl.N.
            suffix = part.path.name[prefix:]
            name = target.with_name(target.name + suffix)
            with open(name, "xb", opener=_private) as copy:
                copy.writelines(part.lines())


def _private(name: str, flags: int) -> int:
    """Opens a file that only its owner can read."""
    return os.open(name, flags, 0o600)


def _copy_evaluation(source: Path, target: Path, entry: dict[str, Any]) -> None:
    """Copies every file of one evaluation. Raises Skipped or Changed."""
    for folder, digest, suffix in _files(source, entry):
        # `read` has checked that the name is a hash, so the copy stays inside the folder.
        data = attachments.read(source / folder, digest, suffix)
        name = target / folder / f"{digest}{suffix}"
        # Two scripts may have read the same body.
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(name, _NEW_FILE)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)


def _files(source: Path, entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields folder, hash and suffix of each file needed to replay the evaluation."""
    document = attachments.document(source, entry)
    yield "scripts", entry["script"], ".py"
    yield "replays", entry["replay"], ".json"
    for call in document.calls:
        if call.body:
            yield "bodies", call.body, ""
