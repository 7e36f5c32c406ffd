"""The MCP prompt `triage`: a person picks it in a client, and the model asks the cluster in few, good scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import mcp_types

from kubescript.toolsets import base

__all__ = ["PROMPT"]

_TEXT: Final = Path(__file__).with_name("triage.txt")
"""What the model reads."""


def _write(arguments: Mapping[str, str]) -> str:
    namespace, symptom = (arguments.get(name, "").strip() for name in ("namespace", "symptom"))
    where = f"namespace {namespace}" if namespace else "the whole cluster"
    return _TEXT.read_text("utf-8").strip().format(where=where, symptom=f": {symptom}" if symptom else "")


PROMPT: Final = base.Prompt(
    mcp_types.Prompt(
        name="triage",
        title="Find out what is wrong",
        description="Find the cause of a problem in the cluster or a namespace, with a few scripts.",
        arguments=[
            mcp_types.PromptArgument(name="namespace", description="where to look; everywhere when left out"),
            mcp_types.PromptArgument(name="symptom", description="what was noticed, in your words"),
        ],
    ),
    _write,
)
