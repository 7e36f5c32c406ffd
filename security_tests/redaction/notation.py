"""The notation of the third part, and who reads it.

`<%maker%>` is a secret, `<#text#>` a look-alike, `<=maker=>` drawn without a label, `<~maker~>` may be masked or not.
`<%maker|filter%>` is written as the filter does; `maker@name` draws once and repeats. `<b64{ … }b64>` encodes a whole text.
`<%:text%>` is a secret of more than one piece: its text may draw values and encode them. `<#kind:::text#>` names the kind of look-alike.
Sections start with `=== name` and may have a second word after `|`.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import json
import re
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any, Final

from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Sheet

__all__ = ["IN_ORDER", "Made", "Writer"]

Made = tuple[str, tuple[str, ...]]
"""A value, and the pieces of it that must not be readable; none means the usual ones."""

_FREE: Final = r"<=(?P<free>[A-Za-z][\w -]*?(?:@\w+)?)=>"
_EITHER: Final = r"<~(?P<either>.+?)~>"
_SECRET: Final = r"<%(?P<secret>[A-Za-z:].*?)%>"
_KEPT: Final = re.compile(r"<#(?:(?P<kind>[\w -]+):::)?(?P<text>.+?)#>", re.DOTALL)
Order = tuple[re.Pattern[str], ...]
_BY_LABEL: Final = (re.compile(_FREE), re.compile(_EITHER), re.compile(_SECRET))
"""All values without a label are drawn first, then those that may be masked, then the secrets."""
IN_ORDER: Final = (re.compile(f"{_FREE}|{_EITHER}|{_SECRET}"), re.compile(r"<\+(?P<free>[a-z][\w ]*)\+>"))
"""All values are drawn in the order in which they stand, but those in `<+…+>` after the others."""
_BLOCKS: Final = "b64|b64bare|b64lines|b64url|gz|zlib|json|url|xml|hex|indent2"
_BLOCK: Final = re.compile(rf"<({_BLOCKS})\{{((?:(?!<(?:{_BLOCKS})\{{).)*?)\}}\1>", re.DOTALL)
_CODES: Final[dict[str, Callable[[str], str]]] = {
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
    "b64bare": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "b64lines": lambda text: base64.encodebytes(text.encode()).decode(),
    "b64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "zlib": lambda text: base64.b64encode(zlib.compress(text.encode())).decode(),
    "gz": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "json": lambda text: json.dumps(text)[1:-1], "hex": lambda text: binascii.hexlify(text.encode()).decode(),
    "url": lambda text: urllib.parse.quote(text, safe=""), "xml": html.escape,
    "sq": lambda text: text.replace("'", "''"), "esc": lambda text: text.replace("\n", "\\n"),
    "indent2": lambda text: text.replace("\n", "\n  "), "indent4": lambda text: text.replace("\n", "\n    "),
    "indent8": lambda text: text.replace("\n", "\n        "), "indent20": lambda text: text.replace("\n", "\n" + 20 * " "),
    "log": lambda text: "\n".join(f"2026-03-04T05:06:07.{n:03}Z stdout F {line}" for n, line in enumerate(text.split("\n"), 1)),
}  # fmt: skip


class Writer:
    """Writes the texts of one document."""

    def __init__(self, sheet: Sheet, made: Callable[[Chance, str], Made], order: Order = _BY_LABEL) -> None:
        self.sheet = sheet
        self._made = made
        self._order = order
        self._named: dict[str, Made] = {}

    def text(self, kind: str, spot: str, form: str, whole: bool = False) -> str:
        """The text, its values drawn and labelled; with `whole`, all of it is a look-alike."""
        done = self._drawn(kind, spot, form)
        if whole:
            return self.sheet.keep(f"{spot}: {kind}", self._encoded(done))
        beside = f"beside a secret: {kind}"
        return self._encoded(_KEPT.sub(lambda m: self.sheet.keep(m["kind"] or beside, m["text"]), done))

    def plain(self, form: str) -> str:
        """A text without labels."""
        return self._encoded(self._drawn("", "", form))

    def lines(self, kind: str, spot: str, form: str) -> str:
        """A text of which every line is a look-alike of its own."""
        return "\n".join(self.text(kind, spot, line, whole=True) if line.strip() else line for line in form.split("\n"))

    def tree(self, kind: str, spot: str, form: Any, whole: bool = False) -> Any:
        """The same for every text of an object."""
        if isinstance(form, dict):
            return {key: self.tree(kind, spot, value, whole) for key, value in form.items()}
        if isinstance(form, list):
            return [self.tree(kind, spot, value, whole) for value in form]
        return self.text(kind, spot, form, whole) if isinstance(form, str) and form else form

    def _drawn(self, kind: str, spot: str, form: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found.lastgroup == "free":
                return self._value(found["free"])[0]
            if found.lastgroup == "either":
                return self._undecided(found["either"])
            return self._planted(kind, spot, found["secret"])

        for labels in self._order:
            form = labels.sub(value, form)
        return form

    def _encoded(self, text: str) -> str:
        while (done := _BLOCK.sub(lambda m: _CODES[m[1]](self.sheet.plain(m[2])), text)) != text:
            text = done
        return text

    def _planted(self, kind: str, spot: str, call: str) -> str:
        call, _, code = call.partition("|")
        if call.startswith(":"):
            call = f":{self.plain(call[1:])}"
        again = "@" in call and call.partition("@")[2] in self._named
        value, pieces = self._value(call)
        if not again:
            self.sheet.secret(kind, spot, value, *pieces)
        return _CODES[code](value) if code else value

    def _undecided(self, call: str) -> str:
        self.sheet.either.append(self._value(call)[0])
        return self.sheet.either[-1]

    def _value(self, call: str) -> Made:
        if call.startswith(":"):
            return self._made(self.sheet.chance, call)
        maker, _, name = call.partition("@")
        if name in self._named:
            return self._named[name]
        result = self._made(self.sheet.chance, maker)
        if name:
            self._named[name] = result
        return result
