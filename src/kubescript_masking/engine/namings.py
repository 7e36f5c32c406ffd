"""Reads the text in front of a value: a name and a sign. Says which of these name no value: a sentence's colon, a part
of an address, a pipe.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kubescript_masking.text import extents, linear

__all__ = ["QUOTES", "Naming", "find", "in_expansion", "in_prose", "is_no_pair", "starts_line"]

QUOTES: Final = (b'"', b"'", b"`")
_RULED: Final = (b"|", "│".encode())
# Endings of the names of lists that a resolver expands: `${secrets:…}`.
_PLURALS: Final = ("as", "es", "ts", "ds", "ns", "ys")
_CHECKSUMS: Final = (b"checksum/", b"hash/", b"digest/", b"sha/", b"sha1/", b"sha256/", b"sha512/")
_SHELL_COMMAND: Final = linear.build(rb"`[a-z][\w./-]* [^`\r\n]*`")
_OF_ADDRESSES: Final = bytes(set(range(256)) - set(b" \t\r\n\v\f\"'"))
_NAMING: Final = linear.build(
    rb"((?:[A-Za-z]+ )?[\w.-]+)(\\*[\"'`])?(?:\[\d*\]|\])?[ \t]*"
    rb"(::?=|[!=]==?|\?=|\?\?|\|\||[=-]>|<-|::|[=:|-]|\xe2\x94\x82)([ \t\r\n]*)\z"
)


class Naming(NamedTuple):
    """A name, quoted or not, and a sign."""

    name: str
    """The name, with the word before it, as in `api key`."""
    sign: bytes
    quoted: bool
    """Whether the name is followed by a quote."""
    gap: bytes
    """The blanks after the sign."""
    before: bytes
    """The text in front of the name."""


def find(text: bytes, at: int) -> Naming | None:
    """Returns the naming of the value that begins at `at`; None when there is no name or no sign."""
    low = max(0, at - extents.BACK)
    head = text[low:at]
    found = _NAMING.search(head)
    if found is None:
        return None
    return Naming(
        name=found[1].decode(),
        sign=found[3],
        quoted=found.start(2) >= 0,
        gap=found[4],
        before=head[: found.start()],
    )


def starts_line(before: bytes) -> bool:
    """Says whether only blanks, a quote or a list's dash precede a line's name."""
    begin = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    lead = before[begin:].strip(b" \t\"'")
    return lead in {b"", b"-"}


def in_expansion(found: Naming) -> bool:
    """Says whether the name is in a shell expansion: `${NAME:-…}`, `${secrets:…}`."""
    has_sign = found.sign in {b":", b"-", b":="}
    return has_sign and found.before.endswith(b"${")


def in_prose(text: bytes, at: int, found: Naming, *, starts_line: bool) -> bool:
    """Says whether the colon after a name may be a sentence's, or a scope's: `password:reset`."""
    if found.sign != b":":
        return False
    if found.quoted:  # volume "db-password" : references …
        has_quote = text.startswith((*QUOTES, b"\\"), at)
        return not starts_line and not has_quote
    if " " in found.name or not found.gap:
        return True
    return not starts_line and not _is_member(text, at, found)


def _is_member(text: bytes, at: int, found: Naming) -> bool:
    """Says whether the name is a field of an object on one line: `{ password: pw }`."""
    line = found.before.rpartition(b"\n")[2]
    front = found.before.rstrip()
    is_flow = b"{" in line and front.endswith((b"{", b","))
    if not is_flow:
        return False
    near = text[at : at + 5]
    return not near.translate(None, _OF_ADDRESSES)  # excludes `{ password: pw } = …`


def is_no_pair(text: bytes, at: int, found: Naming) -> bool:
    """Says whether something that looks like a name and a value is not a pair."""
    first = text[at : at + 1]
    is_test_passed = found.name == "PASS" and found.sign == b":"  # from a test runner's output
    if is_test_passed or _is_variable(text, at, found) or _is_pipe(text, at, found):
        return True
    is_command = first == b"`" and _SHELL_COMMAND.match(text, at) is not None
    if is_command and extents.passphrase(text, at + 1) < 0:
        return True
    if in_expansion(found) and (first in {b"?", b"+"} or found.name.lower().endswith(_PLURALS)):
        return True
    if first in QUOTES and found.gap and not found.quoted and found.before.endswith(first):  # a prompt in quotes
        return True
    return _in_address(found)


def _is_variable(text: bytes, at: int, found: Naming) -> bool:
    """Says whether this is psql's `PASSWORD :'name'`, or the value's quote is a closing one: `"…&password=" +
    password`."""
    first = text[at : at + 1]
    if first == b"-":
        return found.sign == b"::"  # a CSS state
    if first not in QUOTES:
        return False
    is_behind_blank = text[at - 2 : at - 1] == b" "
    if first == b"'" and found.sign == b":" and not found.gap and is_behind_blank:
        return True
    return text.startswith((b" +", b" ."), at + 1)


def _in_address(found: Naming) -> bool:
    """Says whether the name is part of a URL, an ARN, an image's name or a checksum's name."""
    front = found.before.rstrip(_OF_ADDRESSES)
    word = found.before[len(front) :]
    is_tag = b"/" in word and found.sign == b":" and not found.gap  # shop/redis-with-requirepass:a63338f
    is_urn = b"arn:" in word or b"urn:" in word
    return is_tag or is_urn or word.lower().endswith(_CHECKSUMS)


def _is_pipe(text: bytes, at: int, found: Naming) -> bool:
    """Says whether a bar between a name and a value is a pipe, and neither a table's rule nor one before a default."""
    if found.sign not in _RULED or text.startswith((b"default ", b"default("), at):
        return False
    low = max(0, at - extents.BACK)
    line = text[low:at].rpartition(b"\n")[2]
    return not line.lstrip().startswith(_RULED)
