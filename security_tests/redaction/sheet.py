"""The labels: what is secret in a document and what only looks like it.

A builder writes a document as usual and passes each value through `secret` or `keep` on its way. What must survive is
marked with private characters until the document is finished, so that its place is known exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from security_tests.redaction.chance import Chance

__all__ = ["LAST_APPLIED", "Document", "Lookalike", "Secret", "Sheet", "compact", "cores", "leaves"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MARKED: Final = re.compile("\ue000(\\d+)\ue001(.*?)\ue002", re.DOTALL)
_WINDOW: Final = 16


@dataclass(frozen=True, slots=True)
class Secret:
    """One planted secret. It has leaked when any of `cores` can be read."""

    kind: str
    spot: str
    value: str
    cores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookalike:
    """One text that must survive byte for byte. `where` is the path of its leaf; None inside an encoding."""

    kind: str
    text: str
    where: tuple[str | int, ...] | None


@dataclass(frozen=True, slots=True)
class Document:
    """One answer of the API server with its labels."""

    name: str
    path: tuple[str, ...]
    body: bytes
    secrets: tuple[Secret, ...]
    lookalikes: tuple[Lookalike, ...]
    query: tuple[tuple[str, str], ...] = ()
    accept: str = "json"
    form: str = "json"
    """json, lines (a watch) or text (a log)."""
    held_out: bool = False
    either: tuple[str, ...] = ()
    """Values that may be masked or not: half of the world calls them secret, the other half publishes them."""


@dataclass(slots=True)
class Sheet:
    """Collects the labels of one document while it is written."""

    chance: Chance
    secrets: list[Secret] = field(default_factory=list)
    either: list[str] = field(default_factory=list)
    _kept: list[tuple[str, str]] = field(default_factory=list)
    _inside: list[Lookalike] = field(default_factory=list)

    def secret(self, kind: str, spot: str, value: str, *core: str) -> str:
        """Label a secret and give it back."""
        self.secrets.append(Secret(kind, spot, value, core or cores(value)))
        return value

    def keep(self, kind: str, text: str) -> str:
        """Label a look-alike and give it back, marked."""
        self._kept.append((kind, text))
        return f"\ue000{len(self._kept) - 1}\ue001{text}\ue002"

    def plain(self, text: str) -> str:
        """The text as it will be read, for an encoding; its look-alikes are looked for by their text."""
        for match in _MARKED.finditer(text):
            self._inside.append(Lookalike(self._kept[int(match[1])][0], match[2], None))
        return _MARKED.sub(r"\2", text)

    def json(self, value: Any, dump: Callable[[Any], str] | None = None) -> str:
        """JSON inside a text."""
        return (dump or compact)(_mapped(value, self.plain))

    def finish(self, name: str, path: str, body: Any, form: str = "json", **how: Any) -> Document:
        """The document: an object, a list of watch events, or a text."""
        found: list[Lookalike] = []
        for where, leaf in leaves(body):
            if isinstance(leaf, str):
                found += [Lookalike(self._kept[int(m[1])][0], m[2], where) for m in _MARKED.finditer(leaf)]
        clean = _mapped(body, lambda text: _MARKED.sub(r"\2", text))
        return Document(
            name, tuple(path.strip("/").split("/")), _written(clean, form), tuple(self.secrets),
            (*found, *self._inside), form=form, either=tuple(self.either), **how,
        )  # fmt: skip


def cores(value: str) -> tuple[str, ...]:
    """The pieces of a secret that must not be readable: its halves when short, windows of it when long, each line when
    it has lines."""
    if "\n" in value:
        return tuple(line[-_WINDOW:] for line in value.split("\n") if len(line) >= _WINDOW and "--" not in line)
    if len(value) < 12:
        return (value,)
    if len(value) < 2 * _WINDOW:
        return value[: len(value) // 2], value[len(value) // 2 :]
    middle = len(value) // 2
    return value[: _WINDOW + 8], value[middle - _WINDOW // 2 : middle + _WINDOW // 2], value[-_WINDOW:]


def compact(value: Any) -> str:
    """JSON as Go writes it: no spaces, and < > & escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value that is no container, with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*at, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*at, number))
    else:
        yield at, value


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def _written(body: Any, form: str) -> bytes:
    if form == "text":
        return str(body).encode()
    if form == "lines":
        return "".join(compact(event) + "\n" for event in body).encode()
    return (compact(body) + "\n").encode()
