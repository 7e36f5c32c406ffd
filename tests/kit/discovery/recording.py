"""What kube-apiserver of each supported Kubernetes version serves, as scripts/record_discovery.py has recorded it:
every API of the release, stable or not."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("recorded.json")
_UNSTABLE: Final = re.compile(r"v\d+(?:alpha|beta)\d+")


class Recording(NamedTuple):
    """The whole recording, in the form of the file."""

    groups: dict[str, list[str]]
    """Version of Kubernetes ▶ its group versions in the server's order, each group's preferred version first."""
    resources: dict[str, dict[str, list[str]]]
    """`apps/v1 deployments/scale` ▶ an entry of discovery as JSON ▶ the versions of Kubernetes that serve it."""


def shorten(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of discovery without its name and its storage hash, which says nothing to clients."""
    return {key: value for key, value in entry.items() if key not in ("name", "storageVersionHash")}


def encode(recorded: Recording) -> str:
    """The file's text: a line for each entry, so that changes can be read."""
    lines = []
    for name, entries in recorded.resources.items():
        for entry, versions in entries.items():
            lines.append(json.dumps([name, json.loads(entry), versions], separators=(",", ":")))
    groups = [json.dumps([version, listed], separators=(",", ":")) for version, listed in recorded.groups.items()]
    listed_groups = ",\n".join(groups)
    listed_resources = ",\n".join(sorted(lines))
    return f'{{"groups":[\n{listed_groups}],\n"resources":[\n{listed_resources}]}}\n'


@functools.lru_cache(1)
def _load() -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = json.loads(FILE.read_text())
    return found


def versions() -> list[str]:
    """The recorded versions of Kubernetes, such as v1.29.6."""
    return [version for version, _ in _load()["groups"]]


def served(version: str) -> dict[str, list[dict[str, Any]]]:
    """Group version ▶ its entries of discovery, as a cluster of this version serves them by default: without alpha and
    beta versions."""
    groups = dict(_load()["groups"])
    found: dict[str, list[dict[str, Any]]] = {each: [] for each in groups[version] if not _UNSTABLE.search(each)}
    for name, entry, served_by in _load()["resources"]:
        group_version, _, resource = name.partition(" ")
        if version in served_by and group_version in found:
            found[group_version].append({"name": resource, **entry})
    return found
