"""Decides whether a command line of `oc` or `kubectl` is run: its command and each of its flags must be on a list.

Arguments are read as cobra and pflag read them: only flags that both support are accepted, by their exact names, and an
unknown flag ends the reading. The proxy's policy and the process's confinement hold even without this check, whose
purpose is clear answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kubescript import errors
from kubescript.commands import oc_commands

__all__ = ["Rules", "check"]

_FORMATS: Final = frozenset({"json", "yaml", "kyaml", "name", "wide", "plaintext"})
_TEMPLATES: Final = ("jsonpath=", "jsonpath-as-json=", "custom-columns=", "go-template=", "template=")
_MAX_LEVEL: Final = 10
"""The highest level that kubectl has for `-v`."""
_SHOWN: Final = 60
"""How many characters of a word a message quotes."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The operator's rules for commands. Each entry is the first words of commands, such as `adm policy who-can`.

    If `allowed` is None, the reads in oc_commands.toml are allowed. `blocked` adds to the blocked commands there, and
    `allow_write` permits the writes. A blocked command is refused, unless the operator has a longer entry for it in
    `allowed`.
    """

    allowed: tuple[str, ...] | None = None
    blocked: tuple[str, ...] = ()
    allow_write: bool = False


@dataclass(frozen=True, slots=True)
class _Flag:
    name: str
    value: str | None


class _UnknownFlagError(Exception):
    """An exception for a flag that is not on the list; holds its spelling: `--token`, `-t`."""


def check(arguments: Sequence[str], rules: Rules) -> oc_commands.Command:
    """Returns the words of the command in kubectl's spelling, such as `("top", "pod")` for `-n shop top po --sum`.

    Raises `PolicyDenied`: `policy.command` for a refused command, `policy.argument` for a flag or a value.
    """
    words, ended_by = _leading_words(arguments)
    command = _find_command(words, ended_by, rules)
    known = oc_commands.flags_of(words)
    try:
        for item in _read(arguments, known):
            if isinstance(item, _Flag):
                _check_value(item)
    except _UnknownFlagError as unknown:
        raise _flag_denial(str(unknown), f"it is not one of the flags that {_show(command)} may have here") from None
    _check_after_dashes(arguments)
    return command


def _leading_words(arguments: Sequence[str]) -> tuple[oc_commands.Command, str]:
    """Returns the words before the first flag that is not global, and that flag ("" if there is none)."""
    words: list[str] = []
    ended_by = ""
    try:
        for item in _read(arguments, oc_commands.GLOBAL_FLAGS):
            if isinstance(item, _Flag):
                _check_value(item)
            else:
                words.append(item)
    except _UnknownFlagError as unknown:
        # cobra takes the word after an unknown flag to be its value, and looks for the command no further.
        ended_by = str(unknown)
    return oc_commands.canonical(tuple(words)), ended_by


def _find_command(words: oc_commands.Command, ended_by: str, rules: Rules) -> oc_commands.Command:
    """Returns the words that name the command; the rest of `words` are its arguments."""
    allowed_words = oc_commands.READS if rules.allowed is None else _entries(rules.allowed)
    blocked_words = [*oc_commands.BLOCKED, *_entries(rules.blocked)]
    allowed = oc_commands.longest(words, allowed_words)
    blocked = oc_commands.longest(words, blocked_words)
    # Only the operator's own, longer entry lifts a block.
    is_lifted = rules.allowed is not None and allowed > blocked
    if blocked and not is_lifted:
        named = words[:blocked]
        instead = oc_commands.BLOCKED.get(named, "the operator of this server has blocked it")
        raise _command_denial(named, instead)
    writes = oc_commands.longest(words, oc_commands.WRITES)
    if writes >= allowed and writes and not rules.allow_write:
        raise _command_denial(words[:writes], "this server only reads; return the command for a person to run")
    if allowed or writes:
        reads = oc_commands.longest(words, oc_commands.READS)
        length = max(allowed, writes, reads)
        return words[:length]
    if ended_by:
        raise _flag_denial(
            ended_by, "only -n, -v and other global flags may stand before the words of a command; help is one"
        )
    raise _command_denial(
        words[:3], "only known commands run, and no plugins; reads such as get, describe, logs and events do"
    )


def _entries(commands: Sequence[str]) -> list[oc_commands.Command]:
    """Returns the operator's entries in kubectl's spelling."""
    split = [tuple(command.split()) for command in commands]
    return [oc_commands.canonical(words) for words in split]


def _read(arguments: Sequence[str], flags: oc_commands.Flags) -> Iterator[_Flag | str]:
    """Reads arguments as pflag does, up to `--`. Raises `_UnknownFlagError`; `PolicyDenied` for a missing value."""
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return
        if argument == "-" or not argument.startswith("-"):
            yield argument
        elif argument.startswith("--"):
            yield _long_flag(argument, waiting, flags)
        else:
            yield from _short_flags(argument, waiting, flags)


def _long_flag(argument: str, waiting: Iterator[str], flags: oc_commands.Flags) -> _Flag:
    """Returns one flag that begins with `--`, with its value. Raises _UnknownFlagError."""
    spelling, equals, value = argument.partition("=")
    name = flags.names.get(spelling)
    if name is None:
        raise _UnknownFlagError(spelling)
    if equals:
        return _Flag(name, value)
    if name not in flags.need_value:
        return _Flag(name, None)
    following = _next_value(spelling, waiting)
    return _Flag(name, following)


def _short_flags(argument: str, waiting: Iterator[str], flags: oc_commands.Flags) -> Iterator[_Flag]:
    """Yields the flags in a cluster of letters: `-Aw`, `-ojson`, `-o=json`, `-Ao json`; the first that needs a value
    takes the rest."""
    for at, letter in enumerate(argument[1:], start=2):
        spelling = f"-{letter}"
        name = flags.names.get(spelling)
        if name is None:
            raise _UnknownFlagError(spelling)
        if argument.startswith("=", at) and at + 1 < len(argument):
            yield _Flag(name, argument[at + 1 :])
            return
        if name in flags.need_value:
            rest = argument[at:]
            yield _Flag(name, rest or _next_value(spelling, waiting))
            return
        yield _Flag(name, None)


def _next_value(spelling: str, waiting: Iterator[str]) -> str:
    """Returns the next word. Raises PolicyDenied if there is none, or it looks like a flag."""
    value = next(waiting, None)
    if value is None:
        raise _flag_denial(spelling, "a value must follow")
    # A flag must never be taken for a value.
    if value.startswith("-"):
        joined = f"{spelling}={value}"
        raise _flag_denial(spelling, f"a value that begins with - is written in the same word: {_quote(joined)}")
    return value


def _check_value(flag: _Flag) -> None:
    value = flag.value or ""
    if flag.name == "follow" and flag.value != "false":
        raise _denial(
            "Logs cannot be followed here: read the last lines with --tail=, or those of a time with --since=."
        )
    if flag.name == "output" and value not in _FORMATS and not value.startswith(_TEMPLATES):
        formats = ", ".join(sorted(_FORMATS))
        templates = "…, ".join(_TEMPLATES)
        instead = f"{formats} or {templates}…"
        raise _denial(f"-o {_quote(value)} is refused; nothing is read from files: write one of {instead}")
    if flag.name == "v" and not _is_level(value):
        raise _denial(f"-v {_quote(value)} is refused; write a level from 0 to {_MAX_LEVEL}")


def _is_level(text: str) -> bool:
    is_number = text.isascii() and text.isdigit()
    if not is_number or len(text) > 2:
        return False
    return int(text) <= _MAX_LEVEL


def _check_after_dashes(arguments: Sequence[str]) -> None:
    """Refuses, after `--` too, the flags that are refused before it."""
    # kubectl treats all words after `--` as plain arguments, but this check does not rely on that.
    if "--" not in arguments:
        return
    start = arguments.index("--") + 1
    for argument in arguments[start:]:
        spelling = argument[:2]
        if spelling == "--":
            spelling, _, _ = argument.partition("=")
        if spelling in oc_commands.REFUSED_FLAGS:
            raise _flag_denial(spelling, "it is refused behind -- too")


def _flag_denial(spelling: str, why: str) -> errors.PolicyDenied:
    instead = oc_commands.REFUSED_FLAGS.get(spelling, why)
    flag = _quote(spelling)
    return _denial(f"The flag {flag} is refused: {instead}.")


def _denial(message: str) -> errors.PolicyDenied:
    return errors.PolicyDenied(message, code="policy.argument")


def _command_denial(words: oc_commands.Command, instead: str) -> errors.PolicyDenied:
    what = "The line names no command"
    if words:
        what = f"The command {_show(words)} is refused"
    return errors.PolicyDenied(f"{what}: {instead}.", code="policy.command")


def _show(words: oc_commands.Command) -> str:
    """Returns the first words of a command for a message."""
    return _quote(" ".join(words[:3]))


def _quote(text: str) -> str:
    """Returns a word for a message, cut to a readable length."""
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]}…"
    return repr(text)
