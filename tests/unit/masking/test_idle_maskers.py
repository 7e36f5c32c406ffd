"""Idle maskers are kept while callers come, and ended afterwards."""

from __future__ import annotations

import time

import pytest

from kubescript_masking import alone
from kubescript_masking.host import pool

CALLERS = 6
WAIT_S = 60.0
SECRET = "url=postgres://app:Tr0ub4dor@db/app"


def test_memory_of_many_callers_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once no caller has come for a while, as many maskers are left as after the start, and the next caller is
    served."""
    monkeypatch.setattr(pool, "_REST_S", 0.2)
    with alone.open_engine() as engine:
        for number in range(CALLERS):
            engine.of_owner(f"caller {number}").text(SECRET, lambda _: None)
        most = len(engine._pool.pids)
        assert most > 1 + pool._SIZE
        deadline = time.monotonic() + WAIT_S
        while len(engine._pool.pids) > 1 + pool._SIZE and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(engine._pool.pids) == 1 + pool._SIZE
        assert "Tr0ub4dor" not in engine.of_owner("another").text(SECRET, lambda _: None)
