"""The header of a runbook: what it does, and the arguments that it takes.

It is a block of comments as PEP 723 has, in TOML:

    # /// runbook
    # description = "Restarts a Deployment"
    #
    # [arguments.namespace]
    # type = "string"
    # pattern = "team-[a-z]+"
    # ///

Only headers of files whose hash is in the lock file, or that a person is about to lock, are parsed.
"""

from __future__ import annotations

import builtins
import keyword
import tomllib
from typing import Any, Final, Literal

import msgspec

from kubescript import errors

__all__ = ["Argument", "Header", "Value", "parse"]

Value = str | int | bool
"""The value of an argument."""

_OPEN: Final = "# /// runbook"
_CLOSE: Final = "# ///"
_MAX_HEADER: Final = 16 * 1024
"""How many characters a header may have."""
_MAX_ARGUMENTS: Final = 32
_MAX_NAME: Final = 64
_MAX_DESCRIPTION: Final = 500
_MAX_PATTERN: Final = 500
_MAX_LENGTH: Final = 4_096
"""The greatest `max_length`, in characters."""
_USUAL_LENGTH: Final = 253
"""The `max_length` of an argument that names none: that of a Kubernetes name."""
MAX_INTEGER: Final = 1 << 53
"""The greatest integer, and the smallest with a minus: JSON has no greater ones that every reader takes alike."""
_TAKEN: Final = frozenset({"k8s", "ctx"})
"""Names of a script's own that no argument may take."""
_OF_TYPE: Final = {
    "string": frozenset({"pattern", "enum", "max_length"}),
    "integer": frozenset({"enum", "minimum", "maximum"}),
    "boolean": frozenset(),
}
"""The conditions that a type may have."""
_CONDITIONS: Final = ("pattern", "enum", "max_length", "minimum", "maximum")


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One argument."""

    type: Literal["string", "integer", "boolean"]
    description: str = ""
    default: Value | None = None
    """None: the caller must give the argument."""
    pattern: str | None = None
    """An RE2 pattern that the whole string matches."""
    enum: tuple[str | int, ...] | None = None
    """The only values."""
    max_length: int | None = None
    """The greatest number of characters; 253 if the header does not say."""
    minimum: int | None = None
    maximum: int | None = None

    def describe(self) -> str:
        """Returns the description, the default and the conditions, for a person."""
        parts = [self.description] if self.description else []
        for name in ("default", *_CONDITIONS):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name}: {value}")
        return "; ".join(parts)

    def find_fault(self, value: object) -> str:
        """Returns what is wrong with a value, in words; empty if nothing."""
        if self.type == "boolean":
            return "" if isinstance(value, bool) else "is not a boolean"
        if self.type == "integer":
            return self._find_fault_of_integer(value)
        return self._find_fault_of_string(value)

    def _find_fault_of_integer(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return "is not an integer"
        least = self.minimum if self.minimum is not None else -MAX_INTEGER
        most = self.maximum if self.maximum is not None else MAX_INTEGER
        if not least <= value <= most:
            return f"is not between {least} and {most}"
        return self._find_fault_of_choice(value)

    def _find_fault_of_string(self, value: object) -> str:
        if not isinstance(value, str):
            return "is not a string"
        most = self.max_length if self.max_length is not None else _USUAL_LENGTH
        if len(value) > most:
            return f"has more than {most} characters"
        # Attack: a value contains line ends or hidden characters, which a person who reads the plan does not see.
        if not value.isprintable():
            return "contains a character that cannot be printed"
        # Attack: a value that Python's own `re` tries for hours. RE2's time grows with the value and nothing else.
        if self.pattern is not None and _compile(self.pattern).fullmatch(value) is None:
            return f"does not match {self.pattern}"
        return self._find_fault_of_choice(value)

    def _find_fault_of_choice(self, value: Value) -> str:
        if self.enum is None or value in self.enum:
            return ""
        known = ", ".join(map(str, self.enum))
        return f"is none of {known}"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a runbook says about itself."""

    description: str
    arguments: dict[str, Argument] = {}


def parse(source: str) -> Header:
    """Returns a runbook's header. Raises RunbookError, code runbook.header."""
    text = _cut_out(source)
    try:
        header = msgspec.convert(tomllib.loads(text), Header, strict=True)
    except tomllib.TOMLDecodeError as error:
        raise _fault(f"is not TOML: {error}") from None
    except (msgspec.ValidationError, RecursionError) as error:
        raise _fault(str(error)) from None
    _check(header)
    return header


def _cut_out(source: str) -> str:
    """Returns the text of the only block. Raises RunbookError."""
    # Python ends its lines there too. Attack: a line that only `splitlines` ends hides another header in a comment.
    lines = source.split("\n")
    if lines.count(_OPEN) != 1:
        raise _fault(f"there must be exactly one block that begins with the line `{_OPEN}`")
    text: list[str] = []
    for line in lines[lines.index(_OPEN) + 1 :]:
        if line == _CLOSE:
            whole = "\n".join(text)
            if len(whole) > _MAX_HEADER:
                raise _fault(f"it has more than {_MAX_HEADER} characters")
            return whole
        if line != "#" and not line.startswith("# "):
            break
        text.append(line[2:])
    raise _fault(f"each of its lines must begin with `# `, and the last one must be `{_CLOSE}`")


def _check(header: Header) -> None:
    """Raises RunbookError for a header that contradicts itself."""
    if not _is_line(header.description) or not header.description.strip():
        raise _fault(f"`description` must be one line of 1 to {_MAX_DESCRIPTION} characters")
    if len(header.arguments) > _MAX_ARGUMENTS:
        raise _fault(f"it has more than {_MAX_ARGUMENTS} arguments")
    for name, argument in header.arguments.items():
        if not _is_name(name):
            raise _fault(f"{name[:_MAX_NAME]!r} cannot be the name of an argument")
        _check_argument(name, argument)


def _is_line(text: str) -> bool:
    return len(text) <= _MAX_DESCRIPTION and text.isprintable()


def _is_name(name: str) -> bool:
    """Says whether a script can have a variable of this name that hides nothing the script needs."""
    if len(name) > _MAX_NAME or not name.isascii() or not name.isidentifier() or name.startswith("_"):
        return False
    return not keyword.iskeyword(name) and not hasattr(builtins, name) and name not in _TAKEN


def _check_argument(name: str, argument: Argument) -> None:
    for condition in _CONDITIONS:
        if getattr(argument, condition) is not None and condition not in _OF_TYPE[argument.type]:
            raise _fault(f"argument {name}: {argument.type} has no `{condition}`")
    if not _is_line(argument.description):
        raise _fault(f"argument {name}: `description` must be one line of at most {_MAX_DESCRIPTION} characters")
    if argument.max_length is not None and not 0 <= argument.max_length <= _MAX_LENGTH:
        raise _fault(f"argument {name}: `max_length` must be between 0 and {_MAX_LENGTH}")
    if argument.pattern is not None:
        _check_pattern(name, argument.pattern)
    for value in argument.enum or ():
        fault = msgspec.structs.replace(argument, enum=None).find_fault(value)
        if fault:
            raise _fault(f"argument {name}: a value of `enum` {fault}")
    if argument.default is not None:
        fault = argument.find_fault(argument.default)
        if fault:
            raise _fault(f"argument {name}: `default` {fault}")


def _check_pattern(name: str, pattern: str) -> None:
    if len(pattern) > _MAX_PATTERN:
        raise _fault(f"argument {name}: `pattern` has more than {_MAX_PATTERN} characters")
    import re2

    try:
        _compile(pattern)
    except re2.error:
        raise _fault(f"argument {name}: `pattern` is not one that RE2 knows") from None


def _compile(pattern: str) -> Any:
    """Returns RE2's pattern. Raises `re2.error`."""
    import re2  # most servers have no runbooks

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _fault(why: str) -> errors.RunbookError:
    return errors.RunbookError(f"the runbook's header: {why}", code="runbook.header")
