"""The notation of the third part, and who reads it.

`<%maker%>` is a secret, `<#text#>` a look-alike, `<=maker=>` drawn without a label, `<~maker~>` may be masked or not.
`<%maker|filter%>` is written as the filter does; `maker@name` draws once and repeats. `<b64{ … }b64>` encodes a whole text.
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
from collections.abc import Callable
from typing import Any, Final

from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Sheet

__all__ = ["Made", "Writer"]

Made = tuple[str, tuple[str, ...]]
"""A value, and the pieces of it that must not be readable; none means the usual ones."""

_FREE: Final = re.compile(r"<=([A-Za-z][\w ]*?(?:@\w+)?)=>")
_EITHER: Final = re.compile(r"<~(.+?)~>")
_SECRET: Final = re.compile(r"<%([A-Za-z:].*?)%>")
_KEPT: Final = re.compile(r"<#(.+?)#>", re.DOTALL)
_BLOCK: Final = re.compile(r"<(b64|gz|json|url|xml|hex)\{((?:(?!<(?:b64|gz|json|url|xml|hex)\{).)*?)\}\1>", re.DOTALL)
_CODES: Final[dict[str, Callable[[str], str]]] = {
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
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

    def __init__(self, sheet: Sheet, made: Callable[[Chance, str], Made]) -> None:
        self.sheet = sheet
        self._made = made
        self._named: dict[str, Made] = {}

    def text(self, kind: str, spot: str, form: str, whole: bool = False) -> str:
        """The text, its values drawn and labelled; with `whole`, all of it is a look-alike."""
        done = _FREE.sub(lambda m: self._value(m[1])[0], form)
        done = _EITHER.sub(lambda m: self._undecided(m[1]), done)
        done = _SECRET.sub(lambda m: self._planted(kind, spot, m[1]), done)
        if whole:
            return self.sheet.keep(f"{spot}: {kind}", self._encoded(done))
        return self._encoded(_KEPT.sub(lambda m: self.sheet.keep(f"beside a secret: {kind}", m[1]), done))

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

    def _encoded(self, text: str) -> str:
        while (done := _BLOCK.sub(lambda m: _CODES[m[1]](self.sheet.plain(m[2])), text)) != text:
            text = done
        return text

    def _planted(self, kind: str, spot: str, call: str) -> str:
        call, _, code = call.partition("|")
        again = "@" in call and call.partition("@")[2] in self._named
        value, pieces = self._value(call)
        if not again:
            self.sheet.secret(kind, spot, value, *pieces)
        return _CODES[code](value) if code else value

    def _undecided(self, call: str) -> str:
        self.sheet.either.append(self._value(call)[0])
        return self.sheet.either[-1]

    def _value(self, call: str) -> Made:
        maker, _, name = call.partition("@")
        if name in self._named:
            return self._named[name]
        result = self._made(self.sheet.chance, maker)
        if name:
            self._named[name] = result
        return result
