"""Values that look random and are the same in every run. No secret stands in this repository: each is made here."""

from __future__ import annotations

import base64
import random
import string
from typing import Final

__all__ = ["Chance"]

_BASE62: Final = string.ascii_letters + string.digits
_NAMES: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The letters Kubernetes uses for generated names."""
_DULL: Final = (
    "hunter", "maple", "sunshine", "dragon", "letmein", "monkey", "shadow", "winter", "summer", "welcome", "qwerty",
    "football", "trustno", "starwars", "whatever", "freedom", "charlie", "jordan", "pepper", "ginger", "cheese", "banana",
)  # fmt: skip
_PHRASE: Final = (
    "correct", "horse", "battery", "staple", "violin", "marble", "harvest", "lantern", "gravel", "pillow", "thunder",
    "velvet", "cactus", "meadow", "anchor", "saddle", "walnut", "copper", "ribbon", "falcon", "puddle", "blanket",
)  # fmt: skip
_WORDS: Final = (
    "web", "api", "cart", "search", "orders", "billing", "ledger", "mailer", "worker", "cache", "proxy", "frontend",
    "importer", "scheduler", "reports", "inventory", "checkout", "gateway", "indexer", "notifier",
)  # fmt: skip


class Chance:
    """Draws in a fixed order from a named seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._given: set[str] = set()

    def number(self, low: int, high: int) -> int:
        """Both ends included."""
        return self._random.randint(low, high)

    def of(self, choices: tuple[str, ...] | str) -> str:
        """One of these."""
        return self._random.choice(choices)

    def draw(self, alphabet: str, length: int) -> str:
        """Letters of an alphabet."""
        return "".join(self._random.choice(alphabet) for _ in range(length))

    def base62(self, length: int) -> str:
        """Letters and digits, as tokens have; never without a digit."""
        return self.draw(_BASE62, length - 2) + self.draw(string.digits, 1) + self.draw(string.ascii_letters, 1)

    def lower(self, length: int) -> str:
        """Lower-case letters and digits."""
        return self.draw(string.ascii_lowercase + string.digits, length)

    def upper(self, length: int) -> str:
        """As AWS writes key ids."""
        return self.draw(string.ascii_uppercase + "234567", length)

    def hex(self, length: int) -> str:
        """Hexadecimal digits."""
        return self.draw("0123456789abcdef", length)

    def digits(self, length: int) -> str:
        """Decimal digits that do not start with 0."""
        return self.draw("123456789", 1) + self.draw(string.digits, length - 1)

    def bytes(self, length: int) -> bytes:
        """Random bytes."""
        return self._random.randbytes(length)

    def base64(self, length: int) -> str:
        """Base64 of that many random bytes."""
        return base64.b64encode(self.bytes(length)).decode()

    def base64url(self, length: int) -> str:
        """As in JWTs."""
        return base64.urlsafe_b64encode(self.bytes(length)).decode().rstrip("=")

    def uuid(self) -> str:
        """As the API server gives to objects."""
        text = self.hex(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def word(self) -> str:
        """A name of a service."""
        return self.of(_WORDS)

    def suffix(self, length: int = 5) -> str:
        """What Kubernetes appends to generated names."""
        return self.draw(_NAMES, length)

    def dull(self) -> str:
        """A password as people choose them; never the same twice."""
        return self._new(lambda: self.of(_DULL) + self.digits(self.number(2, 4)))

    def phrase(self) -> str:
        """A password of words with spaces."""
        return self._new(lambda: " ".join(self.of(_PHRASE) for _ in range(4)))

    def strong(self) -> str:
        """A password as password managers make them, without quotes and what URLs must escape."""
        return self.base62(self.number(10, 14)) + self.of("!_-.*~") + self.base62(self.number(4, 8))

    def password(self) -> str:
        """A password of one word, dull or strong."""
        return self.dull() if self._random.random() < 0.5 else self.strong()

    def _new(self, make: object) -> str:
        assert callable(make)
        while (value := str(make())) in self._given:
            pass
        self._given.add(value)
        return value
