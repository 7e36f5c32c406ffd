"""helm_repo_list: the chart repositories of the operator who runs the server, as `helm repo list` names them.

The file may hold passwords, so the host reads it, and its names and URLs are all that leaves it: no script sees it.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kubescript import types
from kubescript.output import sanitizing
from kubescript.wire import messages

__all__ = ["answer"]

_MAX_BYTES: Final = 1024 * 1024
_HIDDEN: Final = "***"
_TITLES: Final = ("NAME", "URL")


def answer(arguments: Mapping[str, Any]) -> types.Answer:
    """Answers a call of helm_repo_list."""
    file = _file()
    try:
        found = _read(file)
    except (OSError, ValueError, yaml.YAMLError) as error:
        # What a parser says of the file quotes it.
        text = messages.text("repositories_unreadable", file=file, details=type(error).__name__)
        return types.Answer(f"Error: {text}", is_error=True, code="tool.repositories_unreadable")
    return types.Answer(_written(found, arguments.get("output", "table")))


def _file() -> Path:
    """Returns the file in which Helm keeps repositories."""
    if named := os.environ.get("HELM_REPOSITORY_CONFIG"):
        return Path(named)
    if home := os.environ.get("HELM_CONFIG_HOME"):
        return Path(home, "repositories.yaml")
    if base := os.environ.get("XDG_CONFIG_HOME"):
        return Path(base, "helm", "repositories.yaml")
    own = "Library/Preferences" if sys.platform == "darwin" else ".config"
    return Path.home() / own / "helm" / "repositories.yaml"


def _read(file: Path) -> list[dict[str, str]]:
    """Returns name and URL of each repository. Raises OSError, ValueError, YAMLError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return []
    if len(content) > _MAX_BYTES:
        raise ValueError(file)
    document = yaml.safe_load(content)
    entries = document.get("repositories") if isinstance(document, dict) else None
    found = []
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            name, url = str(entry.get("name", "")), _without_credentials(str(entry.get("url", "")))
            found.append({"name": sanitizing.printable(name), "url": sanitizing.printable(url)})
    return found


def _without_credentials(url: str) -> str:
    """Returns the URL with nothing that lets anybody in: no user, no password, no query."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    place = f"{_HIDDEN}@{host}" if at and user else host
    query = _HIDDEN if parts.query else ""
    return urllib.parse.urlunsplit(parts._replace(netloc=place, query=query, fragment=""))


def _written(found: list[dict[str, str]], output: str) -> str:
    if output == "json":
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if output == "yaml":
        return yaml.safe_dump(found, allow_unicode=True).rstrip("\n")
    if not found:
        return messages.text("no_repositories")
    width = max(len(each["name"]) for each in [{"name": _TITLES[0]}, *found])
    rows = [_TITLES, *((each["name"], each["url"]) for each in found)]
    return "\n".join(f"{name.ljust(width)}  {url}" for name, url in rows)
