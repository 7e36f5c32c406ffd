"""The folder of a fleet whose files cannot always be read."""

from __future__ import annotations

import contextlib
import ctypes
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.fleet import folder, member
from tests.kit import fleets, patience

CLUSTER: Final = {"server": "https://10.0.0.1"}
NOBODY: Final = 65534


@contextlib.contextmanager
def watched(path: Path) -> Iterator[list[list[str]]]:
    """The names that are published of a folder, by a thread that is not root: root reads every file."""
    names: list[list[str]] = []
    stop = threading.Event()

    def watch() -> None:
        libc: Any = ctypes.CDLL(None)
        libc.setfsuid(NOBODY)  # of this thread; a test's user other than root keeps its own
        folder.Folder(path, 0.05).watch(publish, stop)

    def publish(found: Mapping[str, member.Member]) -> None:
        names.append(list(found))

    thread = threading.Thread(target=watch)
    thread.start()
    yield names
    stop.set()
    thread.join()


def test_a_file_that_may_be_read_again_comes_without_a_change(caplog: pytest.LogCaptureFixture) -> None:
    """The others are offered meanwhile. Why it is left out is logged once, and nothing is published without a change."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o755)  # tmp_path is in a folder of its user's own
        for name in ("one", "two"):
            fleets.put(path / f"{name}.yaml", fleets.kubeconfig(name, CLUSTER, {"token": "t"}))
        (path / "two.yaml").chmod(0)
        (path / "one.yaml").chmod(0o644)
        with watched(path) as names:
            patience.until(lambda: names == [["one"]])
            fleets.put(path / "three", "no kubeconfig")  # in one step: it is not seen while it is empty
            patience.until(lambda: "three" in caplog.text)
            (path / "two.yaml").chmod(0o644)
            patience.until(lambda: names[-1] == ["one", "two"])
    assert names == [["one"], ["one"], ["one", "two"]]
    assert caplog.text.count("the kubeconfig two.yaml cannot be read: Permission denied") == 1
