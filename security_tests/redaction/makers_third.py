"""Values of the third part: passwords as people of several countries choose them, keys as machines do."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Final

from security_tests.redaction.chance import Chance
from security_tests.redaction.notation import Made

__all__ = ["made"]

_WEAK: Final[dict[str, tuple[str, ...]]] = {
    "de": ("Sommer", "Winter", "Herbst", "Passwort", "Willkommen", "Bayern", "Geheim", "Schalke"),
    "fr": ("Soleil", "Bonjour", "Azerty", "MotDePasse", "Printemps", "Doudou", "Chocolat"),
    "es": ("Contrasena", "Verano", "Madrid", "Hola", "Barcelona", "Primavera"),
    "pt": ("Senha", "Verao", "Mudar", "Flamengo", "Brasil", "Saudade"),
    "ja": ("sakura", "himitsu", "doraemon", "tanuki", "nihon", "kitsune"),
    "en": ("Company", "Welcome", "P@ssw0rd", "Spring", "Letmein", "Admin", "Liverpool"),
}
_SENTENCE: Final = (
    "der", "kleine", "Igel", "tanzt", "im", "Regen", "unter", "dem", "alten", "Apfelbaum", "und", "summt", "ein", "Lied",
    "Leuchtturm", "Kartoffel", "Zwiebel", "Fahrrad", "Mondschein", "Gartenzaun",
)  # fmt: skip


def made(c: Chance, call: str) -> Made:
    """The value of a call such as `b62 36 ghp_` or `pw`, with the pieces that must not be read; none means the usual."""
    name, _, rest = call.partition(" ")
    if not name:
        raise ValueError(call)
    if name.startswith(":"):
        return call[1:], (call[1:],)
    if name == "weak":
        return _weak(c, rest or c.of(("de", "fr", "es", "pt", "ja", "en")))
    if name in _SHAPES:
        return _SHAPES[name](c)
    size, _, prefix = rest.partition(" ")
    return prefix + _SIZED[name](c, int(size)), ()


def _weak(c: Chance, language: str) -> Made:
    value = (
        c.of(_WEAK[language])
        + c.of(("2019", "2023", "2024", "2025", "1234", "0815", "007"))
        + c.of("!?.$#*")
        + c.digits(1)
    )
    return value, (value[2:],)


def _dull(c: Chance) -> Made:
    value = c.dull()
    return value, (value[2:],)


def _odd(c: Chance) -> Made:
    return f"{c.base62(4)}{c.of('$#&;')}{c.base62(4)}{c.of('%@^,')}{c.base62(4)}{c.of('!?=)')}{c.base62(2)}", ()


def _quote(c: Chance) -> Made:
    return f'{c.base62(7)}"{c.base62(7)}', ()


def _basic(c: Chance) -> Made:
    password = c.strong()
    return base64.b64encode(f"{c.word()}:{password}".encode()).decode(), (password,)


def _jwt(c: Chance) -> Made:
    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    signature = c.base64url(32)
    head = part({"alg": c.of(("HS256", "RS256", "ES256")), "typ": "JWT"})
    return f"{head}.{part({'sub': c.word(), 'iat': 1760000000, 'jti': c.uuid()})}.{signature}", (
        signature[:16],
        signature[-16:],
    )


def _pem(kind: str, size: int) -> Callable[[Chance], Made]:
    def make(c: Chance) -> Made:
        body = base64.b64encode(b"\x30\x82" + c.bytes(size)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        whole = "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))
        return whole, tuple(line[-16:] for line in lines if len(line) >= 16)

    return make


def _phrase(c: Chance) -> Made:
    return c.phrase(), ()


def _sentence(c: Chance) -> Made:
    return " ".join(c.of(_SENTENCE) for _ in range(5)) + c.digits(2), ()


_SHAPES: Final[dict[str, Callable[[Chance], Made]]] = {
    "pw": lambda c: _dull(c) if c.number(0, 1) else (c.strong(), ()), "dull": _dull, "strong": lambda c: (c.strong(), ()),
    "phrase": _phrase, "sentence": _sentence, "odd": _odd, "quote": _quote, "basic": _basic, "jwt": _jwt,
    "uuid": lambda c: (c.uuid(), ()), "word": lambda c: (c.word(), ()), "pin": lambda c: (c.digits(c.number(6, 8)), ()),
    "rsa": _pem("RSA PRIVATE" + " KEY", 300), "pkcs8": _pem("PRIVATE" + " KEY", 200), "ec": _pem("EC PRIVATE" + " KEY", 118),
    "openssh": _pem("OPENSSH PRIVATE" + " KEY", 260), "pgp": _pem("PGP PRIVATE" + " KEY BLOCK", 260),
    "cert": _pem("CERTIFICATE", 400), "pub": _pem("PUBLIC KEY", 200),
    "dashed": lambda c: ("-".join(c.lower(5) for _ in range(4)), ()),
}  # fmt: skip
_SIZED: Final[dict[str, Callable[[Chance, int], str]]] = {
    "b62": Chance.base62, "hex": Chance.hex, "b64": Chance.base64, "url64": Chance.base64url, "lower": Chance.lower,
    "upper": Chance.upper, "digits": Chance.digits, "suffix": Chance.suffix,
}  # fmt: skip
