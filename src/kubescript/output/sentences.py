"""Knows every sentence that kubescript says inside a worker, from `sentences.json`, which scripts/generate_sentences.py
writes. A worker may have fallen, so the host believes none of its texts: `Speech` compares each with the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Speech", "is_name", "is_word"]

_MAX_TEXT: Final = 8_000
"""Characters of a text that is compared; an honest worker's have 2,000."""
_MAX_PIECES: Final = 300
"""Pieces of one text that are compared. Attack: a text that fits many sentences in many ways."""
_JOINTS: Final = re.compile(r"[;:,] |\n")
"""Where one sentence ends and the next begins, or one value of a list."""
_MAX_JOINTS: Final = 8
_MAX_PARTS: Final = 3
_PARTS: Final = re.compile(r"[/.()]+")
_STATUS: Final = re.compile(r"\A[45]\d\d ")
_QUOTES: Final = " '\"`"


class _Table(msgspec.Struct, frozen=True):
    names: frozenset[str]
    """Of classes, and of the official client's methods, parameters, models and fields."""
    words: frozenset[str]
    """That are ours by themselves: codes of errors, which stand before a message, and what every script has."""
    sentences: tuple[tuple[str, ...], ...]
    """What stands before, between and behind the places of each sentence."""


class Speech:
    """Tells, for one script, what text is made of sentences of ours and of values that the script itself has."""

    def __init__(self, is_own: Callable[[str], bool]) -> None:
        """`is_own` says of a value whether nothing in it came from the cluster."""
        self._is_own = is_own
        self._known: dict[str, bool] = {}
        """The pieces of one text that were compared."""

    def is_ours(self, text: str) -> bool:
        """Whether the text is one or several sentences of the table, with values in their places that are the
        script's, or names of the SDK's. What takes too long to compare is not."""
        self._known = {}
        return len(text) <= _MAX_TEXT and self._is_said(text)

    def _is_said(self, text: str) -> bool:
        text = text.strip("; ")
        if text not in self._known:
            if len(self._known) >= _MAX_PIECES:
                return False
            self._known[text] = False
            self._known[text] = self._compare(text)
        return self._known[text]

    def _compare(self, text: str) -> bool:
        if not text or is_word(_STATUS.sub("", text)) or self._is_own(text.strip(_QUOTES)):
            return True
        for sentence in (*_by_beginning().get(text[0], ()), *_by_beginning()[""]):
            values = _values(sentence, text)
            if values is None:
                continue
            # A name says something in the place of a sentence alone. Attack: `delete; namespaces`, by an annotation.
            if all(is_name(value.strip(_QUOTES)) or self._is_said(value) for value in values):
                return True
        return any(self._is_said(before) and self._is_said(behind) for before, behind in self._halves(text))

    def _halves(self, text: str) -> Iterator[tuple[str, str]]:
        for count, joint in enumerate(_JOINTS.finditer(text)):
            if count == _MAX_JOINTS:
                return
            yield text[: joint.start()], text[joint.end() :]


def is_name(text: str) -> bool:
    """Whether the text is a name that the SDK has, such as `V1Pod`, or a few of them, such as `core/Secret`."""
    parts = list(filter(None, _PARTS.split(text)))
    few = 0 < len(parts) <= _MAX_PARTS
    return text in _table().names or (few and all(part in _table().names for part in parts))


def is_word(text: str) -> bool:
    """Whether the text is the code of an error, such as `policy.read_only`, or what every script has, such as `k8s`."""
    return text in _table().words


def _values(sentence: tuple[str, ...], text: str) -> list[str] | None:
    """Returns what stands in the places of a sentence; None for another sentence. Each part of the sentence is looked
    for behind the one before, so that nothing is read twice."""
    first, *others = sentence
    if not text.startswith(first):
        return None
    if not others:
        return [] if text == first else None
    *between, last = others
    values = []
    rest = text.removeprefix(first)
    for part in between:
        value, found, rest = rest.partition(part)
        if not found:
            return None
        values.append(value)
    if not rest.endswith(last):
        return None
    # A place that is the whole text again says nothing of it.
    values.append(rest.removesuffix(last))
    return values if len(values[-1]) < len(text) else None


@functools.cache
def _by_beginning() -> dict[str, list[tuple[str, ...]]]:
    """Returns the sentences by their first character; "" for those that begin with a place."""
    found: dict[str, list[tuple[str, ...]]] = {"": []}
    for sentence in _table().sentences:
        found.setdefault(sentence[0][:1], []).append(sentence)
    return found


@functools.cache
def _table() -> _Table:
    file = Path(__file__).with_name("sentences.json")
    return msgspec.json.decode(file.read_bytes(), type=_Table)
