"""Parts of the scripts that the host runs about a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.changes import plan

__all__ = ["cluster", "targets"]

_FIELDS: Final = ("group", "version", "resource", "namespace", "name")


def cluster(context: str) -> str:
    """Returns the script's expression for a plan's cluster."""
    return f"k8s.context({context!r})" if context else "k8s"


def targets(steps: Sequence[plan.Step]) -> list[dict[str, str]]:
    """Returns the objects of these steps, without duplicates."""
    # Attack: the name of an object is code. The `repr` of these values is a Python literal, so no string in them
    # becomes code.
    found: list[dict[str, str]] = []
    for step in steps:
        target = {field: getattr(step, field) for field in _FIELDS}
        if target not in found:
            found.append(target)
    return found
