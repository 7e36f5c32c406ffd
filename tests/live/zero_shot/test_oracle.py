"""The oracle is right: where the fixture's tables say what must come out, exactly that comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.live.zero_shot import asking
from tests.live.zero_shot.answers import ANSWERS, Cluster
from tests.live.zero_shot.asking import Ask

PLANTED: Final[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_bytes())


@pytest.mark.parametrize("slug", sorted(PLANTED))
def test_an_answer_is_what_was_planted(slug: str, cluster: Cluster) -> None:
    """The official client finds what the fixture's tables put there."""
    # A share of a certificate's lifetime grows by its last digit within hours, and may do so within this test.
    (question,) = [each for name, each in asking.questions().items() if name.partition("-")[2] == slug]
    assert asking.same(ANSWERS[slug](cluster), PLANTED[slug], question.tolerance)


@pytest.mark.parametrize(
    ("given", "wanted", "tolerance"),
    [
        (12, 13, 0.0),
        ("13", 13, 0.0),
        (True, 1, 0.0),
        (None, 0, 0.0),
        (["b", "a"], ["a", "b"], 0.0),
        (["a"], ["a", "b"], 0.0),
        ({"a": 1, "b": 2}, {"a": 1}, 0.0),
        ({"a": 1.2}, {"a": 1.0}, 0.101),
        ("[1] [1 call denied]", [1], 0.0),
    ],
)
def test_a_wrong_answer_is_not_the_same(given: object, wanted: object, tolerance: float) -> None:
    """Another order, type, length, key or number is another answer."""
    assert not asking.same(given, wanted, tolerance)


def test_only_rounding_is_forgiven() -> None:
    """A unit of the last place is the same where the shape rounds, and only there."""
    shapes = {"percent rounded to 1 decimal": 0.101, "MiB rounded to the nearest integer": 1.0, "integer": 0.0}
    for shape, tolerance in shapes.items():
        assert asking.Question("q1-a", "?", shape).tolerance == pytest.approx(tolerance)
    assert asking.same({"a": [1.05, "x"]}, {"a": [1.1, "x"]}, 0.101)


def test_a_snapshot_has_what_only_an_older_version_serves(live: Ask, snapshot: Ask) -> None:
    """Widgets are served as v1 while their group prefers v2: a snapshot keeps them as well."""
    script = "[w.metadata.name for w in k8s.get('widgets.example.com')]"
    assert asking.value(live(script)) == asking.value(snapshot(script)) == ["gear"]
