"""Splits one command line into a program's words. There is no shell: nothing is expanded, piped or redirected."""

from __future__ import annotations

import itertools
import shlex
import unicodedata
from collections.abc import Iterator
from typing import Final

from kubescript import errors

__all__ = ["MAX_BYTES", "MAX_WORDS", "split"]

MAX_BYTES: Final = 16 * 1024
"""The maximum size of a command line in bytes of UTF-8."""
MAX_WORDS: Final = 256

_NAMES: Final = {"oc": ("oc", "kubectl"), "openstack": ("openstack",)}
"""Program names that may precede the command."""
_INSTEAD: Final = {
    "oc": "filter with --selector and --field-selector, print with -o jsonpath=… or -o name",
    "openstack": "filter with the command's own options, print with -f json and -c COLUMN",
}
# The longer signs come first, so that the message names them.
_SHELL: Final[tuple[str, ...]] = ("&&", "||", ">>", "|", "&", ";", ">", "<", "$(", "`")
_EXPANDED: Final[tuple[str, ...]] = ("$(", "`")
"""Syntax on which a shell acts even in double quotes."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, invisible ones, halves of surrogate pairs, and line separators."""


def split(command_str: str, program: str) -> list[str]:
    """Returns the words of a line without the program's own name. `program` is `oc` or `openstack`.

    Raises `RequestError` (`request.command_line`) for a line that is empty, too long, broken or meant for a shell.
    """
    text = command_str.strip()
    _check_characters(text)
    try:
        words = shlex.split(text)
    except ValueError:
        raise _refusal("a quote is not closed, or the line ends in a backslash; write '…' around the word") from None
    _check_shell(text, words, program)
    if words and words[0] in _NAMES[program]:
        words = words[1:]
    if not words:
        raise _refusal(f"there is no command; nothing is interactive here, write one such as {_example(program)}")
    if len(words) > MAX_WORDS:
        raise _refusal(f"it has {len(words)} words, and at most {MAX_WORDS} are read; ask for less in one call")
    for word in words:
        _check_dash(word)
    return words


def _check_characters(text: str) -> None:
    """Refuses a line that is too long, or that contains invisible characters."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _refusal(f"it is longer than {MAX_BYTES // 1024} KiB; ask for less in one call")
    for character in text:
        if unicodedata.category(character) in _INVISIBLE:
            code_point = ord(character)
            raise _refusal(f"it has the character U+{code_point:04X}; write one line of visible characters")


def _check_shell(text: str, words: list[str], program: str) -> None:
    """Refuses shell syntax."""
    # A pipe that arrives as a word would change the command.
    quoted_whole = [sign for sign in _SHELL if sign in words]
    signs = itertools.chain(quoted_whole, _find_unquoted_signs(text))
    sign = next(signs, None)
    if sign is not None:
        raise _refusal(
            f"there is no shell, so {sign} does nothing; {_INSTEAD[program]}; a {sign} inside of a value stands in '…'"
        )


def _find_unquoted_signs(text: str) -> Iterator[str]:
    """Yields the shell syntax outside quotes. It is already known that all quotes are closed."""
    quote, at = "", 0
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif quote != "'":
            signs = _EXPANDED if quote else _SHELL
            yield from (sign for sign in signs if text.startswith(sign, at))
        at += 1


def _check_dash(word: str) -> None:
    """Refuses dashes that a word processor made from `-`."""
    # The program would take the flag for a name.
    first = word[:1]
    if first in {"", "-"} or unicodedata.category(first) != "Pd":
        return
    code_point = ord(first)
    raise _refusal(f"{word[:40]} begins with U+{code_point:04X}; write - for a flag")


def _example(program: str) -> str:
    return "'get pods -n NAME'" if program == "oc" else "'server list'"


def _refusal(why: str) -> errors.RequestError:
    return errors.RequestError(f"The command line cannot be read: {why}.", code="request.command_line")
