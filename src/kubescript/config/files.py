"""The configuration file: TOML, or YAML by its ending."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from kubescript import errors

__all__ = ["read"]


def read(path: Path) -> dict[str, Any]:
    """The tables of the file. Raises ConfigError."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise errors.ConfigError(f"cannot read the configuration file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ConfigError(f"cannot read the configuration file {path}: it is not UTF-8 text") from None
    data = _parse(path, text)
    if not isinstance(data, dict):
        raise errors.ConfigError(f"{path}: expected settings at the top level, got {type(data).__name__}")
    return data


def _parse(path: Path, text: str) -> object:
    try:
        if path.suffix in {".yaml", ".yml"}:
            import yaml

            return yaml.safe_load(text) or {}
        return tomllib.loads(text)
    except ValueError as error:
        raise errors.ConfigError(f"{path}: {error}") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark is not None else ""
            why = getattr(error, "problem", None) or "not valid YAML"
            raise errors.ConfigError(f"{path}{where}: {why}") from None
        raise
