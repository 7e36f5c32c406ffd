"""How answers are written: every text passes `Style.text` whole, before anything is cut or sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubescript.output import sanitizing, truncation

__all__ = ["Mask", "Style", "TimedMask"]

Mask = Callable[[str], str]
"""Masks the secrets in one text."""

_MAYBE_INVISIBLE: Final = re.compile(r"\\[ubfr]|[^\t\n\x20-\x7e]")
"""JSON text without a match contains nothing invisible and no escape for it."""


@dataclass(frozen=True, slots=True)
class TimedMask:
    """A function that masks the secrets in texts as long as the client waits."""

    mask: Callable[[str, Callable[[str], None], Callable[[], None]], str]
    found: Callable[[str], None]
    """Called with the kind of each secret."""
    check: Callable[[], None]
    """Raises KubescriptError once the client no longer waits."""

    def __call__(self, text: str) -> str:
        """Returns the masked text."""
        return self.mask(text, self.found, self.check)


@dataclass(frozen=True, slots=True)
class Style:
    """The style of answers; one per server."""

    mask: Mask | None = None
    mark: bool = True
    """Whether text from the cluster is fenced."""
    structured: bool = False
    """Whether the result is also given as data."""
    constants: frozenset[str] = frozenset()
    """Strings in the script itself: the model wrote them, so they are not masked."""

    def text(self, text: str) -> str:
        """Returns the text cleaned and masked, as every text must be before it is sent."""
        # Attack: a hidden character in a secret hides it from masking, so cleaning comes first.
        text = sanitizing.clean(text)
        if self.mask is None:
            return text
        restored: str = self._restore(text, self.mask(text))
        return restored

    def json(self, text: str) -> str:
        """Returns JSON text cleaned and masked."""
        if _MAYBE_INVISIBLE.search(text):
            cleaned = sanitizing.change_texts(truncation.load(text), sanitizing.clean)
            text = truncation.dump(cleaned)
        if self.mask is None:
            return text
        # The text is masked as a whole, because keys show what their values are.
        masked = self.mask(text)
        if masked == text:
            return text
        given = truncation.load(text)
        try:
            value = self._restore(given, truncation.load(masked))
            return truncation.dump(value)
        except ValueError:
            # Masking has broken the JSON, so each string in it is masked separately.
            value = sanitizing.change_texts(given, self.mask)
            return truncation.dump(value)

    def _restore(self, given: Any, masked: Any) -> Any:
        """Returns the masked value with the script's own constants restored.

        Otherwise masking misleads readers: `{"API_PASSWORD": "ref"}` came back with a mask, because of the key.
        """
        if type(given) is not type(masked):
            return masked
        if isinstance(given, str):
            return given if given in self.constants else masked
        if isinstance(given, list) and len(given) == len(masked):
            return [self._restore(*pair) for pair in zip(given, masked, strict=True)]
        if isinstance(given, dict) and given.keys() == masked.keys():
            return {key: self._restore(value, masked[key]) for key, value in given.items()}
        return masked
