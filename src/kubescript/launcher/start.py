"""The entry point of the fork servers of command lines: `python -m kubescript.launcher.start openstack|openshift
DESCRIPTOR`.

The host starts each fork server with an empty environment. The fork server waits until the host requests its first
process or its warm-up.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
from typing import Final

_MODULES: Final = {"openstack": "kubescript.launcher.openstack_process", "openshift": "kubescript.launcher.oc_process"}


def main() -> None:
    """Waits until the control socket is readable, then warms up, and serves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    program = sys.argv[1]
    descriptor = int(sys.argv[2])
    select.select([descriptor], [], [])
    # A library looks up HOME when it is imported, and fails for a user without an account, as in containers. With this
    # value, it can write nothing, even as root. The value does not outlive the warm-up: the first step of the
    # confinement clears the environment.
    os.environ["HOME"] = os.devnull
    gc.disable()  # imports make no garbage, but collecting takes a tenth of their time
    from kubescript_sandbox.confinement import command_lockdown, forkserver

    # Only one of the two modules is loaded: openstackclient takes 60 MB.
    process = importlib.import_module(_MODULES[program])
    process.warm()
    forkserver.serve(descriptor, process.run, command_lockdown.SERVER_STEPS)


if __name__ == "__main__":
    main()
