"""What stands in front of a value: a name, however it is quoted, and a sign."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["BACK", "LETTERS", "Naming", "before", "is_line_start", "last_word"]

BACK: Final = 200
"""Bytes that are read in front of a value."""
LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OF_NAMES: Final = LETTERS + b"0123456789_.-"
_SIGNS: Final = frozenset(
    {b"::=", b":=", b"?=", b"=>", b"<-", b"->", b"::", b"=", b":", b"|", "│".encode(), "→".encode()}
)
_ESCAPED: Final = {b"\\u003d": b"=", b"\\u003a": b":"}
"""The signs as a JSON encoder may write them."""
_QUOTES: Final = (b'"', b"'", b"`")


class Naming(NamedTuple):
    """A name and its sign."""

    name: str
    """With the word before it, as in `api key`."""
    sign: bytes
    quoted: bool
    """Whether a quote stands behind the name."""
    spaced: bool
    """Whether blanks stand between the name and the sign."""
    gap: bytes
    """The blanks behind the sign."""
    before: bytes
    """What stands in front of the name."""


def before(text: bytes, at: int) -> Naming | None:
    """The name of the value that begins at `at`; None when there is no name, or no sign."""
    head = text[max(0, at - BACK) : at]
    signed = head.rstrip(b" \t\r\n")
    sign, size = _sign(signed)
    if not sign:
        return None
    rest = signed[: len(signed) - size]
    plain = rest.rstrip(b" \t")
    bare = plain.removesuffix(b"]")
    quoted = bare.endswith(_QUOTES)
    if quoted:
        bare = bare[:-1].rstrip(b"\\")
    name, front = _words(bare)
    return Naming(name, sign, quoted, len(plain) < len(rest), head[len(signed) :], front) if name else None


def last_word(head: bytes) -> str:
    """The name that ends here."""
    return head[len(head.rstrip(_OF_NAMES)) :].decode("ascii")


def is_line_start(front: bytes) -> bool:
    """Whether nothing but blanks, a dash or a quote stands on the line in front of a name."""
    line = front.rpartition(b"\\n")[2]
    line = line[max(line.rfind(b"\n"), line.rfind(b"\r")) + 1 :]
    return line.strip(b" \t\"'") in {b"", b"-"}


def _sign(signed: bytes) -> tuple[bytes, int]:
    """The sign with which this ends, and its size."""
    for size in (3, 2, 1):
        if signed[-size:] in _SIGNS:
            return signed[-size:], size
    if (sign := _ESCAPED.get(signed[-6:].lower(), b"")) == b"":
        return b"", 0
    return sign, len(signed) - len(signed[:-5].rstrip(b"\\"))


def _words(head: bytes) -> tuple[str, bytes]:
    """The name that ends here, with the word before it, and what is in front of both."""
    front = head.rstrip(_OF_NAMES)
    if front.endswith(b" ") and len(front) < len(head) and front[-2:-1].isalpha():
        front = front[:-1].rstrip(LETTERS)
    return head[len(front) :].decode("ascii"), front
