"""Toolsets in separate packages, found by entry point. `app` loads one only if the operator names it.

Importing a package runs its code in the host process, so an installed package is not imported until its toolset is
named. A package cannot replace a built-in toolset: `app` looks up only names that are not built in.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kubescript import errors

if TYPE_CHECKING:
    from kubescript.toolsets import base

__all__ = ["GROUP", "check_clashes", "find", "load", "names"]

GROUP: Final = "kubescript.toolsets"
"""The group of entry points. An entry point's name is the toolset's; its value is a function of `base.Access`."""
_MAX_REASON: Final = 300


def names() -> list[str]:
    """Returns the names of the installed toolsets."""
    points = importlib.metadata.entry_points(group=GROUP)
    return sorted({point.name for point in points})


def find(name: str) -> importlib.metadata.EntryPoint | None:
    """Returns the entry point of this toolset; None if it is not installed. Raises ConfigError if two packages have
    it."""
    found = list(importlib.metadata.entry_points(group=GROUP, name=name))
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise errors.ConfigError(
            f"the packages {packages} both have a toolset `{name}`", remedy="uninstall one of them"
        )
    return found[0]


def load(name: str, access: base.Access) -> base.Toolset:
    """Returns an installed toolset. Raises ConfigError if its package fails to provide it."""
    from kubescript.toolsets import base  # loads half of the MCP SDK, which `find` and `names` do not need

    point = find(name)
    if point is None:
        raise errors.ConfigError(f"toolset `{name}` is not installed")
    try:
        make_toolset = point.load()
        toolset: object = make_toolset(access)
    except (Exception, SystemExit) as error:  # the package's own code, which may fail in any way
        raise _unusable(point, f"{type(error).__name__}: {error}") from None
    if not isinstance(toolset, base.Toolset):
        raise _unusable(point, f"its function returns {type(toolset).__name__}, not Toolset")
    if toolset.name != name:
        raise _unusable(point, f"it calls itself `{toolset.name}`")
    return toolset


def check_clashes(toolsets: Sequence[base.Toolset]) -> None:
    """Checks that no two toolsets have a tool, page or prompt of the same name. Raises ConfigError."""
    owners: dict[str, list[str]] = {}
    for toolset in toolsets:
        owner = f"`{toolset.name}`"
        for name in _list_parts(toolset):
            owners.setdefault(name, []).append(owner)
    for name, names in owners.items():
        # Attack: a package has a tool `kubectl_get`, which would replace ours.
        if len(names) > 1:
            where = " and ".join(dict.fromkeys(names))
            raise errors.ConfigError(f"{name} is there twice: in toolset {where}", remedy="serve one of them")


def _list_parts(toolset: base.Toolset) -> Iterator[str]:
    """Yields the names of a toolset's tools, pages and prompts, as an error shows them."""
    for tool in toolset.tools:
        yield f"tool `{tool.definition.name}`"
    for page in toolset.pages:
        yield f"page `{page.definition.uri}`"
    for prompt in toolset.prompts:
        yield f"prompt `{prompt.definition.name}`"


def _unusable(point: importlib.metadata.EntryPoint, reason: str) -> errors.ConfigError:
    in_one_line = " ".join(reason.split())[:_MAX_REASON]
    return errors.ConfigError(
        f"toolset `{point.name}` of the package {_package(point)} cannot be loaded: {in_one_line}",
        remedy="install a version of it that works with this kubescript, or leave it out of `toolsets`",
    )


def _package(point: importlib.metadata.EntryPoint) -> str:
    if point.dist is None:
        return point.value
    return f"{point.dist.name} {point.dist.version}"
