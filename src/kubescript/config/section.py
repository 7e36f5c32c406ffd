"""The base of every section of the settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import pydantic

__all__ = ["MIB", "Section", "UserPath", "with_home"]

MIB: Final = 1024 * 1024
"""Bytes in one MiB."""


def with_home(path: Path) -> Path:
    """Returns the path with the user's home for a leading `~`, or unchanged if the home is unknown."""
    # No shell expands `~` in a file, in a client's configuration, or in `--config=~/x`.
    return Path(os.path.expanduser(path))  # noqa: PTH111  it raises nothing


UserPath = Annotated[Path, pydantic.AfterValidator(with_home)]
"""A file path that a person writes."""


class Section(pydantic.BaseModel):
    """A table of the configuration file. An unknown key is an error."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")
