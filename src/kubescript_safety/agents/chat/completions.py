"""Chat completions: OpenAI's API, which many other endpoints support too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Annotated, Any, Self

import msgspec
import openai

from kubescript_safety import transcript
from kubescript_safety.agents.chat import endpoint, names
from kubescript_safety.agents.chat.model import Model

__all__ = ["Completions"]

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count
    completion_tokens: _Count
    prompt_tokens_details: _Details | None = None


class _Answer(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: _Usage | None = None


class Completions:
    """A conversation by chat completions."""

    def __init__(self, model: Model, system: str, task: str, tools: Mapping[str, transcript.Tool]) -> None:
        """Raises EndpointError when there is no key."""
        try:
            self._client = openai.AsyncOpenAI(base_url=model.base_url)
        except openai.OpenAIError as error:
            raise endpoint.EndpointError(str(error)) from None
        self._key = self._client.api_key.strip()
        self._messages: list[Any] = [
            {"role": "system", "content": system},
            {"role": "user", "content": task},
        ]
        given = {
            "model": model.model,
            "tools": [_describe(name, tool) for name, tool in tools.items()] or None,  # an empty list is rejected
            "seed": model.seed,
            "temperature": model.temperature,
            "max_completion_tokens": model.turn_tokens,
        }
        self._request: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    async def ask(self) -> endpoint.Turn:
        """Lets the model continue. Raises EndpointError."""
        try:
            answer = await self._client.chat.completions.with_raw_response.create(
                messages=self._messages, **self._request
            )
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise endpoint.EndpointError(endpoint.describe_error(error, self._key)) from None
        found = endpoint.decode(answer.content, _Answer, self._key)
        message = found.choices[0].message
        calls = tuple(_read_call(call) for call in message.tool_calls or ())
        self._remember(message, calls)
        text = message.content or message.refusal or ""
        return endpoint.Turn(text, calls, _usage(found.usage), found.choices[0].finish_reason == "length")

    def tell(self, results: Sequence[endpoint.Result]) -> None:
        """Adds the results of all calls of the last turn, in order."""
        self._messages += [{"role": "tool", "tool_call_id": one.id, "content": one.text} for one in results]

    def _remember(self, message: _Message, calls: Sequence[endpoint.Asked]) -> None:
        said: dict[str, Any] = {"role": "assistant", "content": message.content}
        if calls:
            said["tool_calls"] = [_repeat(call) for call in calls]
        self._messages.append(said)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()


def _describe(name: str, tool: transcript.Tool) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    return {"type": "function", "function": {"name": name, "description": tool.description, "parameters": schema}}


def _read_call(call: _Call) -> endpoint.Asked:
    written = call.function.arguments
    try:
        found = msgspec.json.decode(written or "{}")
    except (msgspec.DecodeError, RecursionError):
        found = None
    return endpoint.Asked(call.id, call.function.name, endpoint.arguments_of(found), written)


def _repeat(call: endpoint.Asked) -> dict[str, Any]:
    """Returns the call as it is repeated to the endpoint. Some endpoints reject the whole conversation from then on
    when its arguments are not a JSON object (vllm-project/vllm#43995) or a name is invalid."""
    written = "{}" if call.arguments is None else call.written or "{}"
    return {"id": call.id, "type": "function", "function": {"name": names.fit(call.name), "arguments": written}}


def _usage(found: _Usage | None) -> endpoint.Usage | None:
    if found is None:
        return None
    details = found.prompt_tokens_details
    return endpoint.Usage(found.prompt_tokens, found.completion_tokens, details.cached_tokens if details else None)
