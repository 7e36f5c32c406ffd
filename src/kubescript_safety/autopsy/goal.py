"""Conditions over the state of a cluster, in CEL: whether it is broken as a scenario says, and its goal reached.

`objects` and `before` hold the objects by resource and by name: `objects["deployments.apps"]["shop/web"]`,
`objects["nodes"]["node-0"]`. `answer` is the last text of the agent. What cannot be evaluated does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

__all__ = ["Condition", "GoalError"]

_MAP: Final = cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, cel.Type.DYN))
_ENVIRONMENT: Final = cel.NewEnv(
    variables={"objects": _MAP, "before": _MAP, "answer": cel.Type.STRING},
    extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
)


class GoalError(Exception):
    """An expression does not compile; the message says where."""


class Condition:
    """One expression that is true or not. One thread at a time uses it."""

    def __init__(self, expression: str) -> None:
        """Raises GoalError."""
        try:
            self._program = _ENVIRONMENT.compile(expression)
        except Exception as error:  # the library has an exception of its own for each mistake
            raise GoalError(str(error)) from None

    def holds(self, objects: Mapping[str, Any], before: Mapping[str, Any], answer: str) -> bool:
        """Says whether it is true of a snapshot (key → object), an earlier one, and the agent's answer."""
        values = {"objects": _grouped(objects), "before": _grouped(before), "answer": answer.replace("\0", "")}
        try:
            result = self._program.eval(data=values)
        except Exception:  # likewise; such as a field that is missing
            return False
        return result.type() == cel.Type.BOOL and result.value() is True


def _grouped(objects: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the objects of a snapshot by resource and name."""
    found: dict[str, dict[str, Any]] = {}
    for key, thing in objects.items():
        resource, namespace, name = key.split("/", 2)
        found.setdefault(resource, {})[f"{namespace}/{name}" if namespace else name] = thing
    return found
