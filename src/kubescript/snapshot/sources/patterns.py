"""Regular expressions of matchers and line filters, as far as the host can compare them with a stranger's texts.

Each becomes a pattern of Python's without any way back: its time grows with its length times the text's. RE2 would take
all of them, but hostile patterns and texts meet it only in the masking process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript import errors
from kubescript.snapshot import collection

__all__ = ["compare"]

_MAX_LENGTH: Final = 300
# Loki's longest line. The comparison holds the interpreter's lock for 55 ms at most.
_MAX_VALUE: Final = 256 * 1024
_FLAG: Final = "(?i)"
_GROUP: Final = re.compile(r"\((?:\?:)?([^()\\]*)\)")
_ATOM: Final = re.compile(
    r"(?P<any>\.\*|\.\+)|(?P<one>\.)|(?P<bar>\|)|(?P<begin>\^)|(?P<end>\$)"
    r"|\\(?P<escaped>[^A-Za-z0-9])|(?P<plain>[^\\?*+()\[\]{}])"
)
_Atom = tuple[str, str]
"""The kind of an atom, and its fixed part in Python's grammar."""


def compare(text: str, check: collection.Check, *, is_whole: bool) -> Callable[[str], bool]:
    """Returns a function that says whether a value matches the pattern as in RE2, or a part of it unless `is_whole`;
    it raises ClusterError (cluster.broken) for a value that is too long, and what `check` raises. Raises RequestError
    for what is more than literals, `.`, `.*`, `.+` and `|`."""
    pattern = _compile(text, is_whole=is_whole)

    def matches(value: str) -> bool:
        # Attack: a query compares each label or line with forty patterns.
        check()
        if len(value) > _MAX_VALUE:
            raise errors.ClusterError("a value in the snapshot is too long to be compared", code="cluster.broken")
        return pattern.fullmatch(value) is not None

    return matches


def _compile(text: str, *, is_whole: bool) -> re.Pattern[str]:
    if len(text) > _MAX_LENGTH:
        raise _refuse(text)
    body = text.removeprefix(_FLAG)
    group = _GROUP.fullmatch(body)
    choices: list[list[_Atom]] = [[]]
    for atom in _read_atoms(group[1] if group else body, text):
        if atom[0] == "bar":
            choices.append([])
        else:
            choices[-1].append(atom)
    written = "|".join(_write(choice, text, is_whole=is_whole) for choice in choices)
    return re.compile(written, re.DOTALL | (re.IGNORECASE if body != text else 0))


def _read_atoms(body: str, text: str) -> Iterator[_Atom]:
    """Yields the atoms. Raises RequestError."""
    at = 0
    while at < len(body):
        found = _ATOM.match(body, at)
        if found is None:
            raise _refuse(text)
        at = found.end()
        kind = str(found.lastgroup)
        fixed = {"any": "." if found[0] == ".+" else "", "one": "."}
        yield kind, fixed[kind] if kind in fixed else re.escape(found[kind])


def _write(choice: list[_Atom], text: str, *, is_whole: bool) -> str:
    """Returns one alternative in Python's grammar. Raises RequestError."""
    is_begun, is_ended = choice[:1] == [("begin", "\\^")], choice[-1:] == [("end", "\\$")]
    inner = choice[is_begun : len(choice) - is_ended]
    parts = [""] if is_begun or is_whole else ["", ""]
    for kind, fixed in inner:
        if kind in {"begin", "end"}:
            raise _refuse(text)
        parts[-1] += fixed
        if kind == "any":
            parts.append("")
    if not (is_ended or is_whole):
        parts.append("")
    first, *rest = parts
    if not rest:
        return first
    # Each part is taken where it first stands and the search never comes back, as in `fnmatch`: a part has one length,
    # so its first place is never worse than a later one.
    between = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return f"{first}{between}.*{rest[-1]}"


def _refuse(text: str) -> errors.RequestError:
    return errors.RequestError(
        f"a snapshot cannot compare with the regular expression {text[:60]!r}; write literals with . .* .+ and |, such "
        'as "web-.*|api-.*", or filter in the script',
        code="request.source",
    )
