"""The process's entry point: `python -m kubescript_masking.engine.start [PROGRAM] DESCRIPTOR`. See `launch`."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Imports the masker and runs the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    gc.disable()  # imports make no garbage, and searching for it takes a tenth of their time
    from kubescript_masking.engine import launch

    launch.main()


if __name__ == "__main__":
    main()
