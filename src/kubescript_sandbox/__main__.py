"""Runs a script file in a locked-down process: `python -m kubescript_sandbox FILE` (- for standard input).

Prints what the script printed, its value, what it used and which layers of its confinement held. Exit code 1: the
script failed; 2: it could not be run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from kubescript_sandbox import alone, errors, runs
from kubescript_sandbox.host import executor

__all__ = ["main"]

_MIB: Final = 1 << 20
_FAILED: Final = 1
_NOT_RUN: Final = 2


def main(arguments: list[str]) -> int:
    """Runs the script of the command line; returns the exit code."""
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(f"{__doc__}\n")
        return 0
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return _NOT_RUN
    try:
        script = sys.stdin.read() if arguments[0] == "-" else Path(arguments[0]).read_text("utf-8")
        with alone.open_runner() as runner:
            outcome = runner.run(alone.make_job(script))
            sys.stdout.write(describe(outcome, runner))
    except (OSError, UnicodeDecodeError, errors.CodedError) as error:
        sys.stderr.write(f"{getattr(error, 'explained', error)}\n")
        return _NOT_RUN
    return _FAILED if outcome.fault is not None else 0


def describe(outcome: runs.Outcome, runner: executor.Executor) -> str:
    """Returns an outcome as lines of text."""
    used = outcome.usage
    mebibytes = used.peak_bytes / _MIB
    layers = [layer.name if layer.active else f"{layer.name} MISSING" for layer in runner.layers]
    lines = {
        "printed": outcome.printed.rstrip(),
        "value": (outcome.result or b"").decode() or outcome.hint,
        "failed": outcome.fault.text if outcome.fault is not None else "",
        "usage": f"{used.wall_ms:.0f} ms, {used.cpu_ms:.0f} ms of processor, {mebibytes:.0f} MiB",
        "layers": ", ".join(layers),
    }
    shown = [f"{name:8}{text}\n" for name, text in lines.items() if text]
    return "".join(shown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
