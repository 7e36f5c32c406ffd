"""The shapes of values that are no credential, row by row; those of tokens; and names of any length."""

from __future__ import annotations

import time

import pytest

from kubescript_masking.rules import names, shapes, values
from kubescript_masking.text import linear


@pytest.mark.parametrize("row", values.HARMLESS, ids=lambda row: row["id"])
def test_the_example_of_a_shape_is_harmless_by_it_alone(row: dict[str, str]) -> None:
    """Its own expression matches it, and no kind that it is of calls it a secret."""
    example = row["example"].encode()
    of = set(row["of"].split())
    kind = "token" if of & {"any", "machine"} else min(of)
    others = [each for each in values.HARMLESS if each is not row and of | {"any"} >= set(each["of"].split())]
    assert linear.build(row["regex"].encode()).fullmatch(example)
    assert not any(linear.build(each["regex"].encode()).fullmatch(example) for each in others)
    assert not values.is_secret(example, kind)


@pytest.mark.parametrize("rule", shapes.load_shipped(), ids=lambda rule: rule.id)
def test_a_shape_of_tokens_is_an_expression_of_re2(rule: shapes.Rule) -> None:
    """No rule that comes with kubescript fails when the first candidate is judged, which is when it is built."""
    assert rule.regex.groups >= 0


def test_a_name_is_judged_by_its_end_in_bounded_time() -> None:
    """A megabyte of a name costs no more than a line of it."""
    name = "aB" * 500_000 + "_password"
    started = time.process_time()
    assert names.kind(name) == "password"
    assert not names.weak(name)
    assert time.process_time() - started < 1
