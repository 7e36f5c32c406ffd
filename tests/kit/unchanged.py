"""What decides a `repeatable` test: the files its module imports, however indirectly, data beside them, and the
installed packages. While all of them are as they were when it last passed, it would only pass again.

`make test` leaves such a test out; `make security` never does, nor does a machine that has not seen it pass.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import stat
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from kubescript_safety.controlplane import build
from tests.kit import extent, paths

ROOT = paths.ROOT
SOURCES = (ROOT / "src", ROOT)
AROUND = (ROOT / "conftest.py", ROOT / "pyproject.toml", ROOT / "security_tests" / "conftest.py", Path(__file__))
"""What takes part in every test without being imported by it."""


def stamp(module: Path, tests: Iterable[str]) -> str:
    """A name for these tests of a module as it is now: equal if and only if nothing that decides them has changed."""
    parts = [sys.version, platform.machine(), _installed(), str(extent.LONG), *sorted(tests)]
    for file in sorted({*closure(module), *AROUND}):
        parts += [str(file.relative_to(ROOT)), hashlib.sha256(file.read_bytes()).hexdigest()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def closure(module: Path) -> set[Path]:
    """The module, what it imports of this repository, what that imports, and the data of every package among them."""
    found: set[Path] = set()
    ahead = [module]
    while ahead:
        file = ahead.pop()
        if file not in found:
            found.add(file)
            ahead += _imported(file)
    packages = {file.parent for file in found if file.name == "__init__.py"}
    return found | {file for package in packages for file in _data(package)}


def passed(name: str, before: float) -> bool:
    """Whether these tests had passed, as they are, before a moment."""
    try:
        return (folder() / name).stat().st_mtime < before
    except OSError:
        return False


def remember(name: str) -> None:
    """These tests passed, as they are."""
    (folder() / name).touch(mode=0o600)


def folder() -> Path:
    """Where it is kept that tests have passed. Raises PermissionError when somebody else could have written there."""
    path = build.cache() / "passed"
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    state = path.stat()
    if state.st_uid != os.geteuid() or stat.S_IMODE(state.st_mode) & 0o022:
        raise PermissionError(f"{path} must belong to who runs the tests, and nobody else may write there")
    return path


@functools.cache
def _installed() -> str:
    return " ".join(sorted(f"{each.name}={each.version}" for each in metadata.distributions()))


@functools.cache
def _data(package: Path) -> tuple[Path, ...]:
    """Files of a package, at any depth, that are no code."""
    files = (file for file in package.rglob("*") if file.is_file())
    return tuple(file for file in files if file.suffix not in {".py", ".pyc"})


@functools.cache
def _imported(file: Path) -> tuple[Path, ...]:
    tree = ast.parse(file.read_bytes())
    return tuple(found for name in _names(tree.body) for found in _files(name))


def _names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Every dotted name that an import statement anywhere below may mean. Expressions, most of a tree, have none."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from _names(getattr(node, inner, ()))


@functools.cache
def _files(name: str) -> tuple[Path, ...]:
    """The files of this repository that importing a dotted name runs: the packages above it, and the module."""
    words = name.split(".")
    places = [Path(*words[:count]) for count in range(1, len(words) + 1)]
    candidates = [
        source / place for source in SOURCES for at in places for place in (at / "__init__.py", at.with_suffix(".py"))
    ]
    return tuple(file for file in candidates if file.is_file())
