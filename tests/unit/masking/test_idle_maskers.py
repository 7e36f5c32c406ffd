"""Idle maskers are kept while callers come, and ended afterwards."""

from __future__ import annotations

import pytest

from kubescript_masking import alone
from kubescript_masking.host import pool
from tests.kit import patience

CALLERS = 6
SECRET = "url=postgres://app:Tr0ub4dor@db/app"


def test_memory_of_many_callers_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once no caller has come for a while, as many maskers are left as after the start, and the next caller is
    served."""
    monkeypatch.setattr(pool, "_REST_S", 0.2)
    with alone.open_engine() as engine:
        most = 0
        for number in range(CALLERS):
            engine.of_owner(f"caller {number}").text(SECRET, lambda _: None)
            most = max(
                most, len(engine._pool.pids)
            )  # on a busy machine a caller may come after the others' maskers ended
        assert most > 1 + pool._SIZE
        patience.until(lambda: len(engine._pool.pids) <= 1 + pool._SIZE)
        assert len(engine._pool.pids) == 1 + pool._SIZE
        assert "Tr0ub4dor" not in engine.of_owner("another").text(SECRET, lambda _: None)
