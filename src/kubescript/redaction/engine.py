"""The redactor of one server: bodies on their way to a script, and every text on its way out."""

from __future__ import annotations

import functools
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from kubescript import cancellation, config, errors
from kubescript.masker import chunks as redaction_chunks
from kubescript.masker import linear, logs, masker, placeholders, probes, reach, tables
from kubescript.masker import rules as redaction_rules
from kubescript.request import request

__all__ = ["WITHHELD", "Engine"]

log = logging.getLogger(__name__)

WITHHELD: Final = "(withheld: it could not be masked in time)"
"""What stands in the place of a text whose masking took too long."""
_TEXT_S: Final = 10.0
_UNLIKE: Final = tuple(text * 64 for text in (b"a", b"Z", b"7", b"-", b"\xc3\xa9"))
"""Values that have nothing in common: what is found in all of them is found in any."""


class Engine:
    """Masks secrets. Used from many threads at once; its key lives and dies with it."""

    def __init__(self, settings: config.Redaction, key: bytes | None = None) -> None:
        self._enabled = settings.enabled
        self._settings = settings
        self._key = key if key is not None else secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._made: tuple[masker.Masker, masker.Masker] | None = None
        if settings != config.Redaction(enabled=settings.enabled):
            self._maskers()  # what the operator wrote is checked at the start; the shipped rules can wait for a client

    def _maskers(self) -> tuple[masker.Masker, masker.Masker]:
        """For what the cluster says, and for what may hold a script's own words: a guess must not get the mask that the
        value has in the cluster."""
        with self._lock:
            if self._made is None:
                rules = self._rules()
                self._made = rules, rules.speaking(placeholders.Masks(self._key + b" echo"))
            return self._made

    def _rules(self) -> masker.Masker:
        settings = self._settings
        rules = masker.Masker(
            [*redaction_rules.shipped(), *_extra(settings)],
            placeholders.Masks(self._key),
            _patterns(settings.allow),
            frozenset(settings.allow_names),
            frozenset(settings.disable),
            _cache_directory(),
        )
        _check_ids(settings, rules)
        return rules

    @property
    def enabled(self) -> bool:
        """Whether anything is masked at all."""
        return self._enabled

    def prepare(self) -> None:
        """Compile the rules now instead of at the first answer. Raises ConfigError."""
        if self._enabled:
            self._maskers()[0].scanner.compiled()

    def body(self, call: request.Request, chunks: Iterator[bytes], found: Callable[[str], None]) -> Iterator[bytes]:
        """A body as the script may see it; the broker's hook."""
        return self._masked(self._maskers()[0], call, chunks, found) if self._enabled else chunks

    def echo(self, call: request.Request, chunks: Iterator[bytes], found: Callable[[str], None]) -> Iterator[bytes]:
        """A body that may repeat what the script has sent: an error, the answer to a write or a question."""
        return self._masked(self._maskers()[1], call, chunks, found) if self._enabled else chunks

    def text(self, text: str, found: Callable[[str], None], check: masker.Check | None = None) -> str:
        """Any text that leaves the server: a result, prints, an error, a log line. Raises what `check` raises, which is
        asked again and again; without it, LimitExceeded after ten seconds."""
        if not self._enabled:
            return text
        self.prepare()  # before anybody's patience begins
        content = text.encode("utf-8", "surrogatepass")
        rules = self._maskers()[1].until(check or cancellation.Patience(_TEXT_S))
        masked = rules.text(content, found)
        return text if masked is content else masked.decode("utf-8", "surrogatepass")

    def text_or_withheld(self, text: str, found: Callable[[str], None]) -> str:
        """As `text`, for the audit record and for spans: what cannot be masked in ten seconds is withheld."""
        try:
            return self.text(text, found)
        except errors.LimitExceeded:
            return WITHHELD

    def _masked(
        self, rules: masker.Masker, call: request.Request, chunks: Iterator[bytes], found: Callable[[str], None]
    ) -> Iterator[bytes]:
        rules = rules.until(functools.partial(_check, call))
        chunks, is_json = _sniffed(chunks)
        is_secret = call.is_resource and call.resource == "secrets" and not call.group
        if call.subresource == "log" or not is_json:
            return _each(redaction_chunks.lines(chunks), logs.LogText(rules, found))
        if ";as=Table" in call.accept:
            cells = tables.Cells(rules, found)
            pieces = redaction_chunks.lines(chunks) if call.verb == "watch" else redaction_chunks.documents(chunks)
            return _each(pieces, lambda piece: rules.document(cells(piece), found, secrets=is_secret))
        if call.verb == "watch":
            return _each(
                redaction_chunks.lines(chunks), lambda block: _events(rules, block, found, is_secret=is_secret)
            )
        return _each(redaction_chunks.documents(chunks), lambda piece: rules.document(piece, found, secrets=is_secret))


def _cache_directory() -> Path | None:
    """Where compiled rules are saved: the user's own cache, as the XDG base directories name it."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", ""), ".cache"))
    return home / "kubescript" / "scanner" if home.is_absolute() else None


def _check(call: request.Request) -> None:
    """Raises ClusterError when nobody waits for the answer any more."""
    if call.cancelled():
        raise errors.ClusterError("the call was cancelled while its answer was masked", code="cluster.cancelled")
    if time.monotonic() > call.deadline:
        raise errors.ClusterError(
            "the answer could not be masked within the script's time; ask for less of it", code="cluster.timeout"
        )


def _events(rules: masker.Masker, block: bytes, found: Callable[[str], None], *, is_secret: bool) -> bytes:
    lines = block.splitlines(keepends=True)
    return b"".join(rules.document(line, found, secrets=is_secret) for line in lines)


def _each(pieces: Iterable[bytes], judge: Callable[[bytes], bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if masked := judge(piece):
            yield masked


def _sniffed(chunks: Iterator[bytes]) -> tuple[Iterator[bytes], bool]:
    """The same bytes, and whether they begin as an object or a list does."""
    head: list[bytes] = []
    for chunk in chunks:
        head.append(chunk)
        if stripped := chunk.lstrip(b" \t\r\n\xef\xbb\xbf"):
            return _joined(head, chunks), stripped[:1] in b"{["
    return iter(head), False


def _joined(head: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    yield from head
    yield from rest


def _extra(settings: config.Redaction) -> list[redaction_rules.Rule]:
    return [redaction_rules.parse({"bounded": False, **rule.model_dump(exclude_none=True)}) for rule in settings.rules]


def _patterns(allowed: Iterable[str]) -> list[linear.Pattern]:
    try:
        return [_pattern(each) for each in allowed]
    except linear.PatternError as error:
        raise errors.ConfigError(
            "setting `redaction.allow`: an entry is no regular expression of RE2, which has no look-around and no back "
            f"references: {error}"
        ) from None


def _pattern(allowed: str) -> linear.Pattern:
    pattern = linear.compiled(allowed.encode())
    if pattern.search(b"") or all(pattern.search(text) for text in _UNLIKE):
        raise errors.ConfigError(
            f"setting `redaction.allow`: {allowed!r} is found in every value, so nothing would be masked; write what "
            "only the values have that may be seen, such as `^fixture-`"
        )
    return pattern


def _check_ids(settings: config.Redaction, rules: masker.Masker) -> None:
    known = {probe.id for probe in probes.PROBES} | {rule.id for rule in redaction_rules.shipped()}
    for name in settings.disable:
        if name not in known:
            raise errors.ConfigError(
                f"setting `redaction.disable`: there is no rule `{name}`{config.nearest(name, known)}"
            )
    for rule in settings.rules:
        if rule.id in known:
            raise errors.ConfigError(f"setting `redaction.rules`: `{rule.id}` is taken by a rule that is shipped")
        if sum(each.id == rule.id for each in settings.rules) > 1:
            raise errors.ConfigError(f"setting `redaction.rules`: two rules have the id `{rule.id}`")
        if rule.probe and not reach.meets(rule.probe, rule.regex):
            raise errors.ConfigError(
                f"setting `redaction.rules`: the probe of `{rule.id}`, {rule.probe!r}, never ends within what "
                "its regex matches, so the rule would find nothing; write a part of what that matches, or no probe"
            )
