"""A name and its value: `name=value`, `"name": "value"`, `--name value`, `name "value"`, and two lines of YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kubescript_masking.rules import names, values
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span

__all__ = ["READERS", "find_lone"]

_JUDGED: Final = 1_024
"""Bytes of a value that are judged: each hit in a long value would judge it anew."""
_RULED: Final = (b"|", "│".encode())
_PLURALS: Final = ("as", "es", "ts", "ds", "ns", "ys")
"""Endings of list names that a resolver expands: `${secrets:…}`."""
_CHECKSUMS: Final = (b"checksum/", b"hash/", b"digest/", b"sha/", b"sha1/", b"sha256/", b"sha512/")
_SHELL_COMMAND: Final = linear.build(rb"`[a-z][\w./-]* [^`\r\n]*`")
_SCHEMES: Final = frozenset({b"bearer", b"basic", b"token", b"digest", b"apikey", b"negotiate", b"ssws"})
_SCHEME: Final = linear.build(rb"([A-Za-z]+)[ \t]+([A-Za-z0-9._~+/=-]{20}|\xc2\xabredacted:)?")
_OTHER_KEY: Final = linear.build(
    rb"(?i)\b(?:partition|sort|primary|foreign|cache|hash|range|routing|row|index|public) keys?\z"
)
_OF_ADDRESSES: Final = bytes(set(range(256)) - set(b" \t\r\n\v\f\"'"))
_QUOTES: Final = (b'"', b"'", b"`")
_OPENERS: Final = (*_QUOTES, b"\\", b"|", b">")
_NAMING: Final = linear.build(
    rb"((?:[A-Za-z]+ )?[\w.-]+)(\\*[\"'`])?(?:\[\d*\]|\])?[ \t]*"
    rb"(::?=|[!=]==?|\?=|\?\?|\|\||[=-]>|<-|::|[=:|-]|\xe2\x94\x82)([ \t\r\n]*)\z"
)
_TOKEN: Final = linear.build(rb"(?:[bru]?\\*[\"'`])?[A-Za-z0-9+/_~-]*\z")
_OPTION: Final = linear.build(rb"(?:\A|[^\w.-])(-[\w.-]+)[ \t]+\z")
_QUOTED: Final = linear.build(rb"([\w.-]+)(?:\\*[\"'`])?(?:,|,?[ \t]+)(?:<<)?(\\*[\"'`])[^\t\r\n\"'`]*\z")
_FIELD: Final = linear.build(rb"[\w.\-\"']+(?::(?:[ \t\r\n]|\z)|=[^= \t\r\n])")
_OTHER: Final = linear.build(rb"[,;] ?([^\s,;\"'`=:(){}\[\]]{5,200})")
_FLAG: Final = linear.build(rb"--?[a-z][\w-]*")
_JOINED: Final = linear.build(rb"[a-z][A-Z]|[-_.]")
_OF_SYNTAX: Final = linear.build(rb"[\s\"'=<>{}()\[\]]")
_PRINTED: Final = linear.build(
    rb"(?i)(?:name|key|path|param(?:eter)?|variable|setting|option)\\*[\"'`]?\s*(?:=>|[:=])\s*\\*[\"'`]?([/a-z0-9_.\-]+)\\*[\"'`]?"
    rb"[,;]?\s*:?\\*[\"'`]?(?:value|contents?)\\*[\"'`]?\s*(?:=>|[:=])\s*\z"
)


class _Naming(NamedTuple):
    """The text in front of a value: a name, quoted or not, and a sign."""

    name: str
    """The name, with the word before it, as in `api key`."""
    sign: bytes
    quoted: bool
    """Whether a quote stands behind the name."""
    gap: bytes
    """The blanks behind the sign."""
    before: bytes
    """The text in front of the name."""


def _find_naming(text: bytes, at: int) -> _Naming | None:
    """Returns the naming of the value that begins at `at`; None when there is no name or no sign."""
    head = text[max(0, at - extents.BACK) : at]
    found = _NAMING.search(head)
    if found is None:
        return None
    return _Naming(found[1].decode(), found[3], found.start(2) >= 0, found[4], head[: found.start()])


def find_pair(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `name=value`, `"name": "value"` or `name: value`; the probe ends behind the value's first
    byte."""
    at = end - 1 - (text[end - 2 : end] == b"{{")  # a template
    found = _find_naming(text, at)
    if found is None:
        return
    kind = names.kind(found.name)
    if not kind:
        yield from _judge_weak(text, at, found)
    elif not _is_no_pair(text, at, found):
        yield from _judge_named(text, at, found, kind)


def _judge_named(text: bytes, at: int, found: _Naming, kind: str) -> Iterator[Span]:
    """Yields the value behind a credential's name and a sign."""
    if _in_expansion(found):
        at += text[at : at + 1] in (b"-", b"=")
        if (end := extents.passphrase(text, at)) >= 0:
            yield Span(at, end, kind)
            return
    start = extents.beginning(text, at)
    if b"\n" in found.gap and _FIELD.match(text, start, start + 102):  # the line below has its own name
        return
    starts_line = _is_blank_line(found.before)
    if starts_line and found.sign in {b":", b"=", b":="} and not found.quoted:
        if (end := extents.unquote(text, start)) > start:
            if values.is_secret(text[start:end], kind):
                yield Span(start, end, kind)
            return
        line = text[start : start + 83].partition(b"\n")[0]
        if values.is_label(line.removesuffix(b"\r")):  # beside a form's field, in any language
            return
    whole_line = starts_line and found.sign == b":" and start == at
    in_prose = _in_prose(text, start, found, starts_line=starts_line)
    yield from _judge(text, start, kind, in_prose=in_prose, whole_line=whole_line)
    if found.name[-1:] in "sS":
        yield from _judge_others(text, start, kind)


def _is_blank_line(before: bytes) -> bool:
    """Says whether only blanks, a quote or a list's dash stand before a line's name."""
    begin = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    return before[begin:].strip(b" \t\"'") in {b"", b"-"}


def _judge_others(text: bytes, at: int, kind: str) -> Iterator[Span]:
    """Yields the values behind the first of a list, up to the first that is not secret: `codes: 1a2b-3c4d,
    5e6f-7a8b`."""
    _, stop = extents.extent(text, at)
    while (other := _OTHER.match(text, stop)) is not None and values.is_mixed(other[1]):
        if not values.is_secret_in_prose(other[1], kind):
            return
        yield Span(*other.span(1), kind)
        stop = other.end(1)


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
    value = text[start : min(stop, start + _JUDGED)]
    if judge(value, kind):
        yield Span(start, stop, kind)


def _find_behind_scheme(text: bytes, start: int, stop: int) -> int:
    """Returns the place behind `Bearer `, or behind another word before a token; `start` when there is neither."""
    scheme = _SCHEME.match(text, start, stop)
    if scheme is None:
        return start
    has_token = scheme[2] and scheme[1][:1].isupper()
    if not has_token and scheme[1].lower() not in _SCHEMES:
        return start
    rest = text[scheme.end(1) : stop]
    return stop - len(rest.lstrip(b" \t"))


def _judge_weak(text: bytes, at: int, found: _Naming) -> Iterator[Span]:
    """Yields a random value under an ambiguous name."""
    is_sealed = b"ENC[" in found.before.rpartition(b"]")[2]  # encrypted by sops
    if is_sealed or not names.weak(found.name):
        return
    if _OTHER_KEY.search(found.name.encode()):
        return
    start, stop = extents.extent(text, extents.beginning(text, at))
    value = text[start : min(stop, start + _JUDGED)]
    if values.is_weak_secret(value, found.name):
        yield Span(start, stop, "key")


def find_weak(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of a pair whose probe ends within the value."""
    low = max(0, end - extents.BACK)
    token = _TOKEN.search(text[low:end])
    if token is not None:
        yield from find_pair(text, low + token.start() + 1)


def find_flag(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `--password value`."""
    at = end - 1
    option = _OPTION.search(text[max(0, end - extents.BACK) : at])
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
    return "" if named is None else names.kind(named[1].decode())


def find_quoted(text: bytes, end: int) -> Iterator[Span]:
    """Yields a quoted value behind a name and blanks or a comma: `X-Api-Key "…"`, `:password "…"`, `{pass, "…"}`."""
    low = max(0, end - extents.BACK)
    found = _QUOTED.search(text[low:end])
    kind = _find_kind(found)
    if found is None or not kind:
        return
    start, stop = extents.extent(text, low + found.start(2))
    value = text[start:stop]
    is_joined = kind != "secret" and _JOINED.search(found[1]) is not None
    is_telling = is_joined or kind in {"password", "basic-auth"} or values.is_random(value)
    is_whole = b" " not in value or extents.is_passphrase(value)
    if is_telling and is_whole and values.is_secret_in_prose(value, kind):
        yield Span(start, stop, kind)


def find_variable(text: bytes, end: int) -> Iterator[Span]:
    """Yields the value of `{Name: "DB_PASSWORD", Value: "…"}` as Go, Python and Ruby print it."""
    at = end - 1
    kind = _find_kind(_PRINTED.search(text[max(0, at - 2 * extents.BACK) : at]))
    if not kind:
        return
    start, stop = extents.extent(text, at)
    if values.is_secret(text[start:stop], kind):
        yield Span(start, stop, f"env-{kind}")


def find_lone(text: bytes, kind: str) -> Iterator[Span]:
    """Yields the values without names in a file with a credential's name: alone on a line, behind a user's name, or
    first in a table row."""
    place, certificate = 0, False
    for line in text.splitlines(keepends=True):
        word = line.strip()
        certificate = word.startswith(b"-----BEGIN") or (certificate and not word.startswith(b"-----END"))
        value = b"" if certificate else _find_alone(word, kind)
        if value:
            start = place + line.index(value)
            yield Span(start, start + len(value), kind)
        place += len(line)


def _find_alone(word: bytes, kind: str) -> bytes:
    """Returns the value without a name in a line; empty when there is none."""
    if extents.is_passphrase(word):
        return word
    whole = word.partition(b",")[0] if _OF_SYNTAX.search(word) else word
    user, _, value = whole.rpartition(b":")
    if _OF_SYNTAX.search(whole) or whole.startswith(b"-----") or not values.is_mixed(value):
        return b""
    return value if values.is_secret(value, "password" if user else kind) else b""


def _in_prose(text: bytes, at: int, found: _Naming, *, starts_line: bool) -> bool:
    """Says whether the colon behind a name may be a sentence's, or a scope's: `password:reset`."""
    if found.sign != b":":
        return False
    if found.quoted:  # volume "db-password" : references …
        return not starts_line and text[at : at + 1] not in (*_QUOTES, b"\\")
    line = found.before.rpartition(b"\n")[2]
    is_flow = b"{" in line and found.before.rstrip()[-1:] in {b"{", b","}
    has_value = not text[at : at + 5].translate(None, _OF_ADDRESSES)  # excludes `{ password: pw } = …`
    is_field = starts_line or (is_flow and has_value)
    return " " in found.name or not (is_field and found.gap)


def _is_no_pair(text: bytes, at: int, found: _Naming) -> bool:
    """Says whether something that looks like a name and a value is not a pair."""
    first = text[at : at + 1]
    if found.name == "PASS" and found.sign == b":":  # from a test runner's output
        return True
    if _is_variable(text, at, found) or (found.sign in _RULED and _is_pipe(text, at)):
        return True
    if first == b"`" and _SHELL_COMMAND.match(text, at) and extents.passphrase(text, at + 1) < 0:
        return True
    if _in_expansion(found) and (first in {b"?", b"+"} or found.name.lower().endswith(_PLURALS)):
        return True
    is_prompt = bool(found.gap) and not found.quoted and first in _QUOTES and found.before.endswith(first)
    return is_prompt or _in_address(found)


def _is_variable(text: bytes, at: int, found: _Naming) -> bool:
    """Says whether this is psql's `PASSWORD :'name'`, or the value's quote is a closing one: `"…&password=" +
    password`."""
    first = text[at : at + 1]
    if first == b"-":
        return found.sign == b"::"  # a CSS state
    if first == b"'" and found.sign == b":" and not found.gap and text[at - 2 : at - 1] == b" ":
        return True
    return first in _QUOTES and text[at + 1 : at + 3] in {b" +", b" ."}


def _in_address(found: _Naming) -> bool:
    """Says whether the name is part of a URL, an ARN, an image's name or a checksum's name."""
    front = found.before.rstrip(_OF_ADDRESSES)
    word = found.before[len(front) :]
    is_tag = b"/" in word and found.sign == b":" and not found.gap  # shop/redis-with-requirepass:a63338f
    return is_tag or b"arn:" in word or b"urn:" in word or word.lower().endswith(_CHECKSUMS)


def _in_expansion(found: _Naming) -> bool:
    """Says whether the name is in a shell expansion: `${NAME:-…}`, `${secrets:…}`."""
    return found.sign in {b":", b"-", b":="} and found.before.endswith(b"${")


def _is_pipe(text: bytes, at: int) -> bool:
    """Says whether a bar between a name and a value is a pipe, and neither a table's rule nor one before a default."""
    if text.startswith((b"default ", b"default("), at):
        return False
    line = text[max(0, at - extents.BACK) : at].rpartition(b"\n")[2]
    return not line.lstrip().startswith(_RULED)


def _has_words(text: bytes, at: int, start: int, stop: int) -> bool:
    """Says whether several words stand in a value's place, without quotes and outside a YAML block."""
    is_bare = text[at : at + 1] not in _OPENERS
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
