"""What a person at a terminal sees, by a real pseudo-terminal, and what everybody else gets instead."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubescript.cli import demo
from tests import clients

pytestmark = pytest.mark.slow

SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT))
SLOW = "import time\nctx.progress(3, 7, 'nodes')\nend = time.monotonic() + 3\nwhile time.monotonic() < end: pass\n6 * 7"
WAIT_S = 60.0


class Screen:
    """A terminal, and a command that has it for all of its streams but those that are given."""

    def __init__(self, arguments: Sequence[str], **streams: int) -> None:
        self._master, terminal = pty.openpty()
        given = {"stdin": terminal, "stdout": terminal, "stderr": terminal} | streams
        self.process: subprocess.Popen[bytes] = subprocess.Popen([clients.KUBESCRIPT, *arguments], **given)  # type: ignore[call-overload]
        os.close(terminal)
        self.text = ""

    def until(self, pattern: str) -> re.Match[str]:
        """Reads until the screen has this."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if found := re.search(pattern, self.text):
                return found
            if not self._read():
                break
        raise AssertionError(f"{pattern} is not in {self.text!r}")

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


@pytest.fixture
def unstrict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The http transport on machines that lack a layer."""
    monkeypatch.setenv("KUBESCRIPT_SANDBOX__STRICT", "false")


def test_a_person_is_told_what_is_served_and_how_to_connect(unstrict: None) -> None:
    """In one line, over stdio and over http; Ctrl-C ends it with 0."""
    stdio = Screen(["--toolsets", "code", *SNAPSHOT])
    said = stdio.until(r"kubescript [^\n]*Ctrl-C ends it\.")[0]
    assert "read-only; toolsets: code" in said and "standard input" in said and "{" not in stdio.text
    assert stdio.end(signal.SIGINT) == 0
    http = Screen(["--toolsets", "code", *SNAPSHOT, "--port", "0"])
    said = http.until(r"kubescript [^\n]*Ctrl-C ends it\.")[0]
    assert re.search(
        r"claude mcp add --transport http --scope user kubescript http://127\.0\.0\.1:[1-9][0-9]*/mcp;", said
    )
    assert http.end(signal.SIGINT) == 0
    assert "uvicorn" not in http.text and len(http.text.splitlines()) <= 2


def test_a_slow_script_has_a_line_that_goes_away(tmp_path: Path) -> None:
    """With what the script reports; the result stands alone on stdout. Without a terminal, there is no such line."""
    with (tmp_path / "out").open("w") as out:
        screen = Screen(["run", "-c", SLOW, *SNAPSHOT], stdout=out.fileno())
        screen.until(r"running 3/7: nodes \([0-9]+ s\)")
        assert screen.end() == 0
    assert screen.text.endswith("\r\x1b[K") and "\n" not in screen.text
    assert (tmp_path / "out").read_text() == "42\n"
    done = subprocess.run([clients.KUBESCRIPT, "run", "-c", SLOW, *SNAPSHOT], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_log_lines_are_text_for_people_and_json_for_programs(tmp_path: Path) -> None:
    """The terminal decides, unless a flag does; a file gets JSON."""
    screen = Screen(["run", "-c", "1", *SNAPSHOT, "--log-level", "info"])
    screen.until(r"\r\x1b\[K[0-9]{2}:[0-9]{2}:[0-9]{2} info: script finished ")
    assert screen.end() == 0 and '{"' not in screen.text

    def logged(*flags: str) -> str:
        command = [clients.KUBESCRIPT, "--toolsets", "", *SNAPSHOT, *flags]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    assert json.loads(logged())["event"] == "toolsets.none"
    assert re.fullmatch(
        "[0-9:]{8} warning: no toolset is enabled[^\n]*--toolsets code\n", logged("--log-format", "text")
    )
    file = tmp_path / "server.log"
    assert logged("--log-file", str(file)) == ""
    assert json.loads(file.read_text())["event"] == "toolsets.none"
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(logged("--log-file", "stderr"))["event"] == "toolsets.none"


def test_a_log_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """In one line."""
    command = [clients.KUBESCRIPT, *SNAPSHOT, "--log-file", str(tmp_path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: cannot write the log file") and len(done.stderr.splitlines()) == 1
