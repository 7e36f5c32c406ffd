"""Codes that only the owner of a secret can make, and how they are compared."""

from __future__ import annotations

import hmac

__all__ = ["derive", "digest", "is_equal"]


def derive(secret: bytes | str, *parts: str) -> bytes:
    """Returns 256 bits from which neither the secret nor those for other parts can be computed. Parts that kubescript
    makes contain no NUL, and a part of a request that contains one matches no code."""
    key = secret.encode("utf-8", "replace") if isinstance(secret, str) else secret
    return hmac.digest(key, "\0".join(parts).encode("utf-8", "replace"), "sha256")


def digest(secret: str) -> str:
    """Returns the name under which something of a secret's owner is kept. How long it takes to compare two digests
    tells nothing about the secret."""
    return derive(secret, "digest").hex()


def is_equal(given: object, expected: str) -> bool:
    """Compares a value from outside with the valid one, in constant time."""
    # They are compared as bytes, because `compare_digest` accepts only strings of ASCII characters.
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
