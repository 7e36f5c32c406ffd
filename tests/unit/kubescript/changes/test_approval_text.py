"""What is shown of a plan: the same for a terminal, a client's question and the page."""

from __future__ import annotations

import msgspec
import pytest

from kubescript.changes import plan, undo
from kubescript.changes.store import record
from kubescript.changes.view import model, plain, view
from kubescript.wire import inspection
from tests.kit import approval_page, stored_plans

RELEASE = """\
Plan p-1: Waits for a decision
5 changes to 4 objects in namespace shop of cluster kind-dev, asked for by client "claude-code"
      with evaluate_script for uid 1000 (alice), expires in 12 minutes

What will happen
  1. Change Deployment web in namespace shop (scale)
  2. Change Deployment web in namespace shop
  3. Change ConfigMap shop-settings in namespace shop
  4. Change Deployment worker in namespace shop
  5. Delete Job migrate-2711 in namespace shop: pod migrate-2711-x7k2p goes with it

Findings
  CRITICAL writes.registry: the image registry.example.org/shop/web:1.28.0 is of a registry that is
        not on the list (change 2, deployments.apps shop/web)
  warning NO_BROAD_PARTIAL_MANIFESTS: one field differs of 23 lines that are sent (change 3,
        configmaps shop/shop-settings)

1. Change deployments.apps/scale shop/web, first of 2 changes to this object: 1 field
   spec.replicas:
     − 3
     + 6
   request: PATCH /apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubescript

2. Change deployments.apps shop/web, second of 2 changes to this object: 2 fields, 2 set by the
      server, 1 finding, 1 warning
   warning of the API server: spec.template.spec.containers[web].env[2]: hides previous definition
         of LOG_LEVEL
   spec.template.spec.containers[web].image:
     − "registry.example.org/shop/web:1.27.3"
     + "registry.example.org/shop/web:1.28.0"
   spec.template.spec.containers[web].env[DB_PASSWORD].value:  [redacted; differs]
     − "«redacted:password:5e0f»"
     + "«redacted:password:91ab»"
   spec.template.spec.containers[web].imagePullPolicy:  [set by the server]
     − "Always"
     + "IfNotPresent"
   1 field set by the server:
   spec.progressDeadlineSeconds:
     + 600
   request: PATCH /apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubescript

3. Change configmaps shop/shop-settings: 1 field, 1 finding
   data["shop.toml"]:
     … 18 lines that stay
       option17 = 17
       option18 = 18
       option19 = 19
     − timeout = 30
     + timeout = 90
       retry = true
   request: PATCH /api/v1/namespaces/shop/configmaps/shop-settings?fieldManager=kubescript

4. Change deployments.apps shop/worker: 1 field
   spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]:
     + "2026-11-23T09:30:00Z"
   request: PATCH /apis/apps/v1/namespaces/shop/deployments/worker?fieldManager=kubescript

5. Delete jobs.batch shop/migrate-2711: 1 effect
   effect: pod migrate-2711-x7k2p goes with it
   the whole object goes
   request: DELETE /apis/batch/v1/namespaces/shop/jobs/migrate-2711?propagationPolicy=Background

What the script read
  list deployments.apps in namespace shop
  get jobs.batch shop/migrate-2711

In all: 5 changes (7 fields). Made 2026-11-23 09:00 UTC.
Each request is tried once more before it is sent. If it fails, or would do otherwise than shown,
      it and the rest are not sent. Rollouts are not waited for in between.
SHA-256 of the plan: HASH
SHA-256 of the script: 9999999999999999999999999999999999999999999999999999999999999999
"""
MADE = 1_795_424_400.0


def text_of(*steps: plan.Step, width: int = 200) -> str:
    """A new plan with these steps as text."""
    return plain.text(record.Record(approval_page.plan_of(*steps), "pending"), width)


def row_of(old: str | None, new: str | None, *, masked: bool = False) -> model.Row:
    """One changed field as it is shown."""
    step = approval_page.step(rows=(inspection.Row("data.x", old, new, masked=masked),))
    return view.of(record.Record(approval_page.plan_of(step), "pending")).changes[0].rows[0]


def quoted(text: str) -> str:
    """A text as a row has it."""
    return msgspec.json.encode(text).decode()


def lines_of(old: str | None, new: str | None) -> list[str]:
    """The lines of a value that is compared line by line."""
    return [f"{line.sign}{line.text.text}" for line in row_of(old, new).lines]


def test_a_release_reads_as_one_page_of_text() -> None:
    made = approval_page.plan_of(*approval_page.release(), id="p-1", created=MADE, expires=MADE + 900)
    text = plain.text(record.Record(made, "pending"), 100, now=MADE + 170)
    assert text == RELEASE.replace("HASH", made.hash)


@pytest.mark.parametrize("width", [1, 60, 100, 400])
def test_no_line_is_wider_than_asked_and_no_word_is_lost(width: int) -> None:
    long = inspection.Row("data.x", None, quoted("x" * 5000 + " " * 300 + "y"))
    text = text_of(*approval_page.release(), approval_page.step(rows=(long,)), width=width)
    assert max(map(len, text.split("\n"))) <= max(width, 40)
    assert text.count("x" * 20) > 0 and text.replace("\n", "").replace(" ", "").count("x") >= 5000


def test_the_end_of_a_plan_is_in_its_text() -> None:
    made = approval_page.plan_of(approval_page.release()[0], approval_page.release()[3])
    decision = record.Decision("uid 1 (bob)", "terminal", True, made.hash, "ours", ("writes.registry",), MADE)
    done = record.Application("done", "a-1", "7", 200, text="scaled")
    failed = record.Application("failed", "a-2", "8", 409, text="the object has changed")
    text = plain.text(record.Record(made, "stopped", (decision,), (done, failed), "1 of 2 changes applied"))
    assert text.split("\n")[0] == f"Plan {made.id}: Stopped before its end"
    assert "\n1 of 2 changes applied\n" in text
    assert "\n   [✓] done: scaled, HTTP 200, audit id a-1\n" in text
    assert "\n   [✗] failed: the object has changed, HTTP 409, audit id a-2\n" in text
    assert (
        "approved by uid 1 (bob) (terminal) at 2026-11-23 09:00 UTC; overrides writes.registry: ours"
        in text.replace("\n        ", "")
    )


def test_a_plan_past_its_time_has_expired_whoever_has_noticed() -> None:
    entry = record.Record(approval_page.plan_of(approval_page.step(), expires=MADE), "pending")
    assert view.summary(entry, MADE - 1).state == "pending"
    assert view.summary(entry, MADE).state == "expired"


@pytest.mark.parametrize(
    ("namespaces", "words"),
    [
        (["shop"], "in namespace shop of cluster kind-dev"),
        (["shop", "web"], "in namespaces shop, web of cluster"),
        (["a", "b", "c", "d"], "in 4 namespaces of cluster"),
        ([""], "1 change to 1 object outside namespaces of cluster"),
        (["", "shop"], "in namespace shop and outside namespaces of cluster"),
    ],
)
def test_the_sentence_says_where(namespaces: list[str], words: str) -> None:
    assert words in text_of(*(approval_page.step(namespace=namespace) for namespace in namespaces))


def test_an_eviction_and_a_deletion_are_called_so() -> None:
    evicted = approval_page.step(verb="create", group="", resource="pods", subresource="eviction", name="web-0")
    assert "1. Evict pods/eviction shop/web-0" in text_of(evicted)


def test_a_removal_has_no_number_of_fields() -> None:
    """The whole object goes, so 0 of them would be said to change."""
    text = text_of(approval_page.step(verb="delete", rows=()))
    assert "1. Delete deployments.apps shop/web\n" in text and "In all: 1 change. Made" in text


def test_all_that_cannot_be_taken_back_is_named() -> None:
    """Up to five changes of those that were made, and the number of the others."""
    made = stored_plans.made(steps=8)
    waiting = record.Application()
    entry = record.Record(made, "stopped", (), (record.Application("done"),) * 7 + (waiting,))
    first = ", ".join(f"patch deployments.apps shop/web-{number}" for number in range(5))
    assert undo.describe_lasting(entry) == f"{first} and 2 more"
    assert undo.describe_lasting(record.Record(made, "stopped", (), (waiting,) * 8)) == ""


def test_lines_that_stay_are_counted() -> None:
    old = "\n".join(map(str, range(100)))
    assert lines_of(quoted(old), quoted(old.replace("\n50\n", "\nfifty\n"))) == [
        "47 lines that stay", " 47", " 48", " 49", "−50", "+fifty", " 51", " 52", " 53", "46 lines that stay",
    ]  # fmt: skip


def test_a_long_object_is_compared_field_by_field() -> None:
    old = '{"a":{"b":1,"c":"' + "x" * 200 + '"}}'
    lines = lines_of(old, old.replace(":1,", ":2,"))
    assert [line for line in lines if line[0] in "+−"] == ['−    "b": 1,', '+    "b": 2,']


def test_a_long_value_that_is_new_or_goes_away_is_shown_whole() -> None:
    assert lines_of(None, quoted("a\nb\n")) == ["+a", "+b", "+"]
    assert lines_of(quoted("a\nb"), None) == ["−a", "−b"]


@pytest.mark.parametrize(
    ("old", "new", "masked", "badge"),
    [
        ('"«redacted:token:1»"', '"«redacted:token:2»"', True, "redacted; differs"),
        ('"«redacted:token:1»"', '"«redacted:token:1»"', True, "redacted; differs"),
        (None, '"«redacted:token:2»"', True, "redacted"),
        (None, '"«redacted:token:2»"', False, "not redacted: a text that looks like it"),
    ],
)
def test_a_mask_is_told_from_what_it_stands_for(old: str | None, new: str, masked: bool, badge: str) -> None:
    assert row_of(old, new, masked=masked).badges[0] == badge


@pytest.mark.parametrize("text", ["é", "\u200b", "a\u0300\u0316", "a \u0430 ", "x" * 99 + " "])
def test_a_large_value_becomes_text(text: str) -> None:
    """Whatever it is made of: the standard library alone would sort the marks on one letter for minutes, and a line that
    is folded by copying its rest takes as long."""
    value = text * (200_000 // len(text))
    shown = text_of(approval_page.step(rows=(inspection.Row("data.a", f'"{value}"', f'"{value}!"'),)))
    assert "data.a" in shown and "old and new look alike" not in shown
