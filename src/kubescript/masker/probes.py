r"""What is looked for in raw bytes: patterns of hyperscan, as they show in JSON, in JSON within JSON, and in base64.

A probe ends at one place per candidate (hyperscan reports every end of an open pattern), may match too much, and never
too little.

That hyperscan finds what a pattern says is not to be taken for granted: the one that is installed (Vectorscan 5.4.12) steps
over a pair of bytes that it looks for, from the 16th byte on, in patterns like `\| *(?:sudo )?(?:kinit|gpg|smbpasswd|…)`, a sign
and blanks before a choice of words (VectorCamp/vectorscan, issue 382). `test_probes_find_what_they_say` compares every pattern
with Python's `re`; what it misses is written as several patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kubescript.masker import commands, linear, names, patterns
from kubescript.wire import masking

__all__ = ["PROBES", "Probe"]


@dataclass(frozen=True, slots=True)
class Probe:
    """What to look for."""

    id: str
    pattern: str
    once: bool = False
    """Whether one place in a text says enough."""
    wide: str = ""
    """A pattern that begins with one of `STEMS` and ends wherever `pattern` does, and elsewhere."""

    @property
    def gate(self) -> tuple[str, str] | None:
        """What the pattern, or the wide one, begins with, of `STEMS`, and what follows there."""
        whole = self.wide or self.pattern
        return next(((stem, whole.removeprefix(stem)) for stem in STEMS if whole.startswith(stem)), None)


_QUOTE: Final = r"""(?:\\*["'`])"""
_DOUBLE: Final = r"""\\*" """.rstrip()
_SPACE: Final = r"(?:[ \t\r\n]|\\+[nrt])*"
_NAMES: Final = patterns.whole("(?&names)")
_CREDENTIAL: Final = "(?i)" + patterns.whole("(?&credential)")
STEMS: Final = (_NAMES, _CREDENTIAL)
"""What thirty patterns begin with."""
_BLANK: Final = r"[ \t]"
_NAME: Final = rf"{_NAMES}[A-Za-z0-9_.-]*"
_LETTER: Final = r"(?:[A-Za-z0-9_.\-'`]|\\*\")"
_CELL: Final = rf"{_LETTER}*(?: {_LETTER}+)?"
"""A column's name, or the rest of it."""
_BETWEEN: Final = r"(?:[,;\t]|\\+t| *\| *|  +)"
"""What separates columns; a comma and a blank are a sentence's."""
_LINE_END: Final = rf"{_BLANK}*(?:\r?\n|\\+r|\\+n)"
_LONG: Final = [linear.escape(program.encode()).decode() for program, first in commands.FIRST.items() if not first]
_SHORT: Final = "|".join(
    rf"{program}(?:\\*[\"'])?,?[ \t]*\\*[\"']?(?:{'|'.join(first.split())})"
    for program, first in commands.FIRST.items()
    if first
)
_TOGETHER: Final = 12
_OFTEN: Final = (
    "encrypt|inline[-_](?:string|bytes)|hmac[-_]?encoded|keyfile[-_]contents|"
    "auth|session|session[-_]?id|sig|salt|seed|hmac|pepper|cookie|iv|login|community|[-_]shared|honeycomb-team|[-_](?:user|credentials|creds)"
)
_RANDOM: Final = f"keys?|{_OFTEN}"
_WEAK: Final = f"[a-z0-9_.-]keys?|{_OFTEN}"
"""`key` alone is what every map calls its keys."""
_CAPITALS: Final = [
    word.upper()
    for word in (*names.VENDORS, "sleutel", "klucz", "klic", "nyckel", "nokkel", "nogle", "avain", "anahtar", "kagi")
]
_WRITTEN: Final = "value|plain|plaintext|literal|cleartext|inline|raw|default|val"
_CONTENT: Final = "value|val|content|contents"
_HOLDS: Final = "[A-Za-z]*[vV]alue|val|contents?|text|data|string"
_ESC: Final = r"(?:\x1b|\\+u001[bB])\["
_PERCENT: Final = r"%(?:25){0,3}"
_MIN_PIECE: Final = 4
"""Letters of base64 below which chance would find them everywhere."""


def _hidden() -> Iterator[Probe]:
    """What the rules look for, as it shows in base64."""
    words = _in_cases(names.HIDDEN["any_case"])
    exact = names.HIDDEN["exact"].split()
    wide = ["\0".join(word) for word in _in_cases(names.HIDDEN["wide"])]
    for word in dict.fromkeys([*words, *exact, *wide]):
        for piece in masking.alignments(word.encode()):
            if len(piece) >= _MIN_PIECE:
                yield Probe("base64", piece.decode().replace("+", r"\+"))


def _in_cases(words: str) -> list[str]:
    return [form(word) for word in words.split() for form in (str.lower, str.upper, str.title)]


def _programs() -> Iterator[Probe]:
    """A program and its first argument, in a shell's line or in a list. Of many words in one pattern hyperscan makes a
    slow one."""
    lead = "(?:^|[^A-Za-z0-9_.-])"
    for at in range(0, len(_LONG), _TOGETHER):
        some = "|".join(_LONG[at : at + _TOGETHER])
        yield Probe("command", rf"{lead}(?:{some})(?:\.sh|\.exe)?(?:[ \t]+|\\*[\"'],? *\\*[\"'])[^ \t]")
    yield Probe("command", rf"{lead}(?:{_SHORT})")


def _capitals() -> Iterator[Probe]:
    """`PAGERDUTY_INTEGRATION=…`: in capitals only, for more words in small letters make every scan slow."""
    for at in range(0, len(_CAPITALS), _TOGETHER):
        name = rf"(?:{'|'.join(_CAPITALS[at : at + _TOGETHER])})[A-Z0-9_]*{_QUOTE}?"
        yield Probe("pair", rf"{name}{_BLANK}*[:=]{_BLANK}*{_QUOTE}?[A-Za-z0-9]")
        yield Probe("variable", rf"{name},{_QUOTE}value{_QUOTE}{_SPACE}:{_SPACE}{_DOUBLE}")


PROBES: Final = (
    # password=…, "token": "…", api_key: …; at the value's first character, unless that opens an object or a list
    Probe("pair", rf"{_NAME}{_QUOTE}?\]?{_BLANK}*(?:[?:]{{1,2}}=|=>|::|<-|=|\\+u003[adAD])[ \t\r\n]*[^ \t\r\n{{[]"),
    Probe("pair", rf"{_NAME}{_QUOTE}?\]?{_BLANK}*:[ \t\r\n]+[^ \t\r\n{{[]"),
    Probe("pair", rf"{_NAME}(?:{_QUOTE}\]?|\]){_BLANK}*:[^ \t\r\n{{[]"),
    # and not AuthTokenFilter.java:12
    Probe("pair", rf"{_NAMES}[A-Za-z0-9_-]*{_BLANK}*:[^ \t\r\n{{[:=]"),
    Probe("pair", rf"(?i:{names.RARE})[A-Za-z0-9_.-]*{_QUOTE}?{_BLANK}*(?:=>|[:=])[ \t\r\n]*[^ \t\r\n{{[]"),
    *_capitals(),
    # | password | … |
    Probe("pair", rf"{_NAME}{_BLANK}*(?:\||\xe2\x94\x82){_BLANK}*[^ \t\r\n|]"),
    # {{Name: "DB_PASSWORD", Value: "…
    Probe(
        "variable-text", rf"{_NAME}{_QUOTE}?[,;]?(?:\s+:?{_QUOTE}?|\\+[\"'])(?i:{_CONTENT}){_QUOTE}?\s*(?:=>|[:=])\s*\S"
    ),
    # X-Api-Key "…
    Probe(
        "quoted",
        rf"{_NAME}{_QUOTE}?(?:,?{_BLANK}+(?:<<)?|,<<){_QUOTE}[^ \t\r\n\"'`0-9!@#$%^&*+=]*[0-9!@#$%^&*+=]",
    ),
    # name,password⏎…
    Probe("columns", rf"{_NAMES}{_CELL}(?:{_BETWEEN}{_CELL})+{_LINE_END}"),
    Probe("columns", rf"[A-Za-z0-9_\"'`]{_BETWEEN}(?:{_LETTER}+ )?{_LETTER}*{_NAMES}{_CELL}{_LINE_END}"),
    # what is on the lines below, in a log (masker.logs); password: |⏎…, name: DB_PASSWORD⏎…, a form's field, SMTP
    Probe("below", rf"{_CREDENTIAL}[^\r\n]*:{_BLANK}*\r?\n"),
    Probe("below", rf"{_NAME}[\"']?:{_BLANK}*[|>][+-]?[0-9]?{_BLANK}*\r?\n"),
    Probe("below", rf"(?:name|key)[\"']?:{_BLANK}*[\"']?[A-Za-z0-9_.-]*{_NAME}[\"']?,?{_BLANK}*\r?\n"),
    Probe("below", rf"form-data;[^\r\n]*name=\"[A-Za-z0-9_.-]*{_NAME}\"{_BLANK}*\r?\n"),
    Probe("below", rf"334 UGFzc3dvcmQ6{_BLANK}*\r?\n"),
    Probe("insert", rf"\){_SPACE}(?i:values){_SPACE}\("),
    # %22password%22%3A…
    Probe("percent", rf"{_NAME}(?i:{_PERCENT}(?:20|22|27|5d))*(?i:{_PERCENT}3[ad])"),
    # colours stand between a name and its value
    Probe("colour", _ESC),
    # "password": {"value": "…; at the value's opening quote
    Probe(
        "member",
        rf"{_NAME}{_QUOTE}{_SPACE}:{_SPACE}\{{{_SPACE}{_DOUBLE}(?:{_WRITTEN}){_DOUBLE}{_SPACE}:{_SPACE}{_DOUBLE}",
    ),
    # "passwords": ["…; at the first one's opening quote
    Probe("list", rf"{_NAME}{_QUOTE}{_SPACE}:{_SPACE}\[{_SPACE}{_DOUBLE}"),
    Probe("list", rf"[kK]eys\"{_SPACE}:{_SPACE}\[{_SPACE}{_DOUBLE}"),
    Probe("map", rf"\"(?:tokens|bearer|secureJsonData|passwords|api_?[kK]eys)\"{_SPACE}:{_SPACE}\{{"),
    # {"name": "DB_PASSWORD", "value": "…; at the value's opening quote
    Probe("variable", rf"{_NAME}{_QUOTE}{_SPACE},[^{{}}]*{_QUOTE}(?:{_HOLDS}){_QUOTE}{_SPACE}:{_SPACE}{_DOUBLE}"),
    Probe(
        "variable",
        rf"(?i:{_RANDOM}|key[-_]?(?:base|v?[0-9])|{names.RARE}[A-Za-z0-9_.-]*){_QUOTE}{_SPACE},{_SPACE}{_QUOTE}(?:{_HOLDS}){_QUOTE}{_SPACE}:{_SPACE}{_DOUBLE}",
    ),
    Probe(
        "variable-reversed",
        rf'"value{_DOUBLE}{_SPACE}:{_SPACE}{_DOUBLE}[^"]*"{_SPACE},{_SPACE}{_DOUBLE}(?:name|key){_DOUBLE}{_SPACE}:{_SPACE}'
        rf"{_DOUBLE}[A-Za-z0-9_.-]*(?i:{names.PATTERN})",
    ),
    # "--password", "…; at the next element's opening quote
    Probe("argument", rf"{_DOUBLE}--?(?:[A-Za-z0-9_-]*{_NAME}|-user|-auth|-login){_DOUBLE}{_SPACE},{_SPACE}{_DOUBLE}"),
    # --password … in a command line
    Probe("flag", rf"(?:^|[^A-Za-z0-9_.-])--?[A-Za-z0-9_-]*{_NAME}{_BLANK}+[^ \t\r\n:=]"),
    # mysql -u root -p…
    *_programs(),
    Probe("command", r"--from-literal[= ]"),
    # a value that is random, of a name that says little
    Probe("weak", rf"(?i:{_WEAK}){_QUOTE}?{_BLANK}*[:=]>?{_BLANK}*{_QUOTE}?[A-Za-z0-9+/_=~-]{{8}}"),
    Probe("weak", rf"[ _{{](?:pat|PAT){_QUOTE}?{_BLANK}*[:=]{_BLANK}*{_QUOTE}?[A-Za-z0-9+/_=~-]{{8}}"),
    # `key` alone is what every map calls its keys
    Probe(
        "weak-key",
        rf"(?:^|[^A-Za-z0-9_.-])(?i:keys?){_QUOTE}?{_BLANK}*[:=]>?{_BLANK}*{_QUOTE}?[a-z/_~-]*[A-Z0-9+]",
    ),
    Probe("jwt", r"eyJ[A-Za-z0-9_-]{10}"),
    Probe("pem", r"-----BEGIN (?i)[A-Z0-9 -]{0,40}KEY"),
    Probe("pem", r"PuTTY-User-Key-File-"),
    Probe("scheme", r"(?i)basic[ \t]+[A-Za-z0-9+/=_-]{8}"),
    Probe("scheme", r"(?i)(?:bearer|negotiate|digest|apikey|token|ssws)[ \t]+[A-Za-z._~+/=-]{0,60}[0-9]"),
    Probe("hash", r"\$(?:2[abxy]?|apr1|1|5|6|y|argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]*)\$[^ \t\r\n\"$]{2}"),
    # the end of a padded run; what compressed and nested data begin with; every rule's own words in base64
    # and no `message="`, where the quote opens
    Probe(
        "base64",
        r"[A-Za-z0-9+/]{10}(?:[A-Za-z0-9+/]=(?:[ \t\r\n,;&:)\]}<\\]|\\?[\"'](?:[^A-Za-z0-9\[{(/$<%. _-]|$)|$)|==)",
    ),
    Probe("base64", r"(?:H4sI|SDRzS|QlpoO|/Td6W|ZXlK|ewog|eyAi|ewoJ|W3si)[A-Za-z0-9+/]{8}"),
    # and zlib, whose two bytes are little enough to be asked for at a beginning only
    Probe("base64", r"(?:^|[^A-Za-z0-9+/])(?:eJ[w-z]|eN[o-r]|eA[E-H])[A-Za-z0-9+/]{13}"),
    # base64 of base64 of base64 … begins like this, whatever is inside
    Probe("base64", r"Vm[0-3][A-Za-z0-9+/]{9}"),
    *_hidden(),
    # escapes that hide letters from the scan; Go writes none but \u003c \u003e \u0026 and those of control characters
    Probe("escape", r"(?i)\\u00(?:2[0-57-9a-f]|3[0-9abdf]|[4-7][0-9a-f])|\\/", once=True),
    *(Probe(row.id, probe, wide=row.wide) for row in patterns.ROWS.values() for probe in row.probes),
    Probe("manifest", rf"(?i)kind{_QUOTE}?{_SPACE}:{_SPACE}{_QUOTE}?Secret(?:List)?\b"),
)
