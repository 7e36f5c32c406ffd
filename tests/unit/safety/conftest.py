"""What tests of verdicts share."""

from __future__ import annotations

import pytest

from kubescript_safety.autopsy import goal


@pytest.fixture
def goals_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goals are evaluated in this process. Verdicts evaluate each in a process of its own, for goals from anybody: that
    takes longer than all the rest of a verdict."""
    monkeypatch.setattr(goal, "_evaluate_apart", lambda evaluate: evaluate())
