"""From outcome to answer: prints first, valid structure when cut, and words for what is missing."""

from __future__ import annotations

import json

from kubescript import config, types
from kubescript.output import notes, render, styles
from kubescript_sandbox import runs

SMALL = runs.Limits(output_bytes=2048)


def answer(limits: runs.Limits = SMALL, missed: tuple[str, ...] = (), **outcome: object) -> types.Answer:
    """The answer to an outcome with these fields."""
    return render.render(runs.Outcome(**outcome), limits, list(map(notes.Note, missed)))  # type: ignore[arg-type]


def test_constants_of_the_script_are_not_masked() -> None:
    """The model wrote them: a mask in their place would only mislead it. Whatever else stands there is masked."""

    def mask(text: str) -> str:
        return text.replace("ref", "\u00abredacted\u00bb").replace("hunter2", "\u00abredacted\u00bb")

    style = styles.Style(mask=mask, constants=frozenset({"ref"}))
    outcome = runs.Outcome(result=b'{"API_PASSWORD":"ref","DB_PASSWORD":["hunter2","ref"]}')
    got = render.render(outcome, runs.Limits(), style=style)
    assert got.text == '{"API_PASSWORD":"ref","DB_PASSWORD":["\u00abredacted\u00bb","ref"]}'
    assert render.render(runs.Outcome(result=b'"ref"'), runs.Limits(), style=style).text == "ref"


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
    got = answer(printed="half\n", fault=runs.Fault("limit.time", "too slow"))
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
        # Each pair is two bytes longer than its share, as much as its colon and comma take.
        json.dumps({str(n): "x" * 18 for n in range(100, 715)}).encode(),
    ):
        for limits in (SMALL, runs.Limits(output_bytes=16 * 1024)):
            for printed in ("", "p" * 9000, "é\n" * 3000):
                got = answer(limits, result=result, printed=printed, missed=("n" * 300,) * 5)
                assert len(got.text.encode()) <= limits.output_bytes


def test_notes_are_one_line() -> None:
    """What the script did not get to see is said in one line under the result."""
    assert (
        answer(result=b"[]", missed=("denied: list secrets", "403 list nodes")).text
        == "[]\n[denied: list secrets; 403 list nodes]"
    )


def test_large_integers_survive() -> None:
    """Integers beyond 64 bits are returned digit by digit."""
    assert answer(result=str(2**100).encode()).text == str(2**100)


def test_hints_and_faults_stay_under_the_limit_too() -> None:
    """Found by fuzzing: with the smallest limit, a long hint or a long fault beside long prints is cut as well."""
    small = runs.Limits(output_bytes=1024)
    for outcome in (
        {"hint": "h" * 2500},
        {"hint": "h" * 2500, "dropped_bytes": 99},
        {"printed": "x" * 900, "fault": runs.Fault("script.x", "m" * 2500)},
    ):
        assert len(answer(small, **outcome).text.encode()) <= 1024


def text_of(lines: int) -> str:
    """So many numbered lines."""
    return "\n".join(f"line {number}" for number in range(lines))


def test_texts_have_at_most_500_lines() -> None:
    """A log of 800 lines is cut after 500, and the note says how many are missing and how to get them."""
    wide = runs.Limits()
    for text in (text_of(800), text_of(800) + "\n"):
        *kept, note = answer(wide, result=json.dumps(text).encode()).text.split("\n")
        assert (len(kept), kept[-1]) == (500, "line 499")
        assert "300 lines" in note
        assert ".splitlines()[500:]" in note
    *kept, note = answer(wide, printed=text_of(800)).text.split("\n")
    assert len(kept) == 500
    assert "300 lines" in note
    assert answer(wide, result=json.dumps(text_of(500)).encode()).text == text_of(500)


def test_texts_inside_a_result_have_a_limit_of_lines_too() -> None:
    """One pod's long log does not fill a map of logs; each cut is marked where it is."""
    logs = {"web": text_of(800), "db": text_of(3)}
    body, _, note = answer(runs.Limits(), result=json.dumps(logs).encode()).text.rpartition("\n")
    kept = json.loads(body)
    assert kept["db"] == logs["db"]
    assert kept["web"].split("\n")[-2:] == ["line 499", "… 300 more lines"]
    assert "300 missing" in note


def test_the_limit_of_lines_is_a_setting() -> None:
    """`limits.output_lines` sets it."""
    limits = config.Limits(output_lines=2).for_script(None)
    assert answer(limits, printed="a\nb\nc\nd").text.startswith("a\nb\n[prints cut by 4 bytes and 2 lines")


HIDDEN = "\x1b[31mred\x1b[0m\u202e\u200b\U000e0041\x07"


def test_nothing_invisible_leaves_by_any_way() -> None:
    """Prints, texts, keys and values at any depth, faults, hints and notes are clean."""
    fault = runs.Fault("script.exception", HIDDEN, "ValueError")
    for outcome in (
        {"printed": HIDDEN},
        {"result": json.dumps(HIDDEN).encode()},
        {"result": json.dumps({HIDDEN: [{HIDDEN: HIDDEN}]}).encode()},
        {"result": json.dumps({HIDDEN: [{HIDDEN: HIDDEN}]}, ensure_ascii=False).encode()},
        {"hint": HIDDEN},
        {"fault": fault},
    ):
        got = answer(missed=(HIDDEN,), **outcome).text
        assert "red" in got
        assert not set(got) & set("\x1b\u202e\u200b\U000e0041\x07"), repr(got)
        assert "\\u" not in got


def test_tricks_are_told_and_colours_are_not() -> None:
    """Overrides and tags are counted in the note, in prints and results; an escape sequence is noise."""
    assert answer(result='["a\u202eb\U000e0041"]'.encode()).text == '["ab"]\n[hidden characters removed: 2]'
    assert answer(printed="a\u2066b").text == "ab\n[hidden characters removed: 1]"
    assert answer(result=b'"\\u001b[31mred\\u001b[0m"').text == "red"


def test_every_text_passes_the_mask_whole() -> None:
    """The one seam for redaction: prints, values, keys, faults, hints and notes pass it before anything is cut."""
    style = styles.Style(mask=lambda text: text.replace("hunter2" * 300, "«masked»"))
    secret = "hunter2" * 300
    small = runs.Limits(output_bytes=1500)
    for outcome in (
        runs.Outcome(printed=secret),
        runs.Outcome(result=json.dumps(secret).encode()),
        runs.Outcome(result=json.dumps([{secret: secret}]).encode()),
        runs.Outcome(hint=secret),
        runs.Outcome(fault=runs.Fault("script.exception", secret, "ValueError")),
    ):
        got = render.render(outcome, small, [notes.Note(secret)], style=style).text
        assert "hunter" not in got
        assert got.count("«masked»") >= 2


def test_infinity_is_no_json() -> None:
    """Found by hand: a hostile worker's 1e400 became `Infinity` when its list was cut. It stays text, or its digits."""
    for value in ([1e5] * 900, {"a": [1] * 900}):
        raw = json.dumps(value).replace("[1", "[1e400, 1")
        text = answer(result=raw.encode()).text.rpartition("\n")[0]
        assert "Infinity" not in text
        assert "1e400" in json.dumps(json.loads(text))
    structured = render.render(
        runs.Outcome(result=b"[1e400,-1e999]"), SMALL, style=styles.Style(structured=True)
    ).structured
    assert structured == {"result": ["1e400", "-1e999"]}


def test_structured_answers_hold_what_the_text_holds() -> None:
    """Result, prints and what is missing, cut as the text is; none for a failure."""
    style = styles.Style(structured=True)
    items = [{"name": f"pod-{n}"} for n in range(500)]
    got = render.render(
        runs.Outcome(printed="hi\n", result=json.dumps(items).encode()),
        SMALL,
        [notes.Note("403 list nodes")],
        style=style,
    )
    assert got.structured is not None
    assert got.structured["result"] == items[: len(got.structured["result"])]
    assert got.structured["printed"] == "hi"
    assert got.structured["missing"][-1] == "403 list nodes"
    assert "items" in got.structured["missing"][0]
    assert render.render(runs.Outcome(printed="only"), SMALL, style=style).structured == {
        "result": None,
        "printed": "only",
    }
    failed = runs.Outcome(fault=runs.Fault("limit.time", "late"))
    assert render.render(failed, SMALL, style=style).structured is None
    assert render.render(runs.Outcome(result=b"1"), SMALL).structured is None
