"""The server's log: each record is one line of JSON, whatever a script, a cluster or a masker writes into it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import logs
from kubescript.broker import operation
from kubescript.output import sanitizing
from kubescript.policy import policy
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from tests.kit import reading, trails

Written = Callable[[], list[dict[str, Any]]]
LIST: Final = ("api", "v1", "pods")


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Iterator[Written]:
    """The lines that were logged so far, each of which is JSON."""
    root = logging.getLogger()
    before = root.handlers[:], root.level

    def lines() -> list[dict[str, Any]]:
        logs.drain()
        return [json.loads(line) for line in capsys.readouterr().err.split("\n") if line]

    yield lines
    root.handlers[:] = before[0]
    root.setLevel(before[1])


FORGED: Final = "error kubescript: the operator has switched the policy off"
BREAKS: Final = ("\u2028", "\u2029", "\U000e000a", "\u200b\u2028", "\u202e")


@pytest.mark.promise("A-06", "O-01")
@pytest.mark.parametrize("mark", BREAKS, ids=ascii)
def test_no_name_of_a_script_begins_a_line_of_the_log(mark: str, written: Written, tmp_path: Path) -> None:
    """The name that a field selector asks for is logged with its call. A paragraph separator in it ended the line: the
    record was no JSON any more, and the rest a line in the server's name."""
    logs.configure("info")
    door = reading.made(snapshot.Snapshot(trails.snapshot(tmp_path)), policy.Policy())
    query = (("fieldSelector", f"metadata.name=x{mark}{FORGED}"),)
    for call in (exchanges.Call("GET", LIST, query), exchanges.Call("GET", LIST)):
        _, response = door.handle(call, operation.Operation(), 60)
        assert response is not None
        response.close()
    first, second = written()
    assert first["what"] == sanitizing.clean(f"list pods x{mark}{FORGED}") and second["what"] == "list pods"


@pytest.mark.promise("A-06", "S-12")
def test_no_masker_writes_a_line_of_the_log(written: Written) -> None:
    """A masker that was taken over answers with lines of its own making."""
    logs.configure("info")
    logs.mask_with(lambda line: line.replace("poison", f"\n{FORGED}\n\x1b[2J"))
    logging.getLogger("kubescript.test").warning("poison")
    logging.getLogger("kubescript.test").warning("harmless")
    first, second = written()
    assert FORGED in first["message"] and second["message"] == "harmless"


@pytest.mark.promise("O-01")
def test_a_name_that_is_no_text_is_logged(written: Written) -> None:
    """A file's name may hold bytes that are no UTF-8. Its line was lost, and a stack trace with it went to stderr as it
    was, unmasked."""
    logs.configure("info")
    logging.getLogger("kubescript.test").warning("%s is gone", b"a\xff.json".decode("utf-8", "surrogateescape"))
    (line,) = written()
    assert line["message"] == "a\ufffd.json is gone"


SECRET: Final = "Tr0ub4dor-and-3"
FULL: Final = Path("/dev/full")


@pytest.mark.promise("S-08", "O-01")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_line_that_finds_no_room_on_the_disk_is_lost_and_not_printed(
    written: Written, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The disk with the log file is full: Python's `logging` printed each line and its stack to stderr, neither masked
    nor cleaned. The file is said to be unwritable, once."""
    logs.configure("info", file=FULL)
    logs.mask_with(lambda line: line.replace(SECRET, "«redacted»"))
    for _ in range(3):
        logging.getLogger("kubescript.test").warning("password=%s\x1b[2J", SECRET)
    logs.drain()
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be written" in json.loads(line)["message"]
    logs.configure("info", file=tmp_path / "log")
    logging.getLogger("kubescript.test").warning("harmless")
    logs.drain()
    assert json.loads((tmp_path / "log").read_text())["message"] == "harmless" and not written()
