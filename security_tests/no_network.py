"""The fork server of `oc` on a machine that lets nobody make a network namespace. Run by path, never part of the
product."""

from __future__ import annotations

from kubescript.launcher import start
from kubescript_sandbox.confinement import command_lockdown, lockdown


def refused(_: lockdown.Confinement) -> str:
    """A step on such a machine."""
    raise OSError("refused by this test")


if __name__ == "__main__":
    command_lockdown.LOOPBACK_STEPS = (("network", refused),)  # type: ignore[misc]
    start.main()
