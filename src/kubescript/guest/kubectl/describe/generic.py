"""All other kinds: every field by name, as kubectl describes custom resources."""

from __future__ import annotations

import re
from typing import Any, Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer

__all__ = ["write"]

# Metadata fields that are already written, or that mean nothing to a reader.
_LEFT_OUT: Final = frozenset(
    {"annotations", "generation", "labels", "managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid"}
)
# As in kubectl, these words are written in capitals wherever they are part of a name.
_ACRONYMS: Final = frozenset({"API", "URL", "UID", "GUID"})
# Splits camel case: `podIPs` into pod, IPs; `HTTPGet` into HTTP, Get.
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|-+")
_LETTERS: Final = re.compile(r"[^\W\d_-]+(-+[^\W\d_-]+)*")
# Values nested more deeply are written on one line, since each level is a call within a call.
MAX_DEPTH: Final = 32


def write(about: Subject, out: Writer) -> None:
    """Writes all fields of an object."""
    metadata = about.metadata
    out.names(metadata)
    out.labels_and_annotations(metadata)
    others = {key: value for key, value in metadata.items() if key not in _LEFT_OUT}
    _write_fields(out, {**about.object, "metadata": others}, 0)


def _write_fields(out: Writer, found: dict[str, Any], level: int) -> None:
    """Writes the fields of an object, sorted by their JSON keys."""
    for key in sorted(found):
        value = found[key]
        label = _label(key)
        is_nested = isinstance(value, dict | list)
        if not is_nested or level >= MAX_DEPTH:
            out.field(label, _text(value), level)
            continue
        out.title(label, level)
        _write_below(out, value, level + 1)


def _write_below(out: Writer, value: Any, level: int) -> None:
    """Writes the fields of an object, or the elements of a list."""
    elements = value if isinstance(value, list) else [value]
    for each in elements:
        if isinstance(each, dict):
            _write_fields(out, each, level)
        else:
            out.row(_text(each), level=level)


def _text(value: Any) -> str:
    """Returns a value as Go prints it."""
    return texts.text(value, "<nil>")


def _label(key: str) -> str:
    """Returns a field's name in kubectl's style: `Pod IPs` for `podIPs`."""
    # Keys that users have chosen, such as `app.kubernetes.io/name`, stay as they are.
    if not _LETTERS.fullmatch(key):
        return key
    words = _WORD.findall(key)
    return " ".join(map(_capitalize, words))


def _capitalize(word: str) -> str:
    """Returns a word of a field's name in kubectl's style."""
    upper = word.upper()
    if upper in _ACRONYMS:
        return upper
    if word.islower():
        return word.capitalize()
    return word
