"""Recorded runs: transcripts of `kubescript-safety run` as they were written, packed into one file.

`python -m tests.kit.safety.recorded FOLDER` packs the transcripts of a folder anew.
"""

from __future__ import annotations

import functools
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["FILE", "labels", "pack", "unpack"]

FILE: Final = Path(__file__).parent / "recorded.tar.xz"


def pack(folder: Path, file: Path = FILE) -> int:
    """Packs the transcripts of a folder; the same ones give the same bytes. Returns how many there are."""
    found = sorted(folder.glob("*.jsonl"))
    with tarfile.open(file, "w:xz", preset=9) as archive:
        for path in found:
            entry = tarfile.TarInfo(path.name)
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                archive.addfile(entry, content)
    return len(found)


@functools.cache
def labels() -> dict[str, Any]:
    """Returns what each scenario's runs are to be judged, by the server."""
    # The loader in C: the one in Python takes a second.
    found: dict[str, Any] = yaml.load(FILE.with_name("labels.yaml").read_text("utf-8"), yaml.CSafeLoader)
    return found


def unpack(folder: Path) -> list[Path]:
    """Writes the recorded transcripts into a folder; returns their paths."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    return sorted(folder.glob("*.jsonl"))


if __name__ == "__main__":
    print(f"{pack(Path(sys.argv[1]))} transcripts, {FILE.stat().st_size >> 10} KiB")
