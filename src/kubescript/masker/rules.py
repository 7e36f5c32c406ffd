"""Tokens that are known by their own shape: gitleaks' rules (`rules.toml`), ours (`own_rules.toml`), the operator's."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubescript import errors
from kubescript.masker import values
from kubescript.masker.spans import Span

__all__ = ["Rule", "shipped"]

_FILES: Final = ("rules.toml", "own_rules.toml")
_BACK: Final = 400
_AHEAD: Final = 2_048
_TAIL: Final = re.compile(rb"[A-Za-z0-9_]*")
_ESCAPES: Final = frozenset({b"\\n", b"\\r", b"\\t"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape."""

    id: str
    probe: str
    """hyperscan's, ends at one place per token."""
    regex: re.Pattern[bytes]
    entropy: float = 0.0
    bounded: bool = True
    """Whether a letter or digit before it makes it part of something else."""

    def spans(self, text: bytes, end: int) -> Iterator[Span]:
        """The token around the place where the probe ended."""
        for match in self.regex.finditer(text, max(0, end - _BACK), min(len(text), end + _AHEAD)):
            if match.start() >= end:
                return
            if match.end() >= end and self._stands_alone(text, match.start()):
                group = 1 if self.regex.groups and match[1] is not None else 0
                if values.entropy(match[group]) >= self.entropy:
                    tail = _TAIL.match(text, match.end(group), match.end(group) + 200)
                    yield Span(match.start(group), tail.end() if tail else match.end(group), self.id)
                    return

    def _stands_alone(self, text: bytes, start: int) -> bool:
        before = text[max(0, start - 1) : start]
        return not (self.bounded and before.isalnum()) or text[max(0, start - 2) : start] in _ESCAPES


def shipped() -> list[Rule]:
    """The rules that come with kubescript."""
    rules = []
    for name in _FILES:
        data = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
        rules += [parse(each) for each in data["rules"]]
    return rules


def parse(data: dict[str, object]) -> Rule:
    """A rule from its settings. Raises ConfigError."""
    regex = str(data["regex"])
    try:
        compiled = re.compile(regex.encode())
    except re.error as error:
        raise errors.ConfigError(f"redaction rule `{data['id']}`: {error}") from None
    entropy = data.get("entropy", 0.0)
    assert isinstance(entropy, float | int)
    return Rule(
        str(data["id"]), str(data.get("probe") or regex), compiled, float(entropy), bool(data.get("bounded", True))
    )
