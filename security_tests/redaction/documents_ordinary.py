"""Ordinary clusters: objects as operators, charts and kustomize write them, and what controllers log about them.

Most of what stands here looks like a credential's place and is none: names of Secrets with a generated suffix, keys in a
store, annotations, checksums, cursors of pages, public keys of sites, tokens of tokenizers. Beside them stand secrets as
somebody leaves them in values, arguments and logs. The texts were written, and measured, before the rules for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from security_tests.redaction import makers_fourth, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import sections
from security_tests.redaction.notation import Made, Writer
from security_tests.redaction.sheet import Document, Sheet, cores

__all__ = ["documents"]

_LABELLED: Final = re.compile(r"<%[a-z]|<~")
_TEMPTING: Final = re.compile(
    r"(?i)pass|pwd|token|secret|key|auth|cred|cert|checksum|hash|session|cookie|cursor|continue|<=|sha256|tls|kms|vault"
)
_KUSTOMIZE: Final = "bcdfghkmt2456789"
"""The letters of the hash that kustomize appends."""


def documents() -> Iterator[Document]:
    """Every one of the part."""
    for heading, form in sections("ordinary_objects").items():
        writer = _writer(heading)
        path, body = _object(writer, heading, yaml.safe_load(form))
        yield writer.sheet.finish(f"ordinary: {heading}", path, body, "json", held_out=True)
    for heading, form in sections("ordinary_logs").items():
        writer = _writer(heading)
        body = "".join(f"{_text(writer, heading, '', line)}\n" for line in form.split("\n"))
        yield writer.sheet.finish(
            f"ordinary: log of {heading}", "/api/v1/namespaces/shop/pods/x/log", body, "text", held_out=True
        )


def _writer(heading: str) -> Writer:
    return Writer(Sheet(Chance(f"ordinary: {heading}")), _made)


def _made(chance: Chance, name: str) -> Made:
    if name in {"rs", "kustomize", "jwt like", "bootstrap"}:
        value = {
            "rs": lambda: chance.suffix(chance.number(9, 10)),
            "kustomize": lambda: chance.draw(_KUSTOMIZE, 10),
            "jwt like": lambda: "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6" + chance.base64url(40),
            "bootstrap": lambda: f"{chance.lower(6)}.{chance.lower(16)}",
        }[name]()
        return value, cores(value)
    return makers_fourth.made(chance, name)


def _object(writer: Writer, heading: str, form: dict[str, Any]) -> tuple[str, Any]:
    group, kind, metadata = form.pop("apiVersion"), form.pop("kind"), form.pop("metadata")
    name = writer.plain(metadata.pop("name"))
    own = scenery.meta(writer.sheet, name) if not kind.endswith("List") else {}
    body = {"apiVersion": group, "kind": kind, "metadata": own | _tree(writer, heading, "", metadata)}
    path = f"/{'apis' if '/' in group else 'api'}/{group}/namespaces/shop/{kind.lower()}s/x"
    return path, body | _tree(writer, heading, "", form)


def _tree(writer: Writer, heading: str, name: str, form: Any) -> Any:
    if isinstance(form, dict):
        called = str(form.get("name", "")) if set(form) >= {"name", "value"} else ""
        return {
            writer.plain(str(key)): _tree(writer, heading, called or str(key), value) for key, value in form.items()
        }
    if isinstance(form, list):
        return [_tree(writer, heading, name, value) for value in form]
    if isinstance(form, str) and form:
        return "\n".join(_text(writer, heading, name, line) for line in form.split("\n"))
    return form


def _text(writer: Writer, heading: str, name: str, form: str) -> str:
    """A line; with neither a secret nor what may be masked, and in a tempting place, all of it is a look-alike."""
    is_kept = bool(form.strip()) and not _LABELLED.search(form) and _TEMPTING.search(f"{name} {form}") is not None
    return writer.text(f"{heading}: {name}" if name else heading, "ordinary", form, whole=is_kept)
