"""Set-ups of servers: the command that serves MCP over stdio, its configuration, and who answers its questions."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

__all__ = ["BUILT_IN", "Kind", "Setup", "SetupError", "read"]

Kind = Literal["code", "kubectl", "gateway", "resources", "other"]
"""The tools for a scripted agent: one for scripts; kubescript's toolsets `kubectl` and `gateway`; the tools of npm
kubernetes-mcp-server (such as `resources_get`). Agents that are models need no kind."""

BUILT_IN: Final = Path(__file__).parent / "servers.yaml"


class SetupError(Exception):
    """A file is not a list of set-ups; the message says why."""


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One server under test."""

    name: str
    command: tuple[str, ...]
    """The program and its arguments. `${kubeconfig}`, `${config}` and `${folder}` stand for paths, `${python}` for the
    Python that runs this program, other names for environment variables."""
    kind: Kind = "other"
    environment: dict[str, str] = {}
    config: str = ""
    """The content of the file `${config}`."""
    approver: Literal["forms", "nobody"] = "nobody"
    """Who answers the server's questions: a person who accepts every form and opens no link, or nobody."""

    def argv(self, values: Mapping[str, str]) -> list[str]:
        """Returns the command with its variables replaced. Raises SetupError for an unknown variable."""
        known = {**os.environ, **values}
        try:
            return [string.Template(word).substitute(known) for word in self.command]
        except (KeyError, ValueError) as error:
            raise SetupError(f"server {self.name}: {error} in its command") from None


def read(path: Path = BUILT_IN) -> tuple[Setup, ...]:
    """Reads a file of set-ups. Raises SetupError."""
    try:
        text = path.read_bytes()
        found: Any = yaml.safe_load(text)
        return msgspec.convert(found, tuple[Setup, ...])
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise SetupError(f"{path}: {error}") from None
