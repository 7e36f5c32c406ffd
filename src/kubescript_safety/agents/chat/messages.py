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
    """A conversation by messages."""

    def __init__(self, model: Model, system: str, task: str, tools: Mapping[str, transcript.Tool]) -> None:
        """Raises EndpointError when there is no key."""
        try:
            self._client = anthropic.AsyncAnthropic(base_url=model.base_url)
        except anthropic.AnthropicError as error:
            raise endpoint.EndpointError(str(error)) from None
        if not (self._client.api_key or self._client.auth_token or self._client.credentials):
            raise endpoint.EndpointError("no key: ANTHROPIC_API_KEY is not set")
        self._key = (self._client.api_key or self._client.auth_token or "").strip()
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
        try:
            answer = await self._client.messages.with_raw_response.create(messages=self._messages, **self._request)
            body = await answer.read()
        except (anthropic.AnthropicError, ValueError, RecursionError) as error:
            raise endpoint.EndpointError(endpoint.describe_error(error, self._key)) from None
        found = endpoint.decode(body, _Answer, self._key)
        calls = tuple(_read_call(block) for block in _of_type(found.content, "tool_use", _Call))
        text = "\n".join(block.text for block in _of_type(found.content, "text", _Text))
        self._messages.append({"role": "assistant", "content": [_repeat(block) for block in found.content]})
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
    return {"name": name, "description": tool.description, "input_schema": {"type": "object", **tool.input_schema}}


def _of_type(blocks: Iterable[_Block], name: str, kind: type[Kind]) -> list[Kind]:
    try:
        return [msgspec.convert(block, kind) for block in blocks if block.get("type") == name]
    except msgspec.ValidationError as error:
        raise endpoint.EndpointError(f"the endpoint's answer cannot be read: {error}") from None


def _read_call(call: _Call) -> endpoint.Asked:
    return endpoint.Asked(call.id, call.name, endpoint.arguments_of(call.input), type(call.input).__name__)


def _repeat(block: _Block) -> _Block:
    """Returns a part of an answer as it is repeated to the endpoint: a call needs an object and a valid name."""
    if block.get("type") != "tool_use":
        return block
    return block | {"name": names.fit(block["name"]), "input": endpoint.arguments_of(block.get("input")) or {}}


def _usage(found: _Usage | None) -> endpoint.Usage | None:
    if found is None:
        return None
    cached = found.cache_read_input_tokens
    whole = found.input_tokens + (found.cache_creation_input_tokens or 0) + (cached or 0)
    return endpoint.Usage(whole, found.output_tokens, cached)
