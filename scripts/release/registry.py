"""A registry of images on this machine, in memory: what is pushed to it goes with it."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator

from scripts.release import tools

__all__ = ["serve"]


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """Runs a registry until the block ends, and yields its address. Raises RuntimeError when it does not start."""
    command = [str(tools.program("crane")), "registry", "serve", "--address", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            started = re.search(r"serving on port (\d+)", line)
            if not started:
                raise RuntimeError(f"no registry was started: {line}")
            yield f"localhost:{started[1]}"
        finally:
            # It would wait for connections that clients keep open.
            process.kill()
