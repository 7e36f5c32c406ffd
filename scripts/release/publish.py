"""`python -m scripts.release.publish DIST` pushes the image of a release, with its signature and bill, and the chart.

The place is KUBESCRIPT_IMAGE, or `image` in packaging/publication.toml. USER_NAME and PASSWORD log in there; without
them the log-ins of this user count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.release import chart, image, oci, publication, signature, tools, verification
from tests.kit import helm

__all__ = ["main"]

_ABSENT: Final = re.compile(r"MANIFEST_UNKNOWN|NAME_UNKNOWN|\b404 Not Found\b")
"""How crane says that a registry has no such tag."""


def main(dist: Path) -> None:
    """Pushes what was built and signed, and prints the image with its digest. Builds nothing.

    Ends the program, before anything is pushed, when `dist` is not what was signed, when COSIGN_KEY is not the key, or
    when the version is there already with another image.
    """
    published = publication.read()
    if "image" in published.placeholders:
        sys.exit(f"{published.image} is an example: set KUBESCRIPT_IMAGE to the image's name in your registry")
    registry, _, path = published.image.partition("/")
    local = registry.startswith("localhost:")
    if not local:
        verification.check_signer(dist)
    verification.check(published, dist)
    _log_in(registry)
    tag = f"{published.image}:{published.version}"
    digest = oci.read_index(dist / image.FOLDER)["digest"]
    _check_absence(tag, digest)
    signature.load_image(dist / image.FOLDER, tag)
    # The other two programs know that a registry on this machine speaks plain HTTP.
    plain = ["--plain-http"] if local else []
    archive = chart.file(published, dist)
    _run(str(helm.program()), "push", *plain, str(archive), f"oci://{registry}/{Path(path).parent}/charts")
    print(f"{published.image}@{digest}")


def _check_absence(tag: str, digest: str) -> None:
    """Ends the program when a registry has another image under a tag, or does not say."""
    command = [str(tools.program("crane")), "digest", tag]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout.strip() != digest:
        sys.exit(f"{tag} is published already, as {done.stdout.strip()}, and is never replaced: raise the version")
    if done.returncode != 0 and not _ABSENT.search(done.stderr):
        sys.exit(f"the registry does not say whether {tag} is there: {done.stderr.strip()}")


def _log_in(registry: str) -> None:
    """Logs in both programs; the password is on no command line."""
    password = os.environ.get("PASSWORD")
    if not password:
        return
    user = ["--username", os.environ["USER_NAME"], "--password-stdin"]
    for command in ([str(tools.program("crane")), "auth", "login"], [str(helm.program()), "registry", "login"]):
        subprocess.run([*command, registry, *user], input=password, text=True, check=True)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
