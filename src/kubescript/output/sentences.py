"""Knows every sentence that kubescript says inside a worker, from `sentences.json`, which scripts/generate_sentences.py
writes. A worker may have fallen, so the host believes none of its texts: `Speech` compares each with the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Parts", "Speech", "is_name", "is_type", "is_word"]

_MAX_TEXT: Final = 8_000
"""Characters of a text that is compared; an honest worker's have 2,000."""
_MAX_PIECES: Final = 300
"""Pieces of one text that are compared. Attack: a text that fits many sentences in many ways."""
_JOINTS: Final = re.compile(r"[;:,] |\n")
"""Where one sentence ends and the next begins, or one value of a list."""
_LIST: Final = re.compile(", | and | or ")
_MAX_JOINTS: Final = 8
_MAX_PARTS: Final = 3
_PARTS: Final = re.compile(r"[/.()]+")
_STATUS: Final = re.compile(r"\A[45]\d\d ")
_QUOTES: Final = " '\"`"


Parts = tuple[str, ...]
"""What stands before, between and behind the places of a sentence."""


class _Table(msgspec.Struct, frozen=True):
    names: frozenset[str]
    """Of classes, and of the official client's methods, parameters, models and fields."""
    types: frozenset[str]
    """Names of classes."""
    words: frozenset[str]
    """That are ours by themselves: codes of errors, which stand before a message, and what every script has."""
    python: tuple[tuple[str, ...], ...]
    """What the interpreter says: what stands before, between and behind the places of each sentence."""
    sentences: tuple[tuple[str, ...], ...]
    """The same of what the worker says."""


class Speech:
    """Tells, for one script, what text is made of sentences of ours and of values that the script itself has."""

    def __init__(self, wrote: Callable[[str], bool], has: Callable[[str], bool]) -> None:
        """`wrote` says of a text whether nothing in it came from the cluster; `has`, of what stands in the place of a
        sentence."""
        self._wrote = wrote
        self._has = has
        self._sentences: Mapping[str, Sequence[Parts]] = {}
        self._known: dict[str, bool] = {}
        """The pieces of one text that were compared."""

    def is_ours(self, text: str, *, by_worker: bool = True) -> bool:
        """Says whether the text is one or several sentences of the interpreter's, and of the worker's if it spoke, with
        values in their places that are the script's, or names of the SDK's. What takes too long to compare is not."""
        return self._is_made_of(text, _by_beginning(by_worker=by_worker))

    def is_one_of(self, text: str, sentences: Iterable[Parts]) -> bool:
        """Says whether the text is one or several of these sentences, with such values."""
        return self._is_made_of(text, {"": tuple(sentences)})

    def _is_made_of(self, text: str, sentences: Mapping[str, Sequence[Parts]]) -> bool:
        self._sentences, self._known = sentences, {}
        return len(text) <= _MAX_TEXT and self._is_said(text)

    def _is_said(self, text: str) -> bool:
        """Says whether a piece of the text is ours. Each piece is compared once."""
        text = text.strip("; ")
        if text not in self._known:
            if len(self._known) >= _MAX_PIECES:
                return False
            self._known[text] = False
            self._known[text] = self._compare(text)
        return self._known[text]

    def _compare(self, text: str) -> bool:
        if not text or is_word(_STATUS.sub("", text)):
            return True
        if self._wrote(text.strip(_QUOTES)):
            return True
        candidates = (*self._sentences.get(text[0], ()), *self._sentences[""])
        for sentence in candidates:
            values = _values(sentence, text)
            # A name says something in the place of a sentence alone. Attack: `delete; namespaces`, by an annotation.
            if values is not None and all(self._has_all(value) or self._is_said(value) for value in values):
                return True
        return any(self._is_said(before) and self._is_said(behind) for before, behind in self._halves(text))

    def _has_all(self, values: str) -> bool:
        """Says whether a value, or each of a list such as `kind, metadata and spec`, may stand in a sentence."""
        return all(self._has(value.strip(_QUOTES)) for value in _LIST.split(values))

    def _halves(self, text: str) -> Iterator[tuple[str, str]]:
        """Yields the text before and behind each of the first places where it may be two sentences."""
        for count, joint in enumerate(_JOINTS.finditer(text)):
            if count == _MAX_JOINTS:
                return
            yield text[: joint.start()], text[joint.end() :]


def is_name(text: str) -> bool:
    """Says whether the text is a name that the SDK has, such as `V1Pod`, or a few of them, such as `core/Secret`."""
    names = _table().names
    if text in names:
        return True
    parts = list(filter(None, _PARTS.split(text)))
    return 0 < len(parts) <= _MAX_PARTS and names.issuperset(parts)


def is_type(text: str) -> bool:
    """Says whether the text is the name of a class of Python's, of the SDK's or of the official client's."""
    return text in _table().types


def is_word(text: str) -> bool:
    """Says whether the text is the code of an error, such as `policy.read_only`, or what every script has, such as
    `k8s`."""
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
def _by_beginning(*, by_worker: bool) -> dict[str, list[Parts]]:
    """Returns the sentences by their first character; "" for those that begin with a place."""
    found: dict[str, list[Parts]] = {"": []}
    table = _table()
    spoken = table.sentences if by_worker else ()
    for sentence in (*table.python, *spoken):
        found.setdefault(sentence[0][:1], []).append(sentence)
    return found


@functools.cache
def _table() -> _Table:
    file = Path(__file__).with_name("sentences.json")
    return msgspec.json.decode(file.read_bytes(), type=_Table)
