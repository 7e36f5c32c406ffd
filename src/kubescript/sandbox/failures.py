"""A script's exception as text for the model: the script's own lines, message, a hint. Never a host frame."""

from __future__ import annotations

import difflib
from types import TracebackType
from typing import Any, Final

from kubescript.sandbox import refusals

__all__ = ["FILENAME", "describe", "syntax_advice"]

FILENAME: Final = "<script>"
"""The file name of compiled scripts, by which their frames are told from ours."""

_LINES: Final = 5
"""Frames shown, the innermost ones: the error is there."""
_TEXT: Final = 2000
"""Characters of an exception's message."""
_WIDTH: Final = 120
"""Characters of a source line."""


def describe(error: BaseException, source: str) -> tuple[str, str]:
    """Type name and message. Runs the exception's `__str__`, which may be the script's."""
    frames = _frames(error.__traceback__)
    message = _message(error) + _advice(error, frames[-1][2] if frames else {})
    lines = source.splitlines()
    shown = [_line(number, name, lines) for number, name, _ in frames[-_LINES:]]
    if len(frames) > _LINES:
        shown.insert(0, f"… {len(frames) - _LINES} outer calls")
    return type(error).__name__, "\n  ".join([message, *shown])


def _frames(tb: TracebackType | None) -> list[tuple[int, str, dict[str, Any]]]:
    found = []
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename == FILENAME:
            found.append((tb.tb_lineno, code.co_name, tb.tb_frame.f_globals))
        tb = tb.tb_next
    return found


def _line(number: int, name: str, lines: list[str]) -> str:
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    text = text if len(text) <= _WIDTH else text[:_WIDTH] + "…"
    where = "" if name == "_main_" else f" in {name}"
    return f"line {number}{where}: `{text}`"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as second:  # the script's own __str__ failed
        return f"(its message could not be made: {type(second).__name__})"
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


# --- hints ------------------------------------------------------------------------------------------------------------


def _advice(error: BaseException, namespace: dict[str, Any]) -> str:
    try:
        if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
            return _about_name(error.name, namespace)
        if isinstance(error, AttributeError):
            return _about_attribute(error)
    except BaseException:  # a hint is never worth a second failure: dir() runs code of the object
        return ""
    return ""


def _about_name(name: str | None, namespace: dict[str, Any]) -> str:
    if name is None:
        return ""
    builtins = namespace.get("__builtins__", {})
    useful = [key for key in namespace if not key.startswith("_")]
    if name in refusals.NAMES:
        return f"; {refusals.NAMES[name]}"
    if line := builtins.get("_homes_", {}).get(name):
        return f"; write `{line}` first"
    near = difflib.get_close_matches(name, [*useful, *(key for key in builtins if not key.startswith("_"))], n=1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    return f"{meant or ';'} there are: {', '.join(useful[:30])}" if useful else meant


def _about_attribute(error: AttributeError) -> str:
    if error.name is None or "Did you mean" in str(error) or not hasattr(error, "obj"):
        return ""
    if error.obj is None:
        return f": the value before `.{error.name}` is None"
    if isinstance(error.obj, dict):
        return f": it is a dict, write `[{error.name!r}]` or `.get({error.name!r})`"
    public = [name for name in dir(error.obj) if not name.startswith("_")]
    same = [name for name in public if _plain(name) == _plain(error.name)]
    near = same or difflib.get_close_matches(error.name, public, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def syntax_advice(error: SyntaxError, source: str) -> str:
    """What a model most often meant by a line Python cannot read."""
    lines = source.splitlines()
    line = lines[error.lineno - 1].strip() if error.lineno and error.lineno <= len(lines) else ""
    if line.startswith(("kubectl ", "$ kubectl", "oc ", "helm ")):
        return ": this is a shell command; write Python, such as `k8s.list_pods()`"
    if line.startswith(("!", "%")):
        return ": notebook commands are not available; write Python"
    if line.startswith(("const ", "let ", "var ", "//")) or "=>" in line or line.endswith("{"):
        return ": scripts are Python"
    return ""
