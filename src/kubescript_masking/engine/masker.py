"""Masks a text or a JSON document, and what is inside its strings: JSON in JSON, YAML, base64, gzip.

Of a document only the strings in which the scanner found something are decoded, judged and written anew; all other
bytes stay as they were sent, so that neither numbers nor the order of fields change.
"""

from __future__ import annotations

import copy
import functools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson

from kubescript_masking.engine import blocks, budget, columns, groups, pairs, scanner, secret_objects
from kubescript_masking.engine.scanner import Hit
from kubescript_masking.rules import commands, drawn, keys, names, patterns, shapes, values
from kubescript_masking.text import encodings, json_strings, linear, spans, unseen
from kubescript_masking.text.json_strings import String
from kubescript_masking.text.spans import Span
from kubescript_masking.wire.masking import OPENING

__all__ = ["Found", "Locate", "Masker"]

Found = Callable[[str], None]
"""Told the kind of each value that is masked."""
Locate = Callable[[bytes], Iterable[String]]
"""Finds strings of a document."""
Reader = Callable[[bytes, int], Iterable[Span]]
"""What judges a probe's hit, by the text and the place where it ends."""

_MAX_DEPTH: Final = 8
"""Texts within texts; what is wrapped deeper is masked as a whole."""
_KEEP_FORM: Final = 512
"""Bytes of decoded text from which on base64 is written anew with masks inside, and not replaced as a whole."""
_PLACEHOLDER: Final = OPENING.decode()
_READERS: Final = {**pairs.READERS, "insert": columns.insert, "drawn": drawn.token}
"""Readers that judge a value by what stands in front of it, within a bounded neighbourhood: a pod's log may be ten
megabytes in one line, written to be slow."""
_REGIONS: Final = {"below": blocks.in_text, "group": groups.group}
"""Readers of what stands in brackets behind a name, or on the lines around it."""
_FAR_READERS: Final[dict[str, Reader]] = {
    "command": commands.command,
    "columns": columns.columns,
    "jwt": keys.jwt,
}
"""Readers of what goes on behind a hit."""
_SHORT: Final = 200
"""Bytes of a text whose cleanness is remembered: names of volumes and Secrets come again and again."""
_REMEMBERED: Final = 4_096


class Masker:
    """The rules of one server at work."""

    def __init__(
        self,
        rules: Sequence[shapes.Rule],
        allowed: Sequence[linear.Pattern] = (),
        allowed_names: frozenset[str] = frozenset(),
        disabled: frozenset[str] = frozenset(),
        directory: Path | None = None,
    ) -> None:
        own = [probe for probe in patterns.PROBES if probe.id not in disabled]
        self._own = len(own)
        self._rules = tuple(rule for rule in rules if rule.id not in disabled)
        self.scanner = scanner.Scanner([*own, *(rule.probe for rule in self._rules)], directory)
        self._ids = [probe.id for probe in self.scanner.probes]
        self._allowed = tuple(allowed)
        self._allowed_names = allowed_names
        self._clean: set[bytes] = set()
        self._mask: spans.Masks
        self.budget = budget.Budget()
        self._named = pairs.in_front(allowed_names)

    def anew(self, mask: spans.Masks) -> Masker:
        """The same rules for one more body, which has a budget of its own, with these masks."""
        other = copy.copy(self)
        other._mask = mask
        other.budget = budget.Budget()
        return other

    def text(self, content: bytes, found: Found, depth: int = 0, hits: list[Hit] | None = None) -> bytes:
        """Any text; the very same object when there is nothing to mask. What cannot be seen goes with what is masked.
        `hits`: what a scan has found in it."""
        bare = unseen.view(content)
        masked = self._text(bare, found, depth, hits if bare is content else None)
        # Full-width signs stay where they hide nothing.
        narrow = unseen.narrow(masked)
        if narrow is not masked and (again := self._text(narrow, found, depth, None)) is not narrow:
            return again
        return content if masked is bare else masked

    def _text(self, content: bytes, found: Found, depth: int, hits: list[Hit] | None) -> bytes:
        if content[:1] in b'{["' and content and _is_json(content):
            return self.document(content, found, depth)
        hits = self.candidates(content) if hits is None else hits
        if hits == []:
            return content
        if depth > _MAX_DEPTH:
            return self.replace_value("nested", content, found)
        if hits is None or len(hits) > self.budget.left:
            judge = functools.partial(self._scan_and_judge, found=found, depth=depth)
            return b"".join(
                self.dense(content, judge, functools.partial(self.replace_value, "suspicious", found=found))
            )
        self.budget.spend(len(hits))
        return self._judge(content, hits, found, depth)

    def candidates(self, content: bytes) -> list[Hit] | None:
        """What a scan finds; None when it is more than may be judged."""
        is_short = len(content) <= _SHORT
        if is_short and content in self._clean:
            return []
        hits = self.scanner.scan(content, self.budget.left)
        if is_short and not hits and len(self._clean) < _REMEMBERED:
            self._clean.add(content)
        return hits if len(hits) <= self.budget.left else None

    def dense(
        self, content: bytes, judge: Callable[[bytes], bytes], whole: Callable[[bytes], bytes]
    ) -> Iterator[bytes]:
        """A text that has too many candidates. The blocks that are full of them are masked as a whole, and so are the
        block behind each and the rest of a key that begins there; blocks between them are judged together. A value that
        begins in one and ends in the next is cut by neither."""
        sparse: list[bytes] = []
        was_full = in_key = False
        for block in budget.blocks(content):
            most = budget.affordable(block)
            is_full = len(self.scanner.scan(unseen.narrow(unseen.view(block)), most)) > most
            if is_full or was_full or in_key:
                yield judge(b"".join(sparse))
                yield whole(block)
                self.budget.withdraw(len(block))
                sparse = []
                in_key = keys.is_open(block, is_open=in_key)
            else:
                sparse.append(block)
            was_full = is_full
        yield judge(b"".join(sparse))

    def _scan_and_judge(self, content: bytes, found: Found, depth: int) -> bytes:
        return self._judge(content, self.scanner.scan(content), found, depth)

    def _judge(self, content: bytes, hits: list[Hit], found: Found, depth: int) -> bytes:
        if not hits or spans.is_masked(content):
            return content
        marked = list(self._spans(content, hits, found, depth))
        marked += list(self._within_lines(content, marked, found, depth))
        if not marked:
            return content
        clear = spans.merge(spans.clear_of_masks(content, marked))
        return self._without(content, spans.whole(content, clear), found)

    def _within_lines(self, content: bytes, marked: list[Span], found: Found, depth: int) -> Iterator[Span]:
        r"""What is secret in a file that a text holds in one line, with `\n` between its own, and was not `marked`."""
        lines = encodings.lines(content)
        if lines is content:
            return
        found_here = self._spans(lines, self.scanner.scan(lines), found, depth)
        yield from spans.apart((span for span in found_here if span.replacement is None), marked)

    def _without(self, content: bytes, marked: Iterable[Span], found: Found) -> bytes:
        """The text without these values, but for those that the operator allows; the same object when none goes."""
        kept = [span for span in marked if not self._is_allowed(content[span.start : span.end])]
        return (
            spans.apply(content, kept, lambda kind, value: self.replace_value(kind, value, found)) if kept else content
        )

    def document(self, data: bytes, found: Found, depth: int = 0, also: Sequence[Locate] = ()) -> bytes:
        """JSON, or a run of whole members of it. `also` tells strings to look at beside those that a scan finds."""
        original, hits = data, self.scanner.scan(data)
        if not hits and not also:
            return data
        if any(self._ids[probe] == "escape" for probe, _ in hits):
            data = json_strings.plain(data)
            hits = self.scanner.scan(data)
        parts, done = [], 0
        ends = [end for _, end in hits]
        for string in self._strings(data, [(self._ids[probe], end) for probe, end in hits], also):
            if string.start < done:
                continue
            raw = data[string.start : string.end]
            inside = hits[bisect_right(ends, string.start) : bisect_right(ends, string.end + json_strings.BEHIND_RUN)]
            within = [(probe, min(end, string.end) - string.start) for probe, end in inside]
            self.budget.spend(1)
            is_paid = self.budget.left > 0 or spans.is_masked(raw)
            new = (
                self._string(raw, string, within, found, depth)
                if is_paid
                else self.replace_value("suspicious", raw, found)
            )
            if new is not raw:
                parts += [data[done : string.start], new]
                done = string.end
        return b"".join([*parts, data[done:]]) if parts else original

    def replace_value(self, kind: str, value: bytes, found: Found) -> bytes:
        """The placeholder of a value, reported."""
        found(kind)
        return self._mask(kind, value)

    # Documents

    @staticmethod
    def _strings(data: bytes, hits: list[tuple[str, int]], also: Sequence[Locate]) -> list[String]:
        """The strings to look at, in order; what a Secret holds before what a name says, and that before a mere hit."""
        chosen: dict[int, String] = {}
        lists: set[int] = set()
        regions = groups.Regions()
        read = 0
        chosen.update((string.start, string) for string in json_strings.locate(data, hits))
        for probe, end in hits:
            if probe == "jwk":
                keys_here, read = patterns.ROWS[probe].spans(data, end, read)
                chosen.update((key.start, String(key.start, key.end, "privateKey")) for key in keys_here)
            elif probe == "command":
                chosen.update((part.start, part) for part in commands.find_listed(data, end, lists))
            elif probe == "group":
                chosen.update((part[0], String(*part)) for part in groups.members(data, end, regions))
        for strings in (secret_objects.find_owned(data, hits), *(locate(data) for locate in also)):
            chosen.update((string.start, string) for string in strings)
        return [chosen[start] for start in sorted(chosen)]

    def _string(self, raw: bytes, string: String, hits: list[Hit], found: Found, depth: int) -> bytes:
        """One string of a document, masked; the same object when nothing is. `hits`: what was found in its bytes."""
        if string.role in secret_objects.ROLES:
            return raw if spans.is_masked(raw) else self._mask_owned(raw, string.role, found)
        if string.role == json_strings.NUMBER:
            return self._number(raw, string.name, found)
        content = json_strings.unescape(raw)
        if content is None:
            return self.replace_value("unreadable", raw, found)
        if string.role == json_strings.SAID:
            return self._mask_said(raw, string.name.encode() + b": ", content, found, depth)
        kind, new = self._kind(string, content), content
        is_file = b"\n" in content.strip()
        if not kind or is_file:  # of a file, what it holds tells what is secret in it
            new = self.text(content, found, depth + 1, hits if content is raw else None)
        if kind and is_file and (new is not content or spans.PLACEHOLDER.search(content)):
            new = self._rest(new, kind, found)
            if b"\n" not in new.strip():  # what is left of the file is a line, which is masked as one
                new = self.replace_value(kind, content, found)
        elif kind:
            bare = content.rstrip(b"\r\n")
            new = self.replace_value(kind, bare, found) + content[len(bare) :]
        return raw if new is content else json_strings.escape(new)

    def _number(self, raw: bytes, name: str, found: Found) -> bytes:
        """A number of a password's name: its mask is a string."""
        kind = self._kind(String(0, 0, name), raw)
        return b'"' + self.replace_value(kind, raw, found) + b'"' if kind in {"password", "pin"} else raw

    def _mask_said(self, raw: bytes, lead: bytes, content: bytes, found: Found, depth: int) -> bytes:
        """What is said about a field, as if its name stood in front of it."""
        whole = lead + content
        new = self.text(whole, found, depth + 1)
        return raw if new is whole else json_strings.escape(new.removeprefix(lead))

    def _rest(self, content: bytes, kind: str, found: Found) -> bytes:
        """A file of a credential's name, a part of which is masked: what stands alone on another line is as secret."""
        return self._without(content, spans.clear_of_masks(content, pairs.lone(content, kind)), found)

    def _mask_owned(self, raw: bytes, role: str, found: Found) -> bytes:
        """The value of a Secret's key: its size stays, and a value in base64 has the mask it has elsewhere in plain."""
        content = json_strings.unescape(raw) or raw
        value = encodings.unbase64(content) if role == "data" else None
        found(secret_objects.KIND)
        return self._mask(secret_objects.KIND, content if value is None else value, sized=True)

    def _kind(self, string: String, content: bytes) -> str:
        """What the value of this name is; empty when it is no secret."""
        name = string.name
        if not name or _PLACEHOLDER in name:
            return ""
        if {name, name.lstrip("-")} & self._allowed_names or self._is_allowed(content):
            return ""
        kind = values.kind(name, content)
        if not kind and string.role == "env-" and names.is_open_to_chance(name) and drawn.is_token(content):
            kind = "key"
        return string.role + kind if kind else ""

    # Texts

    def _spans(self, content: bytes, hits: list[Hit], found: Found, depth: int) -> Iterator[Span]:
        within: Mapping[str, Reader] = {}
        done: dict[str, int] = {}
        regions = groups.Regions()
        for probe, end in hits:
            name = self._ids[probe]
            if end <= (read := done.get(name, 0)):
                continue
            if probe >= self._own:
                found_here, done[name] = self._rules[probe - self._own].spans(content, end, read)
                yield from found_here
            elif name in patterns.ROWS:
                found_here, done[name] = patterns.ROWS[name].spans(content, end, read)
                yield from pairs.keep(found_here, content, self._named)
            elif name in _READERS:
                yield from pairs.keep(_READERS[name](content, end), content, self._named)
            elif name in _REGIONS:
                yield from pairs.keep(_REGIONS[name](content, end, regions), content, self._named)
            else:
                reader: Reader | None = _FAR_READERS.get(name)
                if reader is None:
                    within = within or self._readers_within(content, found, depth)
                    reader = within.get(name, _nothing)
                for span in reader(content, end):  # one without a kind says how far was read
                    done[name] = span.end
                    if span.kind:
                        yield span
        yield from secret_objects.yaml_values(content, [end for probe, end in hits if self._ids[probe] == "manifest"])

    def _readers_within(self, content: bytes, found: Found, depth: int) -> Mapping[str, Reader]:
        """The readers that look into what one text holds, or remember what they have read of it."""
        runs = encodings.Runs(content)
        return {
            "base64": lambda _, end: [self._inside(runs.at(end), found, depth)],
            "percent": lambda text, end: [self._inside(encodings.percent(text, end), found, depth)],
            "pem": functools.partial(keys.pem, endings=keys.Endings(content)),
        }

    def _inside(self, run: encodings.Run | None, found: Found, depth: int) -> Span:
        """The run with what is secret in its text masked; one that is short is masked as a whole."""
        if run is None:
            return Span(0, 0, "")
        if run.text is None:
            return Span(run.start, run.end, "oversized")
        kinds: list[str] = []
        new = self.text(run.text, kinds.append, depth + 1)
        if not kinds:
            return Span(run.start, run.end, "")
        if not run.form and len(run.text) <= _KEEP_FORM:
            return Span(run.start, run.end, kinds[0])
        for kind in kinds:
            found(kind)
        return Span(run.start, run.end, kinds[0], encodings.encode(new, run.form))

    def _is_allowed(self, value: bytes) -> bool:
        return any(pattern.search(value) for pattern in self._allowed)


def _is_json(content: bytes) -> bool:
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        return False
    return True


def _nothing(_text: bytes, _end: int) -> Iterable[Span]:
    return ()
