"""Splits shell scripts into commands. Nothing is run.

Supported are sequences of commands, pipes, here documents (`<<EOF`), `echo … |` and `cat > file`. Values computed at
run time are unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

__all__ = ["Files", "output", "pipes", "without_redirection"]

_ENDS: Final = frozenset({";", "&&", "||", "&", "\n", ";;", "(", ")"})


class Files:
    """Files that a script writes and reads.

    Attack: `cat a a > b; cat b b > a` doubles a file each time, and a script may apply one large file a thousand times.
    So at most `most` characters are written and read in total.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._texts: dict[str, str] = {}

    def put(self, name: str, text: str) -> None:
        """Writes a file."""
        self._left -= len(text)
        if self._left < 0:
            text = ""
        self._texts[name] = text

    def take(self, name: str) -> str | None:
        """Returns a file's text; None if the script has not written it."""
        text = self._texts.get(name)
        self._left -= len(text or "")
        if self._left >= 0:
            return text
        return None


def pipes(text: str) -> Iterator[list[tuple[list[str], str | None]]]:
    """Yields pipes: each command's words, and its here document."""
    lines = text.replace("\\\n", " ").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if _open_quote(line, ""):  # the quoted text continues on the next lines
            taken = _join_quoted(line, lines, place)
            if taken is None:
                return  # a shell would not run anything either
            line, place = taken
        known = _tokens(line)
        documents = []
        for sign, mark in itertools.pairwise(known):
            if sign != "<<":
                continue
            start = place
            end = mark.lstrip("-")  # `<<-EOF` lets the end be indented
            while place < len(lines) and lines[place].strip() != end:
                place += 1
            documents.append("\n".join(lines[start:place]))
            place += 1
        yield from _split(known, documents)


def _join_quoted(line: str, lines: list[str], place: int) -> tuple[str, int] | None:
    """Returns the line joined with the following ones up to the end of the quoted text, and the index after them; None
    if the quote never ends."""
    quote = _open_quote(line, "")
    parts = [line]
    while quote and place < len(lines):
        following = lines[place]
        parts.append(following)
        quote = _open_quote(following, quote)
        place += 1
    if quote:
        return None
    return ("\n".join(parts), place)


def _open_quote(line: str, quote: str) -> str:
    """Returns the quote that is open at the end of a line; `quote` is the one open before it."""
    is_escaped = False
    for character in line:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
    return quote


def _tokens(line: str) -> list[str]:
    """Returns a line's words and operators. `shlex` takes quadratic time for a long word."""
    scanner = _Scanner()
    for character in line:
        if scanner.add(character):
            break
    scanner.end()
    return scanner.tokens


class _Scanner:
    """A scanner that splits a line, character by character."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self._word: list[str] = []
        self._is_word = False
        self._sign = ""
        self._quote = ""
        self._is_escaped = False

    def add(self, character: str) -> bool:
        """Adds one character; returns whether a comment begins with it."""
        if self._is_escaped:
            self._is_escaped = False
            # In double quotes, a backslash is kept before characters that need no escape.
            kept = "\\" + character if self._quote and character not in '"\\$`' else character
            self._word.append(kept)
        elif character == "\\" and self._quote != "'":
            self._is_escaped = self._is_word = True
        elif self._quote:
            if character == self._quote:
                self._quote = ""
            else:
                self._word.append(character)
        elif character in "'\"":
            self._end_sign()
            self._quote, self._is_word = character, True
        elif character in ";&|<>\n":
            self._end_word()
            if self._sign and (self._sign[-1] != character or len(self._sign) > 2):
                self._end_sign()
            self._sign += character
        elif character.isspace():
            self.end()
        # `#` within a word is part of it, as in a URL.
        elif character == "#" and not self._is_word:
            return True
        else:
            self._end_sign()
            self._word.append(character)
            self._is_word = True
        return False

    def end(self) -> None:
        """Ends the current word or operator."""
        self._end_word()
        self._end_sign()

    def _end_word(self) -> None:
        if self._is_word:
            self._end_sign()
            self.tokens.append("".join(self._word))
        self._word = []
        self._is_word = False

    def _end_sign(self) -> None:
        if self._sign:
            self.tokens.append(self._sign)
        self._sign = ""


def _split(tokens: list[str], documents: list[str]) -> Iterator[list[tuple[list[str], str | None]]]:
    """Yields the pipes in a line of words and operators."""
    pipe: list[tuple[list[str], str | None]] = []
    words: list[str] = []
    document: str | None = None
    rest = iter(documents)
    # The end of the line also ends its last command.
    for each in [*tokens, ";"]:
        if each in _ENDS or each == "|":
            if words:
                pipe.append((words, document))
            words = []
            document = None
            # `|` ends a command, but not the pipe.
            if each != "|" and pipe:
                yield pipe
                pipe = []
        elif each == "<<":
            # Here documents are in the order of their marks.
            document = next(rest, "")
            words.append(each)
        else:
            words.append(each)


def without_redirection(words: list[str], files: Files) -> tuple[list[str], str]:
    """Returns the words without redirections, and the file that receives the output."""
    kept: list[str] = []
    target = ""
    rest = iter(words)
    for word in rest:
        if word in {">", ">>", "<", "<<", "<<<", ">&", "&>"}:
            other = next(rest, "")
            if word in {">", ">>"}:
                target = other
            elif word == "<<<":
                kept += ["<<<", other]
            elif word == "<":
                text = files.take(other)
                if text is not None:
                    kept += ["<<<", text]
        else:
            kept.append(word)
    return kept, target


def output(words: list[str], given: str, files: Files) -> str:
    """Returns a command's output as far as it is known."""
    if not words:
        return given
    if words[0] in {"echo", "printf"}:
        # Neither prints the options of echo or the format of printf.
        texts = [word for word in words[1:] if word not in {"-e", "-n", "-en", "%s", "%s\\n"}]
        return " ".join(texts).replace("\\n", "\n")
    if words[0] in {"cat", "tee"}:
        # Files that the script has not written are unknown.
        texts = list(filter(None, map(files.take, words[1:])))
        return "\n---\n".join(texts) or given
    return ""
