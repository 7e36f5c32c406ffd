"""Compiles each set of patterns once per test run: 1.7 s of processor time that every started kubescript would pay again.

Python imports this file at the start of every process that has its folder in PYTHONPATH (../../conftest.py puts it
there); the sandbox, which is started with -I, never does. It wraps `hyperscan.Database`: what one process of the run
has compiled, the next one with the same patterns, flags and mode loads from the run's own folder. Nothing outlives the
run, and what cannot be compiled fails in every process as it does in the first.
"""

from __future__ import annotations

# Little is imported here: every Python that a test starts pays for it.
import os
import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType
    from typing import Any

FOLDER = "COMPILED_PATTERNS_OF_THE_TEST_RUN"
"""The variable that names the run's folder."""


class Finder:
    """Finds hyperscan once, and wraps it after it was loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of hyperscan alone."""
        if name != "hyperscan":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                wrap(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def wrap(hyperscan: Any) -> None:
    """Replaces the two names that a compiled set of patterns goes through."""
    import contextlib
    import hashlib
    from pathlib import Path

    compiling, scratch = hyperscan.Database, hyperscan.Scratch

    class Database:
        """Compiles, or loads what was compiled; everything else is the real database's."""

        def __init__(self, **options: Any) -> None:
            self._options = options
            self._real: Any = compiling(**options)

        def compile(self, **patterns: Any) -> None:
            key = hashlib.sha256(repr((sorted(self._options.items()), sorted(patterns.items()))).encode())
            file = Path(os.environ[FOLDER], key.hexdigest())
            with contextlib.suppress(OSError):
                self._real = hyperscan.loadb(file.read_bytes(), self._options["mode"])
                return
            self._real.compile(**patterns)
            keep(file, hyperscan.dumpb(self._real))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    hyperscan.Database = Database
    hyperscan.Scratch = lambda database: scratch(database._real if isinstance(database, Database) else database)


def keep(file: Path, data: bytes) -> None:
    """Writes a file that is whole or not there; a process that may not write there does without."""
    import contextlib
    import tempfile

    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        os.rename(name, file)


if os.environ.get(FOLDER):
    sys.meta_path.insert(0, Finder())
