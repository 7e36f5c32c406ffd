"""The fork server's entry point: waits until the host requests its first worker, then warms up and serves.

The process starts, without any secret, before the host reads a flag or a file. It waits because a command may need no
worker, and because its warm-up would compete with the host's own start on a single processor. The spawner runs `python
-m kubescript_sandbox.guest.launch GUEST DESCRIPTOR`, where GUEST is the guest's module.
"""

from __future__ import annotations

import gc
import select
import signal
import sys

from kubescript_sandbox.confinement import fork_hooks


def main() -> None:
    """Waits until the control socket is readable, then runs the fork server, which reads the message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    select.select([int(sys.argv[2])], [], [])
    gc.disable()  # imports make no garbage, and searching for it takes a tenth of their time
    fork_hooks.refuse()
    from kubescript_sandbox.guest import forkserver  # imports everything that scripts need

    forkserver.main(forkserver.load(sys.argv[1]))


if __name__ == "__main__":
    main()
