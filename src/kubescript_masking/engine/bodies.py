"""How a masker treats a body or a text: it applies one server's rules in the way that suits the kind of body.

A body is judged in pieces (pieces.py), each as soon as it is complete.
"""

from __future__ import annotations

import difflib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from kubescript_masking.engine import (
    completeness,
    documents,
    logs,
    masker,
    pieces,
    program,
    scanner,
    secret_objects,
    tables,
)
from kubescript_masking.engine.allowances import Allowances
from kubescript_masking.rules import patterns, shapes
from kubescript_masking.rules.probes import RuleError
from kubescript_masking.text import json_strings, linear, placeholders
from kubescript_masking.wire import masking

__all__ = ["Rules"]

_UNLIKE: Final = tuple(text * 64 for text in (b"a", b"Z", b"7", b"-", b"\xc3\xa9"))
"""Values that have nothing in common: a pattern that matches all of them matches any value."""

_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_FOLLOWS: Final = {b"{": frozenset({b'"', b"}"}), b"[": frozenset({b"{", b"[", b'"', b"]"})}
"""What may follow the first character of a document."""


class Rules:
    """The rules of one server."""

    def __init__(self, settings: masking.Settings, second: program.Program | None = None) -> None:
        """`second` is the second program of this process. Raises RuleError for a setting that is wrong."""
        self._program = second
        if second is not None:
            second.configure(settings.program)
        shipped = shapes.load_shipped()
        own = [shapes.Rule(rule) for rule in settings.rules]
        for rule in own:
            _ = rule.regex  # a mistake in it must stop the start, not the first body
        _check_ids(settings, own, shipped)
        allowed = [_compile_allowed(regex) for regex in settings.allow]
        self._masker = masker.Masker(
            [*shipped, *own],
            Allowances(allowed, settings.allow_names),
            frozenset(settings.disable),
            Path(settings.directory) if settings.directory else None,
        )
        self._key = settings.key
        self._own = own

    def _masks(self, about: masking.Body) -> placeholders.Masks:
        """Returns the masks of a body."""
        # Attack: a script reads its own guess beside the real value. In such bodies (`echo`), equal values have
        # different masks, so that comparing them reveals nothing.
        if about.echo:
            return placeholders.Masks()
        owner = f" of {about.owner}" if about.owner else ""
        return placeholders.Masks(self._key + owner.encode())

    def check(self) -> None:
        """Compiles only the operator's rules, which takes milliseconds. Raises RuleError."""
        if not self._own:
            return
        probes = [rule.probe for rule in self._own]
        scanner.Scanner(probes).prepare()

    def scan(self, content: bytes) -> int:
        """Returns the number of candidates in a text."""
        return len(self._masker.scanner.scan(content))

    def text(self, content: bytes, found: masker.Found) -> bytes:
        """Returns any text that leaves the server, masked; the same object when there is nothing to mask."""
        # The text may hold the script's own words: masks that are drawn anew confirm no guess.
        masks = placeholders.Masks()
        rules = self._masker.anew(masks, found)
        rules.budget.credit(len(content))
        return rules.text(content)

    def body(
        self,
        about: masking.Body,
        chunks: Iterator[bytes],
        found: masker.Found,
        check: completeness.Check | None = None,
    ) -> Iterator[bytes]:
        """Yields a masked body in pieces, each as early as possible, or else the program's answer. `check` is what
        reads the chunks on their way. Raises TooLargeError, and WithheldError for a body that must not pass."""
        if self._program is not None and about.program != masking.NOTHING:
            answer = self._program.answer(about, chunks, self._quote(about, found))
            if answer is not None:
                yield answer
                return
            reduced = self._program.reduce(about, chunks)
            if reduced is not None:
                check = _check_again(about.form)
                chunks = reduced if check is None else check.watch(reduced)
        if about.form in completeness.OF_SOURCES:
            yield from self._answer(about, chunks, found, check)
            return
        if not about.masked:
            yield from chunks
            return
        rules = self._masker.anew(self._masks(about), found)
        chunks, is_json = _sniff(chunks)
        is_log = about.form == "log" or not is_json
        judge: Callable[[bytes], bytes] = logs.LogText(rules) if is_log else _judge_document(rules, about)
        ends = list if check is None else check.ends
        for piece in _cut(about, chunks, ends, is_log=is_log):
            rules.budget.credit(len(piece))
            masked = judge(piece)
            if masked:
                yield masked

    def _answer(
        self, about: masking.Body, chunks: Iterator[bytes], found: masker.Found, check: completeness.Check | None
    ) -> Iterator[bytes]:
        """Yields the masked answer of a source."""
        if check is None:
            check = completeness.Check(about.form)
            chunks = check.watch(chunks)
        if about.form == "count":
            deque(chunks, maxlen=0)
            return
        if not about.masked and about.form != "spans":
            yield from chunks
            return
        deque(chunks, maxlen=0)  # the check holds the answer until it is whole
        answer = check.answer
        if isinstance(answer, bytes):
            as_json = msgspec.structs.replace(about, form="json", program=masking.NOTHING)
            yield from self.body(as_json, iter((answer,)), found)
            return
        rules = self._masker.anew(self._masks(about), found)
        yield from answer.mask(rules)

    def _quote(self, about: masking.Body, found: masker.Found) -> program.Mask:
        """Returns what masks the documents that the second program's answer about a body quotes."""

        def mask(document: bytes, *, echo: bool) -> bytes:
            # The document is masked as a separate body with its own budget.
            alone = masking.Body(secrets=about.secrets, echo=echo, owner=about.owner)
            masked = self.body(alone, iter((document,)), found)
            return b"".join(masked)

        return mask


def _judge_document(rules: masker.Masker, about: masking.Body) -> Callable[[bytes], bytes]:
    """Returns what masks the pieces of one JSON document, or of a watch."""
    also: list[documents.Locate] = [tables.Tables(watch=about.form == "watch").strings]
    if about.secrets:
        also.insert(0, secret_objects.json_values)
    if about.named:
        # Attack: a matcher selects the values of the label `value` that stand beside one name, which is not told here.
        name = "password" if json_strings.is_holder(about.named.encode()) else about.named
        also.append(lambda piece: json_strings.elements(piece, name))
    return lambda piece: rules.document(piece, also=also)


def _cut(about: masking.Body, chunks: Iterator[bytes], ends: program.Ends, *, is_log: bool) -> Iterator[bytes]:
    """Returns the pieces in which a body is judged."""
    if not is_log:
        return pieces.events(chunks) if about.form == "watch" else pieces.documents(chunks, ends)
    # Whether a log counts as dense must not depend on how it arrived. In a live log, no line may wait for the next.
    return pieces.lines(chunks) if about.live else pieces.blocks(chunks)


def _check_again(form: masking.Form) -> completeness.Check | None:
    """Returns what finds the ends of the items in a rewritten list; None for other forms."""
    return completeness.Check(form) if form in {"list", "table"} else None


def _sniff(chunks: Iterator[bytes]) -> tuple[Iterator[bytes], bool]:
    """Returns the same bytes, and whether they begin like a JSON object, or a list of objects, lists or strings; a log
    line may begin with `[INFO]`."""
    head: list[bytes] = []
    begun = b""
    for chunk in chunks:
        head.append(chunk)
        ignored = _BLANK if begun else _BLANK + _BOM
        begun = begun[:1] + chunk.lstrip(ignored)
        first = begun[:1]
        second = begun[1:].lstrip(_BLANK)[:1]
        if begun and (second or first not in _FOLLOWS):
            is_json = second in _FOLLOWS.get(first, ())
            return itertools.chain(head, chunks), is_json
    return iter(head), False


def _compile_allowed(regex: str) -> linear.Pattern:
    pattern = shapes.build(regex, "setting `redaction.allow`")
    if pattern.search(b"") or all(pattern.search(text) for text in _UNLIKE):
        raise RuleError(
            f"setting `redaction.allow`: {regex!r} matches every value, so nothing would be masked; write an "
            "expression that matches only the values to show, such as `^fixture-`"
        )
    return pattern


def _check_ids(settings: masking.Settings, own: Iterable[shapes.Rule], shipped: Iterable[shapes.Rule]) -> None:
    """Checks the ids of an operator's rules, and of those that are switched off. Raises RuleError."""
    known = {probe.id for probe in patterns.PROBES} | {rule.id for rule in shipped}
    for name in settings.disable:
        if name in known:
            continue
        close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
        hint = f"; did you mean `{close[0]}`?" if close else ""
        raise RuleError(f"setting `redaction.disable`: there is no rule `{name}`{hint}")
    ids = [rule.id for rule in settings.rules]
    for rule, compiled in zip(settings.rules, own, strict=True):
        if rule.id in known:
            raise RuleError(f"setting `redaction.rules`: `{rule.id}` is the id of a built-in rule")
        if ids.count(rule.id) > 1:
            raise RuleError(f"setting `redaction.rules`: two rules have the id `{rule.id}`")
        # An example shows whether a probe is dead; comparing it with the pattern instead needs Python's private parser.
        has_claim = rule.probe or rule.example
        if has_claim and not _leads_to_token(compiled, rule.example.encode()):
            raise RuleError(
                f"setting `redaction.rules`: `{rule.id}` finds nothing in its example, {rule.example!r}; set "
                "`example` to a text with a token, and `probe` to a pattern that ends within the token, or leave it out"
            )


def _leads_to_token(rule: shapes.Rule, example: bytes) -> bool:
    """Says whether the probe finds a token in the example. Raises RuleError when the probe is not a pattern."""
    hits = scanner.Scanner([rule.probe]).scan(example)
    for _, end in hits:
        found, _ = rule.spans(example, end, 0)
        if found:
            return True
    return False
