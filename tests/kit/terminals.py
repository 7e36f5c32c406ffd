"""A command at a real pseudo-terminal, as a person sees it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Final

from tests.kit import clients, patience

WAIT_S: Final = 60.0


class Screen:
    """A terminal, and a command that has it for all of its streams but those that are given."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        width: int = 0,
        program: str | None = None,
        **streams: int,
    ) -> None:
        """A terminal of this many columns; 0: it does not know."""
        self._master, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (24, width))
        given = {"stdin": terminal, "stdout": terminal, "stderr": terminal} | streams
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            [program or clients.KUBESCRIPT, *arguments], env={**os.environ, **(environment or {})}, **given
        )
        os.close(terminal)
        self.text = ""

    def until(self, pattern: str) -> re.Match[str]:
        """Reads until the screen has this."""
        found = self.shows(pattern)
        assert found, f"{pattern} is not in {self.text!r}"
        return found

    def shows(self, pattern: str) -> re.Match[str] | None:
        """Reads until the screen has this, or the command ends without it."""
        end = time.monotonic() + patience.scaled(WAIT_S)
        while time.monotonic() < end:
            if found := re.search(pattern, self.text):
                return found
            if not self._read():
                break
        return None

    def type(self, line: str) -> None:
        """Types a line."""
        os.write(self._master, f"{line}\n".encode())

    def end(self, number: int = 0) -> int:
        """Reads to the end of the command, which a signal may cause; returns its exit code."""
        if number:
            self.process.send_signal(number)
        end = time.monotonic() + WAIT_S
        while self._read() and time.monotonic() < end:
            pass
        os.close(self._master)
        return self.process.wait(WAIT_S)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], WAIT_S)[0]:
            return False
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # Linux's way to say that nobody has the terminal any more
            return False
        self.text += piece.decode("utf-8", "replace")
        return bool(piece)
