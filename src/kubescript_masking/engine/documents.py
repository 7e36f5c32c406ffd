"""Masks a JSON document. Only strings in which the scanner found something are decoded, judged and rewritten; all other
bytes stay as they were sent, so that neither numbers nor the order of fields change.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kubescript_masking.engine import groups, namings, pairs, secret_objects
from kubescript_masking.engine.allowances import Allowances
from kubescript_masking.engine.budget import Budget
from kubescript_masking.engine.scanner import Hit, Scanner
from kubescript_masking.rules import commands, drawn, names, patterns, values
from kubescript_masking.text import encodings, json_strings, placeholders, spans
from kubescript_masking.text.json_strings import String
from kubescript_masking.wire.masking import OPENING

__all__ = ["Document", "Locate"]

Locate = Callable[[bytes], Iterable[String]]
"""Finds strings of a document."""
_PLACEHOLDER: Final = OPENING.decode()
_PAIR: Final = 4
"""The fewest bytes of a name, a sign and a value's first byte: a pair that ends earlier begins in front of the
string."""
_APART: Final = b'\n"'
"""What stands between texts that are scanned at once: a line ends and a string begins."""
_LINE_END: Final = 1
"""How many of these bytes a probe reads that looks for the end of a line."""
_AT_ONCE: Final = 262_144
"""How many bytes of strings are read at once."""


class Texts(Protocol):
    """Masks the texts in a document."""

    scanner: Scanner
    allowances: Allowances
    budget: Budget

    def text(self, content: bytes, depth: int = 0, hits: list[Hit] | None = None) -> bytes:
        """Returns any text, masked; returns the same object when there is nothing to mask."""

    def replace_value(self, kind: str, value: bytes, *, sized: bool = False) -> bytes:
        """Reports a masked value and returns its placeholder."""

    def remove(self, content: bytes, marked: Iterable[spans.Span]) -> bytes:
        """Returns the text with these values masked; the same object when none is."""


@dataclass(slots=True)
class _Part:
    """One string of a document."""

    string: String
    raw: bytes
    content: bytes | None
    """What the string stands for; None when it is not valid."""
    hits: list[Hit] | None = None
    """The scanner's hits in the content; None: it was not scanned alone."""


class Document:
    """One document, or a run of whole members of one."""

    def __init__(self, data: bytes, texts: Texts, depth: int) -> None:
        self._data = data
        self._texts = texts
        self._depth = depth

    def mask(self, also: Sequence[Locate] = ()) -> bytes:
        """Returns the masked document. `also` finds more strings to judge than those that a scan finds."""
        data = self._data
        scanner = self._texts.scanner
        hits = scanner.scan(data)
        if not hits and not also:
            return data
        has_escape = any(scanner.ids[probe] == "escape" for probe, _ in hits)
        if has_escape:
            data = json_strings.plain(data)
            hits = scanner.scan(data)
        named = [(scanner.ids[probe], end) for probe, end in hits]
        strings = _find_strings(data, named, also)
        return self._mask_parts(data, self._read(data, strings, hits))

    def _mask_parts(self, data: bytes, strings: Iterable[_Part]) -> bytes:
        """Returns the document with these strings masked; as it was sent when none is."""
        parts, done = [], 0
        for part in strings:
            string = part.string
            if string.start < done:
                continue
            new = self._mask_paid(part)
            if new is not part.raw:
                parts += [data[done : string.start], new]
                done = string.end
        if not parts:
            return self._data
        return b"".join([*parts, data[done:]])

    def _read(self, data: bytes, strings: list[String], hits: list[Hit]) -> Iterator[_Part]:
        """Yields these strings, each with the scanner's hits in its content; `hits` are those in the document."""
        ends = [end for _, end in hits]
        for batch in _batch(strings):
            parts = [_unescape(data, string) for string in batch]
            escaped = [part for part in parts if part.content is not part.raw]
            self._scan_escaped(escaped)
            for part in parts:
                string, raw = part.string, part.raw
                if part.content is raw:
                    inside = _cut_hits(hits, ends, string.start, string.end, json_strings.BEHIND_RUN)
                    part.hits = [hit for hit in inside if not self._is_of_name(raw, hit)]
                yield part

    def _scan_escaped(self, parts: list[_Part]) -> None:
        """Scans the contents of strings with escapes, in which the hits stand elsewhere than in the document."""
        # One scan for all: those of single strings were a quarter of what a list of events cost.
        texts = [(part, part.content) for part in parts if part.content is not None]
        texts = [(part, text) for part, text in texts if not text.startswith(json_strings.OPENINGS)]
        joined = _APART.join([text for _, text in texts])
        most = self._texts.budget.left
        hits = self._texts.scanner.scan(joined, most) if texts else []
        if len(hits) > most:
            return
        ends = [end for _, end in hits]
        start = 0
        for part, text in texts:
            end = start + len(text)
            part.hits = _cut_hits(hits, ends, start, end, _LINE_END)
            start = end + len(_APART)

    def _is_of_name(self, raw: bytes, hit: Hit) -> bool:
        """Says whether a hit that ends within a string is only that of its name in front of it."""
        number, end = hit
        probe = self._texts.scanner.ids[number]
        if probe == "pair":
            return end < _PAIR
        return probe == "variable" and not any(quote in raw[:end] for quote in namings.QUOTES)

    def _mask_paid(self, part: _Part) -> bytes:
        """Returns one string, masked."""
        # Attack: an attacker fills annotations with candidates. Once they have used up the budget, each string is
        # masked as a whole.
        budget = self._texts.budget
        budget.spend(1)
        if budget.left > 0 or placeholders.is_masked(part.raw):
            return self._mask(part)
        return self._texts.replace_value("suspicious", part.raw)

    def _mask(self, part: _Part) -> bytes:
        """Returns one string, masked; returns the same object when nothing in it is."""
        string, raw, content = part.string, part.raw, part.content
        if string.role in secret_objects.ROLES:
            return self._mask_owned(raw, string.role)
        if string.role == json_strings.NUMBER:
            return self._mask_number(raw, string.name)
        if content is None:
            return self._texts.replace_value("unreadable", raw)
        if string.role == json_strings.SAID:
            lead = string.name.encode() + b": "
            return self._mask_said(raw, lead, content)
        kind = self._kind(string, content)
        new = self._mask_content(content, kind, part.hits)
        return raw if new is content else json_strings.escape(new)

    def _mask_content(self, content: bytes, kind: str, hits: list[Hit] | None) -> bytes:
        """Returns a string's content, masked where the rules find secrets, and as a whole when it has a secret kind."""
        new = content
        is_file = b"\n" in content.strip()
        if is_file or not kind:  # a file's own content shows which parts are secret
            new = self._texts.text(content, self._depth + 1, hits)
        if not kind:
            return new
        if is_file and (new is not content or placeholders.PLACEHOLDER.search(content) is not None):
            return self._mask_rest(new, kind, content)
        bare = content.rstrip(b"\r\n")
        line_end = content[len(bare) :]
        return self._texts.replace_value(kind, bare) + line_end

    def _mask_rest(self, masked: bytes, kind: str, content: bytes) -> bytes:
        """Masks the rest of a partly masked file with a credential's name: a value alone on a line is just as
        secret."""
        # Attack: an attacker puts a forged mask into a credential file, which once exempted the rest of the file; so
        # did one part that was really masked.
        lone = spans.clear_of_masks(masked, pairs.find_lone(masked, kind))
        rest = self._texts.remove(masked, lone)
        is_line = b"\n" not in rest.strip()
        if is_line:  # a single line is masked as a whole
            return self._texts.replace_value(kind, content)
        return rest

    def _mask_number(self, raw: bytes, name: str) -> bytes:
        """Masks a number under a password's name; its mask is a string."""
        string = String(0, 0, name)
        kind = self._kind(string, raw)
        # Numbers under other names, such as counts of tokens, sizes and times, stay.
        if kind not in {"password", "pin"}:
            return raw
        return b'"' + self._texts.replace_value(kind, raw) + b'"'

    def _mask_said(self, raw: bytes, lead: bytes, content: bytes) -> bytes:
        """Masks a message about a field, judged as if the field's name stood in front of it."""
        # An API server quotes a wrong value beside the field's name: `Invalid value: "…"`.
        whole = lead + content
        new = self._texts.text(whole, self._depth + 1)
        if new is whole:
            return raw
        return json_strings.escape(new.removeprefix(lead))

    def _mask_owned(self, raw: bytes, role: str) -> bytes:
        """Masks the value of a Secret's key; its size stays."""
        if placeholders.is_masked(raw):
            return raw
        content = json_strings.unescape(raw) or raw
        if role == "data":
            # A base64 value has the mask of its plain text, so that a script can compare it with the mask of a
            # variable.
            decoded = encodings.unbase64(content)
            content = content if decoded is None else decoded
        return self._texts.replace_value(secret_objects.KIND, content, sized=True)

    def _kind(self, string: String, content: bytes) -> str:
        """Returns the kind of a named string's content; empty when it is not secret."""
        name = string.name
        if not name or _PLACEHOLDER in name:
            return ""
        allowances = self._texts.allowances
        if allowances.has_name(name) or allowances.has_value(content):
            return ""
        kind = values.kind(name, content)
        if kind:
            return string.role + kind
        # A container's variable may hold a token under any name.
        is_variable = string.role == "env-" and names.is_open_to_chance(name)
        if is_variable and drawn.is_token(content):
            return "env-key"
        return ""


def _batch(strings: list[String]) -> Iterator[list[String]]:
    """Yields the strings in runs of about `_AT_ONCE` bytes, so that not all of a document is held twice."""
    batch, size = [], 0
    for string in strings:
        batch.append(string)
        size += string.end - string.start
        if size > _AT_ONCE:
            yield batch
            batch, size = [], 0
    yield batch


def _unescape(data: bytes, string: String) -> _Part:
    raw = data[string.start : string.end]
    return _Part(string, raw, json_strings.unescape(raw))


def _cut_hits(hits: list[Hit], ends: list[int], start: int, end: int, behind: int) -> list[Hit]:
    """Returns the hits that end in this piece or a few bytes `behind` it, as hits in the piece alone. `ends` are where
    all of them end."""
    first = bisect_right(ends, start)
    last = bisect_right(ends, end + behind)
    inside = hits[first:last]
    return [(probe, min(place, end) - start) for probe, place in inside]


def _find_strings(data: bytes, hits: list[tuple[str, int]], also: Sequence[Locate]) -> list[String]:
    """Returns the strings to judge, in order. For one place, a Secret's value takes precedence over a name, and a name
    over a mere hit."""
    found = itertools.chain(
        json_strings.locate(data, hits),
        _find_in_regions(data, hits),
        secret_objects.find_owned(data, hits),
        *(locate(data) for locate in also),
    )
    chosen = {string.start: string for string in found}
    return [chosen[start] for start in sorted(chosen)]


def _find_in_regions(data: bytes, hits: list[tuple[str, int]]) -> Iterator[String]:
    """Yields the secret strings of the lists and objects in which hits lie."""
    lists: set[int] = set()
    regions = groups.Regions()
    read = 0
    for probe, end in hits:
        if probe == "jwk":
            parts, read = patterns.ROWS[probe].spans(data, end, read)
            for part in parts:
                yield String(part.start, part.end, "privateKey")
        elif probe == "command":
            yield from commands.find_listed(data, end, lists)
        elif probe == "group":
            yield from groups.members(data, end, regions)
