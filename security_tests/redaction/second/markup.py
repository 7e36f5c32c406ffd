"""Texts with labels in them, so that a form reads here as it reads in a cluster.

`<%maker%>` is a secret, `<#text#>` a look-alike that must survive, `<=maker=>` a generated value without a label.
`<?maker?>` may be masked or not (an access key id). `<%maker@name%>` and `<=maker@name=>` give the same value again wherever the name stands in one document.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, Final

from security_tests.redaction import kinds
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Sheet

__all__ = ["Writer"]

_FREE: Final = re.compile(r"<=([^=>]+)=>")
_SECRET: Final = re.compile(r"<%([A-Za-z][^%>]*)%>")
_EITHER: Final = re.compile(r"<\?([a-z][^?>]*)\?>")
_KEPT: Final = re.compile(r"<#(.+?)#>", re.DOTALL)
_KINDS: Final = {kind.name: kind for kind in (*kinds.KINDS, *kinds.PEMS)}


def _rich(c: Chance) -> str:
    """With what a password generator adds; nothing that JSON or a shell's quotes must escape."""
    return f"{c.base62(5)}{c.of('@#%^&*')}{c.base62(5)}{c.of('!+=?')}{c.base62(4)}"


_MAKERS: Final[dict[str, Callable[[Chance], str]]] = {
    "pw": lambda c: c.password(), "dull": lambda c: c.dull(), "strong": lambda c: c.strong(), "rich": _rich,
    "uuid": lambda c: c.uuid(), "word": lambda c: c.word(), "dashed": lambda c: c.phrase().replace(" ", "-"),
    "basic": lambda c: base64.b64encode(f"{c.word()}:{c.strong()}".encode()).decode(), "b64pw": lambda c: base64.b64encode(c.strong().encode()).decode(),
    "fernet": lambda c: base64.urlsafe_b64encode(c.bytes(32)).decode(), "pub": lambda c: kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 400),
    "phrase": lambda c: c.phrase(), "words": lambda c: " ".join(c.phrase() for _ in range(3)),
    "b64json": lambda c: base64.b64encode(f'{{"user":"a","password":"{c.strong()}"}}'.encode()).decode(),
    "pub64": lambda c: base64.b64encode(kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 400).encode()).decode(),
}  # fmt: skip
_SIZED: Final[dict[str, Callable[[Chance, int], str]]] = {
    "b62": Chance.base62, "hex": Chance.hex, "b64": Chance.base64, "url64": Chance.base64url, "lower": Chance.lower,
    "upper": Chance.upper, "digits": Chance.digits, "suffix": Chance.suffix,
}  # fmt: skip


class Writer:
    """Writes the texts of one document."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._named: dict[str, str] = {}

    def text(self, kind: str, spot: str, form: str, whole: bool = False) -> str:
        """The text, its values drawn and labelled; with `whole`, all of it is a look-alike."""
        free = _EITHER.sub(lambda m: self._undecided(m[1]), _FREE.sub(lambda m: self._value(m[1]), form))
        done = _SECRET.sub(lambda m: self._planted(kind, spot, m[1]), free)
        if whole:
            return self.sheet.keep(f"{spot}: {kind}", done)
        return _KEPT.sub(lambda m: self.sheet.keep(f"beside a secret: {kind}", m[1]), done)

    def tree(self, kind: str, spot: str, form: Any, whole: bool = False) -> Any:
        """The same for every text of an object."""
        if isinstance(form, dict):
            return {key: self.tree(kind, spot, value, whole) for key, value in form.items()}
        if isinstance(form, list):
            return [self.tree(kind, spot, value, whole) for value in form]
        return self.text(kind, spot, form, whole) if isinstance(form, str) and form else form

    def _planted(self, kind: str, spot: str, call: str) -> str:
        again = "@" in call and call.partition("@")[2] in self._named
        value = self._value(call)
        known = _KINDS.get(call.partition("@")[0])
        if not again:
            self.sheet.secret(kind, spot, value, *(known.core(value) if known and known.core else ()))
        return value

    def _undecided(self, call: str) -> str:
        self.sheet.either.append(self._value(call))
        return self.sheet.either[-1]

    def _value(self, call: str) -> str:
        maker, _, name = call.partition("@")
        if name in self._named:
            return self._named[name]
        value = self._made(maker)
        if name:
            self._named[name] = value
        return value

    def _made(self, maker: str) -> str:
        if maker in _KINDS:
            return _KINDS[maker].make(self.sheet.chance)
        if maker in _MAKERS:
            return _MAKERS[maker](self.sheet.chance)
        what, size = maker.split()
        return _SIZED[what](self.sheet.chance, int(size))
