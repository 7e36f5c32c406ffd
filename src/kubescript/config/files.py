"""Reads the files of settings: one in TOML or YAML, and a folder of TOML files that add to it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeGuard

from kubescript import errors

__all__ = ["read_file", "with_folder"]


def read_file(path: Path, *, is_yaml: bool = False) -> dict[str, Any]:
    """Returns the tables of the file. Raises ConfigError."""
    unreadable = f"cannot read the configuration file {path}"
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise errors.ConfigError(f"{unreadable}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ConfigError(f"{unreadable}: it is not UTF-8 text") from None
    is_yaml = is_yaml or path.suffix in {".yaml", ".yml"}
    data = _parse(path, text, is_yaml=is_yaml)
    if not isinstance(data, dict):
        kind = type(data).__name__
        raise errors.ConfigError(f"{path}: expected settings at the top level, got {kind}")
    return data


def with_folder(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the settings merged with those in each TOML file of the folder, in order of name."""
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise errors.ConfigError(f"cannot read the configuration folder {folder}: {error.strerror}") from None
    for file in files:
        is_hidden = file.name.startswith(".")
        if file.suffix == ".toml" and not is_hidden:
            added = read_file(file)
            data = _merge(data, added)
    return data


def _merge(data: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """Returns the merged settings: later values replace earlier ones, but tables and lists of tables are combined."""
    merged = dict(data)
    for key, value in later.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merge(before, value)
        elif _has_tables(before) and isinstance(value, list):
            # A later file with [[denied_resources]] or [[redaction.rules]] must not undo those of an earlier one.
            merged[key] = before + value
        else:
            merged[key] = value
    return merged


def _has_tables(value: object) -> TypeGuard[list[Any]]:
    if not isinstance(value, list):
        return False
    return any(isinstance(item, dict) for item in value)


def _parse(path: Path, text: str, *, is_yaml: bool) -> object:
    """Returns the file's data. Raises ConfigError, which gives the line if the parser does."""
    try:
        if is_yaml:
            import yaml

            return yaml.safe_load(text) or {}
        return tomllib.loads(text)
    except ValueError as error:
        raise errors.ConfigError(f"{path}: {error}") from None
    except Exception as error:
        # The error is recognized by the name of its module, because yaml is not imported for a TOML file.
        if not type(error).__module__.startswith("yaml"):
            raise
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        why = getattr(error, "problem", None) or "not valid YAML"
        raise errors.ConfigError(f"{path}{where}: {why}") from None
