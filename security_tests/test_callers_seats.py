"""What a caller's first request has the server open, beside other callers' first requests."""

from __future__ import annotations

import tarfile
import tempfile
import threading
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import app
from kubescript.auth import user
from tests.kit import http_server, trails

NAMES: Final = ("alice", "bob", "carol", "dave")


def token(name: str) -> str:
    """A caller's token."""
    return f"token-of-{name}-0123456789"


def settings(folder: Path, tables: str) -> tuple[str, str]:
    """Flags of a server that knows the callers."""
    tokens, file = folder / "tokens", folder / "settings.toml"
    tokens.write_text("".join(f"{token(name)},{name},u-{name}\n" for name in NAMES))
    tokens.chmod(0o600)
    file.write_text(f'toolsets = ["code"]\n{tables}\n[auth]\ntokens_file = "{tokens}"\n')
    return "--config", str(file)


@pytest.mark.promise("H-14")
def test_a_saved_cluster_is_unpacked_once_for_all_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four callers read it, and one folder has been made of its archive, which goes with the server. Before, each caller
    had a copy, in the folder and in memory."""
    archive, unpacked = tmp_path / "old.tar.gz", tmp_path / "tmp"
    with tarfile.open(archive, "w:gz") as made:
        made.add(trails.snapshot(tmp_path), "old/pods.json")
    unpacked.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(unpacked))
    call: dict[str, Any] = {"name": "evaluate_script", "arguments": {"script": trails.COUNT}}
    with http_server.serving(settings(tmp_path, f'snapshot = "{archive}"')) as port:
        for name in NAMES:
            answer = http_server.post(port, token(name), "tools/call", **call).json()
            assert answer["result"]["content"][0]["text"] == "1"
        assert len(list(unpacked.glob("kubescript-snapshot-*"))) == 1
    assert not list(unpacked.glob("kubescript-snapshot-*"))


@pytest.mark.promise("H-14")
def test_nobody_waits_for_what_is_opened_for_another_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of bob's clusters one takes long to open; alice's first request is answered meanwhile, and bob's two in the end."""
    opens, has_begun, may_end = app.Application.tenant, threading.Event(), threading.Event()

    def slow(own: app.Application, caller: user.User, *rest: Any) -> Any:
        if caller.name == "bob":
            assert not has_begun.is_set()  # one opening for both of his requests
            has_begun.set()
            may_end.wait(60)
        return opens(own, caller, *rest)

    monkeypatch.setattr(app.Application, "tenant", slow)
    flags = (*settings(tmp_path, ""), "--snapshot", str(trails.snapshot(tmp_path)))
    with http_server.serving(flags) as port, futures.ThreadPoolExecutor() as threads:
        waiting = [threads.submit(http_server.post, port, token("bob"), "tools/list") for _ in range(2)]
        try:
            assert has_begun.wait(60)
            assert "evaluate_script" in http_server.post(port, token("alice"), "tools/list").text
        finally:
            may_end.set()
        assert all("evaluate_script" in each.result(60).text for each in waiting)
