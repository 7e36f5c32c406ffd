"""What is verified of a release before it is published: its files, who signed them, and its version."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from scripts.release import chart, checksums, image, oci, publication, registry, signature

__all__ = ["check", "check_signer"]

_AGAIN: Final = "build it again by `make release`"
_VERSION: Final = "org.opencontainers.image.version"


def check(published: publication.Publication, dist: Path) -> None:
    """Ends the program unless `dist` is whole, of this version, and signed by one signer throughout."""
    _check_version(published, dist)
    if checksums.read(dist) != checksums.compute(dist):
        sys.exit(f"{dist} does not have the files that its {checksums.NAME} names: {_AGAIN}")
    try:
        signature.verify(dist / checksums.NAME, published, dist)
        _verify_image(published, dist)
    except RuntimeError as refused:
        sys.exit(f"the checksums and the image are not both signed by the signer of {dist}: {_AGAIN}\n{refused}")


def check_signer(dist: Path) -> None:
    """Ends the program when a key has signed that is not COSIGN_KEY: a throw-away key verifies as well."""
    if (dist / signature.PUBLIC_KEY).exists() and not signature.is_own(dist):
        sys.exit(f"the key COSIGN_KEY did not sign {dist}: set it, with COSIGN_PASSWORD, and {_AGAIN}")


def _check_version(published: publication.Publication, dist: Path) -> None:
    layout = dist / image.FOLDER
    built = oci.read(layout, oci.read_index(layout))["annotations"][_VERSION]
    if built != published.version or not chart.file(published, dist).exists():
        sys.exit(f"{dist} is of version {built}, and the sources are of {published.version}: {_AGAIN}")


def _verify_image(published: publication.Publication, dist: Path) -> None:
    """Raises RuntimeError when the signature in the layout is not that of the release's signer."""
    layout = dist / image.FOLDER
    with registry.serve() as host:
        name = f"{host}/{image.FOLDER}"
        signature.load_image(layout, f"{name}:{published.version}")
        signature.verify_image(f"{name}@{oci.read_index(layout)['digest']}", published, dist)
