"""Which labels the series of a LogQL metric keep: those that the query names, or also those that a parser makes.

`sum by (level) (count_over_time({app="web"} | logfmt [5m]))` has one label. Without `sum` it has one for each name in a
line; of a Loki before 3, for each word.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

__all__ = ["find_open_stage"]

# `topk by (x)` is missing on purpose: it keeps all labels.
_AGGREGATIONS: Final = frozenset({"sum", "avg", "min", "max", "count", "stddev", "stdvar"})
_OVER_TIME: Final = "_over_time"


def find_open_stage(tokens: Sequence[str], parsers: AbstractSet[str]) -> str:
    """Returns the first parser whose labels the series keep under any name; empty if the query names all that they
    keep."""
    pairs = _match_brackets(tokens)
    grouped = {end: start for end, start in pairs.items() if _names_labels(tokens, pairs, start, end)}
    starts = frozenset(grouped.values())
    depth = 0
    for before, at in itertools.pairwise(range(len(tokens))):
        depth += (at in starts) - (at in grouped)
        if tokens[before] == "|" and tokens[at] in parsers and not depth:
            return tokens[at]
    return ""


def _match_brackets(tokens: Sequence[str]) -> dict[int, int]:
    """Returns where each round bracket begins, by its end."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for at, sign in enumerate(tokens):
        if sign == "(":
            opened.append(at)
        elif sign == ")" and opened:
            pairs[at] = opened.pop()
    return pairs


def _names_labels(tokens: Sequence[str], pairs: dict[int, int], start: int, end: int) -> bool:
    """Says whether a bracket is that of an aggregation with `by`, before it or behind it, or without any label."""
    around = ["", "", *tokens, "", "", ""]
    before = pairs.get(start - 1)
    if before is None:  # sum(…) by (level)
        name, word = around[start + 1], around[end + 3]
        is_plain = word not in {"by", "without"}
        is_empty = around[end + 5] == ")"
    else:  # sum by (level) (…)
        name, word = around[before : before + 2]
        is_plain = False
        is_empty = before + 2 == start
    if word == "by":
        # Attack: `max_over_time(…) by ()` keeps all labels in Loki 2.
        return name in _AGGREGATIONS or (name.endswith(_OVER_TIME) and not is_empty)
    return is_plain and name in _AGGREGATIONS
