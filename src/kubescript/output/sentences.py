"""Recognizes every sentence that kubescript writes inside a worker, from `sentences.json`, which
scripts/generate_sentences.py writes. A worker may be compromised, so the host trusts none of its texts: `Speech`
compares each with the table.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Parts", "Speech", "is_name", "is_type", "is_word"]

_MAX_TEXT: Final = 8_000
"""How many characters a compared text may have; those of an honest worker have at most 2,000."""
_MAX_PIECES: Final = 300
"""How many pieces of one text are compared. Attack: a text matches many sentences in many ways."""
_JOINTS: Final = re.compile(r"[;:,] |\n")
"""The joints between two sentences, or two values of a list."""
_LIST: Final = re.compile(", | and | or ")
_MAX_JOINTS: Final = 8
_MAX_PARTS: Final = 3
_PARTS: Final = re.compile(r"[/.()]+")
_STATUS: Final = re.compile(r"\A[45]\d\d ")
_QUOTES: Final = " '\"`"


Parts = tuple[str, ...]
"""The texts before, between and after the placeholders of a sentence."""


class _Table(msgspec.Struct, frozen=True):
    names: frozenset[str]
    """Names of classes, and of the official client's methods, parameters, models and fields."""
    types: frozenset[str]
    """Names of classes."""
    words: frozenset[str]
    """Words that count as ours even alone: codes of errors, which precede a message, and globals of every script."""
    python: tuple[tuple[str, ...], ...]
    """The interpreter's sentences: the texts before, between and after the placeholders of each."""
    sentences: tuple[tuple[str, ...], ...]
    """The worker's sentences, in the same form."""


class Speech:
    """A recognizer, for one script, of texts made of our sentences and of the script's own values."""

    def __init__(self, wrote: Callable[[str], bool], has: Callable[[str], bool]) -> None:
        """`wrote` says whether nothing in a text came from the cluster; `has` says whether a value may fill a
        placeholder."""
        self._wrote = wrote
        self._has = has
        self._sentences: Mapping[str, Sequence[Parts]] = {}
        self._known: dict[str, bool] = {}
        """Results for the pieces of one text that were compared."""

    def is_ours(self, text: str, *, by_worker: bool = True) -> bool:
        """Says whether the text consists of sentences of the interpreter, and of the worker if `by_worker`, with values
        that are the script's or names in the SDK. A text that takes too long to compare does not count."""
        return self._is_made_of(text, _by_beginning(by_worker=by_worker))

    def is_one_of(self, text: str, sentences: Iterable[Parts]) -> bool:
        """Says whether the text consists of one or more of these sentences, with such values."""
        return self._is_made_of(text, {"": tuple(sentences)})

    def _is_made_of(self, text: str, sentences: Mapping[str, Sequence[Parts]]) -> bool:
        """Says whether the text consists of these sentences, which are given by their first character."""
        if len(text) > _MAX_TEXT:
            return False
        self._sentences = sentences
        self._known = {}
        return self._is_said(text)

    def _is_said(self, text: str) -> bool:
        """Says whether a piece of the text is ours. Each piece is compared only once."""
        text = text.strip("; ")
        if text not in self._known:
            if len(self._known) >= _MAX_PIECES:
                return False
            # While it is compared, the piece cannot vouch for itself.
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
            if values is not None and all(map(self._may_fill, values)):
                return True
        return any(self._is_said(before) and self._is_said(behind) for before, behind in self._halves(text))

    def _may_fill(self, value: str) -> bool:
        """Says whether a placeholder may have this value: our names, or a sentence of ours."""
        # A name counts only in a placeholder. Attack: an annotation says `delete; namespaces`.
        return self._has_all(value) or self._is_said(value)

    def _has_all(self, values: str) -> bool:
        """Says whether a value, or each in a list such as `kind, metadata and spec`, may fill a placeholder."""
        return all(self._has(value.strip(_QUOTES)) for value in _LIST.split(values))

    def _halves(self, text: str) -> Iterator[tuple[str, str]]:
        """Yields the text before and after each of the first places where a sentence may end."""
        joints = itertools.islice(_JOINTS.finditer(text), _MAX_JOINTS)
        for joint in joints:
            yield text[: joint.start()], text[joint.end() :]


def is_name(text: str) -> bool:
    """Says whether the text is a name in the SDK, such as `V1Pod`, or a few of them, such as `core/Secret`."""
    names = _table().names
    if text in names:
        return True
    parts = [part for part in _PARTS.split(text) if part]
    return 0 < len(parts) <= _MAX_PARTS and names.issuperset(parts)


def is_type(text: str) -> bool:
    """Says whether the text is the name of a class in Python, the SDK or the official client."""
    return text in _table().types


def is_word(text: str) -> bool:
    """Says whether the text is an error code, such as `policy.read_only`, or a global of scripts, such as `k8s`."""
    return text in _table().words


def _values(sentence: tuple[str, ...], text: str) -> list[str] | None:
    """Returns the values in the placeholders of a sentence; None if it is another sentence. Each part of the sentence
    is searched for after the previous one, so that nothing is read twice."""
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
    # A placeholder that takes the whole text says nothing about it.
    values.append(rest.removesuffix(last))
    return values if len(values[-1]) < len(text) else None


@functools.cache
def _by_beginning(*, by_worker: bool) -> dict[str, list[Parts]]:
    """Returns the sentences by their first character; "" for those that begin with a placeholder."""
    found: dict[str, list[Parts]] = {"": []}
    table = _table()
    spoken = table.sentences if by_worker else ()
    for sentence in (*table.python, *spoken):
        beginning = sentence[0][:1]
        found.setdefault(beginning, []).append(sentence)
    return found


@functools.cache
def _table() -> _Table:
    file = Path(__file__).with_name("sentences.json")
    return msgspec.json.decode(file.read_bytes(), type=_Table)
