"""Whether each match of a regular expression has a letter or a digit: `web-.*` names something, `(web)?.*` nothing.

It reads the grammar of Go's regexp, which Prometheus, Loki and VictoriaMetrics use, in one pass. What it does not know
is taken for a pattern of everything.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["has_required_text"]

_PART: Final = re.compile(
    r"(?P<open>\((?:\?(?:P?<\w+>|[imsU-]*+:))?+(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<optional>[*?]|\{[0-9,]*+\}?)"
    r"|(?P<more>\+)"
    r"|(?P<flags>\(\?[imsU-]++\))"
    # A bracket that stands first is one of the class: `[]a]`.
    r"|(?P<vague>[.^$]|\\[dDwWsSbBAz]|\[\^?\]?(?:\\.|\[:\^?\w++:\]|[^\]\\])*+\])"
    r"|(?P<literal>\\[^\w\s]|[^\\\[\](){}|*?+.^$])"
    r"|(?P<unknown>.)",
    re.DOTALL | re.ASCII,
)
_MAX_DEPTH: Final = 50
"""How deep groups may be nested."""


def has_required_text(pattern: str) -> bool:
    """Says whether each alternative has a letter or a digit that a match must have: one that may not be left out,
    also in a group that may not."""
    outer: list[tuple[bool, bool]] = []
    is_each, has_text, is_last = True, False, False
    """Whether each alternative before this one has text, whether this one has, and whether its last part is text."""
    for part in _PART.finditer(pattern):
        kind = part.lastgroup
        if kind == "unknown" or len(outer) > _MAX_DEPTH:
            return False
        # Attack: in `z(?i)*.+` the letter is what may be left out.
        if kind in {"more", "flags"}:
            continue
        # Attack: `a{0}.+` and `(?:a(b))*.+` match everything.
        has_text = has_text or (is_last and kind != "optional")
        is_last = kind == "literal" and part[0].isalnum()
        if kind == "open":
            outer.append((is_each, has_text))
            is_each, has_text = True, False
        elif kind == "bar":
            is_each, has_text = is_each and has_text, False
        elif kind == "close":
            if not outer:
                return False
            is_last = is_each and has_text
            is_each, has_text = outer.pop()
    return not outer and is_each and (has_text or is_last)
