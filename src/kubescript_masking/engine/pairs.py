"""A name and its value: `name=value`, `"name": "value"`, `--name value`, `name "value"`, and two lines of YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubescript_masking.engine import namings
from kubescript_masking.rules import names, randomness, values
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span

__all__ = ["READERS", "find_lone", "promises"]

# Each hit in a long value would cause the value to be judged again.
_JUDGED: Final = 1_024
"""How many bytes of a value are judged."""
_SCHEMES: Final = frozenset({b"bearer", b"basic", b"token", b"digest", b"apikey", b"negotiate", b"ssws"})
_SCHEME: Final = linear.build(rb"([A-Za-z]+)[ \t]+([A-Za-z0-9._~+/=-]{20}|\xc2\xabredacted:)?")
_OTHER_KEY: Final = linear.build(
    rb"(?i)\b(?:partition|sort|primary|foreign|cache|hash|range|routing|row|index|public) keys?\z"
)
_OPENERS: Final = (*namings.QUOTES, b"\\", b"|", b">")
_TOKEN: Final = linear.build(rb"(?:[bru]?\\*[\"'`])?[A-Za-z0-9+/_~-]*\z")
_OPTION: Final = linear.build(rb"(?:\A|[^\w.-])(-[\w.-]+)[ \t]+\z")
_QUOTED: Final = linear.build(rb"([\w.-]+)(?:\\*[\"'`])?(?:,|,?[ \t]+)(?:<<)?(\\*[\"'`])[^\t\r\n\"'`]*\z")
_FIELD: Final = linear.build(rb"[\w.\-\"']+(?::(?:[ \t\r\n]|\z)|=[^= \t\r\n])")
_FIELD_BYTES: Final = 102
_OTHER: Final = linear.build(rb"[,;] ?([^\s,;\"'`=:(){}\[\]]{5,200})")
_FLAG: Final = linear.build(rb"--?[a-z][\w-]*")
_JOINED: Final = linear.build(rb"[a-z][A-Z]|[-_.]")
_OF_SYNTAX: Final = linear.build(rb"[\s\"'=<>{}()\[\]]")
_PRINTED: Final = linear.build(
    rb"(?i)(?:name|key|path|param(?:eter)?|variable|setting|option)\\*[\"'`]?\s*(?:=>|[:=])\s*\\*[\"'`]?([/a-z0-9_.\-]+)\\*[\"'`]?"
    rb"[,;]?\s*:?\\*[\"'`]?(?:value|contents?)\\*[\"'`]?\s*(?:=>|[:=])\s*\z"
)


def promises(text: bytes, end: int) -> bool:
    """Says whether the name of a pair may be a credential's."""
    found = namings.find(text, _find_value(text, end))
    return found is not None and values.is_name(found.name)


def _find_value(text: bytes, end: int) -> int:
    """Returns where the value begins of which the probe has read the first byte."""
    is_template = text[end - 2 : end] == b"{{"
    return end - 2 if is_template else end - 1


def find_pair(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `name=value`, `"name": "value"` or `name: value`."""
    at = _find_value(text, end)
    found = namings.find(text, at)
    if found is None:
        return
    kind = names.kind(found.name)
    if not kind:
        yield from _judge_weak(text, at, found)
    elif not namings.is_no_pair(text, at, found):
        yield from _judge_named(text, at, found, kind)


def _judge_named(text: bytes, at: int, found: namings.Naming, kind: str) -> Iterator[Span]:
    """Yields the value after a credential's name and a sign."""
    if namings.in_expansion(found):
        at += text[at : at + 1] in (b"-", b"=")
        end = extents.passphrase(text, at)
        if end >= 0:
            yield Span(at, end, kind)
            return
    start = extents.beginning(text, at)
    if b"\n" in found.gap and _FIELD.match(text, start, start + _FIELD_BYTES):  # the line below has its own name
        return
    starts_line = namings.starts_line(found.before)
    if starts_line and not found.quoted and found.sign in {b":", b"=", b":="}:
        end = extents.unquote(text, start)
        if end > start:
            if values.is_secret(text[start:end], kind):
                yield Span(start, end, kind)
            return
        line = text[start : start + 83].partition(b"\n")[0]
        if values.is_label(line.removesuffix(b"\r")):  # a form's label beside its field, in any language
            return
    whole_line = starts_line and found.sign == b":" and start == at
    in_prose = namings.in_prose(text, start, found, starts_line=starts_line)
    yield from _judge(text, start, kind, in_prose=in_prose, whole_line=whole_line)
    if found.name.endswith(("s", "S")):
        yield from _judge_others(text, start, kind)


def _judge_others(text: bytes, at: int, kind: str) -> Iterator[Span]:
    """Yields the values of a list that follow the first one, up to one that is not secret."""
    # `codes: 1a2b-3c4d, 5e6f-7a8b`
    _, stop = extents.extent(text, at)
    while True:
        other = _OTHER.match(text, stop)
        if other is None:
            return
        value = other[1]
        if not randomness.is_mixed(value) or not values.is_secret_in_prose(value, kind):
            return
        start, stop = other.span(1)
        yield Span(start, stop, kind)


def _judge(text: bytes, at: int, kind: str, *, in_prose: bool = False, whole_line: bool = False) -> Iterator[Span]:
    """Yields the value at a place, under a name of this kind, if it is a credential."""
    start, stop = extents.extent(text, at, whole_line=whole_line)
    token = _find_behind_scheme(text, start, stop) if kind == "authorization" else start
    if token > start:
        start = token
        stop = extents.end_of_word(text, token, stop)
    elif _has_words(text, at, start, stop):
        in_prose = True
        stop = extents.end_of_word(text, start, stop)
    judge = values.is_secret_in_prose if in_prose else values.is_secret
    if judge(_cut(text, start, stop), kind):
        yield Span(start, stop, kind)


def _cut(text: bytes, start: int, stop: int) -> bytes:
    """Returns the part of a value that is judged."""
    end = min(stop, start + _JUDGED)
    return text[start:end]


def _find_behind_scheme(text: bytes, start: int, stop: int) -> int:
    """Returns the place after `Bearer `, or after another word before a token; `start` when there is neither."""
    scheme = _SCHEME.match(text, start, stop)
    if scheme is None:
        return start
    word, token = scheme[1], scheme[2]
    is_word_before_token = token and word[:1].isupper()
    if not is_word_before_token and word.lower() not in _SCHEMES:
        return start
    rest = text[scheme.end(1) : stop].lstrip(b" \t")
    return stop - len(rest)


def _judge_weak(text: bytes, at: int, found: namings.Naming) -> Iterator[Span]:
    """Yields a random value under an ambiguous name."""
    is_sealed = b"ENC[" in found.before.rpartition(b"]")[2]  # encrypted by sops
    if is_sealed or not names.weak(found.name):
        return
    if _OTHER_KEY.search(found.name.encode()):
        return
    begin = extents.beginning(text, at)
    start, stop = extents.extent(text, begin)
    if values.is_weak_secret(_cut(text, start, stop), found.name):
        yield Span(start, stop, "key")


def find_weak(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of a pair whose probe ends within the value."""
    low = max(0, end - extents.BACK)
    token = _TOKEN.search(text[low:end])
    if token is None:
        return
    start = low + token.start()
    yield from find_pair(text, start + 1)


def find_flag(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `--password value`."""
    at = end - 1
    low = max(0, end - extents.BACK)
    option = _OPTION.search(text[low:at])
    kind = _find_kind(option)
    if not kind:
        return
    start, stop = extents.extent(text, at)
    value = text[start:stop]
    is_usage = value.lower() in extents.OF_SENTENCES or _FLAG.fullmatch(value) is not None
    if not is_usage and values.is_secret(value, kind):
        yield Span(start, stop, f"flag-{kind}")


def _find_kind(named: linear.Match | None) -> str:
    """Returns the kind of the first group's name; empty when it is not a credential's."""
    if named is None:
        return ""
    name = named[1].decode()
    return names.kind(name)


def find_quoted(text: bytes, end: int) -> Iterator[Span]:
    """Yields a quoted value after a name and blanks or a comma: `X-Api-Key "…"`, `:password "…"`, `{pass, "…"}`."""
    low = max(0, end - extents.BACK)
    found = _QUOTED.search(text[low:end])
    kind = _find_kind(found)
    if found is None or not kind:
        return
    quote = low + found.start(2)
    start, stop = extents.extent(text, quote)
    value = text[start:stop]
    is_sentence = b" " in value and not extents.is_passphrase(value)
    if is_sentence or not _is_telling(found[1], kind, value):
        return
    if values.is_secret_in_prose(value, kind):
        yield Span(start, stop, kind)


def _is_telling(name: bytes, kind: str, value: bytes) -> bool:
    """Says whether a name, or else the value, is more than a word and a quotation in a sentence."""
    is_joined = kind != "secret" and _JOINED.search(name) is not None
    return is_joined or kind in {"password", "basic-auth"} or randomness.is_random(value)


def find_variable(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `{Name: "DB_PASSWORD", Value: "…"}` as Go, Python and Ruby print it."""
    at = end - 1
    low = max(0, at - 2 * extents.BACK)
    kind = _find_kind(_PRINTED.search(text[low:at]))
    if not kind:
        return
    start, stop = extents.extent(text, at)
    value = text[start:stop]
    if values.is_secret(value, kind):
        yield Span(start, stop, f"env-{kind}")


def find_lone(text: bytes, kind: str) -> Iterator[Span]:
    """Yields the values without names in a file with a credential's name: alone on a line, after a user's name, or
    first in a table row."""
    place, in_certificate = 0, False
    for line in text.splitlines(keepends=True):
        word = line.strip()
        if word.startswith(b"-----"):
            begins, ends = word.startswith(b"-----BEGIN"), word.startswith(b"-----END")
            in_certificate = begins or (in_certificate and not ends)
        value = b"" if in_certificate else _find_alone(word, kind)
        if value:
            start = place + line.index(value)
            yield Span(start, start + len(value), kind)
        place += len(line)


def _find_alone(word: bytes, kind: str) -> bytes:
    """Returns the value without a name in a line; empty when there is none."""
    if extents.is_passphrase(word):
        return word
    whole = word
    if _OF_SYNTAX.search(word):
        whole = word.partition(b",")[0]
        if _OF_SYNTAX.search(whole):
            return b""
    user, _, value = whole.rpartition(b":")
    if whole.startswith(b"-----") or not randomness.is_mixed(value):
        return b""
    is_secret = values.is_secret(value, "password" if user else kind)
    return value if is_secret else b""


def _has_words(text: bytes, at: int, start: int, stop: int) -> bool:
    """Says whether several words are in a value's place, without quotes and outside a YAML block."""
    is_bare = not text.startswith(_OPENERS, at)
    return is_bare and b" " in text[start:stop]


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "pair": find_pair,
    "weak": find_weak,
    "weak-key": find_weak,
    "flag": find_flag,
    "quoted": find_quoted,
    "variable": find_variable,
    "variable-text": find_variable,
}
"""By probe."""
