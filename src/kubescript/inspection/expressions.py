"""The operator's own rules about changes, in CEL, with the names that a ValidatingAdmissionPolicy has for what it sees.

Google's own implementation evaluates them. It is loaded only where there are rules: it takes 16 MiB, which all maskers
share. Its regular expressions are RE2, and an evaluation ends after 10,000 steps of `all`, `exists` and the like. What
else an object may make it do ends at the memory and the deadline of this process, and the host then refuses the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.wire import inspection
from kubescript_masking.rules.probes import RuleError

__all__ = ["Expressions"]

_SETTING: Final = "setting `write_policy.expressions`"
_MISTAKE: Final = "ERROR: <input>:"
"""What the compiler begins with; line, column and a message follow, with colons between them."""
_CONTAINER: Final = " (in container '')"
_REASONS: Final = (
    ("Iteration budget exceeded", "it takes too many steps"),
    ("NOT_FOUND", "a field or key in it is missing"),
    ("out of range", "a number is too large"),
    ("overflow", "a number is too large"),
    ("divide by zero", "it divides by zero"),
    ("No matching overloads", "a value has another type than it needs"),
    ("Applying SELECT", "a value has another type than it needs"),
)
"""Why an expression has no value, by words of the library's error. The error may quote the object, and is not told."""
_UNKNOWN: Final = "it cannot be evaluated"


class Expressions:
    """Rules, compiled. One thread at a time uses them."""

    def __init__(self, given: Sequence[inspection.Expression]) -> None:
        """Raises RuleError for an expression that does not compile, or that is no condition."""
        self._compiled: tuple[tuple[inspection.Expression, Any], ...] = ()
        if not given:
            return
        try:
            from cel_expr_python import cel
            from cel_expr_python.ext import ext_optional, ext_strings
        except ImportError:
            raise RuleError(f"{_SETTING}: needs CEL; run `pip install 'kubescript[cel]'`") from None
        self._condition, self._error = cel.Type.BOOL, cel.Type.ERROR
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
        # The library imports what it needs at the first use, which a masker cannot.
        self.objections(inspection.Comparison(0, 0, "create"), None, {})

    def objections(self, about: inspection.Comparison, before: Any, after: Any) -> tuple[inspection.Objection, ...]:
        """Returns the rules that do not hold for a change, or cannot be evaluated. `before` and `after` are the decoded
        objects, or None where there is none."""
        if not self._compiled:
            return ()
        values = {"object": after, "oldObject": before, "request": _request(about, before, after)}
        # The library ends a text at a NUL: "prod\0" would be equal to "prod".
        is_readable = not _has_nul([before, after])
        found = []
        for rule, program in self._compiled:
            why = self._failure(program, values) if is_readable else "a text in it has a NUL character"
            if why is not None:
                text = rule.message or f"`{rule.expression}` must hold"
                found.append(inspection.Objection(rule.id, f"{text} ({why})" if why else text))
        return tuple(found)

    def _failure(self, program: Any, values: dict[str, Any]) -> str | None:
        """Returns why a rule does not hold: empty when it is false, None when it holds."""
        try:
            result = program.eval(data=values)
            kind, value = result.type(), result.value()
        except MemoryError:
            return "it takes too much memory"
        except Exception as error:  # what the library raises for an object is not written down
            return _reason(str(error))
        if kind == self._condition:
            return None if value is True else ""
        return _reason(str(value)) if kind == self._error else "it is neither true nor false"


def _compile(environment: Any, rule: inspection.Expression, conditions: set[str]) -> Any:
    """Compiles one rule. Raises RuleError."""
    try:
        program = environment.compile(rule.expression)
    except Exception as error:
        raise RuleError(f"{_SETTING}: `{rule.id}` {_mistake(str(error))}") from None
    kind = program.return_type().name()
    if kind not in conditions:
        raise RuleError(f"{_SETTING}: `{rule.id}` is a value of type {kind.lower()}, and must be true or false")
    return program


def _reason(text: str) -> str:
    return next((reason for words, reason in _REASONS if words in text), _UNKNOWN)


def _mistake(text: str) -> str:
    """Returns what the compiler says, in one line."""
    first_line = text.partition(_MISTAKE)[2].partition("\n")[0]
    parts = first_line.split(":", 2)
    if len(parts) != 3:
        return f"cannot be compiled: {text.splitlines()[0][:200] if text else ''}"
    line, column, rest = parts
    message = rest.strip().replace(_CONTAINER, "")[:200]
    return f"cannot be compiled: line {line}, column {column}: {message}"


def _request(about: inspection.Comparison, before: Any, after: Any) -> dict[str, Any]:
    """Returns what an AdmissionRequest tells of a change."""
    operation = "UPDATE"
    if about.verb == "delete":
        operation = "DELETE"
    elif before is None:  # an apply may create its object
        operation = "CREATE"
    shown = after if after is not None else before
    group, _, version = _text(shown, "apiVersion").rpartition("/")
    # Without authenticated callers there is no user, and a rule that asks for one denies.
    user = {}
    if about.user is not None:
        user["userInfo"] = {"username": about.user.username, "groups": list(about.user.groups)}
    return user | {
        "operation": operation,
        "kind": {"group": group, "version": version, "kind": _text(shown, "kind")},
        "resource": {"group": about.group, "version": about.version, "resource": about.resource},
        "subResource": about.subresource,
        "namespace": about.namespace,
        "name": about.name or _name(after),
    }


def _name(document: Any) -> str:
    return _text(document.get("metadata"), "name") if isinstance(document, dict) else ""


def _text(document: Any, key: str) -> str:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""


def _has_nul(values: list[Any]) -> bool:
    """Says whether any text or key within the values has a NUL."""
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
