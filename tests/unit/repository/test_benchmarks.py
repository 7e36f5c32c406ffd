"""`python -m benchmarks` tells what got worse since it was recorded."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import benchmarks
from benchmarks import __main__ as program
from benchmarks import report, results
from tests.kit import typed_commands

RATIO: Final = report.Row("a script", "ms", 4.0, 2.0, "bare GET", "at_most", 1.5)
FASTER: Final = report.Row("a list", "s", 1.0, 8.0, "peer", "times_faster", 6)
RATE: Final = report.Row("scripts at once", "1/s", 9.0, 10.0, "plain processes", "at_least", 0.9)
FAULTS: Final = report.Row("faults", "", 1_000.0)

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the program with a benchmark that yields these rows; returns what it prints."""

    def run(*rows: report.Row, name: str = "guards", flags: tuple[str, ...] = ()) -> str:
        module = types.SimpleNamespace(run=lambda: iter(rows), run_short=lambda: iter(rows))
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", module)
        monkeypatch.setattr(sys, "argv", ["benchmarks", "--results", str(tmp_path / "results.json"), *flags, name])
        program.main()
        return capsys.readouterr().out

    return run


def changed(row: report.Row, subject: float) -> report.Row:
    """The same row as another run has it."""
    return report.Row(row.what, row.unit, subject, row.baseline, row.baseline_name, row.kind, row.goal)


def marked(printed: str) -> list[str]:
    """The lines that are marked as worse."""
    return [line for line in printed.splitlines() if line.endswith("WORSE")]


@pytest.mark.parametrize(
    ("row", "worse", "good"),
    [(RATIO, 4.5, 4.3), (FASTER, 1.2, 1.05), (RATE, 8.0, 8.5), (FAULTS, 1_200.0, 1_050.0)],
    ids=lambda value: value.what if isinstance(value, report.Row) else str(value),
)
def test_what_got_worse_by_more_than_a_tenth_is_marked(run: Run, row: report.Row, worse: float, good: float) -> None:
    """Whatever way is better; less is noise, and what got better is no news."""
    run(row, flags=("--record",))
    (line,) = marked(run(changed(row, worse)))
    assert row.what in line
    assert marked(run(changed(row, good))) == []
    assert marked(run(row)) == []


def test_what_is_recorded_is_what_was_measured_and_the_rest_stays(run: Run, tmp_path: Path) -> None:
    """A row is found again by its names, and says on which machine, at which load and when it was measured."""
    run(RATIO, FAULTS, flags=("--record",))
    run(changed(RATIO, 3.0), name="audit", flags=("--record",))
    run(changed(RATIO, 5.0), flags=("--record",))
    found: list[dict[str, Any]] = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert [(each["benchmark"], each["what"], each["subject"], each["ratio"]) for each in found] == [
        ("guards", "a script", 5.0, 2.5),
        ("guards", "faults", 1_000.0, None),
        ("audit", "a script", 3.0, 1.5),
    ]
    for each in found:
        assert each["machine"] == results.describe_machine()
        assert each["load"] >= 0 and re.fullmatch(r"\d{4}-\d\d-\d\d", each["date"])


def test_rows_of_a_benchmark_that_is_gone_are_dropped(run: Run, tmp_path: Path) -> None:
    """They neither end a run nor stay for ever."""
    run(RATIO, flags=("--record",))
    file = tmp_path / "results.json"
    file.write_text(file.read_text("utf-8").replace('"guards"', '"gone"'), "utf-8")
    run(FAULTS, flags=("--record",))
    (left,) = json.loads(file.read_text("utf-8"))
    assert (left["benchmark"], left["what"]) == ("guards", FAULTS.what)


def test_a_value_without_a_baseline_is_not_compared_with_another_machine(run: Run, tmp_path: Path) -> None:
    """A ratio is."""
    run(RATIO, FAULTS, flags=("--record",))
    file = tmp_path / "results.json"
    file.write_text(file.read_text("utf-8").replace(results.describe_machine(), "an abacus"), "utf-8")
    (line,) = marked(run(changed(RATIO, 9.0), changed(FAULTS, 9_000.0)))
    assert RATIO.what in line


def test_the_short_form_prints_ratios_and_no_times(run: Run) -> None:
    """Which say something on a busy machine of any kind."""
    run(RATIO, name="empty_script", flags=("--record",))
    printed = run(changed(RATIO, 9.0), name="empty_script", flags=("--short",))
    (line,) = marked(printed)
    assert re.split(r"\s{2,}", line) == ["empty_script", "a script", "bare GET", "4.50×", "2.00×", "WORSE"]
    assert " ms" not in printed


def test_a_benchmark_that_breaks_is_named_and_fails_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it keep the others from being measured."""

    def fail() -> None:
        raise RuntimeError("a wrong answer has no speed")

    monkeypatch.setitem(sys.modules, "benchmarks.audit", types.SimpleNamespace(run=fail))
    printed = run(RATIO, flags=("audit",))
    assert "audit: FAILED: RuntimeError: a wrong answer has no speed" in printed
    assert RATIO.what in printed


def test_every_name_is_a_module() -> None:
    """And those of the short form and the long ones are names."""
    assert [name for name in benchmarks.NAMES if importlib.util.find_spec(f"benchmarks.{name}") is None] == []
    assert {*benchmarks.SHORT, *benchmarks.LONG} <= set(benchmarks.NAMES)


def test_every_benchmark_that_a_page_names_is_there() -> None:
    """`python -m benchmarks NAME`, in a block or in a sentence."""
    for page in typed_commands.PAGES:
        for words in re.findall(r"python -m benchmarks((?: [a-z]\w+)+)", page.read_text("utf-8")):
            assert set(words.split()) <= set(benchmarks.NAMES), page
