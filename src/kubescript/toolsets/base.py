"""The interface of toolsets: a name known to users, and the tools, pages and prompts behind it. `server` serves them.

Toolsets in separate packages use this interface too; docs/toolsets.md describes it, and examples/toolset is one. Such a
package has a function that takes an `Access` and returns a `Toolset`.
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
    "Arguments",
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

Arguments = Mapping[str, Any]
"""A call's arguments, by name: values of JSON."""
Handler = Callable[[Arguments, types.OnProgress | None, types.Caller], Awaitable[types.Answer]]
"""Runs one call; its arguments have passed the tool's schema."""
Evaluate = Callable[[str, int | None, types.OnProgress | None, types.Caller], Coroutine[Any, Any, types.Answer]]
"""Runs a script and returns the client's answer, masked and marked. The number is the script's timeout in milliseconds;
None means the operator's default."""
Word = Callable[[Arguments, types.Answer], types.Answer]
"""Rewrites the answer to a call with these arguments in the words of a tool's own contract."""

Completes = Literal["cluster", "namespace", "kind", "name"]
"""The kind of name in a prompt's argument: a cluster, a namespace, a kind, or an object of that kind."""

APPROVED: Final[Mapping[str, Any]] = {"type": "boolean", "description": "true approves the changes"}
"""The schema of the argument `approved`, where a tool's caller approves its changes."""


@dataclass(frozen=True, slots=True)
class Access:
    """The parts of a server that a toolset gets: scripts under the caller's limits, but no cluster, settings or
    credentials."""

    evaluate: Evaluate
    clusters: Callable[[], Sequence[str]]
    """Returns the names that `k8s.context(name)` accepts, the default one first."""
    language: messages.Language = "en"
    by_argument: bool = False
    """Whether a call's argument `approved` approves its changes. `make_tool` adds it to a tool."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An MCP tool and the handler that runs it."""

    definition: mcp_types.Tool
    handler: Handler
    word: Word = lambda _arguments, answer: answer
    """Rewrites every answer of the tool once its plan is settled, including refusals of arguments by its schema."""


@dataclass(frozen=True, slots=True)
class Page:
    """An MCP resource and the function that reads it."""

    definition: mcp_types.Resource
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Prompt:
    """An MCP prompt and the function that writes it from its arguments, which are all strings."""

    definition: mcp_types.Prompt
    write: Callable[[Mapping[str, str]], str]
    completes: Mapping[str, Completes] = field(default_factory=dict)
    """The kinds of names in its arguments; clients may ask for possible values."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """A named group of tools; served only when its name is in the `toolsets` setting."""

    name: str
    description: str
    """A few words for operators."""
    tools: tuple[Tool, ...]
    pages: tuple[Page, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    """Advice for models on using the tools together, beyond their definitions."""


def make_tool(
    access: Access, name: str, description: str, *, properties: Mapping[str, Any], script: str, required: Sequence[str]
) -> Tool:
    """Returns a tool that runs a script, which finds the call's arguments in the dict `arguments`.

    `properties` is the JSON schema of each argument, by name.
    """
    approved = {"approved": dict(APPROVED)} if access.by_argument and "approved" not in properties else {}

    async def call(given: Arguments, on_progress: types.OnProgress | None, caller: types.Caller) -> types.Answer:
        # The arguments are JSON values, whose `repr` is Python: no caller's text becomes code. Attack: a client sends
        # NaN and Infinity, which are not JSON, and which Python would read as names.
        try:
            json.dumps(given, allow_nan=False)
        except ValueError:
            return types.Answer(
                "Error: NaN and Infinity are no numbers of JSON", is_error=True, code="request.arguments"
            )
        arguments = {name: value for name, value in given.items() if name not in approved}
        whole = f"arguments = {arguments!r}\n{script}"
        return await access.evaluate(whole, None, on_progress, caller)

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
