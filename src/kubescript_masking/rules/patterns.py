"""The rules of `patterns.toml`: probes find places to look at, a row's pattern finds the value there, and its judge
decides.

A row's pattern runs once over each line in which one of its probes ended, so its cost is bounded by the text, however
many probes end there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubescript_masking.rules import commands, keys, names, randomness, values
from kubescript_masking.rules.probes import Probe
from kubescript_masking.rules.values import Judge
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span
from kubescript_masking.wire import masking

__all__ = ["PROBES", "ROWS", "Row", "build"]

# A line may be megabytes long.
_AROUND: Final = 8_448
"""The maximum number of bytes that a row reads on each side of a probe's end."""
_OVERLAP: Final = 512
"""How many bytes of a long line are read again with its next part."""
_ADDRESS: Final = linear.build(
    rb"[\d.:,TZ+/-]+|[\w.+-]+@[\w.-]+|[a-z0-9-]+(?:[.:/][a-z0-9-]+)+|.*\(.*\)|[~.]{0,2}/.*|sha\d+:.*"
)
"""A host, an email address, a path, a time, a call: values that sentences mention beside passwords."""


def _is_said(value: bytes, kind: str) -> bool:
    """Says whether a value in a sentence is secret: a passphrase, a password with a digit, or a random value of another
    kind."""
    if b" " in value:
        return extents.is_passphrase(value)
    is_password = kind == "password"
    if is_password and value.isdigit() and 5 <= len(value) <= 10:
        return True
    if _ADDRESS.fullmatch(value) or not values.is_secret_in_prose(value, kind):
        return False
    if is_password:
        return randomness.has_digit(value)
    return randomness.is_random(value) or randomness.is_drawn(value)


_JUDGES: Final[dict[str, Judge]] = {
    "any": lambda value, _: bool(value),
    "secret": values.is_secret,
    "prose": values.is_secret_in_prose,
    "typed": lambda value, kind: randomness.is_mixed(value) and values.is_secret_in_prose(value, kind),
    "random": lambda value, _: randomness.is_random(value),
    "drawn": lambda value, _: values.is_weak_secret(value, "key"),
    "said": _is_said,
    "basic": lambda value, _: keys.is_basic(value),
}
"""The judges by their names: each says whether a value of a kind is a credential."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule."""

    id: str
    probes: tuple[Probe, ...]
    """The probes where the row's pattern is tried."""
    pattern: linear.Pattern
    """A pattern for RE2, which finds a credential and the text around it."""
    values: tuple[int, ...]
    """The pattern's groups `value`, `value2`, …: those that matched are masked."""
    each: linear.Pattern | None
    """Finds the masked parts within the groups; None: they are masked whole."""
    name: int
    """The pattern's group `name`, which must name a credential; 0 when there is none."""
    kind: str
    """The value's kind when no name decides it."""
    judge: Judge
    lines: int
    """How many lines before and after the probe's line are read with it."""
    example: str
    """A text; the part in «» is masked."""
    counter: str
    """A text in which nothing is masked."""

    def spans(self, text: bytes, end: int, done: int) -> tuple[list[Span], int]:
        """Returns the secrets in the line around a probe's end, and how far the line was read; `done` is how far it
        already was."""
        if end <= done:
            return [], done
        first, stop = self._find_lines(text, end)
        start = max(first, done - _OVERLAP)
        before = max(0, start - 1)  # one byte more for patterns that match a line's beginning
        piece = text[before:stop]
        found = [_place(span, before, start) for span in self._judge(piece, start - before)]
        return found, stop

    def _find_lines(self, text: bytes, end: int) -> tuple[int, int]:
        """Returns where the lines around a probe's end begin and end."""
        lowest = max(0, end - _AROUND)
        highest = min(len(text), end + _AROUND)
        start, stop = end, max(0, end - 1)
        for _ in range(self.lines + 1):
            line_feed = text.rfind(b"\n", lowest, max(lowest, start - 1))
            start = max(lowest, line_feed + 1)
            line_feed = text.find(b"\n", stop, highest)
            stop = highest if line_feed < 0 else line_feed + 1
        return start, stop

    def _judge(self, piece: bytes, begin: int) -> Iterator[Span]:
        """Yields the secrets of a piece, from this place on."""
        for match in self.pattern.finditer(piece, begin):
            name = ""
            if self.name:
                name = match[self.name].decode("utf-8", "replace")
            for start, end in self._find_values(piece, match):
                value = piece[start:end]
                kind = self._find_kind(name, value)
                if kind and self.judge(value, kind):
                    yield Span(start, end, kind)

    def _find_kind(self, name: str, value: bytes) -> str:
        """Returns the kind that the name promises, or else the row's; empty for a value that is not secret."""
        kind = names.kind(name) or self.kind
        if kind:
            return kind
        if names.weak(name) and values.is_weak_secret(value, name):
            return "key"
        return ""

    def _find_values(self, piece: bytes, match: linear.Match) -> Iterator[tuple[int, int]]:
        """Yields the places of the values in a match."""
        for group in self.values:
            start, end = match.span(group)
            if start < 0:
                continue
            if self.each is None:
                yield start, end
            else:
                for each in self.each.finditer(piece, start, end):
                    yield each.span(1)


def _place(span: Span, before: int, start: int) -> Span:
    """Returns a piece's span as a span of the text; one at the start of a cut piece may begin before it."""
    at = span.start + before
    is_cut = 0 < start == at
    return Span(at, span.end + before, span.kind, begins_before=is_cut)


def build(pattern: str) -> linear.Pattern:
    """Returns the pattern, with the parts that it names inserted."""
    return linear.build(_insert_parts(pattern).encode())


def _insert_parts(pattern: str) -> str:
    """Returns the pattern with its parts (`(?&part)`) inserted; a part may name those below it."""
    for name, part in _PARTS.items():
        mark = f"(?&{name})"
        pattern = pattern.replace(mark, f"(?:{part})")
    return pattern


def _read_row(data: dict[str, Any]) -> Row:
    probe = data["probe"]
    probes = [probe] if isinstance(probe, str) else probe
    pattern = build(data["pattern"])
    groups = pattern.groupindex
    values = [number for group, number in groups.items() if group.startswith(b"value")]
    return Row(
        id=data["id"],
        probes=tuple(_read_probe(data, each) for each in probes),
        pattern=pattern,
        values=tuple(values),
        each=build(data["each"]) if "each" in data else None,
        name=groups.get(b"name", 0),
        kind=data.get("kind", ""),
        judge=_JUDGES[data.get("judge", "secret")],
        lines=data.get("lines", 0),
        example=data["example"],
        counter=data["counter"],
    )


def _read_probe(data: dict[str, Any], pattern: str) -> Probe:
    wide = data.get("wide", "")
    has_stem = (wide or pattern).startswith(_STEM)
    return Probe(
        id=data["id"],
        pattern=_insert_parts(pattern),
        once=data.get("once", False),
        wide=_insert_parts(wide),
        stem=_insert_parts(_STEM) if has_stem else "",
    )


def _read_probes(data: dict[str, Any]) -> Iterator[Probe]:
    """Yields the probes of a list of words, each of which looks for several."""
    words = _LISTS[data.get("of", "")]
    for at in range(0, len(words), _AT_ONCE):
        some = words[at : at + _AT_ONCE]
        choice = f"(?:{'|'.join(some)})"
        pattern = data["pattern"].replace("(?&of)", choice)
        yield _read_probe(data, pattern)


def _hide() -> Iterator[str]:
    """Yields the words that rules look for, as they appear in base64."""
    words = [
        *_in_cases(names.HIDDEN["any_case"]),
        *names.HIDDEN["exact"].split(),
        *("\0".join(word) for word in _in_cases(names.HIDDEN["wide"])),
    ]
    for word in dict.fromkeys(words):
        pieces = masking.alignments(word.encode())
        long = [piece.decode() for piece in pieces if len(piece) >= _MIN_PIECE]
        yield from (piece.replace("+", r"\+") for piece in long)


def _in_cases(words: str) -> Iterator[str]:
    """Yields each word in small letters, in capitals, and with a capital."""
    for word in words.split():
        yield word.lower()
        yield word.upper()
        yield word.title()


_STEM: Final = "(?&names)"
"""The beginning that more than twenty probes share; the scanner combines these."""
_AT_ONCE: Final = 12
"""How many words of a list one probe looks for."""
# Shorter pieces of base64 would appear everywhere by chance.
_MIN_PIECE: Final = 4
_LISTS: Final[dict[str, list[str]]] = {
    "": [""],
    "hidden": list(_hide()),
    "capitals": [word.upper() for word in (*names.VENDORS, *names.HIDDEN["capitals"].split())],
    "programs": [linear.escape(program.encode()).decode() for program, first in commands.FIRST.items() if not first],
    "calls": [
        rf"{program}(?:\\*[\"'])?,?[ \t]*\\*[\"']?(?:{'|'.join(first.split())})"
        for program, first in commands.FIRST.items()
        if first
    ],
}
"""Word lists of probes, by the names used in `patterns.toml`."""
_FILE: Final = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text("utf-8"))
_PARTS: Final[dict[str, str]] = _FILE["parts"]
ROWS: Final[dict[str, Row]] = {each["id"]: _read_row(each) for each in _FILE["patterns"]}
"""All rows, by their ids."""
PROBES: Final = (
    *(probe for each in _FILE["probes"] for probe in _read_probes(each)),
    *(probe for row in ROWS.values() for probe in row.probes),
)
"""All probes, except those for tokens (`shapes`)."""
