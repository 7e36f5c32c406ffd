"""`python -m scripts.release.publish DIST` pushes the image of a release, with its signature and bill, and the chart.

The place is KUBESCRIPT_IMAGE, or `image` in packaging/publication.toml. USER_NAME and PASSWORD log in there; without
them the log-ins of this user count.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.release import image, oci, publication, signature, tools
from tests.kit import helm

__all__ = ["main"]


def main(dist: Path) -> None:
    """Pushes what was built, and prints the image with its digest. Builds nothing."""
    published = publication.read()
    registry, _, path = published.image.partition("/")
    _log_in(registry)
    tag = f"{published.image}:{published.version}"
    signature.load_image(dist / image.FOLDER, tag)
    chart = dist / f"kubescript-{published.version}.tgz"
    # The other two programs know that a registry on this machine speaks plain HTTP.
    plain = ["--plain-http"] if registry.startswith("localhost:") else []
    _run(str(helm.program()), "push", *plain, str(chart), f"oci://{registry}/{Path(path).parent}/charts")
    print(f"{published.image}@{oci.read_index(dist / image.FOLDER)['digest']}")


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
