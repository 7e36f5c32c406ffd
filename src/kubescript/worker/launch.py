"""The entry point of the fork server: waits until the host asks for its first worker, then warms up and serves.

The process starts, without any secret, before the host reads a flag or a file. It waits because its warm-up would
compete with the host's own start for the processor. The spawner runs `python -m kubescript.worker.launch DESCRIPTOR`.
"""

from __future__ import annotations

import select
import signal
import sys


def main() -> None:
    """Wait until the control socket is readable, then run the fork server: it reads the request, or the host's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    select.select([int(sys.argv[1])], [], [])
    from kubescript.worker import forkserver  # imports everything that scripts need

    forkserver.main()


if __name__ == "__main__":
    main()
