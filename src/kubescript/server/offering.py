"""The tools, pages, prompts and instructions that one caller is offered under these settings. `server` serves them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types
from mcp.shared.exceptions import MCPError

from kubescript import types
from kubescript.changes.ask import elicitation
from kubescript.output import sanitizing
from kubescript.server import json_schema
from kubescript.toolsets import base

if TYPE_CHECKING:
    import jsonschema

    from kubescript.toolsets import completion

__all__ = ["MAX_ECHO", "Handler", "Offer", "list_definitions", "pages_handlers", "prompts_handlers"]

Handler = Callable[[Any, Any], Awaitable[Any]]
"""Answers a request, given its context and parameters."""
_Current = Callable[[], "Offer"]

_NOT_FOUND: Final = -32002
"""The code for a missing resource until protocol version 2025-11-25; since 2026-07-28 such a resource is an invalid
parameter."""
_VERSION_WITHOUT_NOT_FOUND: Final = "2026-07-28"
_MAX_ARGUMENT: Final = 4_000
"""How many characters one argument of a prompt may have."""
MAX_ECHO: Final = 100
"""How many characters of an unknown name an error shows. Attack: a client sends a name of 2 MiB, which the error would
repeat."""
_MAX_VALUES: Final = 100
"""How many completions one answer may have; the protocol sets this limit."""
_READ_ONLY: Final = "Read-only: no tool changes the cluster."
_SAVED: Final = "The cluster is a saved one: nothing in it moves, and ages count from now, not from when it was saved."
_NO_TOOLSET: Final = (
    "No toolset is on here, so this server offers no tool. Tell its operator: start it with --toolsets code "
    '(or KUBESCRIPT_TOOLSETS=code, or toolsets = ["code"] in its configuration file; "kubectl", "helm", "cluster", '
    '"gateway" and "observability" are tools for single commands; "openstack" and "openshift" are at /openstack/ and '
    "/openshift/)."
)


@dataclass(frozen=True)
class Offer:
    """The offer to one caller until the settings change."""

    toolsets: Sequence[base.Toolset]
    completions: completion.Completions
    warm_up: Callable[[], None]
    """Does, in a thread, the work that the first call would otherwise wait for."""
    close: Callable[[], None]
    """Called after the last call, in a thread."""
    choosing: Callable[[str], contextlib.AbstractContextManager[None]]
    """Makes a context the default of what is done within. Raises AuthError for one that the caller may not use."""
    heartbeat_s: float = 10
    """Seconds between progress notifications for a client that asked for progress."""
    saved: bool = False
    """Whether the cluster is a saved one."""
    asker: elicitation.Asker | None = None
    """Asks people about plans; None where no cluster takes plans."""

    @functools.cached_property
    def tools(self) -> Mapping[str, base.Tool]:
        """The tools by their names."""
        found = {}
        for toolset in self.toolsets:
            for tool in toolset.tools:
                found[tool.definition.name] = tool
        return found

    @functools.cached_property
    def pages(self) -> Mapping[str, base.Page]:
        """The pages by their URIs."""
        found = {}
        for toolset in self.toolsets:
            for page in toolset.pages:
                found[str(page.definition.uri)] = page
        return found

    @functools.cached_property
    def prompts(self) -> Mapping[str, base.Prompt]:
        """The prompts by their names."""
        found = {}
        for toolset in self.toolsets:
            for prompt in toolset.prompts:
                found[prompt.definition.name] = prompt
        return found

    @functools.cached_property
    def instructions(self) -> str:
        """The toolsets' instructions for models, each only once: toolsets may share one."""
        if not self.tools:
            return _NO_TOOLSET
        said = [toolset.instructions for toolset in self.toolsets if toolset.instructions]
        hints = [tool.annotations for tool in list_definitions(self.tools)]
        if all(hint is not None and hint.read_only_hint for hint in hints):
            said.append(_READ_ONLY)
        if self.saved:
            said.append(_SAVED)
        return " ".join(dict.fromkeys(said))

    @functools.cached_property
    def validator(self) -> Callable[[str], jsonschema.Draft202012Validator]:
        """A function that makes the validator of a tool's arguments, once for each tool."""
        return functools.cache(self._validator)

    def other_lists(self, before: Offer) -> list[str]:
        """Returns the names of the lists that have changed, except the list of tools."""
        changed = []
        if list_definitions(self.prompts) != list_definitions(before.prompts):
            changed.append("prompts")
        if list_definitions(self.pages) != list_definitions(before.pages):
            changed.append("resources")
        return changed

    def _validator(self, name: str) -> jsonschema.Draft202012Validator:
        definition = self.tools[name].definition
        validator: jsonschema.Draft202012Validator = json_schema.load().Draft202012Validator(definition.input_schema)
        return validator


def list_definitions(offered: Mapping[str, Any]) -> list[Any]:
    """Returns the definitions of tools, pages or prompts, which clients get."""
    return [each.definition for each in offered.values()]


def pages_handlers(current: _Current) -> dict[str, tuple[type[Any], Handler]]:
    """Returns the handlers of resources, by method, each with the type of its parameters."""

    async def list_resources(_ctx: Any, _params: Any) -> mcp_types.ListResourcesResult:
        pages = list_definitions(current().pages)
        return mcp_types.ListResourcesResult(resources=pages)

    async def list_templates(_ctx: Any, _params: Any) -> mcp_types.ListResourceTemplatesResult:
        # The list of resources is complete, but clients request templates anyway.
        return mcp_types.ListResourceTemplatesResult(resource_templates=[])

    async def read(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        page = current().pages.get(str(params.uri))
        if page is None:
            is_modern = ctx.protocol_version >= _VERSION_WITHOUT_NOT_FOUND
            code = mcp_types.INVALID_PARAMS if is_modern else _NOT_FOUND
            shown = str(params.uri)[:MAX_ECHO]
            raise MCPError(code, "Resource not found; resources/list names all", {"uri": shown})
        contents = mcp_types.TextResourceContents(
            uri=page.definition.uri,
            mime_type=page.definition.mime_type,
            text=page.read(),
        )
        return mcp_types.ReadResourceResult(contents=[contents])

    async def subscribe(_ctx: Any, _params: Any) -> mcp_types.EmptyResult:
        # The pages are files of this version of kubescript, so they never change.
        return mcp_types.EmptyResult()

    return {
        "resources/list": (mcp_types.PaginatedRequestParams, list_resources),
        "resources/templates/list": (mcp_types.PaginatedRequestParams, list_templates),
        "resources/read": (mcp_types.ReadResourceRequestParams, read),
        "resources/subscribe": (mcp_types.SubscribeRequestParams, subscribe),
        "resources/unsubscribe": (mcp_types.UnsubscribeRequestParams, subscribe),
    }


def prompts_handlers(
    current: _Current, caller: Callable[[Any, str], types.Caller]
) -> dict[str, tuple[type[Any], Handler]]:
    """Returns the handlers of prompts, by method, each with the type of its parameters.
    `caller` returns the caller of a request.
    """

    async def list_prompts(_ctx: Any, _params: Any) -> mcp_types.ListPromptsResult:
        prompts = list_definitions(current().prompts)
        return mcp_types.ListPromptsResult(prompts=prompts)

    async def get(_ctx: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        prompt = current().prompts.get(params.name)
        if prompt is None:
            raise _mistake(f"Unknown prompt: {params.name[:MAX_ECHO]}")
        arguments = _check_arguments(prompt.definition, params.arguments or {})
        text = prompt.write(arguments)
        content = mcp_types.TextContent(type="text", text=text)
        message = mcp_types.PromptMessage(role="user", content=content)
        description = prompt.definition.description
        return mcp_types.GetPromptResult(description=description, messages=[message])

    async def complete(ctx: Any, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        asking = caller(ctx, "completion/complete")
        names = await _complete(current(), params, asking)
        shown = names[:_MAX_VALUES]
        has_more = len(names) > len(shown)
        found = mcp_types.Completion(values=shown, total=len(names), has_more=has_more)
        return mcp_types.CompleteResult(completion=found)

    return {
        "prompts/list": (mcp_types.PaginatedRequestParams, list_prompts),
        "prompts/get": (mcp_types.GetPromptRequestParams, get),
        "completion/complete": (mcp_types.CompleteRequestParams, complete),
    }


async def _complete(offer: Offer, params: mcp_types.CompleteRequestParams, caller: types.Caller) -> list[str]:
    """Returns the names that begin with the text written so far; none for an unknown argument."""
    if not isinstance(params.ref, mcp_types.PromptReference):
        return []
    prompt = offer.prompts.get(params.ref.name)
    if prompt is None:
        return []
    what = prompt.completes.get(params.argument.name)
    if what is None:
        return []
    others = (params.context and params.context.arguments) or {}
    given = {}
    for name, value in others.items():
        if name in prompt.completes:
            given[prompt.completes[name]] = value
    written = params.argument.value.casefold()
    found = await offer.completions.names(what, given, caller)
    return [name for name in found if name.casefold().startswith(written)]


def _check_arguments(prompt: mcp_types.Prompt, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the arguments, cleaned. Raises MCPError for one that is unknown, missing or too long."""
    known = {argument.name: argument for argument in prompt.arguments or ()}
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known)
            raise _mistake(f"Unknown argument `{name[:MAX_ECHO]}`; there is: {names}")
        if len(value) > _MAX_ARGUMENT:
            raise _mistake(f"Argument `{name}` is longer than {_MAX_ARGUMENT} characters")
    for name, argument in known.items():
        if argument.required and name not in given:
            raise _mistake(f"Argument `{name}` is missing")
    return {name: sanitizing.clean(value) for name, value in given.items()}


def _mistake(text: str) -> MCPError:
    return MCPError(mcp_types.INVALID_PARAMS, text)
