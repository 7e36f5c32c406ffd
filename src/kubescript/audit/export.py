"""Copies a chain, and what replaying it needs, to a new folder that can be carried elsewhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubescript import errors
from kubescript.audit import reader, rotation, store

__all__ = ["export"]


def export(path: Path, out: Path, record_filter: reader.Filter) -> int:
    """Make the folder `out`; gives the number of scripts that can be run again from it. Raises ConfigError when it is
    there."""
    target = out / "audit.jsonl"
    if out.exists():
        raise errors.ConfigError(f"{out} is there already; name a new folder")
    out.mkdir(mode=0o700, parents=True)
    with rotation.frozen(path) as parts:
        for part in parts:
            name = target.name + part.path.name[len(path.name) :]
            with open(out / name, "xb", opener=_private) as copy:
                copy.writelines(part.lines())
    for folder in ("scripts", "bodies", "replays"):
        (store.folder_of(target) / folder).mkdir(mode=0o700, parents=True)
    count = 0
    for entry in reader.records(path, record_filter):
        if entry["type"] == "script":
            with contextlib.suppress(store.Skipped, store.Changed):
                _copy(store.folder_of(path), store.folder_of(target), entry)
                count += 1
    return count


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _copy(source: Path, target: Path, entry: dict[str, Any]) -> None:
    """Everything of one evaluation. Raises Skipped or Changed."""
    for folder, digest, suffix in _parts(source, entry):
        data = store.read(source / folder, digest, suffix)  # the name is a hash, so it can lie nowhere else
        with contextlib.suppress(FileExistsError):  # two scripts may have seen the same
            descriptor = os.open(target / folder / (digest + suffix), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)


def _parts(source: Path, entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    document = store.document(source, entry)
    yield "scripts", entry["script"], ".py"
    yield "replays", entry["replay"], ".json"
    for call in document.calls:
        if call.body:
            yield "bodies", call.body, ""
