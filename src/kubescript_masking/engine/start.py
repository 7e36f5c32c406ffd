"""The entry point of the process: `python -m kubescript_masking.engine.start [PROGRAM] DESCRIPTOR`. See `launch`."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Import what masks, and do what the command line says."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    gc.disable()  # imports make no garbage, and looking for some takes a tenth of them
    from kubescript_masking.engine import launch

    launch.main()


if __name__ == "__main__":
    main()
