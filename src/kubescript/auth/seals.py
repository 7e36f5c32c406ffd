"""Seals what is kept for the owner of a random secret, who alone can read it. No key has to be shared, rotated or
protected."""

from __future__ import annotations

from typing import Final

from cryptography import exceptions
from cryptography.hazmat.primitives.ciphers import aead

from kubescript.auth import codes

__all__ = ["seal", "unseal"]

# A secret seals one text, so its nonce need not differ.
_NONCE: Final = bytes(12)


def seal(secret: str, content: bytes) -> bytes:
    """Returns the content, readable only with the secret; each secret seals once."""
    return _cipher(secret).encrypt(_NONCE, content, None)


def unseal(secret: str, sealed: bytes) -> bytes | None:
    """Returns what was sealed with this secret; None if it was not, or has changed."""
    try:
        return _cipher(secret).decrypt(_NONCE, sealed, None)
    except exceptions.InvalidTag:
        return None


def _cipher(secret: str) -> aead.AESGCM:
    return aead.AESGCM(codes.derive(secret, "seal"))
