"""The form of the notes under an answer: fixed sentences, filled with values, some of which come from a cluster.
`broker/summary.py` and `broker/listings.py` write them.

A value that the script itself contains is put into its sentence. Any other value is replaced there by a number, and
shown with the text from the cluster: the name of a namespace or a resource cannot speak in kubescript's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from kubescript.output import fencing

__all__ = ["PLACE", "WARNING", "Note", "arrange", "fill", "of"]

PLACE: Final = "\0"
"""The placeholder of a value in a sentence. No name contains it."""
WARNING: Final = "warning: "
"""The prefix of a note that quotes the API server: custom resources and webhooks write their own warnings."""


class Note(NamedTuple):
    """One part that is missing from an answer."""

    sentence: str
    """A sentence with a `PLACE` for each value."""
    values: tuple[str, ...] = ()
    cluster: str = ""
    """The cluster, if it is one of several; the sentence begins with it."""

    def __str__(self) -> str:
        return fill(self, self.values)

    def within(self, before: str, after: str = "") -> Note:
        """Returns the note with text added around its sentence."""
        return self._replace(sentence=before + self.sentence + after)

    def of_cluster(self, name: str) -> Note:
        """Returns the note about one of several clusters."""
        return self.within(f"{name}: ")._replace(cluster=name)


def of(parts: Iterable[tuple[str, bool]]) -> Note:
    """Returns a note made of strings, each of which comes with whether it is kubescript's own."""
    sentence = ""
    values = []
    for text, is_own in parts:
        sentence += text if is_own else PLACE
        if not is_own:
            values.append(text)
    return Note(sentence, tuple(values))


def fill(note: Note, values: Iterable[str]) -> str:
    """Returns the sentence with these values in its placeholders."""
    if not note.values:
        return note.sentence
    parts = note.sentence.split(PLACE)
    pairs = zip(parts, [*values, ""], strict=True)
    return "".join(part + value for part, value in pairs)


def arrange(notes: Sequence[Note], own: fencing.Own | None, clean: Callable[[str], str]) -> tuple[list[str], list[str]]:
    """Returns the notes to put under the answer, and the parts of them to show with the text from the cluster. All
    values are cleaned; `own` recognizes the script's values; None means that nothing is marked."""
    plain, quoted = [], []
    numbers: dict[str, int] = {}
    for note in notes:
        values = [clean(value) for value in note.values]
        if own is not None and note.sentence.startswith(WARNING):
            # A warning is free text, so the whole of it is shown as the cluster's.
            quoted.append(fill(note, values))
            continue
        shown = []
        for value in values:
            if own is None or own.is_own_value(value):
                shown.append(value)
            else:
                number = numbers.setdefault(value, len(numbers) + 1)
                shown.append(f"<{number}>")
        text = fill(note, shown) if note.values else clean(note.sentence)
        plain.append(text)
    quoted += [f"<{number}>: {value}" for value, number in numbers.items()]
    return plain, quoted
