"""`python -m tests.kit.openstack`: Keystone, Glance and Placement with the data of the tests, to play with."""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
from pathlib import Path
from typing import Final

from tests.kit.openstack import build, services

_CLOUDS: Final = {"openstack": "admin", "member": "member", "reader": "reader"}
"""Entry of the clouds.yaml -> whose it is. The first one's name is that of an entry nobody names."""


def main() -> None:
    """Builds, starts, writes a clouds.yaml, and waits for Ctrl-C."""
    options = _arguments()
    if options.build_only:
        print(build.template())
        return
    # `kill` and a closed terminal should clean up as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with services.Services() as cloud, tempfile.TemporaryDirectory(prefix="kubescript-clouds-") as folder:
            file = options.clouds or Path(folder, "clouds.yaml")
            try:
                _write(cloud, file)
                print(_usage(cloud, file.resolve()), flush=True)
                signal.pause()
            finally:
                file.unlink(missing_ok=True)
    except KeyboardInterrupt:
        print("stopped")


def _write(cloud: services.Services, file: Path) -> None:
    """Writes a clouds.yaml, which only its owner can read, with an entry for each user. JSON is YAML."""
    entries = {name: json.loads(cloud.clouds(user))["clouds"]["test"] for name, user in _CLOUDS.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(0o600)
    file.write_text(json.dumps({"clouds": entries}, indent=2) + "\n")


def _usage(cloud: services.Services, file: Path) -> str:
    """Returns what to do with the services: with the operator's credentials, and with those of a request."""
    return f"""
Keystone is at {cloud.auth_url}, with Glance and Placement; Ctrl-C ends them.

With the operator's credentials (KUBESCRIPT_OPENSTACK__CLOUD=reader or member: others than the administrator's):
  export KUBESCRIPT_OPENSTACK__CLOUDS_FILE={file}

With credentials of each request, here of the user `reader`, in headers:
  export KUBESCRIPT_OPENSTACK__AUTH_URLS='["{cloud.auth_url}"]'
  OS_URL: {cloud.auth_url}
  OS_TOKEN: {cloud.token("reader")}
"""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kit.openstack", description=__doc__)
    parser.add_argument("--build-only", action="store_true", help="prepare the services, print their folder, and end")
    parser.add_argument("--clouds", type=Path, metavar="FILE", help="where to write the clouds.yaml")
    return parser.parse_args()


if __name__ == "__main__":
    main()
