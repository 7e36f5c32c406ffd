"""`python -m scripts.release DIST [PART…]` makes the parts of a release in DIST, all of them when none is named.

Each part is a module here with a function `make(publication, dist)`; PARTS has their order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scripts.release import (
    bills,
    changelog,
    chart,
    checksums,
    dependencies,
    homebrew,
    image,
    image_bill,
    image_signature,
    krew,
    manifests,
    mcpb,
    pex,
    publication,
    shell,
    signature,
    sources,
    wheels,
)

__all__ = ["PARTS", "main"]

Part = Callable[[publication.Publication, Path], None]

PARTS: Final[dict[str, Part]] = {
    "changelog": changelog.make,
    "wheels": wheels.make,
    "constraints": dependencies.make,
    "bills": bills.make,
    "shell": shell.make,
    "pex": pex.make,
    "mcpb": mcpb.make,
    "manifests": manifests.make,
    "krew": krew.make,
    "homebrew": homebrew.make,
    "chart": chart.make,
    "image": image.make,
    "image-bill": image_bill.make,
    "image-signature": image_signature.make,
    "checksums": checksums.make,
    "signature": signature.make,
}
"""The parts in the order in which they are made: later ones read what earlier ones wrote."""


def main(dist: Path, *names: str) -> None:
    """Makes the parts of these names. Ends the program when the sources are not those of the commit."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"unknown parts: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    sources.check()
    dist.mkdir(parents=True, exist_ok=True)
    published = publication.read()
    for name, make in PARTS.items():
        if not names or name in names:
            print(f"{name} …", flush=True)
            make(published, dist)
    if published.placeholders:
        print(
            f"do not publish this release: packaging/publication.toml still has an example for "
            f"{' and '.join(published.placeholders)}, and the manifests send users there"
        )


if __name__ == "__main__":
    folder, *parts = sys.argv[1:]
    main(Path(folder).absolute(), *parts)
