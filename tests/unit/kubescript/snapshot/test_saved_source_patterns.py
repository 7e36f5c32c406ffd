"""What a saved source compares is what Prometheus, whose engine is RE2, would: for a sample of small patterns."""

from __future__ import annotations

import random

import pytest
import re2

from kubescript import errors
from kubescript.snapshot import collection
from kubescript.snapshot.sources import patterns, selectors
from kubescript_sandbox.host import cancellation

_PIECES = ["a", "b", ".", ".*", ".+", "|", "\\.", "-", "^", "$", "(?i)", "(", ")", "[", "\\"]


def test_patterns_are_as_re2s() -> None:
    """Each pattern that is not refused matches exactly the texts that RE2 matches, whole and in part."""
    dice = random.Random(35)
    texts = ["".join(dice.choices("abA.-\n", k=dice.randint(0, 7))) for _ in range(60)]
    compared = 0
    for _ in range(3_000):
        pattern = "".join(dice.choices(_PIECES, k=dice.randint(0, 6)))
        for is_whole in (True, False):
            try:
                ours = patterns.compare(pattern, lambda: None, is_whole=is_whole)
            except errors.RequestError:
                continue
            options = re2.Options()
            options.dot_nl = True
            theirs = re2.compile(pattern, options)
            compared += 1
            for text in texts:
                wanted = theirs.fullmatch(text) if is_whole else theirs.search(text)
                assert ours(text) is (wanted is not None), (pattern, text, is_whole)
    assert compared > 1_000


def test_selectors_are_read_and_other_expressions_are_none() -> None:
    """A selector is one however it is written; every other expression, and a string without its end, is none."""
    written = ['up{job="web", pod=~`a.b`,}', " up { job = 'web' , pod=~\"a.b\" } # all", '{"up", job="web",pod=~"a.b"}']
    assert len({selectors.read(text) for text in written}) == 1
    assert selectors.read(written[0]) is not None
    others = ["up[5m]", "rate(up[5m])", 'up{job="web}', "up + up", "{}", "", 'up{job="\\x"}', "up{job=}", "up{,}", "1"]
    assert [text for text in others if selectors.read(text) is not None] == []
    assert selectors.normalize('a  or b{c="x y"} # d') == selectors.normalize('a or b{ c="x y"}') != ("aorb",)
    logs = selectors.read_logs('{app="web"} |= "a" != `b` |~ "c.*"')
    assert logs is not None
    assert logs.filters == (("|=", "a"), ("!=", "b"), ("|~", "c.*"))
    assert selectors.read_logs('{app="web"} | json') is None


def test_a_call_that_is_not_waited_for_ends_at_its_next_comparison() -> None:
    """However many filters there are, none is compared once the call is over; the next call is answered."""
    selector = selectors.read_logs('{app="web"} ' + ' !~ "(?i)aa.*b"' * 40)
    assert selector is not None
    over = collection.Deadline(0, cancellation.Cancellation())
    with pytest.raises(errors.ClusterError, match="within the call's time"):
        selector.compile(over)("a" * 100)
    for names, fits in (("app", True), ("job", False)):
        labels = {names: "web-1"}
        assert (
            selectors.Selector(frozenset({selectors.Matcher("app", "=~", "web.*")})).compile(lambda: None)(labels)
            is fits
        )
