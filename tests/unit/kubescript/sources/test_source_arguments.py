"""Times and steps of questions to sources, as the host takes them from a worker that may be hostile."""

from __future__ import annotations

import pytest

from kubescript import errors
from kubescript.kube import durations
from kubescript.sources import arguments

NOW = 1_800_000_000.0


def _read(name: str, text: str) -> float:
    return float(arguments.read(((name, text),), frozenset({name}), NOW)[name][0])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("-0", NOW), ("-3600", NOW - 3600), ("-0.5", NOW - 0.5), ("1700000000.5", 1.7e9 + 0.5), ("-999999999999", 0.0)],
)
def test_a_time_is_seconds_or_relative_to_now(text: str, seconds: float) -> None:
    """Both forms give seconds since the epoch."""
    assert _read("time", text) == seconds


@pytest.mark.parametrize("text", ["", "now", "1h", "+1", "-", "--1", "nan", "inf", "1e9", "1_0", "-1 -1", "2026-01-01"])
@pytest.mark.parametrize("name", ["time", "start", "end", "step"])
def test_any_other_time_is_refused(name: str, text: str) -> None:
    """The SDK writes no other."""
    with pytest.raises(errors.RequestError, match="is no number of seconds"):
        _read(name, text)


def test_a_step_is_at_least_a_millisecond() -> None:
    """A shorter one would make a range of too many points, and a negative one a range of none."""
    assert _read("step", "0.001") == 0.001
    for text in ("0", "-0", "-60"):
        with pytest.raises(errors.RequestError, match="a step is at least a millisecond"):
            _read("step", text)
    with pytest.raises(errors.RequestError, match="is no number of seconds"):
        _read("step", "0.0019")  # which Prometheus reads as 0.001


def test_a_duration_has_units() -> None:
    """Prometheus' units add up."""
    assert [durations.parse(text) for text in ("5m", "1h30m", "0.5h", "250ms")] == [300, 5400, 1800, 0.25]
    assert durations.parse("m5") is None
