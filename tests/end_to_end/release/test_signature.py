"""Checksums of a release, and their signature, verified by the commands of docs/install.md."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

import kubescript
from scripts.release import tools
from tests.kit import pages

WHEEL: Final = f"kubescript-{kubescript.__version__}-py3-none-any.whl"


@pytest.fixture
def downloaded(dist: Path, tmp_path: Path) -> Path:
    """A folder with what a user downloads."""
    for name in (WHEEL, "SHA256SUMS", "SHA256SUMS.sigstore.json", "cosign.pub"):
        shutil.copy(dist / name, tmp_path / name)
    return tmp_path


def verify(folder: Path, way: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the commands of the page, one after the other, until one fails: by cosign, or by openssl as the last way."""
    block = pages.commands("install.md", "Verify")[way]
    path = f"{tools.program('cosign').parent}:{os.environ['PATH']}"
    command = ["bash", "-e", "-c", block]
    return subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)


def change_a_byte(file: Path) -> None:
    """Changes one bit in the middle of a file."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_release_verifies_by_the_commands_of_the_page(downloaded: Path) -> None:
    """The page needs nothing but cosign and coreutils."""
    done = verify(downloaded)
    assert done.returncode == 0, done.stderr
    assert "Verified OK" in done.stderr
    assert f"{WHEEL}: OK" in done.stdout


def test_openssl_verifies_the_signature_of_a_key(downloaded: Path) -> None:
    """Without cosign; a changed byte of the checksums fails."""
    assert "Verified OK" in verify(downloaded, way=-1).stdout
    change_a_byte(downloaded / "SHA256SUMS")
    assert verify(downloaded, way=-1).returncode != 0


@pytest.mark.parametrize("name", [WHEEL, "SHA256SUMS", "SHA256SUMS.sigstore.json", "cosign.pub"])
def test_a_changed_byte_does_not_verify(dist: Path, downloaded: Path, name: str) -> None:
    """Neither in a file, nor in the checksums, their signature or the key; the file as it was verifies again."""
    change_a_byte(downloaded / name)
    assert verify(downloaded).returncode != 0
    shutil.copy(dist / name, downloaded / name)
    assert verify(downloaded).returncode == 0


def test_the_checksums_are_of_every_file(dist: Path) -> None:
    """Only the checksums, their signature and its key are not among them."""
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    listed = [line.split("  ", 1)[1] for line in lines]
    files = {path.relative_to(dist).as_posix() for path in dist.rglob("*") if path.is_file()}
    assert set(listed) == files - {"SHA256SUMS", "SHA256SUMS.sigstore.json", "cosign.pub"}
    assert listed == sorted(listed)
