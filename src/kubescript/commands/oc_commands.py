"""The commands of `oc` and `kubectl` that this server supports, and their flags, from `oc_commands.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = [
    "BLOCKED",
    "GLOBAL_FLAGS",
    "READS",
    "REFUSED_FLAGS",
    "WRITES",
    "Command",
    "Flags",
    "canonical",
    "flags_of",
    "longest",
]

Command = tuple[str, ...]
"""The words of a command, such as `("rollout", "status")`."""


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags by their spelling, `-l` or `--selector`: the long name, and the names that require a value."""

    names: Mapping[str, str]
    need_value: frozenset[str]

    def __or__(self, other: Flags) -> Flags:
        names = {**self.names, **other.names}
        need_value = self.need_value | other.need_value
        return Flags(names, need_value)


def longest(words: Command, commands: Iterable[Command]) -> int:
    """Returns the number of words in the longest of the commands with which `words` begin; 0 if there is none."""
    length = 0
    for command in commands:
        size = len(command)
        if size > length and words[:size] == command:
            length = size
    return length


def canonical(words: Command) -> Command:
    """Replaces an alias of a command at the beginning of the words: `top po` becomes `top pod`."""
    length = longest(words, _ALIASES)
    if not length:
        return words
    alias = words[:length]
    rest = words[length:]
    return _ALIASES[alias] + rest


def flags_of(words: Command) -> Flags:
    """Returns the flags permitted for the command with which the words begin, including the global ones."""
    length = longest(words, _FLAGS)
    if not length:
        return GLOBAL_FLAGS
    command = words[:length]
    return GLOBAL_FLAGS | _HELP | _FLAGS[command]


def _parse_flags(text: str) -> Flags:
    """Reads a list of flags such as `-w/watch -n/namespace=`; `=` means that a value must follow."""
    names: dict[str, str] = {}
    need_value: set[str] = set()
    for word in _unfold(text):
        letter, _, long = word.rpartition("/")
        name = long.removesuffix("=")
        names[f"--{name}"] = name
        if letter:
            names[letter] = name
        if long != name:
            need_value.add(name)
    return Flags(names, frozenset(need_value))


def _unfold(text: str) -> Iterator[str]:
    """Yields the words of a list of flags, with groups in place of their names."""
    for word in text.split():
        if word.startswith("@"):
            yield from _unfold(_FILE["flags"][word[1:]])
        else:
            yield word


def _commands(section: str) -> dict[Command, Flags]:
    """Returns the commands of a section, with the flags of each."""
    commands: dict[Command, Flags] = {}
    for words, flags in _FILE[section].items():
        command = tuple(words.split())
        commands[command] = _parse_flags(flags)
    return commands


def _instead(section: str, key: str) -> dict[str, str]:
    """Returns the advice for each entry in the section's lists; the first one counts."""
    found: dict[str, str] = {}
    for row in _FILE[section]:
        entries = row[key]
        if isinstance(entries, str):
            entries = _parse_flags(entries).names
        for entry in entries:
            found.setdefault(entry, row["instead"])
    return found


_FILE: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("oc_commands.toml").read_text("utf-8"))
_ALIASES: Final = {tuple(name.split()): tuple(command.split()) for name, command in _FILE["aliases"].items()}

READS: Final = _commands("reads")
"""Commands that are allowed by default."""
WRITES: Final = _commands("writes")
"""Commands that `allow_write` also allows."""
_FLAGS: Final = READS | WRITES
BLOCKED: Final = {tuple(words.split()): instead for words, instead in _instead("blocked", "commands").items()}
"""Commands that are refused by default, even with `allow_write`, each with advice."""
REFUSED_FLAGS: Final = _instead("refused", "flags")
"""The advice for each refused flag, by its spelling; a command's own list of flags takes precedence."""
GLOBAL_FLAGS: Final = _parse_flags(_FILE["flags"]["global"])
_HELP: Final = _parse_flags(_FILE["flags"]["help"])
