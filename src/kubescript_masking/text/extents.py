"""Finds where a value begins and ends: in quotes, bare, in a YAML block, or up to the end of its line.

An RE2 call costs about 4 µs even when it finds nothing, so most are made only when the first byte, or a quote on the
line, suggests a match.
"""

from __future__ import annotations

from typing import Final

from kubescript_masking.text import linear

__all__ = [
    "BACK",
    "LETTERS",
    "OF_SENTENCES",
    "beginning",
    "end_of_word",
    "extent",
    "is_passphrase",
    "passphrase",
    "unquote",
]

BACK: Final = 200
"""How many bytes are read in front of a value."""
LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_AHEAD: Final = 8_192
"""How many bytes of a value are read."""
_BLOCK_BYTES: Final = 65_536
_LEAD_BYTES: Final = 200
"""How many bytes between a sign and its value are read."""
_LINE_BYTES: Final = 402
"""How many bytes of a line are searched for a quote inside a value."""
_QUOTES: Final = (b'"', b"'", b"`")
_PAIRS: Final = {b")": b"(", b"}": b"{", b"]": b"["}
_PHRASE: Final = linear.build(rb"([A-Za-z\x80-\xff]{2,}(?: [A-Za-z\x80-\xff]{2,}){3,})[ \t]*(?:[\r\n\"'`)\]};,\\]|\z)")
"""Four words or more."""
_PHRASE_BYTES: Final = 256
_OF_WORDS: Final = LETTERS + bytes(range(0x80, 0x100))
OF_SENTENCES: Final = frozenset(
    b"or and to for is was are not must cannot can should may with without if as has have will be been when the a an "
    b"via by of in on from at user host failed invalid required please your this that it password passwort passwd "
    b"token secret key muss f\xc3\xbcr mit de la el le o".split()
)
"""Words that a passphrase of four or more words seldom contains."""
_IN_FRONT: Final = linear.build(
    rb"((&?[A-Za-z_][\w.<>?\[\]]*(?: \| \w+)?[ \t]*=[ \t]+)?(?:"  # password: str = "…
    rb"[A-Z]\w*\(|(?:[A-Z][a-z]+ value|(?:the )?(?:given|provided|current|new|old) value|got|was)[:=]?[ \t]+|"
    rb"(?:new )?(?:[A-Z]\w*|string|str|bytes|\[\]byte|(?:non)?sensitive|base64encode|some|just)"
    rb"(?:\(\d*\)? ?|\([A-Z]\w*\()|"
    rb"[burfRLNE@$]{1,2}|"
    rb"(?:[A-Za-z_]+\.)?(?:from_?[hH]ex|b64decode|from_?base64|fromBase64|std::string)\(|std::string\(|"
    rb"\$?[\w.>-]+(?:[\[(][\"'][\w.-]+[\"'][\])])? ?(?:\|\||\?\?|\?:|or ) ?|"  # $_ENV['DB_PASSWORD'] ?? "…
    rb"[\w.:>-]+\([\"'][\w.-]+[\"'](?:, ?(?:default ?= ?)?|\) ?(?:\|\||\?\?|\?:|or |\{|do\b) ?)|"  # ENV.fetch("X") { "…
    rb"[^\"'\r\n]{1,60}(?:[\"']\w+[\"'][^\"'\r\n]{0,30})? else |"
    rb"\{\{-? ?(?:default |[^{}\"']*\| ?default )|default[ (]"  # {{ .Values.password | default "…
    rb")?)\\*[\"'`]"
)
"""Text that may stand between a sign and a quoted value."""
_GROUP: Final = linear.build(rb"\(\s*[\"'`]")
"""A bracket around a quoted value, which may begin on the next line."""
_MARKS: Final = (b"!", b"&", b"-")
_YAML_LEAD: Final = linear.build(
    rb"((?:!!?[\w/.-]*|&[\w-]+|-)[ \t]+|"
    rb"\\*[\"']?(?:value|plain|plaintext|literal|cleartext|inline|raw|default|val)\\*[\"']?[ \t]*[:=][ \t]+)\S"
)
"""A tag, an anchor, a list's dash, or a generic name (`value:`)."""
_BARE: Final = linear.build(
    rb"(?:[^\s\"'`&;,<>\\]|\\+[^\s\"'`&;,<>\\nrt])*"
    rb"(?:[&;,]+(?:[\w.\-%]*(?:[^\s\"'`&;,<>\\\w.\-%=}\]]|\\+[^\s\"'`&;,<>\\nrt])(?:[^\s\"'`&;,<>\\]|\\+[^\s\"'`&;,<>\\nrt])*|[\w.\-%]+))*"
)
"""A bare value; it continues after a comma, a semicolon or an ampersand, unless a blank, a quote or a bracket
follows."""
_BODIES: Final = {
    b'"': linear.build(rb"(?s)(?:[^\"\\]|\\.)*"),
    b"'": linear.build(rb"(?s)(?:[^'\\]|\\.|'')*"),  # a doubled quote is an escaped one in YAML and SQL
    b"`": linear.build(rb"(?s)(?:[^`\\]|\\.)*"),
}
_OPENERS: Final = (*_QUOTES, b"\\")
_BLOCKS: Final = (b"|", b">")
_OPENING: Final = linear.build(rb"\"\"\"|'''|\\{0,16}[\"'`]")
"""The quote that opens a value, with the backslashes before it."""
_BLOCK: Final = linear.build(rb"[|>][+-]?\d?[ \t]*\r?\n")
_WORD: Final = linear.build(rb"[^\s\"'`,;<>\\]+")
_QUOTE_INSIDE: Final = linear.build(
    rb"([^\s\"'`\\,;{}\[\]<>()]+[\"'`][^\s\"'`\\,;:{}\[\]<>()=][^\s\"'`\\,;]*)[ \t]*(?:\r?\n|\z)"
)


def beginning(text: bytes, at: int) -> int:
    """Returns where a value begins, given the place after its sign: after `string(12) `, `!!str `, `str = Field(`."""
    near = text[at : at + _LEAD_BYTES]
    group = _GROUP.match(near)
    if group is not None:
        return at + group.end() - 1
    near = near.partition(b"\n")[0]
    if near[:1] in _QUOTES:
        return at
    lead = None
    if any(quote in near for quote in _QUOTES):
        lead = _IN_FRONT.match(near)
        # Attack: in `password=hunter2 | ua= "curl"`, the password poses as a type annotation of the quoted value.
        if lead is not None and lead[2] and text[max(0, at - 2) : at].strip() != b":":
            lead = None
    word = near.partition(b" ")[0]
    may_lead = near[:1] in _MARKS or word.endswith((b":", b"="))
    if lead is None and may_lead:
        lead = _YAML_LEAD.match(near)
    return at if lead is None else at + lead.end(1)


def extent(text: bytes, at: int, *, whole_line: bool = False) -> tuple[int, int]:
    """Returns where the value that begins at `at` begins and ends, without its quotes."""
    limit = min(len(text), at + _AHEAD)
    first = text[at : at + 1]
    if first in _OPENERS:
        mark = _OPENING.match(text, at, limit)
        if mark is not None:
            start = mark.end()
            return start, _find_closing(text, start, mark[0], limit)
    elif first in _BLOCKS:
        block = _BLOCK.match(text, at, limit)
        if block is not None:
            return _find_block(text, at, block.end())
    if whole_line:
        line = _cut_comment(text[at:limit])
        if line:
            return at, at + len(line.rstrip(b","))
    stop = _find_bare_end(text, at, limit)
    return at, _find_unclosed(text, at, stop)


def unquote(text: bytes, at: int) -> int:
    """Returns the end of a value that ends with its line and has several words or an inner quote; `at` when it has
    neither."""
    end = passphrase(text, at)
    if end >= 0 and text[end : end + 1] in b"\r\n":
        return end
    line = text[at : at + _LINE_BYTES].partition(b"\n")[0]
    if not any(quote in line for quote in _QUOTES):
        return at
    inner = _QUOTE_INSIDE.match(line)
    return at if inner is None else at + inner.end(1)


def passphrase(text: bytes, at: int) -> int:
    """Returns where the passphrase that begins here ends: four words or more, not a sentence; -1 when there is none."""
    begins_like_word = not text[at : at + 2].strip(_OF_WORDS)
    if not begins_like_word:
        return -1
    phrase = _PHRASE.match(text, at, at + _PHRASE_BYTES)
    if phrase is None:
        return -1
    words = phrase[1].lower().split()
    is_sentence = not OF_SENTENCES.isdisjoint(words)
    return -1 if is_sentence else phrase.end(1)


def is_passphrase(value: bytes) -> bool:
    """Says whether a value is a passphrase and nothing else."""
    return passphrase(value, 0) == len(value)


def end_of_word(text: bytes, start: int, stop: int) -> int:
    """Returns where the word that begins at `start` ends."""
    word = _WORD.match(text, start, stop)
    if word is None:
        return stop
    return word.end()


def _cut_comment(text: bytes) -> bytes:
    """Returns the line up to a comment or its end, without trailing blanks."""
    line = text.partition(b"\n")[0]
    for sign in (b" #", b"\t#"):
        line = line.partition(sign)[0]
    return line.rstrip()


def _find_bare_end(text: bytes, at: int, limit: int) -> int:
    """Returns the end of a value without quotes: at a blank, a quote, or the beginning of another pair (`&name=`)."""
    found = _BARE.match(text, at, limit)
    stop = at if found is None else found.end()
    is_other_name = text[stop : stop + 1] == b"="
    if not is_other_name:
        return stop
    return max(text.rfind(sign, at, stop) for sign in (b"&", b";", b","))


def _find_unclosed(text: bytes, at: int, stop: int) -> int:
    """Returns a bare value's end without the closing brackets and punctuation that belong to the text around it."""
    while stop > at:
        last = text[stop - 1 : stop]
        if last not in b")}].,;":
            break
        opening = _PAIRS.get(last)
        if opening is not None:
            is_paired = text.count(opening, at, stop) >= text.count(last, at, stop)
            if is_paired:
                break
        stop -= 1
    return stop


def _find_closing(text: bytes, start: int, mark: bytes, limit: int) -> int:
    """Returns the end of a quoted value; if the quote is never closed, the end of its line."""
    if mark in _BODIES:
        body = _BODIES[mark].match(text, start, limit)
        end = -1 if body is None else body.end()
        found = end if end >= 0 and text.startswith(mark, end) else -1
    else:
        found = text.find(mark, start, limit)
    if 0 <= found < limit:
        return found
    line = text.find(b"\n", start, limit)
    return line if line >= 0 else limit


def _find_block(text: bytes, at: int, start: int) -> tuple[int, int]:
    """Returns the extent of a YAML block scalar: the lines that are indented deeper than its key."""
    above = text.rfind(b"\n", max(0, at - BACK), at)
    key_line = text[above + 1 : at]
    indent = _count_blanks(key_line)
    stop = start
    limit = min(len(text), start + _BLOCK_BYTES)
    while stop < limit:
        end = text.find(b"\n", stop, limit) + 1 or limit
        line = text[stop:end]
        if line.strip() and _count_blanks(line) <= indent:
            break
        stop = end
    body = text[start:stop]
    last = start + len(body.rstrip())
    first = stop - len(body.lstrip())
    return first, max(first, last)


def _count_blanks(line: bytes) -> int:
    """Returns the number of blanks at a line's beginning."""
    bare = line.lstrip(b" ")
    return len(line) - len(bare)
