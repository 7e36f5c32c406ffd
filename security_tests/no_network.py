"""The fork server of `oc` on a machine that lets nobody make a network namespace. Run by path, never part of the
product."""

from __future__ import annotations

from kubescript.confinement import lockdown
from kubescript.launcher import start


def refused(_: lockdown.Confinement) -> str:
    """A step on such a machine."""
    raise OSError("refused by this test")


if __name__ == "__main__":
    lockdown.LOOPBACK_STEPS = (("network", refused),)  # type: ignore[misc]
    start.main()
