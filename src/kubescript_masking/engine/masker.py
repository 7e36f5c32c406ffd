"""Masks a text and the formats nested in it: JSON, YAML, base64, gzip."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import orjson

from kubescript_masking.engine import budget, documents, readers, scanner
from kubescript_masking.engine.allowances import Allowances
from kubescript_masking.engine.scanner import Hit
from kubescript_masking.rules import keys, patterns, shapes
from kubescript_masking.text import encodings, json_strings, placeholders, spans, unseen
from kubescript_masking.text.spans import Span

__all__ = ["Found", "Masker"]

Found = Callable[[str], None]
"""Called with the kind of each masked value."""

_MAX_DEPTH: Final = 8
"""How many levels of texts within texts are read; a deeper text is masked as a whole."""
_KEEP_FORM: Final = 512
"""Base64 with more decoded bytes than this is rewritten with masks inside, not masked as a whole."""
# Names of volumes and Secrets occur again and again.
_SHORT: Final = 200
"""Clean texts of up to this many bytes are remembered."""
_REMEMBERED: Final = 4_096


class Masker:
    """Applies the rules of one server."""

    def __init__(
        self,
        shaped: Sequence[shapes.Rule],
        allowances: Allowances | None = None,
        disabled: frozenset[str] = frozenset(),
        directory: Path | None = None,
    ) -> None:
        probes = [*patterns.PROBES, *(rule.probe for rule in shaped)]
        self.scanner = scanner.Scanner([probe for probe in probes if probe.id not in disabled], directory)
        self.allowances = allowances or Allowances()
        self.readers = readers.Readers(self.scanner.ids, shaped, self.allowances)
        self._clean: set[bytes] = set()
        self.budget = budget.Budget()
        self.found: Found
        self._mask: placeholders.Masks

    def anew(self, mask: placeholders.Masks, found: Found) -> Masker:
        """Returns the same rules for one more body, with these masks and a new budget."""
        other = copy.copy(self)
        other._mask = mask
        other.found = found
        other.budget = budget.Budget()
        return other

    def text(self, content: bytes, depth: int = 0, hits: list[Hit] | None = None) -> bytes:
        """Returns any text, masked; the same object when there is nothing to mask. If something is masked, invisible
        characters are removed as well.

        `hits` are what a scan has found in the text.
        """
        bare = unseen.view(content)
        masked = self._text(bare, depth, hits if bare is content else None)
        # Full-width signs stay where they hide nothing.
        narrow = unseen.narrow(masked)
        if narrow is not masked:
            again = self._text(narrow, depth, None)
            if again is not narrow:
                return again
        return content if masked is bare else masked

    def _text(self, content: bytes, depth: int, hits: list[Hit] | None) -> bytes:
        if _is_json(content):
            return self.document(content, depth)
        if hits is None:
            hits = self.candidates(content)
        if hits == []:
            return content
        if depth > _MAX_DEPTH:
            return self.replace_value("nested", content)
        if hits is None or len(hits) > self.budget.left:
            return self._mask_dense(content, depth)
        self.budget.spend(len(hits))
        return self._judge(content, hits, depth)

    def _mask_dense(self, content: bytes, depth: int) -> bytes:
        """Returns a text with too many candidates, masked."""

        def judge(block: bytes) -> bytes:
            hits = self.scanner.scan(block)
            return self._judge(block, hits, depth)

        def mask_whole(block: bytes) -> bytes:
            return self.replace_value("suspicious", block)

        masked = self.dense(content, judge, mask_whole)
        return b"".join(masked)

    def document(self, data: bytes, depth: int = 0, also: Sequence[documents.Locate] = ()) -> bytes:
        """Returns JSON, or a run of whole members of it, masked. `also` finds more strings to judge than those of the
        scan."""
        document = documents.Document(data, self, depth)
        return document.mask(also)

    def candidates(self, content: bytes) -> list[Hit] | None:
        """Returns the hits of a scan; None when there are more than may be judged."""
        is_short = len(content) <= _SHORT
        if is_short and content in self._clean:
            return []
        most = self.budget.left
        hits = self.scanner.scan(content, most)
        if is_short and not hits and len(self._clean) < _REMEMBERED:
            self._clean.add(content)
        return hits if len(hits) <= most else None

    def dense(
        self, content: bytes, judge: Callable[[bytes], bytes], whole: Callable[[bytes], bytes]
    ) -> Iterator[bytes]:
        """Masks a text with too many candidates. Blocks that are full of them are masked as a whole, and so are the
        block after each and the rest of a key that begins there; the blocks in between are judged together, so that a
        value that spans two of them is not cut."""
        sparse: list[bytes] = []
        was_full = in_key = False
        for block in budget.blocks(content):
            most = budget.affordable(block)
            seen = unseen.narrow(unseen.view(block))
            is_full = len(self.scanner.scan(seen, most)) > most
            # Attack: an attacker begins a key in a dense block and continues it in sparse ones.
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

    def replace_value(self, kind: str, value: bytes, *, sized: bool = False) -> bytes:
        """Reports a masked value and returns its placeholder."""
        self.found(kind)
        return self._mask(kind, value, sized=sized)

    def remove(self, content: bytes, marked: Iterable[Span]) -> bytes:
        """Returns the text with these values masked, except those that the operator allows; returns the same object
        when none is masked."""
        kept = []
        for span in marked:
            value = content[span.start : span.end]
            if not self.allowances.has_value(value):
                kept.append(span)
        if not kept:
            return content
        return spans.apply(content, kept, self.replace_value)

    def _judge(self, content: bytes, hits: list[Hit], depth: int) -> bytes:
        if not hits or placeholders.is_masked(content):
            return content
        marked = list(self._find(content, hits, depth))
        marked += list(self._find_within_lines(content, marked, depth))
        if not marked:
            return content
        clear = spans.merge(spans.clear_of_masks(content, marked))
        whole = spans.whole(content, clear)
        return self.remove(content, whole)

    def _find(self, content: bytes, hits: list[Hit], depth: int) -> Iterator[Span]:
        """Yields the secrets that the readers find from these hits."""

        def unfold(run: encodings.Run | None) -> Span:
            return self._unfold(run, depth)

        return self.readers.find(content, hits, unfold)

    def _find_within_lines(self, content: bytes, marked: list[Span], depth: int) -> Iterator[Span]:
        r"""Yields the secrets of a file that a text contains in one line, with `\n` for its line breaks, if not
        `marked` already."""
        lines = encodings.lines(content)
        if lines is content:
            return
        hits = self.scanner.scan(lines)
        found = self._find(lines, hits, depth)
        plain = (span for span in found if span.replacement is None)
        yield from spans.apart(plain, marked)

    def _unfold(self, run: encodings.Run | None, depth: int) -> Span:
        """Returns the run with the secrets in its text masked; a short run is masked as a whole."""
        if run is None:
            return Span(0, 0, "")
        if run.text is None:
            return Span(run.start, run.end, "oversized")
        kinds: list[str] = []
        inside = copy.copy(self)
        inside.found = kinds.append
        new = inside.text(run.text, depth + 1)
        if not kinds:
            return Span(run.start, run.end, "")
        first_kind = kinds[0]
        is_short = len(run.text) <= _KEEP_FORM
        if is_short and not run.form:
            return Span(run.start, run.end, first_kind)
        for kind in kinds:
            self.found(kind)
        return Span(run.start, run.end, first_kind, encodings.encode(new, run.form))


def _is_json(content: bytes) -> bool:
    if not content.startswith(json_strings.OPENINGS):
        return False
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        return False
    return True
