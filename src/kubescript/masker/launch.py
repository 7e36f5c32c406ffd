"""The entry point of the fork server of maskers, and of the check of an operator's rules.

`python -m kubescript.masker.launch DESCRIPTOR` compiles the rules and serves; `... check` prints what is wrong with the
settings. Both are started by the host with an empty environment and read the settings (wire/masking.py) from their
standard input; neither is told anything of a cluster.
"""

from __future__ import annotations

import functools
import signal
import sys

import msgspec

from kubescript.confinement import forkserver
from kubescript.masker import bodies
from kubescript.masker import main as masker_main
from kubescript.masker.scanner import RuleError
from kubescript.wire import masking

__all__ = ["main"]


def main() -> None:
    """Do what the command line says."""
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=masking.Settings)
    if sys.argv[1] == "check":
        sys.stdout.write(_problem(settings))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the host decides
    rules = bodies.Rules(settings)
    rules.warm()
    forkserver.serve(int(sys.argv[1]), functools.partial(masker_main.main, rules=rules))


def _problem(settings: masking.Settings) -> str:
    try:
        bodies.Rules(settings).check()
    except RuleError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
