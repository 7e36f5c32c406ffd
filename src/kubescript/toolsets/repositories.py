"""helm_repo_list: the chart repositories of the operator who runs the server, as `helm repo list` shows them.

The file may contain passwords, so the host reads it, and passes only names and URLs to the script that prints them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import yaml

from kubescript.output import sanitizing
from kubescript.toolsets import arguments

__all__ = ["prepare"]

_MAX_BYTES: Final = 256 * 1024
_HIDDEN: Final = "***"
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}://")
_AFTER_PATH: Final = re.compile(r"[?#].*", re.DOTALL)


async def prepare(_cluster: str) -> Mapping[str, object]:
    """Returns the data that the script of helm_repo_list prints. Raises Refusal when the file cannot be read."""
    return await anyio.to_thread.run_sync(_read_repositories, abandon_on_cancel=True)


def _read_repositories() -> Mapping[str, object]:
    file = _find_file()
    try:
        return {"repositories": _read(file)}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        # A parser's message may quote the file.
        raise arguments.Refusal("repositories_unreadable", file=file, details=type(error).__name__) from None


def _find_file() -> Path:
    """Returns the file in which Helm keeps repositories."""
    named = os.environ.get("HELM_REPOSITORY_CONFIG")
    if named:
        return Path(named)
    home = os.environ.get("HELM_CONFIG_HOME")
    if home:
        return Path(home, "repositories.yaml")
    base = os.environ.get("XDG_CONFIG_HOME")
    if base:
        return Path(base, "helm", "repositories.yaml")
    own = "Library/Preferences" if sys.platform == "darwin" else ".config"
    return Path.home() / own / "helm" / "repositories.yaml"


def _read(file: Path) -> list[dict[str, str]]:
    """Returns name and URL of each repository. Raises OSError, ValueError, RecursionError,
    YAMLError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return []
    if len(content) > _MAX_BYTES:
        raise ValueError(file)
    # The loader in C would be faster, but deep nesting crashes the process with it.
    document = yaml.safe_load(content)
    entries = document.get("repositories") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return []
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            name = _read_text(entry, "name")
            url = _hide_credentials(_read_text(entry, "url"))
            found.append({"name": sanitizing.printable(name), "url": sanitizing.printable(url)})
    return found


def _read_text(entry: Mapping[Any, Any], key: str) -> str:
    """Returns a string in an entry; empty if the entry has none."""
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _hide_credentials(url: str) -> str:
    """Returns the URL without possible credentials: no user, no password, no query."""
    # URL parsers disagree about passwords with a slash and URLs without a scheme: one takes for the path what another
    # takes for the password.
    found = _SCHEME.match(url)
    scheme = found[0] if found else ""
    user, _, place = url.removeprefix(scheme).rpartition("@")
    hidden_user = f"{_HIDDEN}@" if user else ""
    # The part after the path may contain a token, and a password before it may contain a question mark.
    hidden_query = _AFTER_PATH.sub(f"?{_HIDDEN}", place)
    return f"{scheme}{hidden_user}{hidden_query}"
