"""Plans that are made short for a reader, by a script that wants something not to be read: a finding that stands once for
many changes, and fields of a new object that its heading says already."""

from __future__ import annotations

from typing import Final

import pytest

from kubescript.changes import plan
from kubescript.changes.ask import form
from kubescript.changes.store import record
from kubescript.changes.view import plain, view
from kubescript.wire import inspection
from tests.kit import approval_page, stored_plans

pytestmark = pytest.mark.promise("P-19")

SAID: Final = plan.Finding("writes.roles", "critical", "changes the rights of users")


def test_a_finding_that_stands_once_names_every_change() -> None:
    """In the text, beside the form's tick, and in the data of the page, also if its words are about several things. One
    of another level, rule or wording stands by itself."""
    others = (
        plan.Finding("writes.roles", "warning", SAID.message),
        plan.Finding("writes.other", "critical", SAID.message),
        plan.Finding("writes.roles", "critical", f"{SAID.message}\u200b"),
    )
    about = plan.Finding(SAID.rule, SAID.level, SAID.message, about="another")
    steps = [approval_page.step(f"web-{number}", findings=(SAID, about)) for number in range(1, 6)]
    steps.append(approval_page.step("odd", findings=others))
    shown = record.Record(approval_page.plan_of(*steps), "pending")
    first, *rest = view.findings(shown.plan)
    assert [place.change for place in first.places] == [1, 2, 3, 4, 5] and first.number == 0
    assert [[place.change for place in each.places] for each in rest] == [[6], [6], [6]]
    text = plain.text(shown, 2_000)
    places = "; ".join(f"change {number}, deployments.apps shop/web-{number}" for number in range(1, 6))
    assert f"CRITICAL writes.roles: {SAID.message} ({places})\n" in text
    composed = form.compose(shown)
    assert composed is not None
    described = composed.schema["properties"]["override_writes_roles"]["description"]
    assert described.startswith(f"6 findings; {SAID.message} (changes 1, 2, 3 …); ") and "(change 6)" in described


def created(name: str, *rows: tuple[str, str | None, str]) -> str:
    """The text of a plan that makes a Deployment of this name; each row is a path, the old and the new value."""
    made = approval_page.step(name, verb="create", rows=tuple(inspection.Row(*row) for row in rows))
    return plain.text(record.Record(approval_page.plan_of(made), "pending"), 400)


USUAL: Final = (
    ("kind", None, '"Deployment"'), ("apiVersion", None, '"apps/v1"'), ("metadata.name", None, '"web"'),
    ("metadata.namespace", None, '"shop"'),
)  # fmt: skip


def test_what_the_heading_says_is_left_out_and_stays_in_the_plan() -> None:
    """Only of a new object."""
    text = created("web", *USUAL, ("spec.replicas", None, "2"))
    assert "metadata." not in text and "kind:" not in text and "apiVersion:" not in text
    assert "Create deployments.apps shop/web: 1 field\n   spec.replicas:\n     + 2\n" in text
    changed = approval_page.step(rows=(inspection.Row("metadata.name", None, '"web"'),))
    assert "metadata.name:" in plain.text(record.Record(approval_page.plan_of(changed), "pending"))


LIES: Final = {
    "another name": ("web", "metadata.name", None, '"web-2"'),
    "a name that looks alike": ("web", "metadata.name", None, '"w\u0435b"'),
    "the same name of such letters": ("w\u0435b", "metadata.name", None, '"w\u0435b"'),
    "a name with what is not seen": ("web", "metadata.name", None, '"web\u200b"'),
    "the same name with that": ("web\u200b", "metadata.name", None, '"web\u200b"'),
    "an escape": ("web", "metadata.name", None, '"we\\u0062"'),
    "a change of it": ("web", "metadata.name", '"old"', '"web"'),
    "another namespace": ("web", "metadata.namespace", None, '"prod"'),
    "another kind": ("web", "kind", None, '"DaemonSet"'),
    "another version": ("web", "apiVersion", None, '"apps/v1beta1"'),
    "a name that is an object": ("web", "metadata.name", None, '{"web":1}'),
    "a key with a dot": ("web", '["metadata.name"]', None, '"web"'),
    "the name at another place": ("web", "spec.metadata.name", None, '"web"'),
    "nothing": ("web", "spec.nothing", None, "null"),
}
"""A new object's name, and a field of it."""


@pytest.mark.parametrize("case", LIES)
def test_what_differs_from_the_heading_is_shown(case: str) -> None:
    """However alike it looks."""
    name, path, old, new = LIES[case]
    assert f"   {path}:" in created(name, *USUAL[:2], (path, old, new)), case


def test_a_plan_of_eight_thousand_characters_is_the_longest_for_a_form() -> None:
    """A longer one is not cut; it is for the page."""
    sizes = [len(plain.text(of, 80)) for of in map(records, range(1, 40)) if form.compose(of) is not None]
    assert 7_000 < max(sizes) <= 8_000
    assert len(plain.text(records(39), 80)) > 8_000


def records(steps: int) -> record.Record:
    """A plan of so many steps."""
    return record.Record(stored_plans.made(steps=steps), "pending")
