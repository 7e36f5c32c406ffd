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
    """A conversation over chat completions."""

    def __init__(self, model: Model, system: str, task: str, tools: Mapping[str, transcript.Tool]) -> None:
        """Raises EndpointError when there is no key."""
        try:
            self._client = openai.AsyncOpenAI(base_url=model.base_url)
        except openai.OpenAIError as error:
            raise endpoint.EndpointError(str(error)) from None
        self._key = self._client.api_key.strip()
        self._messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        # Only what is set is sent: an endpoint may refuse a field that it does not know.
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
        completions = self._client.chat.completions.with_raw_response
        try:
            answer = await completions.create(messages=self._messages, **self._request)
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise endpoint.EndpointError(endpoint.describe_error(error, self._key)) from None
        found = endpoint.decode(answer.content, _Answer, self._key)
        choice = found.choices[0]
        message = choice.message
        calls = tuple(map(_read_call, message.tool_calls or ()))
        self._remember(message, calls)
        text = message.content or message.refusal or ""
        return endpoint.Turn(text, calls, _usage(found.usage), choice.finish_reason == "length")

    def tell(self, results: Sequence[endpoint.Result]) -> None:
        """Adds the results of all calls of the last turn, in order."""
        self._messages += [{"role": "tool", "tool_call_id": one.id, "content": one.text} for one in results]

    def _remember(self, message: _Message, calls: Sequence[endpoint.Asked]) -> None:
        """Adds the model's turn to the conversation that is sent with each request."""
        said: dict[str, Any] = {"role": "assistant", "content": message.content}
        # An empty list is rejected here too.
        if calls:
            said["tool_calls"] = list(map(_repeat, calls))
        self._messages.append(said)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()


def _describe(name: str, tool: transcript.Tool) -> dict[str, Any]:
    """Returns a tool as the endpoint takes it."""
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    function = {"name": name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _read_call(call: _Call) -> endpoint.Asked:
    """Returns a call with its arguments, which the model wrote as JSON, decoded."""
    written = call.function.arguments
    # An empty string stands for no arguments.
    try:
        found = msgspec.json.decode(written or "{}")
    except (msgspec.DecodeError, RecursionError):
        found = None
    arguments = endpoint.arguments_of(found)
    return endpoint.Asked(call.id, call.function.name, arguments, written)


def _repeat(call: endpoint.Asked) -> dict[str, Any]:
    """Returns the call as it is repeated to the endpoint."""
    # Some endpoints reject the whole conversation from then on when its arguments are not a JSON object
    # (vllm-project/vllm#43995) or a name is invalid.
    written = call.written or "{}"
    if call.arguments is None:
        written = "{}"
    function = {"name": names.fit(call.name), "arguments": written}
    return {"id": call.id, "type": "function", "function": function}


def _usage(found: _Usage | None) -> endpoint.Usage | None:
    """Returns the tokens that an answer reports; None when it reports none."""
    if found is None:
        return None
    details = found.prompt_tokens_details
    cached = details.cached_tokens if details else None
    return endpoint.Usage(found.prompt_tokens, found.completion_tokens, cached)
