"""What a toolset is: a name users know, and the tools, pages and prompts behind it. `server` serves them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types

from kubescript import evaluator, types

__all__ = ["Handler", "Page", "Prompt", "Tool", "Toolset"]

Handler = Callable[[Mapping[str, Any], evaluator.OnProgress | None, types.Caller], Awaitable[types.Answer]]
"""Runs one call; its arguments have passed the tool's schema."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An MCP tool and what runs it."""

    definition: mcp_types.Tool
    handler: Handler


@dataclass(frozen=True, slots=True)
class Page:
    """An MCP resource and what reads it."""

    definition: mcp_types.Resource
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Prompt:
    """An MCP prompt and what writes it from its arguments, each a text."""

    definition: mcp_types.Prompt
    write: Callable[[Mapping[str, str]], str]


@dataclass(frozen=True, slots=True)
class Toolset:
    """A named group of tools; served only when its name is in the `toolsets` setting."""

    name: str
    description: str
    tools: tuple[Tool, ...]
    pages: tuple[Page, ...] = ()
    prompts: tuple[Prompt, ...] = ()
