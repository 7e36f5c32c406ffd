"""Times and durations of questions to sources."""

from __future__ import annotations

import pytest

from kubescript import errors
from kubescript.sources import moments

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", NOW),
        ("-1h", NOW - 3600),
        ("now-1h30m", NOW - 5400),
        ("-7d", NOW - 604_800),
        ("1700000000.5", 1.7e9 + 0.5),
    ],
)
def test_a_time_is_seconds_or_relative_to_now(text: str, seconds: float) -> None:
    """Both forms give seconds since the epoch."""
    assert moments.moment(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "1h", "+1h", "-", "-1x", "nan", "inf", "1e9", "-1h -1h", "now-", "2026-01-01"])
def test_any_other_time_is_refused(text: str) -> None:
    """The refusal says which times there are."""
    with pytest.raises(errors.RequestError, match="write "):
        moments.moment(text, NOW)


def test_a_duration_has_units_or_is_seconds() -> None:
    """Prometheus' units add up."""
    assert [moments.duration(text) for text in ("90", "5m", "1h30m", "0.5h", "250ms")] == [90, 300, 5400, 1800, 0.25]
    with pytest.raises(errors.RequestError, match="write "):
        moments.duration("m5")
