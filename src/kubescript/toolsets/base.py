"""What a toolset is: a name users know, and the tools, pages and prompts behind it. `server` serves them.

This is also the interface of toolsets that are packages of their own; docs/toolsets.md describes it, and
examples/toolset is one. Such a package has a function that takes an `Access` and returns a `Toolset`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import mcp_types

from kubescript import types
from kubescript.wire import messages

__all__ = [
    "APPROVED",
    "Access",
    "Completes",
    "Evaluate",
    "Handler",
    "Page",
    "Prompt",
    "Tool",
    "Toolset",
    "Word",
    "make_tool",
]

Handler = Callable[[Mapping[str, Any], types.OnProgress | None, types.Caller], Awaitable[types.Answer]]
"""Runs one call; its arguments have passed the tool's schema."""
Evaluate = Callable[[str, int | None, types.OnProgress | None, types.Caller], Coroutine[Any, Any, types.Answer]]
"""Runs a script and returns the client's answer, which is masked and marked. The number is the script's time in
milliseconds; None stands for the operator's default."""
Word = Callable[[Mapping[str, Any], types.Answer], types.Answer]
"""Puts the answer to a call with these arguments into the words of a tool's own contract."""

Completes = Literal["cluster", "namespace", "kind", "name"]
"""What an argument of a prompt names: a cluster, a namespace, a kind, or an object of the kind beside it."""

APPROVED: Final[Mapping[str, Any]] = {"type": "boolean", "description": "true approves the changes"}
"""The schema of the argument `approved`, where the caller of a tool approves what it changes."""


@dataclass(frozen=True, slots=True)
class Access:
    """All that a toolset is given of a server: scripts under the caller's limits, and no cluster, settings or
    credentials."""

    evaluate: Evaluate
    clusters: Callable[[], Sequence[str]]
    """Returns the names that `k8s.context(name)` takes, the default one first."""
    language: messages.Language = "en"
    by_argument: bool = False
    """Whether the argument `approved` of a call approves what it changes. `make_tool` adds it to a tool."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An MCP tool and what runs it."""

    definition: mcp_types.Tool
    handler: Handler
    word: Word = lambda _arguments, answer: answer
    """Takes every answer of the tool, also to arguments that its schema refuses, once its plan is settled."""


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
    completes: Mapping[str, Completes] = field(default_factory=dict)
    """What some of its arguments name; clients may ask for their possible values."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """A named group of tools; served only when its name is in the `toolsets` setting."""

    name: str
    description: str
    """For operators, in a few words."""
    tools: tuple[Tool, ...]
    pages: tuple[Page, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    """For models: how to use the tools together, where their definitions do not say it."""


def make_tool(
    access: Access, name: str, description: str, *, properties: Mapping[str, Any], script: str, required: Sequence[str]
) -> Tool:
    """Returns a tool that runs a script, which finds the call's arguments in the dict `arguments`.

    `properties` is the JSON schema of each argument, by name.
    """
    approved = {"approved": dict(APPROVED)} if access.by_argument and "approved" not in properties else {}

    async def call(
        given: Mapping[str, Any], on_progress: types.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        # The arguments are JSON values, whose `repr` is Python: no text of a caller becomes code. Attack: NaN and
        # Infinity, which are no JSON, but which a client may send; they would be names.
        try:
            json.dumps(given, allow_nan=False)
        except ValueError:
            return types.Answer(
                "Error: NaN and Infinity are no numbers of JSON", is_error=True, code="request.arguments"
            )
        arguments = {name: value for name, value in given.items() if name not in approved}
        return await access.evaluate(f"arguments = {arguments!r}\n{script}", None, on_progress, caller)

    definition = mcp_types.Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {**properties, **approved},
            "required": list(required),
            "additionalProperties": False,
        },
        annotations=mcp_types.ToolAnnotations(open_world_hint=True),
    )
    return Tool(definition, call)
