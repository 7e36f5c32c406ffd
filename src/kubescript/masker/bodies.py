"""What a masker does with a body or a text: the rules of one server, applied in the way that suits the kind of body."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from kubescript.masker import chunks as body_chunks
from kubescript.masker import columns, linear, logs, masker, patterns, rules, scanner, spans
from kubescript.masker.scanner import RuleError
from kubescript.wire import masking

__all__ = ["Rules"]

_UNLIKE: Final = tuple(text * 64 for text in (b"a", b"Z", b"7", b"-", b"\xc3\xa9"))
"""Values that have nothing in common: what is found in all of them is found in any."""

_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_FOLLOWS: Final = {b"{": frozenset({b'"', b"}"}), b"[": frozenset({b"{", b"[", b'"', b"]"})}
"""What stands behind the first sign of a document."""
_WARMUP: Final = (
    (masking.Body(log=True), b"level=info password=hunter22\nok\n"),
    (masking.Body(), b'{"kind":"PodList","items":[{"metadata":{},"env":[{"name":"DB_PASSWORD","value":"hunter22"}]}]}'),
)
_WARMUP_RUNS: Final = 8
"""Number of runs after which CPython 3.11 and later have specialized the bytecode of a function."""


class Rules:
    """The rules of one server."""

    def __init__(self, settings: masking.Settings) -> None:
        """Raises RuleError for a setting of the operator's that is wrong."""
        shipped, own = rules.shipped(), [rules.Rule(rule) for rule in settings.rules]
        _check_ids(settings, own, shipped)
        self._masker = masker.Masker(
            [*shipped, *own],
            spans.Masks(settings.key),
            [_allowed(regex) for regex in settings.allow],
            frozenset(settings.allow_names),
            frozenset(settings.disable),
            Path(settings.directory) if settings.directory else None,
        )
        # What may hold a script's own words has masks of its own: a guess must not get the mask of the real value.
        self._echo = self._masker.speaking(spans.Masks(settings.key + b" echo"))

        self._own = own

    def check(self) -> None:
        """Compile the operator's rules alone, which takes milliseconds. Raises RuleError."""
        if self._own:
            scanner.Scanner([rule.probe for rule in self._own]).compiled()

    def warm(self) -> None:
        """Compile the scanner, and mask a little of everything: a child then copies fewer pages. Raises RuleError."""
        for _ in range(_WARMUP_RUNS):
            self.text(b"password=hunter22 and postgres://app:Tr0ub4dor@db/app", lambda _: None)
            for about, body in _WARMUP:
                for _ in self.body(about, iter((body,)), lambda _: None):
                    pass

    def scan(self, content: bytes) -> int:
        """How many candidates are in it."""
        return len(self._masker.scanner.scan(content))

    def text(self, content: bytes, found: masker.Found) -> bytes:
        """Any text that leaves the server, masked; the same object when there is nothing to mask."""
        rules = self._echo.anew()
        rules.budget.credit(len(content))
        return rules.text(content, found)

    def body(self, about: masking.Body, chunks: Iterator[bytes], found: masker.Found) -> Iterator[bytes]:
        """A body, masked, in pieces that are as early as they can be. Raises TooLargeError."""
        rules = (self._echo if about.echo else self._masker).anew()
        chunks, is_json = _sniffed(chunks)
        judge: Callable[[bytes], bytes] = functools.partial(rules.document, found=found, secrets=about.secrets)
        if about.log or not is_json:
            # How dense a log is must not hang on how it arrived. Of a live one no line may wait for the next.
            blocks = body_chunks.lines(chunks) if about.live else body_chunks.logs(chunks)
            return _each(rules, blocks, logs.LogText(rules, found))
        if about.watch:
            judge = functools.partial(_events, judge)
        if about.table:
            judge = functools.partial(_rows, columns.Cells(lambda kind, value: rules.masked(kind, value, found)), judge)
        pieces = body_chunks.lines(chunks) if about.watch else body_chunks.documents(chunks)
        return _each(rules, pieces, judge)


def _events(judge: Callable[[bytes], bytes], block: bytes) -> bytes:
    return b"".join(judge(line) for line in block.splitlines(keepends=True))


def _rows(cells: columns.Cells, judge: Callable[[bytes], bytes], piece: bytes) -> bytes:
    return judge(cells(piece))


def _each(rules: masker.Masker, pieces: Iterable[bytes], judge: Callable[[bytes], bytes]) -> Iterator[bytes]:
    for piece in pieces:
        rules.budget.credit(len(piece))
        if masked := judge(piece):
            yield masked


def _sniffed(chunks: Iterator[bytes]) -> tuple[Iterator[bytes], bool]:
    """The same bytes, and whether they begin as an object or a list of objects, lists and strings does: a line of a
    log may begin with `[INFO]`."""
    head: list[bytes] = []
    begun = b""
    for chunk in chunks:
        head.append(chunk)
        begun = begun[:1] + (chunk.lstrip(_BLANK) if begun else chunk.lstrip(_BLANK + _BOM))
        second = begun[1:].lstrip(_BLANK)[:1]
        if begun and (second or begun[:1] not in _FOLLOWS):
            return _joined(head, chunks), second in _FOLLOWS.get(begun[:1], ())
    return iter(head), False


def _joined(head: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    yield from head
    yield from rest


def _allowed(regex: str) -> linear.Pattern:
    pattern = rules.pattern(regex, "setting `redaction.allow`")
    if pattern.search(b"") or all(pattern.search(text) for text in _UNLIKE):
        raise RuleError(
            f"setting `redaction.allow`: {regex!r} is found in every value, so nothing would be masked; write what "
            "only the values have that may be seen, such as `^fixture-`"
        )
    return pattern


def _check_ids(settings: masking.Settings, own: Iterable[rules.Rule], shipped: Iterable[rules.Rule]) -> None:
    known = {probe.id for probe in patterns.PROBES} | {rule.id for rule in shipped}
    for name in settings.disable:
        if name not in known:
            close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise RuleError(f"setting `redaction.disable`: there is no rule `{name}`{hint}")
    for rule, compiled in zip(settings.rules, own, strict=True):
        if rule.id in known:
            raise RuleError(f"setting `redaction.rules`: `{rule.id}` is taken by a rule that is shipped")
        if sum(each.id == rule.id for each in settings.rules) > 1:
            raise RuleError(f"setting `redaction.rules`: two rules have the id `{rule.id}`")
        if (rule.probe or rule.example) and not compiled.finds(rule.example):
            raise RuleError(
                f"setting `redaction.rules`: `{rule.id}` finds nothing in its example, {rule.example!r}; write as "
                "`example` a text with a token, and as `probe` a pattern that ends within the token, or no probe"
            )
