"""Reads settings of a TOML file by their types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript import errors

__all__ = ["Reader"]

_MOST: Final = 1e15
_URL: Final = re.compile(r"https?://[^/?#\s]+(/[^?#\s]*)?")


class Reader:
    """A file of settings. A setting that is not given, or is empty, has no value. Raises
    ConfigError for a value of another type."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        self._file = file

    def given(self, name: str) -> bool:
        """Says whether the setting says anything."""
        value = self._get(name)
        return value is not None and value not in ("", []) and value is not False

    def text(self, name: str) -> str:
        """Returns a text."""
        value = self._typed(name, (str,), "a text")
        return str(value or "")

    def flag(self, name: str) -> bool | None:
        """Returns a truth value."""
        value = self._typed(name, (bool,), "true or false")
        return None if value is None else bool(value)

    def number(self, name: str) -> float:
        """Returns a number that is worth reckoning with; 0 where there is none."""
        value = self._typed(name, (int, float), "a number") or 0
        if not abs(value) <= _MOST:  # also nan
            raise errors.ConfigError(f"`{name}`: expected a number")
        return value

    def texts(self, name: str) -> list[str]:
        """Returns a list of texts."""
        values = self._typed(name, (list,), "a list of texts") or []
        if not all(isinstance(value, str) for value in values):
            raise errors.ConfigError(f"`{name}`: expected a list of texts")
        return list(values)

    def tables(self, name: str) -> list[dict[str, Any]]:
        """Returns a list of tables."""
        values = self._typed(name, (list,), "a list of tables") or []
        if not all(isinstance(value, dict) for value in values):
            raise errors.ConfigError(f"`{name}`: expected a list of tables")
        return list(values)

    def url(self, name: str) -> str:
        """Returns an http or https address."""
        value = self.text(name)
        if value and not _URL.fullmatch(value):
            raise errors.ConfigError(f"`{name}`: expected an http or https address")
        return value

    def _typed(self, name: str, types: tuple[type, ...], wanted: str) -> Any:
        value = self._get(name)
        if value is not None and type(value) not in types:  # a bool is no number here
            raise errors.ConfigError(f"`{name}`: expected {wanted}")
        return value

    def _get(self, name: str) -> Any:
        table, _, member = name.rpartition(".")
        if not table:
            return self._file.get(name)
        values = self._file.get(table, {})
        if not isinstance(values, dict):
            raise errors.ConfigError(f"`{table}`: expected a table")
        return values.get(member)
