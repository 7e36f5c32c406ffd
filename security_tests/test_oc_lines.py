"""What the argument check does with hostile command lines of oc; the proxy alone is tried with the same ones."""

from __future__ import annotations

import pytest

from kubescript import errors
from kubescript.commands import line, oc_arguments
from security_tests import oc_lines

pytestmark = pytest.mark.promise("X-08")

LINES = oc_lines.lines()
READ_ONLY, WRITING = oc_arguments.Rules(), oc_arguments.Rules(allow_write=True)


def code(text: str, rules: oc_arguments.Rules) -> str:
    """The code of the refusal, "" for a line that passes."""
    try:
        oc_arguments.check(line.split(text, "oc"), rules)
    except (errors.RequestError, errors.PolicyDenied) as error:
        return error.code
    return ""


@pytest.mark.parametrize("hostile", LINES, ids=[f"{at}: {each.source[:60]}" for at, each in enumerate(LINES)])
def test_a_hostile_command_line_is_refused_or_left_to_the_policy_as_its_mark_says(hostile: oc_lines.Line) -> None:
    """Whatever the operator allows, or by a server that only reads, or not at all."""
    codes = {"request.command_line", "policy.command", "policy.argument"}
    assert code(hostile.text, READ_ONLY) in ({""} if hostile.expected == "passes" else codes)
    assert code(hostile.text, WRITING) in (codes if hostile.expected == "refused" else {""})


def test_there_are_three_hundred_different_lines_of_every_kind() -> None:
    """At least as many of them can be given to a program."""
    assert len(LINES) >= 300
    assert len({each.text for each in LINES}) == len(LINES)
    assert {each.expected for each in LINES} == {"refused", "read-only", "passes"}
    assert sum(each.arguments is not None for each in LINES) >= 300
