"""YAML as Kubernetes writes it: mappings, sequences and scalars. Called by `manifest_files`.

The objects are built from the parser's events, so that time and memory are linear in the text, and a hostile file is
refused early. Merge keys, tags and directives are refused; aliases may at most double a file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["documents"]

# Attack: libyaml takes 5 s for 40,000 brackets, and four times as long for twice as many.
_MAX_DEPTH: Final = 100
_MAX_NODES: Final = 8_000_000
# Attack: Python takes quadratic time for a number of a million digits. Longer ones are treated as text.
_MAX_NUMBER: Final = 32
_DIRECTIVE: Final = re.compile("(?:^|[\r\n\x85\u2028\u2029])%")
_TEXT_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:binary"})
_TRUE: Final = frozenset({"yes", "true", "on"})
_BASES: Final = {"0b": 2, "0x": 16}
_INTEGERS: Final = range(-(2**63), 2**64)
"""JSON integers as the API server reads them; larger numbers are floats."""


def documents(data: bytes) -> list[Any]:
    """Returns the documents of a file. Raises ValueError, which says what is refused, or that the file is not YAML."""
    import yaml  # 20 ms that only readers of YAML pay

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    # Attack: libyaml compares each %TAG line with all previous ones.
    if _DIRECTIVE.search(text):
        raise ValueError("YAML directives are not accepted")
    builder = _Builder(len(text))
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
    return builder.roots


class _Builder:
    """The construction of objects from a stream of events. Raises ValueError for refused input."""

    def __init__(self, size: int) -> None:
        import yaml

        self.roots: list[Any] = []
        self._open: list[_Node] = [_Node(self.roots)]
        self._anchors: dict[str, tuple[Any, int]] = {}
        """Anchor → its value and cost."""
        self._nodes = 0
        self._cost = 0
        self._aliases = 0
        self._alias_budget = size
        self._takers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentEndEvent: self._end_document,
        }

    def take(self, event: Any) -> None:
        """Takes the next event."""
        taker = self._takers.get(type(event))
        if taker is not None:
            taker(event)

    def _scalar(self, event: Any) -> None:
        text = event.value
        is_text = not event.implicit[0]
        if event.tag is not None:
            _check_tag(event.tag)
            is_text = True
        parent = self._open[-1]
        if parent.awaits_key:
            if text == "<<" and not is_text:
                raise ValueError("YAML merge keys are not accepted")
            value = text
        else:
            value = text if is_text else _plain(text)
        cost = len(text) + 1
        self._cost += cost
        self._add(value)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, cost

    def _mapping(self, event: Any) -> None:
        self._enter({}, event)

    def _sequence(self, event: Any) -> None:
        self._enter([], event)

    def _enter(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        if event.tag is not None:
            raise ValueError("YAML tags are not accepted")
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
        self._add(value)
        self._open.append(_Node(value, event.anchor, self._cost, self._aliases))
        self._cost += 1

    def _end(self, _: Any) -> None:
        node = self._open.pop()
        # Attack: anchors within anchors multiply ("billion laughs"), and nest endlessly. So an alias never refers to a
        # value that contains another alias.
        if node.anchor is not None and node.aliases == self._aliases:
            self._anchors[node.anchor] = node.value, self._cost - node.cost

    def _alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            raise ValueError("a YAML alias leads to no anchor, or to one with an alias in it")
        value, cost = known
        self._aliases += 1
        self._cost += cost
        self._alias_budget -= cost
        if self._alias_budget < 0:
            raise ValueError("its YAML aliases make it more than twice as large")
        if self._open[-1].awaits_key and not isinstance(value, str):
            raise ValueError("a YAML key is no text")
        self._add(value)

    def _end_document(self, _: Any) -> None:
        self._anchors.clear()

    def _add(self, value: Any) -> None:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise ValueError(f"it holds more than {_MAX_NODES} values")
        self._open[-1].add(value)


class _Node:
    """A mapping or sequence being read."""

    __slots__ = ("aliases", "anchor", "awaits_key", "cost", "key", "value")

    def __init__(self, value: Any, anchor: str | None = None, cost: int = 0, aliases: int = 0) -> None:
        self.value = value
        self.anchor = anchor
        self.cost = cost
        self.aliases = aliases
        self.awaits_key = type(value) is dict
        self.key = ""

    def add(self, value: Any) -> None:
        """Adds the next value; in a mapping, the next key or its value. Raises ValueError for a key that is not
        text."""
        if type(self.value) is list:
            self.value.append(value)
        elif not self.awaits_key:
            self.value[self.key] = value
            self.awaits_key = True
        elif isinstance(value, str):
            self.key = value
            self.awaits_key = False
        else:
            raise ValueError("a YAML key is no text")


def _check_tag(tag: str) -> None:
    if tag not in _TEXT_TAGS:
        raise ValueError("YAML tags are not accepted")


def _plain(text: str) -> Any:
    """Returns the value of an unquoted scalar."""
    return text if len(text) > _MAX_NUMBER else _short_plain(text)


@functools.lru_cache(4096)
def _short_plain(text: str) -> Any:
    import yaml

    # The rules of YAML 1.1 are PyYAML's own.
    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            meaning = _MEANINGS.get(tag.rpartition(":")[2])
            return text if meaning is None else meaning(text)
    return text


def _bool(text: str) -> bool:
    return text.lower() in _TRUE


def _int(text: str) -> int | float | str:
    if ":" in text:  # base 60 in YAML 1.1, text for Kubernetes
        return text
    digits = text.replace("_", "").lstrip("+-")
    base = _BASES.get(digits[:2]) or (8 if len(digits) > 1 and digits[0] == "0" else 10)
    number = int(digits, base)
    if text[0] == "-":
        number = -number
    return number if number in _INTEGERS else float(number)


def _float(text: str) -> float | str:
    if ":" in text:
        return text
    digits = text.replace("_", "").lower()
    if digits.endswith((".inf", ".nan")):
        digits = digits.replace(".", "")
    return float(digits)


# Timestamps are text in Kubernetes.
_MEANINGS: Final[dict[str, Callable[[str], Any]]] = {
    "null": lambda _: None,
    "bool": _bool,
    "int": _int,
    "float": _float,
}
