"""Code mode: the one tool `evaluate_script`.

Its whole definition is paid for by every conversation, so it teaches only what a model that knows Python and the
official Kubernetes client cannot guess. Everything else is found inside the sandbox, or in an error that says what to
write instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import mcp_types

from kubescript import config, evaluator, types
from kubescript.toolsets import base, pages, triage

__all__ = ["NAME", "toolset"]

NAME: Final = "code"

_DESCRIPTION: Final = Path(__file__).with_name("evaluate_script.txt")
"""What the model reads."""

_READ_ONLY: Final = "Read-only: writes, exec and Secrets are refused (an access review tells RBAC, not this)."
_READ_WRITE: Final = "Writes change the cluster at once; exec and Secrets are refused."
_SEVERAL: Final = (
    "Clusters: {names}; k8s is the first. Each has its own policy{writable}. Catch ApiException: one may be down."
)
_ROOM_FOR_NAMES: Final = 44
"""Characters of cluster names in the definition, which every conversation pays for; `k8s.contexts()` has them all."""

_EXAMPLE: Final = "Counter(p.spec.node_name for p in k8s.coreV1().list_pod_for_all_namespaces())"
_EXAMPLE_OF_SEVERAL: Final = "{c: len(k8s.context(c).coreV1().list_node()) for c in k8s.contexts()}"


_OUTPUT: Final = {
    "type": "object",
    "properties": {
        "result": {"description": "value of the last expression"},
        "printed": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}, "description": "what the result lacks"},
    },
    "required": ["result"],
}
"""Of structured results, which operators switch on; it counts as part of the definition then."""


def toolset(settings: config.Settings, session: evaluator.Evaluator) -> base.Toolset:
    """The code toolset for these settings."""

    async def evaluate_script(
        arguments: Mapping[str, Any], on_progress: evaluator.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        return await session.evaluate(arguments["script"], arguments.get("timeout"), on_progress, caller)

    tool = base.Tool(_definition(settings), evaluate_script)
    what = "evaluate a Python script in a sandbox beside the API server"
    return base.Toolset(NAME, what, (tool,), pages.pages(), (triage.PROMPT,))


def _definition(settings: config.Settings) -> mcp_types.Tool:
    limits = settings.limits
    return mcp_types.Tool(
        name="evaluate_script",
        title="Evaluate a Kubernetes script",
        description=_DESCRIPTION.read_text("utf-8")
        .strip()
        .format(
            access=_access(settings),
            example=_EXAMPLE_OF_SEVERAL if len(settings.context_names) > 1 else _EXAMPLE,
            memory=limits.memory_mib,
            calls=limits.api_calls,
            output=limits.output_kib,
        ),
        input_schema=_input(limits),
        output_schema=_OUTPUT if settings.output.structured else None,
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not settings.writable,
            destructive_hint=settings.writable,
            idempotent_hint=not settings.writable,
            open_world_hint=True,
        ),
    )


def _input(limits: config.Limits) -> dict[str, Any]:
    """What the tool takes."""
    return {
        "type": "object",
        "properties": {
            "script": {"type": "string", "description": "Python; the last expression is returned", "minLength": 1},
            "timeout": {
                "type": "integer",
                "description": "milliseconds",
                "default": limits.default_timeout_ms,
                "minimum": 1,
                "maximum": limits.max_timeout_ms,
            },
        },
        "required": ["script"],
        "additionalProperties": False,
    }


def _access(settings: config.Settings) -> str:
    """What scripts may do, and where."""
    names = settings.context_names
    if len(names) < 2:
        return _READ_WRITE if settings.writable else _READ_ONLY
    open_ = [name for name in names if not settings.of_context(name).read_only]
    few = ", ".join(open_)
    few = "all" if len(open_) == len(names) else few if len(few) <= _ROOM_FOR_NAMES // 2 else f"{len(open_)} of them"
    writable = f"; writes reach {few}" if open_ else ""
    shown = _fitting(names, _ROOM_FOR_NAMES)
    return f"{_READ_WRITE if open_ else _READ_ONLY} " + _SEVERAL.format(names=shown, writable=writable)


def _fitting(names: Sequence[str], room: int) -> str:
    """The names, as many as there is room for, and how many there are in all."""
    whole = ", ".join(names)
    if len(whole) <= room:
        return whole
    shown = [name for place, name in enumerate(names) if len(", ".join(names[: place + 1])) <= room]
    return ", ".join([*shown, f"… ({len(names)} in all)"])
