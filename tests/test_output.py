"""From outcome to answer: prints first, valid structure when cut, and words for what is missing."""

from __future__ import annotations

import json

from kubescript import output, types

SMALL = types.Limits(output_bytes=2048)


def answer(limits: types.Limits = SMALL, notes: tuple[str, ...] = (), **outcome: object) -> types.Answer:
    """The answer to an outcome with these fields."""
    return output.render(types.Outcome(**outcome), limits, notes)  # type: ignore[arg-type]


def test_prints_come_before_the_result() -> None:
    """What was printed stands above the value of the last expression."""
    assert answer(printed="looking\n", result=b"[1,2]").text == "looking\n[1,2]"


def test_a_string_is_plain() -> None:
    """A string result has no quotes and no escapes."""
    assert answer(result=b'"two\\nlines"').text == "two\nlines"


def test_no_result_says_how_to_return_one() -> None:
    """A script without a value and without prints tells what to write."""
    assert "end with `rows`" in answer(hint="end with `rows`").text


def test_prints_alone_are_an_answer() -> None:
    """A script that printed is not scolded for returning nothing."""
    assert answer(printed="done\n", hint="…").text == "done"


def test_a_fault_keeps_what_was_printed() -> None:
    """Partial work is not lost with the script."""
    got = answer(printed="half\n", fault=types.Fault("limit.time", "too slow"))
    assert (got.text, got.is_error, got.code) == ("half\nerror limit.time: too slow", True, "limit.time")


def test_a_long_list_is_cut_to_whole_items() -> None:
    """A list over the limit stays valid JSON and says how many items are missing."""
    items = [{"name": f"pod-{n}"} for n in range(500)]
    text, _, note = answer(result=json.dumps(items).encode()).text.rpartition("\n")
    kept = json.loads(text)
    assert kept == items[: len(kept)]
    assert f"{len(kept)} of 500 items" in note


def test_a_long_map_of_lists_is_cut_inside() -> None:
    """A map whose one list is too long keeps the list's beginning instead of dropping it whole."""
    text, _, note = answer(
        result=json.dumps({"total": 500, "pods": [f"pod-{n}" for n in range(500)]}).encode()
    ).text.rpartition("\n")
    kept = json.loads(text)
    assert kept["total"] == 500
    assert kept["pods"][0] == "pod-0"
    assert "cut" in note


def test_a_long_text_is_cut_at_a_line() -> None:
    """Text over the limit ends with a whole line and a note."""
    text, _, note = answer(result=json.dumps("line\n" * 5000).encode()).text.rpartition("\n")
    assert set(text.strip().split("\n")) == {"line"}
    assert "bytes" in note


def test_the_answer_stays_under_its_limit() -> None:
    """Prints, result and notes together never exceed the limit, whatever their shapes."""
    for result in (
        b'"' + b"x" * 9000 + b'"',
        json.dumps(list(range(9000))).encode(),
        json.dumps({str(n): "é" * 50 for n in range(99)}).encode(),
    ):
        for printed in ("", "p" * 9000, "é\n" * 3000):
            got = answer(result=result, printed=printed, notes=("n" * 300,) * 5)
            assert len(got.text.encode()) <= SMALL.output_bytes


def test_notes_are_one_line() -> None:
    """What the script did not get to see is said in one line under the result."""
    assert (
        answer(result=b"[]", notes=("denied: list secrets", "403 list nodes")).text
        == "[]\n[denied: list secrets; 403 list nodes]"
    )


def test_large_integers_survive() -> None:
    """Integers beyond 64 bits are returned digit by digit."""
    assert answer(result=str(2**100).encode()).text == str(2**100)


def test_hints_and_faults_stay_under_the_limit_too() -> None:
    """Found by fuzzing: with the smallest limit, a long hint or a long fault beside long prints is cut as well."""
    small = types.Limits(output_bytes=1024)
    for outcome in (
        {"hint": "h" * 2500},
        {"hint": "h" * 2500, "dropped_bytes": 99},
        {"printed": "x" * 900, "fault": types.Fault("script.x", "m" * 2500)},
    ):
        assert len(answer(small, **outcome).text.encode()) <= 1024
