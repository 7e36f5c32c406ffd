"""The compiled scanner on disk: loaded only when it is ours and whole, rebuilt otherwise, and never in the way."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from kubescript_masking.engine import scanner
from kubescript_masking.rules.probes import Probe

Count = Callable[[int], None]

PROBES = [Probe("pair", "password="), Probe("escape", r"\\/", once=True)]
OTHERS = [Probe("pair", "nothing=")]
TEXT = rb"password=x \/ \/ password=y"


def hits(directory: Path, probes: list[Probe] = PROBES) -> list[scanner.Hit]:
    return scanner.Scanner(probes, directory).scan(TEXT)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a saved database."""
    place = tmp_path / "cache" / "scanner"
    hits(place)
    return place


def saved(directory: Path) -> Path:
    [file] = directory.glob("*.hsdb")
    return file


EXPECTED = [(0, 9), (1, 13), (0, 26)]


@pytest.mark.promise("S-01")
def test_a_saved_database_finds_what_the_compiled_one_finds(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded, not compiled again; a place that says enough is told once."""
    monkeypatch.setattr(scanner, "_compile", lambda *_: pytest.fail("compiled again"))
    assert hits(directory) == EXPECTED


@pytest.mark.promise("S-01")
def test_it_belongs_to_its_owner_alone(directory: Path) -> None:
    """The file and its directory have no rights for anybody else, and no draft is left."""
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(saved(directory).stat().st_mode) == 0o600
    assert len(list(directory.iterdir())) == 1


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def writable(file: Path) -> None:
    file.chmod(0o666)


def linked(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def opened(file: Path) -> None:
    file.parent.chmod(0o777)


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.promise("S-01")
@pytest.mark.parametrize("attack", [truncated, flipped, emptied, writable, linked, opened, piped])
def test_what_is_damaged_or_not_ours_is_not_loaded(
    attack: Callable[[Path], None], directory: Path, attacks: Count
) -> None:
    """A file that is cut, changed, writable by others, a link, a pipe, or in a directory of everybody's is compiled anew."""
    attacks(1)
    attack(saved(directory))
    assert scanner._load([(at, probe.pattern, probe.once) for at, probe in enumerate(PROBES)], directory) is None
    assert hits(directory) == EXPECTED


@pytest.mark.promise("S-01")
def test_other_patterns_have_another_database(directory: Path) -> None:
    """Patterns that changed are never served by what was saved for others, and old files do not pile up."""
    assert hits(directory, OTHERS) == []
    assert hits(directory) == EXPECTED
    for number in range(12):
        hits(directory, [Probe("pair", f"other{number}=")])
    assert len(list(directory.glob("*.hsdb"))) == 8


@pytest.mark.promise("S-01")
def test_a_directory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """A read-only or missing disk costs the compilation, nothing else."""
    assert hits(Path("/proc/none/scanner")) == EXPECTED
    (tmp_path / "file").write_text("in the way")
    assert hits(tmp_path / "file" / "scanner") == EXPECTED
