"""The process's entry point: `python -m kubescript_masking.engine.start [PROGRAM] DESCRIPTOR`. See `launch`."""

from __future__ import annotations

import gc
import signal

from kubescript_sandbox.confinement import fork_hooks


def main() -> None:
    """Imports the masker and runs the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    gc.disable()  # imports make no garbage, and searching for it takes a tenth of their time
    fork_hooks.refuse()
    from kubescript_masking.engine import launch

    launch.main()


if __name__ == "__main__":
    main()
