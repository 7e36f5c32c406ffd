"""The files of one chain: FILE.1, FILE.2, … set aside in this order, and FILE, which is written."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from kubescript.audit import chain

__all__ = ["all_of", "head", "next_name", "set_aside", "surplus"]


def set_aside(path: Path) -> list[Path]:
    """The full ones, oldest first."""
    found = {number: one for one in path.parent.iterdir() if (number := _number(path, one))}
    return [found[number] for number in sorted(found)]


def all_of(path: Path) -> list[Path]:
    """Every file of the chain that can be read to its end, oldest first: in a stranger's folder a pipe or a link to a
    secret may have the name of one."""
    return [*(one for one in set_aside(path) if stat.S_ISREG(one.lstat().st_mode)), *([path] if path.exists() else [])]


def next_name(path: Path) -> Path:
    """What the full file becomes."""
    before = set_aside(path)
    number = int(before[-1].suffix[1:]) + 1 if before else 1
    return path.with_name(f"{path.name}.{number}")


def surplus(path: Path, keep: int) -> list[Path]:
    """Those that are too many."""
    return set_aside(path)[:-keep] if keep else []


def head(path: Path, key: bytes | None) -> chain.Head:
    """The end of the chain in a file that was set aside; the beginning when it has none."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 2 * chain.MAX_LINE))
        lines = stream.read().split(b"\n")
    for line in reversed(lines):
        try:
            record = chain.opened(line, key)
        except chain.Damaged:
            continue
        return chain.Head(record["seq"] + 1, record["hash"])
    return chain.Head()


def _number(path: Path, other: Path) -> int:
    """N of FILE.N; 0 for every other name."""
    name, _, number = other.name.rpartition(".")
    return int(number) if name == path.name and re.fullmatch(r"[1-9][0-9]{0,9}", number) else 0
