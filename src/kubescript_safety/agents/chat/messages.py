"""Messages: Anthropic's API. It has no seed, and since version 2026-10-21 no temperature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Annotated, Any, Final, Self, TypeVar

import anthropic
import msgspec

from kubescript_safety import transcript
from kubescript_safety.agents.chat import endpoint, names
from kubescript_safety.agents.chat.model import Model

__all__ = ["Messages"]

Kind = TypeVar("Kind")
_TURN_TOKENS: Final = 8192
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Block = dict[str, Any]
"""A part of an answer. It is sent back unchanged, because the model's thinking is signed."""


class _Usage(msgspec.Struct):
    input_tokens: _Count
    output_tokens: _Count
    cache_creation_input_tokens: _Count | None = None
    cache_read_input_tokens: _Count | None = None


class _Answer(msgspec.Struct):
    content: list[_Block]
    usage: _Usage | None = None
    stop_reason: str | None = None


class _Text(msgspec.Struct):
    text: str


class _Call(msgspec.Struct):
    id: str
    name: str
    input: Any = None


class Messages:
    """A conversation over messages."""

    def __init__(self, model: Model, system: str, task: str, tools: Mapping[str, transcript.Tool]) -> None:
        """Raises EndpointError when there is no key."""
        try:
            client = anthropic.AsyncAnthropic(base_url=model.base_url)
        except anthropic.AnthropicError as error:
            raise endpoint.EndpointError(str(error)) from None
        # The library would say so only at the first request.
        if not (client.api_key or client.auth_token or client.credentials):
            raise endpoint.EndpointError("no key: ANTHROPIC_API_KEY is not set")
        self._client = client
        self._key = (client.api_key or client.auth_token or "").strip()
        self._messages: list[Any] = [{"role": "user", "content": task}]
        self._request: dict[str, Any] = {
            "model": model.model,
            "system": system,
            "tools": [_describe(name, tool) for name, tool in tools.items()],
            "max_tokens": model.turn_tokens or _TURN_TOKENS,
            "cache_control": {"type": "ephemeral"},  # otherwise each turn is billed in full for all turns before it
        }

    async def ask(self) -> endpoint.Turn:
        """Lets the model continue. Raises EndpointError."""
        messages = self._client.messages.with_raw_response
        try:
            answer = await messages.create(messages=self._messages, **self._request)
            body = await answer.read()
        except (anthropic.AnthropicError, ValueError, RecursionError) as error:
            raise endpoint.EndpointError(endpoint.describe_error(error, self._key)) from None
        found = endpoint.decode(body, _Answer, self._key)
        calls = tuple(map(_read_call, _of_type(found.content, "tool_use", _Call)))
        text = "\n".join(block.text for block in _of_type(found.content, "text", _Text))
        repeated = list(map(_repeat, found.content))
        self._messages.append({"role": "assistant", "content": repeated})
        return endpoint.Turn(text, calls, _usage(found.usage), found.stop_reason == "max_tokens")

    def tell(self, results: Sequence[endpoint.Result]) -> None:
        """Adds the results of all calls of the last turn, in order and in one message, as the API requires."""
        told = [
            {"type": "tool_result", "tool_use_id": one.id, "content": one.text, "is_error": one.is_error}
            for one in results
        ]
        self._messages.append({"role": "user", "content": told})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()


def _describe(name: str, tool: transcript.Tool) -> dict[str, Any]:
    """Returns a tool as the endpoint takes it."""
    schema = {"type": "object", **tool.input_schema}
    return {"name": name, "description": tool.description, "input_schema": schema}


def _of_type(blocks: Iterable[_Block], name: str, kind: type[Kind]) -> list[Kind]:
    """Returns the blocks of one type. Raises EndpointError when one lacks what that type has."""
    chosen = [block for block in blocks if block.get("type") == name]
    try:
        return [msgspec.convert(block, kind) for block in chosen]
    except msgspec.ValidationError as error:
        raise endpoint.EndpointError(f"the endpoint's answer cannot be read: {error}") from None


def _read_call(call: _Call) -> endpoint.Asked:
    """Returns a call; its arguments come decoded, so their type stands for what was written."""
    written = type(call.input).__name__
    arguments = endpoint.arguments_of(call.input)
    return endpoint.Asked(call.id, call.name, arguments, written)


def _repeat(block: _Block) -> _Block:
    """Returns a part of an answer as it is repeated to the endpoint: a call needs an object and a valid name."""
    if block.get("type") != "tool_use":
        return block
    name = names.fit(block["name"])
    arguments = endpoint.arguments_of(block.get("input")) or {}
    return block | {"name": name, "input": arguments}


def _usage(found: _Usage | None) -> endpoint.Usage | None:
    """Returns the tokens that an answer reports; None when it reports none."""
    if found is None:
        return None
    cached = found.cache_read_input_tokens
    # Unlike chat completions, this API leaves both kinds of cached tokens out of its count of input.
    whole = found.input_tokens
    whole += found.cache_creation_input_tokens or 0
    whole += cached or 0
    return endpoint.Usage(whole, found.output_tokens, cached)
