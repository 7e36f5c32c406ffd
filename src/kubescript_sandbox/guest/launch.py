"""The entry point of the fork server: waits until the host asks for its first worker, then warms up and serves.

The process starts, without any secret, before the host reads a flag or a file. It waits because a command may need no
worker, and because its warm-up would compete with the host's own start where there is one processor. The spawner runs
`python -m kubescript_sandbox.guest.launch GUEST DESCRIPTOR`, with the name of the guest's module.
"""

from __future__ import annotations

import gc
import select
import signal
import sys


def main() -> None:
    """Wait until the control socket is readable, then run the fork server, which reads what came."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    select.select([int(sys.argv[2])], [], [])
    gc.disable()  # imports make no garbage, and looking for some takes a tenth of them
    from kubescript_sandbox.guest import forkserver  # imports everything that scripts need

    forkserver.main(forkserver.load(sys.argv[1]))


if __name__ == "__main__":
    main()
