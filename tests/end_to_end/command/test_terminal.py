"""What a person at a terminal sees, by a real pseudo-terminal, and what everybody else gets instead."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import threading
from pathlib import Path

import pytest

from kubescript.cli import demo
from tests.kit import api_server, commands, terminals

SNAPSHOT = ("--snapshot", str(demo.SNAPSHOT))
SLOW = "ctx.progress(3, 7, 'nodes')\nk8s.coreV1().list_namespaced_pod('shop')\n6 * 7"


@pytest.fixture
def unstrict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The http transport on machines that lack a layer."""
    monkeypatch.setenv("KUBESCRIPT_SANDBOX__STRICT", "false")


def test_a_person_is_told_what_is_served_and_how_to_connect(unstrict: None) -> None:
    """In one line, over stdio and over http; Ctrl-C ends it with 0."""
    stdio = terminals.Screen(["--toolsets", "code", *SNAPSHOT])
    said = stdio.until(r"kubescript [^\n]*Ctrl-C ends it\.")[0]
    assert "read-only; toolsets: code" in said and "standard input" in said and "{" not in stdio.text
    assert stdio.end(signal.SIGINT) == 0
    http = terminals.Screen(["--toolsets", "code", *SNAPSHOT, "--port", "0"])
    said = http.until(r"kubescript [^\n]*Ctrl-C ends it\.")[0]
    assert re.search(
        r"claude mcp add --transport http --scope user kubescript http://127\.0\.0\.1:[1-9][0-9]*/mcp;", said
    )
    assert http.end(signal.SIGINT) == 0
    assert "uvicorn" not in http.text and len(http.text.splitlines()) <= 2


def test_a_slow_script_has_a_line_that_goes_away(tmp_path: Path) -> None:
    """With what the script reports; the result stands alone on stdout. Without a terminal, there is no such line."""
    may_go_on = threading.Event()

    def answer(sock: socket.socket) -> None:
        may_go_on.wait(120)
        sock.sendall(api_server.whole())

    with contextlib.closing(api_server.Server()) as cluster:
        cluster.answer = answer
        command = [
            "run",
            "-c",
            SLOW,
            "--timeout",
            "300000",
            "--kubeconfig",
            str(api_server.kubeconfig(tmp_path, cluster.url)),
        ]
        with (tmp_path / "out").open("w") as out:
            screen = terminals.Screen(command, stdout=out.fileno())
            screen.until(r"running 3/7: nodes \([0-9]+ s\)")
            may_go_on.set()
            assert screen.end() == 0
        assert screen.text.endswith("\r\x1b[K") and "\n" not in screen.text
        assert (tmp_path / "out").read_text() == "42\n"
        may_go_on.clear()
        threading.Timer(1.5, may_go_on.set).start()  # a terminal would have the line by then
        done = commands.run(*command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_log_lines_are_text_for_people_and_json_for_programs(tmp_path: Path) -> None:
    """The terminal decides, unless a flag does; a file gets JSON."""
    screen = terminals.Screen(["run", "-c", "1", *SNAPSHOT, "--log-level", "info"])
    screen.until(r"\r\x1b\[K[0-9]{2}:[0-9]{2}:[0-9]{2} info: script finished ")
    assert screen.end() == 0 and '{"' not in screen.text

    def logged(*flags: str) -> str:
        done = commands.run("--toolsets", "", *SNAPSHOT, *flags)
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    said = logged()
    assert said.startswith("{"), said
    assert json.loads(said)["event"] == "toolsets.none"
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
    done = commands.run(*SNAPSHOT, "--log-file", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: cannot write the log file") and len(done.stderr.splitlines()) == 1
