"""All other kinds: every field by name, as kubectl describes custom resources."""

from __future__ import annotations

import re
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts

__all__ = ["write"]

_LEFT_OUT: Final = frozenset(
    {"annotations", "generation", "labels", "managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid"}
)
"""Metadata fields that are already written, or that mean nothing to a reader."""
_ACRONYMS: Final = frozenset({"API", "URL", "UID", "GUID"})
# Splits camel case: `podIPs` into pod, IPs; `HTTPGet` into HTTP, Get.
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|-+")
_LETTERS: Final = re.compile(r"[^\W\d_-]+(-+[^\W\d_-]+)*")
MAX_DEPTH: Final = 32


def write(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes all fields of an object."""
    metadata = about.object.get("metadata") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    kept = {key: value for key, value in metadata.items() if key not in _LEFT_OUT}
    _fields(out, {**about.object, "metadata": kept}, 0)


def _fields(out: text_writer.Writer, found: dict[str, Any], level: int) -> None:
    for key in sorted(found):
        value = found[key]
        if level >= MAX_DEPTH or not isinstance(value, dict | list):
            out.field(_label(key), value if value is not None else "<nil>", level)
            continue
        out.title(_label(key), level)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                _fields(out, each, level + 1)
            else:
                out.row(texts.text(each, "<nil>"), level=level + 1)


def _label(key: str) -> str:
    """Returns a field's name in kubectl's style: `Pod IPs` for `podIPs`."""
    if not _LETTERS.fullmatch(key):
        return key
    words = []
    for word in _WORD.findall(key):
        upper = word.upper()
        words.append(upper if upper in _ACRONYMS else word.capitalize() if word.islower() else word)
    return " ".join(words)
