"""The whole corpus: the main part, with the forms that were held out at first; and the second, third and fourth that were held out."""

from __future__ import annotations

import functools

from security_tests.redaction import (
    documents_fourth,
    documents_grammar,
    documents_ordinary,
    documents_second,
    documents_third,
    first_heldout,
    lookalikes,
    planting,
    specials,
)
from security_tests.redaction.sheet import Document

__all__ = ["fifth", "fourth", "grammar", "held_out", "main", "ordinary", "sixth", "third"]


@functools.cache
def main() -> tuple[Document, ...]:
    """Every document of the main part."""
    return (*planting.documents(), *specials.documents(), *lookalikes.documents(), *first_heldout.documents())


@functools.cache
def held_out() -> tuple[Document, ...]:
    """Every document of the part whose forms whoever wrote the rules had not seen at its first measurement."""
    return tuple(documents_second.documents())


@functools.cache
def third() -> tuple[Document, ...]:
    """Every document of the part that was held out after the second."""
    return tuple(documents_third.documents())


@functools.cache
def fourth() -> tuple[Document, ...]:
    """Every document of the part that was held out last, a sample of what an audit finds."""
    return tuple(documents_fourth.documents())


@functools.cache
def fifth() -> tuple[Document, ...]:
    """Every document of a part that was held out later: half of its secrets stand in unusual places."""
    return tuple(documents_fourth.sampled("fifth"))


@functools.cache
def sixth() -> tuple[Document, ...]:
    """Every document of a part like the fifth, by another author."""
    return tuple(documents_fourth.sampled("sixth"))


@functools.cache
def grammar() -> tuple[Document, ...]:
    """Every document of the part whose forms were written by the grammars that carry them, before the rules for them."""
    return tuple(documents_grammar.documents())


@functools.cache
def ordinary() -> tuple[Document, ...]:
    """Every document of the part that asks what is touched in clusters as operators fill them."""
    return tuple(documents_ordinary.documents())
