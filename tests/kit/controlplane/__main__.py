"""`python -m tests.kit.controlplane`: a Kubernetes API server with the broken cluster of the tests, to play with."""

from __future__ import annotations

import argparse
import signal
import time
from pathlib import Path

from kubescript_safety.controlplane import build
from tests.kit.controlplane import bulk, fixture, server


def main() -> None:
    """Builds, starts, loads, and waits for Ctrl-C."""
    options = _arguments()
    if options.build_only:
        print(build.programs())
        return
    # `kill` and a closed terminal should clean up as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with server.ControlPlane() as plane:
            _load(plane.kubeconfig, options.pods)
            kubeconfig = _linked(plane.kubeconfig, options.kubeconfig)
            print(f"\nKubernetes {build.version()} at {plane.url}; Ctrl-C ends it\n", flush=True)
            print(f"export KUBECONFIG={kubeconfig}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("stopped")


def _linked(kubeconfig: Path, place: Path | None) -> Path:
    """Makes the kubeconfig reachable by a name that is known beforehand; the file itself goes with the server."""
    if place is None:
        return kubeconfig
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(kubeconfig)
    return place.absolute()


def _load(kubeconfig: Path, pods: int) -> None:
    begin = time.monotonic()
    fixture.load(kubeconfig)
    print(f"loaded the fixture in {time.monotonic() - begin:.1f} s", flush=True)
    if pods:
        begin = time.monotonic()
        bulk.load(kubeconfig, pods)
        print(f"loaded {pods} more pods in {time.monotonic() - begin:.1f} s", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kit.controlplane", description=__doc__)
    parser.add_argument("--build-only", action="store_true", help="build the programs, print their folder, and end")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="where to make a link to the kubeconfig")
    parser.add_argument("--pods", type=int, default=0, metavar="N", help=f"add N pods to namespace {bulk.NAMESPACE!r}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
