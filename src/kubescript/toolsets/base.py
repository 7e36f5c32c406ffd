"""What a toolset is: a name users know, and the tools behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types

from kubescript import session, types

__all__ = ["Handler", "Tool", "Toolset"]

Handler = Callable[[Mapping[str, Any], session.OnProgress | None], Awaitable[types.Answer]]
"""Runs one call; its arguments have passed the tool's schema."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An MCP tool and what runs it."""

    definition: mcp_types.Tool
    handler: Handler


@dataclass(frozen=True, slots=True)
class Toolset:
    """A named group of tools; served only when its name is in the `toolsets` setting."""

    name: str
    description: str
    tools: tuple[Tool, ...]
