"""What the wheels of a release depend on, read from their metadata and from the environment that builds them."""

from __future__ import annotations

import functools
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.release import publication

__all__ = ["Wheels", "closure", "make"]

NOT_FOR_USERS: Final = frozenset({"dev", "release", "site"})
"""Extras of the people who build kubescript."""
_OF_ENVIRONMENTS: Final = frozenset({"pip", "setuptools"})
"""What an environment has before anything is installed; another version of it there is no concern of a release."""

Wheels = dict[str, metadata.Distribution]
"""Name of a distribution -> its metadata."""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes constraints.txt: exact versions of all that the wheels of `dist` and their extras depend on."""
    wheels = read(dist)
    needed = {name for wheel in wheels for name in closure(wheel, wheels)} - set(wheels)
    lines = [f"{name}=={version}\n" for name, version in pins().items() if name in needed]
    (dist / "constraints.txt").write_text("".join(lines), encoding="utf-8")


def read(dist: Path) -> Wheels:
    """The metadata of the wheels that were built."""
    found: Wheels = {}
    for wheel in sorted(dist.glob("*.whl")):
        (folder,) = [path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info")]
        distribution = metadata.PathDistribution(folder)
        found[canonicalize_name(distribution.name)] = distribution
    return found


def closure(name: str, wheels: Wheels) -> Wheels:
    """A wheel with its extras for users, and all that these depend on.

    Ends the program when a package is installed here in another version than constraints.txt has.
    """
    found: Wheels = {}
    seen: set[tuple[str, str]] = set()
    extras = set(wheels[name].metadata.get_all("Provides-Extra") or ()) - NOT_FOR_USERS
    waiting = [(name, extra) for extra in ("", *sorted(extras))]
    while waiting:
        package, extra = waiting.pop()
        if (package, extra) in seen or package in _OF_ENVIRONMENTS:
            continue
        seen.add((package, extra))
        found[package] = wheels.get(package) or _installed(package)
        waiting += _needs(found[package], extra)
    return dict(sorted(found.items()))


def _needs(distribution: metadata.Distribution, extra: str) -> Iterator[tuple[str, str]]:
    """The packages and extras that an extra of a distribution names; the distribution itself names those of ""."""
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            package = canonicalize_name(requirement.name)
            yield package, ""
            yield from ((package, wanted) for wanted in requirement.extras)


def _installed(package: str) -> metadata.Distribution:
    distribution = metadata.distribution(package)
    pinned = pins().get(package)
    if distribution.version != pinned:
        sys.exit(f"{package} {distribution.version} is installed, and constraints.txt has {pinned}: run `make install`")
    return distribution


@functools.cache
def pins() -> dict[str, str]:
    """Package -> its version in the constraints that kubescript is built and tested under."""
    text = (publication.REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    lines = re.findall(r"^([^=\s#]+)==([^\s;]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}
