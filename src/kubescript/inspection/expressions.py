"""The operator's own rules about changes, in CEL, with the variables of a ValidatingAdmissionPolicy.

Google's own implementation evaluates them. It is loaded only if there are rules: it takes 16 MiB, which all maskers
share. Its regular expressions are RE2, and an evaluation ends after 10,000 steps of `all`, `exists` and the like.
Anything else is stopped by the limits on this process's memory and time, and the host then refuses the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.kube import documents
from kubescript.wire import inspection
from kubescript_masking.rules.probes import RuleError

__all__ = ["Expressions"]

_SETTING: Final = "setting `write_policy.expressions`"
_MISTAKE: Final = "ERROR: <input>:"
"""The prefix of the compiler's errors; line, column and message follow, separated by colons."""
_CONTAINER: Final = " (in container '')"
# The error itself may quote the object, so it is not shown.
_REASONS: Final = (
    ("Iteration budget exceeded", "it takes too many steps"),
    ("NOT_FOUND", "a field or key in it is missing"),
    ("out of range", "a number is too large"),
    ("overflow", "a number is too large"),
    ("divide by zero", "it divides by zero"),
    ("No matching overloads", "a value has another type than it needs"),
    ("Applying SELECT", "a value has another type than it needs"),
)
"""Maps words in the library's error to the reason why an expression cannot be evaluated."""
_UNKNOWN: Final = "it cannot be evaluated"


class Expressions:
    """Compiled rules. Not safe for concurrent use."""

    def __init__(self, given: Sequence[inspection.Expression]) -> None:
        """Raises RuleError for an expression that does not compile or is not a condition."""
        self._compiled: tuple[tuple[inspection.Expression, Any], ...] = ()
        if not given:
            return
        # The library is loaded only if there are rules: it takes 16 MiB, which all maskers share.
        try:
            from cel_expr_python import cel
            from cel_expr_python.ext import ext_optional, ext_strings
        except ImportError:
            from kubescript import installation

            raise RuleError(f"{_SETTING}: needs CEL; to add it: {installation.suggest_extra('cel')}") from None
        self._condition = cel.Type.BOOL
        self._error = cel.Type.ERROR
        environment = cel.NewEnv(
            variables={
                "object": cel.Type.DYN,
                "oldObject": cel.Type.DYN,
                "request": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
            },
            extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
        )
        conditions = {cel.Type.BOOL.name(), cel.Type.DYN.name()}
        self._compiled = tuple((one, _compile(environment, one, conditions)) for one in given)
        # The library imports modules at its first use, which a confined masker cannot do later.
        self.objections(inspection.Comparison(0, 0, "create"), None, {})

    def objections(self, about: inspection.Comparison, before: Any, after: Any) -> tuple[inspection.Objection, ...]:
        """Returns the rules that a change violates, or that cannot be evaluated. `before` and `after` are the decoded
        objects, or None."""
        if not self._compiled:
            return ()
        values = {"object": after, "oldObject": before, "request": _request(about, before, after)}
        # Attack: the library truncates strings at a NUL, so "prod\0" would equal "prod".
        is_readable = not _has_nul([before, after])
        found = []
        for rule, program in self._compiled:
            why: str | None = "a text in it has a NUL character"
            if is_readable:
                why = self._failure(program, values)
            if why is None:
                continue
            text = rule.message or f"`{rule.expression}` must hold"
            if why:
                text += f" ({why})"
            found.append(inspection.Objection(rule.id, text))
        return tuple(found)

    def _failure(self, program: Any, values: dict[str, Any]) -> str | None:
        """Returns why a rule fails: an empty string if it is false; None if it holds."""
        try:
            result = program.eval(data=values)
            kind = result.type()
            value = result.value()
        except MemoryError:
            return "it takes too much memory"
        except Exception as error:  # the library's exceptions are undocumented
            return _reason(str(error))
        if kind == self._error:
            return _reason(str(value))
        if kind != self._condition:
            return "it is neither true nor false"
        return None if value is True else ""


def _compile(environment: Any, rule: inspection.Expression, conditions: set[str]) -> Any:
    """Compiles one rule. Raises RuleError."""
    try:
        program = environment.compile(rule.expression)
    except Exception as error:
        mistake = _mistake(str(error))
        raise RuleError(f"{_SETTING}: `{rule.id}` {mistake}") from None
    kind = program.return_type().name()
    if kind not in conditions:
        raise RuleError(f"{_SETTING}: `{rule.id}` is a value of type {kind.lower()}, and must be true or false")
    return program


def _reason(text: str) -> str:
    """Returns the reason in kubescript's own words: those of the library may quote the object."""
    for words, reason in _REASONS:
        if words in text:
            return reason
    return _UNKNOWN


def _mistake(text: str) -> str:
    """Returns the compiler's message on one line."""
    _, _, message = text.partition(_MISTAKE)
    first_line, _, _ = message.partition("\n")
    parts = first_line.split(":", 2)
    if len(parts) != 3:
        whole = text.splitlines()[0] if text else ""
        return f"cannot be compiled: {whole[:200]}"
    line, column, rest = parts
    reason = rest.strip().replace(_CONTAINER, "")
    return f"cannot be compiled: line {line}, column {column}: {reason[:200]}"


def _request(about: inspection.Comparison, before: Any, after: Any) -> dict[str, Any]:
    """Returns the fields of an AdmissionRequest for a change."""
    operation = "UPDATE"
    if about.verb == "delete":
        operation = "DELETE"
    elif before is None:  # an apply may create its object
        operation = "CREATE"
    shown = after if after is not None else before
    group, _, version = documents.text(shown, "apiVersion").rpartition("/")
    # Without authenticated callers the request has no user, and a rule that asks for a user denies.
    user = {}
    if about.user is not None:
        groups = list(about.user.groups)
        user["userInfo"] = {"username": about.user.username, "groups": groups}
    return user | {
        "operation": operation,
        "kind": {"group": group, "version": version, "kind": documents.text(shown, "kind")},
        "resource": {"group": about.group, "version": about.version, "resource": about.resource},
        "subResource": about.subresource,
        "namespace": about.namespace,
        "name": about.name or documents.text(documents.mapping(after, "metadata"), "name"),
    }


def _has_nul(values: list[Any]) -> bool:
    """Says whether any string or key within the values contains a NUL."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if "\0" in value:
                return True
        elif isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False
