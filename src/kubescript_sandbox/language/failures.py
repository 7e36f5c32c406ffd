"""Describes a script's exception for the model: its message, a hint and the script's own lines, never other frames.

compiler.py calls `describe` for exceptions and `syntax_advice` for text that Python cannot read.
"""

from __future__ import annotations

import datetime
import difflib
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, NamedTuple

from kubescript_sandbox.language import advice, classes, refusals

__all__ = ["FILENAME", "FRAMES", "Failure", "describe", "syntax_advice"]

FILENAME: Final = "<script>"
"""The file name of compiled scripts; it distinguishes their frames from those of this package."""

FRAMES: Final = 5
"""How many frames are reported: the innermost ones, where the error is."""
_TEXT: Final = 2000
"""How many characters of an exception's message are shown."""
# Attack: a script makes Python suggest an attribute whose name has six million characters.
_HINT: Final = 2000
"""How many characters of a hint are shown."""
_MAX_NAMES: Final = 30
"""How many names are listed after a NameError."""


class Failure(NamedTuple):
    """An exception's description for the model."""

    type: str
    message: str
    hint: str
    """What to write instead; it follows the message."""
    frames: tuple[tuple[int, str], ...]
    """Line and function of the innermost calls; the last one is where the error is."""
    outer: int
    """How many calls surround those."""
    brief: bool
    """Whether the message names the call, so that the line number is enough."""
    by_worker: bool
    """Whether code of this package, or of the guest, raised it."""


def describe(error: BaseException) -> Failure:
    """Returns an exception's description. Runs its `__str__`, which the script may have written."""
    frames = _frames(error.__traceback__)
    globals_ = frames[-1][1] if frames else {}
    brief = bool(frames) and vars(error).get("_tells_all") is True
    shown = 1 if brief else FRAMES
    message = _message(error)
    hint = _advice(error, globals_)
    return Failure(
        _whole_characters(type(error).__name__),
        _whole_characters(message.removesuffix(hint)),
        _whole_characters(hint[:_HINT]),
        tuple(frame for frame, _ in frames[-shown:]),
        max(0, len(frames) - shown),
        brief,
        not _is_raised_by_script(error.__traceback__),
    )


def _is_raised_by_script(tb: TracebackType | None) -> bool:
    """Says whether the innermost frame is the script's."""
    # Attack: a script raises an error with the text of an annotation, which imitates our sentences.
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is None or tb.tb_frame.f_code.co_filename == FILENAME


def _whole_characters(text: str) -> str:
    """Returns a string without lone surrogates, which are half a character and have no UTF-8 bytes."""
    return text.encode("utf-8", "replace").decode()


def _frames(tb: TracebackType | None) -> list[tuple[tuple[int, str], dict[str, Any]]]:
    """Returns the script's own frames: line, function and globals of each."""
    frames = []
    while tb is not None:
        frame = tb.tb_frame
        code = frame.f_code
        if code.co_filename == FILENAME:
            function = "" if code.co_name == "_main_" else code.co_name
            place = (tb.tb_lineno, function)
            frames.append((place, frame.f_globals))
        tb = tb.tb_next
    return frames


def _message(error: BaseException) -> str:
    try:
        text = _own_text(error) or str.__str__(str(error))  # a script's __str__ may return its own subclass of str
    except BaseException as second:  # the script's own __str__ failed
        return f"(its message could not be made: {type(second).__name__})"
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


def _own_text(error: BaseException) -> str:
    """Returns the guest's sentence in a KeyError, without the quotes that `str` adds; empty for a mere key."""
    if type(error) is not KeyError or len(error.args) != 1:
        return ""
    sentence = error.args[0]
    if type(sentence) is str and "; " in sentence:
        return sentence
    return ""


# --- hints ------------------------------------------------------------------------------------------------------------


def _advice(error: BaseException, globals_: dict[str, Any]) -> str:
    try:
        match error:
            case NameError() if not isinstance(error, UnboundLocalError):
                return _about_name(error.name, globals_)
            case AttributeError():
                return _about_attribute(error)
            case TypeError():
                return _about_type_error(str(error))
            case ValueError() | IndexError():
                return advice.guest().values.get(str(error)) or _VALUE_HINTS.get(str(error), "")
            case _:
                return _own_hint(error)
    except BaseException:  # dir() runs the object's code, which may fail too: then there is no hint
        return ""


def _own_hint(error: BaseException) -> str:
    """Returns the hint that the guest's error contains, in the form in which it ends the message."""
    # Attack: a script's exception class has a `hint` with text from a pod.
    hint = "" if classes.is_script_class(type(error)) else getattr(error, "hint", "")
    return f"; {hint}" if type(hint) is str and hint else ""


def _about_name(name: str | None, globals_: dict[str, Any]) -> str:
    if name is None:
        return ""
    if instead := refusals.about_name(name):
        return f"; {instead}"
    if definition := advice.guest().definitions.get(name):
        return f"; write `{name} = {definition}` first"
    builtins = globals_.get("__builtins__", {})
    import_line = builtins["_import_line_"](name) if "_import_line_" in builtins else ""
    if import_line:
        return f"; write `{import_line}` first"
    return _existing_names(name, globals_, builtins)


def _existing_names(name: str, globals_: dict[str, Any], builtins: dict[str, Any]) -> str:
    """Returns the hint for an unknown name: the nearest name, and the script's own variables."""
    variables = _public(globals_)
    functions = [function for function in _public(builtins) if len(function) > 2]
    near = difflib.get_close_matches(name, variables + functions, n=1)
    suggestion = f"; did you mean `{near[0]}`?" if near else ""
    if not variables:
        return suggestion
    listed = ", ".join(variables[:_MAX_NAMES])
    head = suggestion or ";"
    return f"{head} there are: {listed}"


def _public(names: Iterable[str]) -> list[str]:
    """Returns the names that do not begin with an underscore."""
    return [name for name in names if not name.startswith("_")]


_CURLY: Final = "\u201c\u201d\u2018\u2019"


def _about_attribute(error: AttributeError) -> str:
    name = error.name
    if name is None or not hasattr(error, "obj"):
        return ""
    if not str(error).endswith(f"no attribute {name!r}"):
        return ""  # a message that does not end like Python's already has its hint
    if error.obj is None:
        return f": the value before `.{name}` is None, as missing fields are; write `x and x.{name}`"
    if hint := _about_type(error.obj, name):
        return hint
    public = _public(dir(error.obj))
    wanted = _normalize(name)
    near = [each for each in public if _normalize(each) == wanted]
    if not near:
        near = difflib.get_close_matches(name, public, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _about_type(value: object, name: str) -> str:
    if type(value) is str and name in _DATETIME_ATTRIBUTES:
        return f"; {advice.guest().times or _TIMES}"
    if isinstance(value, datetime.timedelta):
        return "; write x.total_seconds() / 3600 for hours, x.days for days"
    if type(value) is list and name not in _LIST_METHOD_GUESSES:
        return f": it is a list, write [x.{name} for x in it], or it[0].{name}"
    if issubclass(type(value), dict):
        return f": it is a dict, write `[{name!r}]` or `.get({name!r})`"
    if value is datetime.datetime and name in _MODULE_NAMES_OF_DATETIME:
        return f"; write `{name}` alone, it is there without an import"
    return ""


_LIST_METHOD_GUESSES: Final = frozenset({"add", "push", "length", "size", "len", "items", "keys", "values", "get"})
_DATETIME_ATTRIBUTES: Final = frozenset(
    {"isoformat", "strftime", "timestamp", "date", "time", "total_seconds", "tzinfo", "astimezone", "year", "days"}
)
_MODULE_NAMES_OF_DATETIME: Final = frozenset({"timedelta", "timezone"})
_TIMES: Final = "it is text: use datetime.fromisoformat(text)"
_VALUE_HINTS: Final = {
    "list index out of range": "; write `x[0] if x else None`",
    **{f"{name}() arg is an empty sequence": f"; write {name}(..., default=0)" for name in ("max", "min")},
    **{f"{name}() iterable argument is empty": f"; write {name}(..., default=0)" for name in ("max", "min")},
}
"""The message of a ValueError or IndexError ▶ its hint."""
_TYPE_ERROR_HINTS: Final[advice.Rows] = (
    (("'method' object is not iterable",), "call it: write () after its name"),
    (("'method' object is not subscriptable",), "call it: write () before the bracket"),
    (("'ModuleProxy' object is not callable",), "this is the module: write datetime.datetime(…), or import the name"),
    (("offset-naive and offset-aware",), "use datetime.now(timezone.utc)"),
)


def _about_type_error(text: str) -> str:
    for parts, hint in (*advice.guest().type_errors, *_TYPE_ERROR_HINTS):
        if all(part in text for part in parts):
            return f"; {hint}"
    return ""


def _normalize(name: str) -> str:
    """Returns a name in the spelling in which names are compared."""
    return name.replace("_", "").lower()


def syntax_advice(error: SyntaxError, source: str) -> str:
    """Returns advice on a line that Python cannot read, based on what models usually mean by it."""
    lines = source.splitlines()
    number = error.lineno or 0
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    if line.startswith(advice.guest().commands):
        return advice.guest().command
    if any(quote in line for quote in _CURLY):
        return ": write straight quotes"
    if line.startswith(("!", "%")):
        return ": notebook commands are not available; write Python"
    if line.startswith(("const ", "let ", "var ", "//")) or "=>" in line or line.endswith("{"):
        return ": scripts are Python"
    if sys.version_info < (3, 12):
        return _newer_syntax_advice(error.msg or "", line)
    return ""


def _newer_syntax_advice(message: str, line: str) -> str:
    """Returns advice on syntax that is newer than the running Python."""
    if "f-string: " in message:
        return ": inside the braces write the other kind of quotes, and no backslash"
    return ": leave type aliases out" if line.startswith("type ") else ""
