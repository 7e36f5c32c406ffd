"""Code mode: the one tool `evaluate_script`.

Its whole definition is paid for by every conversation, so it teaches only what a model that knows Python and the
official Kubernetes client cannot guess. Everything else is found inside the sandbox, or in an error that says what to
write instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import mcp_types

from kubescript import config, session, types
from kubescript.toolsets import base

__all__ = ["NAME", "toolset"]

NAME: Final = "code"

_DESCRIPTION: Final = Path(__file__).with_name("evaluate_script.txt")
"""What the model reads."""

_READ_ONLY: Final = "Read-only: writes, exec and Secrets are refused (an access review tells RBAC, not this)."
_READ_WRITE: Final = "Writes change the cluster at once; exec and Secrets are refused."


def toolset(settings: config.Settings, evaluator: session.Session) -> base.Toolset:
    """The code toolset for these settings."""

    async def evaluate_script(arguments: Mapping[str, Any], on_progress: session.OnProgress | None) -> types.Answer:
        return await evaluator.evaluate(arguments["script"], arguments.get("timeout"), on_progress)

    tool = base.Tool(_definition(settings), evaluate_script)
    return base.Toolset(NAME, "evaluate a Python script in a sandbox beside the API server", (tool,))


def _definition(settings: config.Settings) -> mcp_types.Tool:
    limits = settings.limits
    return mcp_types.Tool(
        name="evaluate_script",
        title="Evaluate a Kubernetes script",
        description=_DESCRIPTION.read_text("utf-8")
        .strip()
        .format(
            access=_READ_ONLY if settings.read_only else _READ_WRITE,
            memory=limits.memory_mib,
            calls=limits.api_calls,
            output=limits.output_kib,
        ),
        input_schema={
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
        },
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=settings.read_only,
            destructive_hint=not settings.read_only,
            idempotent_hint=settings.read_only,
            open_world_hint=True,
        ),
    )
