"""Values of the main part, the second and the grammars': of the kinds that `kinds.py` names, and of a shape and a length."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from security_tests.redaction import kinds
from security_tests.redaction.chance import Chance
from security_tests.redaction.notation import Made

__all__ = ["made"]

_KINDS: Final = {kind.name: kind for kind in (*kinds.KINDS, *kinds.PEMS)}


def made(chance: Chance, call: str) -> Made:
    """The value of a call such as `pw`, `b62 36` or `GitHub classic token`, with the pieces of it that must not be readable."""
    if call.startswith(":"):
        return call[1:], ()
    if call in _KINDS:
        kind = _KINDS[call]
        value = kind.make(chance)
        return value, kind.core(value) if kind.core else ()
    if call in _SHAPES:
        return _SHAPES[call](chance), ()
    shape, *rest = call.split()
    if shape == "of":
        return chance.of(tuple(rest)), ()
    if shape == "number":
        return str(chance.number(int(rest[0]), int(rest[1]))), ()
    return _SIZED[shape](chance, int(rest[0])), ()


def _rich(c: Chance) -> str:
    """With what a password generator adds; nothing that JSON or a shell's quotes must escape."""
    return f"{c.base62(5)}{c.of('@#%^&*')}{c.base62(5)}{c.of('!+=?')}{c.base62(4)}"


def _certificate(c: Chance, size: int = 400) -> str:
    return kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", size)


def _rsa_key(c: Chance, size: int) -> str:
    return kinds.pem(c, "RSA PRIVATE " + "KEY", "MIIEpAIBAAKCAQEA", size)


def _public_key(c: Chance, size: int) -> str:
    return kinds.pem(c, "PUBLIC KEY", "MIIBIjANBgkqhkiG9w0B", size)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_SHAPES: Final[dict[str, Callable[[Chance], str]]] = {
    "pw": Chance.password,
    "dull": Chance.dull,
    "strong": Chance.strong,
    "rich": _rich,
    "uuid": Chance.uuid,
    "word": Chance.word,
    "Word": lambda c: c.word().title(),
    "phrase": Chance.phrase,
    "dashed": lambda c: c.phrase().replace(" ", "-"),
    "words": lambda c: " ".join(c.phrase() for _ in range(3)),
    "basic": lambda c: _base64(f"{c.word()}:{c.strong()}"),
    "b64pw": lambda c: _base64(c.strong()),
    "b64json": lambda c: _base64(f'{{"user":"a","password":"{c.strong()}"}}'),
    "fernet": lambda c: base64.urlsafe_b64encode(c.bytes(32)).decode(),
    "pub": _certificate,
    "pub64": lambda c: _base64(_certificate(c)),
}
_SIZED: Final[dict[str, Callable[[Chance, int], str]]] = {
    "b62": Chance.base62,
    "hex": Chance.hex,
    "b64": Chance.base64,
    "url64": Chance.base64url,
    "lower": Chance.lower,
    "upper": Chance.upper,
    "digits": Chance.digits,
    "suffix": Chance.suffix,
    "bech32": lambda c, size: c.draw("qpzry9x8gf2tvdw0s3jn54khce6mua7l", size),
    "b64bare": lambda c, size: c.base64(size).rstrip("="),
    "certificate": _certificate,
    "pkcs8-file": lambda c, size: kinds.pem(c, "PRIVATE " + "KEY", "MIIEvQIBADANBgkqhkiG9w0B", size) + "\n",
    "public-key": _public_key,
    "rsa-key": _rsa_key,
    "hex-lines": lambda c, count: "\n".join(c.hex(32) for _ in range(count)),
}
