"""Files of tests: a failure's name says the file, and no file needs another one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.kit import paths

FOLDERS = tuple(paths.ROOT / name for name in ("tests", "security_tests"))
IMPORT = re.compile(r"^\s*(?:from|import) .*\btest_\w+", re.MULTILINE)


def files(pattern: str) -> list[Path]:
    """The files of that name in both folders, at any depth."""
    return [file for folder in FOLDERS for file in folder.rglob(pattern)]


def test_each_name_stands_once() -> None:
    """A reader of a failure knows the file from its name."""
    names = Counter(file.name for file in files("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_file_of_tests_is_imported() -> None:
    """What tests share is in tests/kit, or beside the attacks in security_tests."""
    importing = [file for file in files("*.py") if IMPORT.search(file.read_text("utf-8"))]
    assert [str(file.relative_to(paths.ROOT)) for file in importing] == []
