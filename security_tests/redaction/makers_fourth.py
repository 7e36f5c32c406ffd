"""Secrets by the names that the fourth part's texts use, each with the pieces that must not be readable."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from security_tests.redaction.chance import Chance
from security_tests.redaction.notation import Made
from security_tests.redaction.sheet import cores

__all__ = ["made"]

_SEASONS: Final = ("Sommer", "Winter", "Herbst", "Hafen", "Lager", "Spedition", "Kaffee", "Leuchtturm")


def made(chance: Chance, name: str) -> Made:
    """What is called so; `hex 40` is forty of it."""
    maker, _, length = name.rpartition(" ")
    if length.isdigit() and maker in _SIZED:
        value = _SIZED[maker](chance, int(length))
    elif name in _PAIRS:
        return _PAIRS[name](chance)
    else:
        value = _WHOLE[name](chance)
    return value, cores(value)


def _basic(chance: Chance) -> Made:
    """As in a header or a registry's auth field."""
    password = chance.password()
    value = base64.b64encode(f"{chance.word()}-svc:{password}".encode()).decode()
    return value, (*cores(password), *cores(value))


def _jwt(chance: Chance) -> str:
    return ".".join(("eyJ" + chance.base64url(24), "eyJ" + chance.base64url(90), chance.base64url(32)))


def _pem(kind: str, size: int) -> Callable[[Chance], str]:
    def write(chance: Chance) -> str:
        text = "MII" + chance.base64(size)[3:]
        lines = [text[at : at + 64] for at in range(0, len(text), 64)]
        return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))

    return write


def _symbols(chance: Chance) -> str:
    """With what a URL must escape."""
    return f"{chance.base62(5)}@{chance.base62(4)}/{chance.base62(4)}#{chance.digits(2)}"


_SIZED: Final[dict[str, Callable[[Chance, int], str]]] = {
    "hex": Chance.hex, "base62": Chance.base62, "base64": Chance.base64, "base64url": Chance.base64url,
    "lower": Chance.lower, "upper": Chance.upper, "digits": Chance.digits,
    "crockford": lambda c, n: c.draw("0123456789ABCDEFGHJKMNPQRSTVWXYZ", n),
}  # fmt: skip
_PAIRS: Final[dict[str, Callable[[Chance], Made]]] = {"basic": _basic}
_WHOLE: Final[dict[str, Callable[[Chance], str]]] = {
    "password": Chance.password, "dull": Chance.dull, "strong": Chance.strong, "phrase": Chance.phrase, "uuid": Chance.uuid,
    "word": Chance.word, "suffix": Chance.suffix, "symbols": _symbols, "jwt": _jwt,
    "human": lambda c: f"{c.of(_SEASONS)}{c.digits(4)}!",
    "rsa": _pem("RSA " + "PRIVATE KEY", 360), "pkcs8": _pem("PRIVATE " + "KEY", 300), "ssh": _pem("OPENSSH " + "PRIVATE KEY", 240),
    "certificate": _pem("CERTIFICATE", 400), "public": _pem("PUBLIC KEY", 200),
    "aws secret": lambda c: c.base62(40), "aws id": lambda c: "AK" + "IA" + c.upper(16),
    "github": lambda c: "gh" + "p_" + c.base62(36), "gitlab": lambda c: "gl" + "pat-" + c.base62(20), "runner": lambda c: "gl" + "rt-" + c.base62(20),
    "slack": lambda c: "xo" + f"xb-{c.digits(12)}-{c.digits(12)}-{c.base62(24)}",
    "slack path": lambda c: f"T{c.upper(8)}/B{c.upper(10)}/{c.base62(24)}",
    "stripe": lambda c: "sk" + "_live_" + c.base62(40), "stripe hook": lambda c: "wh" + "sec_" + c.base62(32),
    "stripe public": lambda c: "pk" + "_live_" + c.base62(40),
    "sendgrid": lambda c: "S" + f"G.{c.base62(22)}.{c.base62(43)}", "mailgun": lambda c: f"key-{c.hex(32)}",
    "openai": lambda c: "sk" + "-proj-" + c.base62(56), "hf": lambda c: "h" + "f_" + c.base62(34),
    "npm": lambda c: "np" + "m_" + c.base62(36), "vault": lambda c: "hv" + "s." + c.base62(90), "sonar": lambda c: "sq" + "p_" + c.hex(40),
    "telegram": lambda c: f"{c.digits(10)}:AA{c.base62(33)}", "twilio": lambda c: c.hex(32), "twilio id": lambda c: "A" + "C" + c.hex(32),
    "grafana": lambda c: "gl" + f"sa_{c.base62(32)}_{c.hex(8)}", "newrelic": lambda c: c.hex(36) + "NR" + "AL",
    "google": lambda c: "AI" + "za" + c.base62(35), "fernet": lambda c: c.base64(32), "azure": lambda c: c.base64(64),
    "azure secret": lambda c: f"{c.base62(3)}8Q~{c.base62(34)}", "digitalocean": lambda c: "do" + "p_v1_" + c.hex(64),
    "age": lambda c: "AGE-SECRET-" + "KEY-1" + c.upper(58), "licence": lambda c: "-".join(c.upper(5) for _ in range(5)),
    "totp": lambda c: c.upper(32), "bcrypt": lambda c: f"$2y$10${c.base62(53)}", "changeme": lambda c: "changeme", "guest": lambda c: "guest",
    "git": lambda c: c.hex(40), "sha256": lambda c: c.hex(64), "md5": lambda c: c.hex(32), "short": lambda c: c.hex(7),
    "ulid": lambda c: "01J" + c.draw("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23), "trace": lambda c: c.hex(32), "span": lambda c: c.hex(16),
    "epoch": lambda c: f"17{c.digits(8)}", "ip": lambda c: f"10.{c.number(0, 255)}.{c.number(0, 255)}.{c.number(1, 254)}",
}  # fmt: skip
