"""The entry point of the process of maskers: `python -m kubescript.masker.start [PROGRAM] DESCRIPTOR`. See `launch`."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Import what masks, and do what the command line says."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    gc.disable()  # imports make no garbage, and looking for some takes a tenth of them
    from kubescript.masker import launch

    launch.main()


if __name__ == "__main__":
    main()
