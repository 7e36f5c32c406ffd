"""What the fork server does first: nothing, until the host asks for its first worker.

The process exists, clean, before the host reads a flag or a file; its warm-up would only compete with the host's own
start for the processor. `python -m kubescript.worker.launch DESCRIPTOR` is the command of the spawner.
"""

from __future__ import annotations

import select
import signal
import sys


def main() -> None:
    """Wait for the first request, which the fork server then reads, or for the host's end, which it sees at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    select.select([int(sys.argv[1])], [], [])
    from kubescript.worker import forkserver  # the warm-up: everything scripts need

    forkserver.main()


if __name__ == "__main__":
    main()
