"""No two files of tests share a name: who reads the name of a failure knows the file."""

from __future__ import annotations

from collections import Counter

from tests.kit import paths

ROOT = paths.ROOT


def test_each_name_stands_once() -> None:
    """In tests/ and security_tests/, at any depth."""
    names = Counter(file.name for folder in ("tests", "security_tests") for file in (ROOT / folder).rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
