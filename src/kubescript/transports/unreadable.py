"""Answers unreadable messages. The SDK drops them, and their clients would wait for ever."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Final, Self

import anyio
import mcp_types
import pydantic_core
from mcp.shared.message import SessionMessage

__all__ = ["Answering", "Stream", "refusal"]

_NO_JSON: Final = "json_invalid"
_NO_UNICODE: Final = "a text has half of a surrogate pair (\\ud800 to \\udfff), which is no character"
_MAX_DIGITS: Final = 18
"""The maximum number of digits of a number that may be an id."""


class Stream:
    """A wrapper of one of the SDK's streams. It is closed at the end of a `with`, like them."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Answering(Stream):
    """The readable messages of a stream, with the SDK's interface. Unreadable ones are answered with an error."""

    def __init__(self, read: Any, write: Any) -> None:
        """`read` and `write` are the two streams of one of the SDK's transports."""
        super().__init__(read)
        self._write = write

    @property
    def last_context(self) -> Any:
        """The context of the newest message's sender."""
        return self._stream.last_context

    async def receive(self) -> SessionMessage | Exception:
        """Returns the next message. Raises the stream's exceptions."""
        while True:
            item: SessionMessage | Exception = await self._stream.receive()
            if not isinstance(item, pydantic_core.ValidationError):
                return item
            answer = _answer(item)
            if answer is not None:
                await self._write.send(SessionMessage(answer))

    def __aiter__(self) -> Answering:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def refusal(text: bytes | str) -> mcp_types.JSONRPCError | None:
    """Returns the answer to a message that is not JSON; None if it is JSON."""
    try:
        pydantic_core.from_json(text)
    except ValueError as error:
        return _parse_error(text, str(error))
    return None


def _answer(error: pydantic_core.ValidationError) -> mcp_types.JSONRPCError | None:
    """Returns the answer to a message with this error; None if no client waits for one."""
    found: list[Any] = error.errors(include_url=False, include_context=False)
    first = found[0]
    if first["type"] == _NO_JSON:
        text = first["input"]
        if not text.strip():
            return None
        return _parse_error(text, first["msg"].removeprefix("Invalid JSON: "))
    objects = (one["input"] for one in found if isinstance(one["input"], dict))
    message = next(objects, {})
    # An answer to our own question has an id that is not one of the client's.
    if "method" not in message and {"result", "error"} & message.keys():
        return None
    return _error(message, mcp_types.INVALID_REQUEST, "Invalid request: it is not one JSON-RPC 2.0 message")


def _parse_error(text: bytes | str, why: str) -> mcp_types.JSONRPCError:
    # Python's decoder reads some strings that pydantic refuses: half of a surrogate pair, a number of 5,000 digits.
    # Attack: a client sends bytes in UTF-16, which the decoder would accept although `bodies` has counted few of their
    # values.
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        message = json.loads(decoded, parse_int=_short)
    except (ValueError, RecursionError):
        message = None
    if not _is_unicode(message):
        why = _NO_UNICODE
    return _error(message, mcp_types.PARSE_ERROR, f"Parse error: {why}")


def _short(digits: str) -> int | None:
    if len(digits) > _MAX_DIGITS:
        return None
    return int(digits)


def _error(message: object, code: int, text: str) -> mcp_types.JSONRPCError:
    """Returns an error for the client of a message, with the message's id if that can be read."""
    request_id = None
    if isinstance(message, dict):
        request_id = message.get("id")
    is_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if not is_id or not _is_unicode(request_id):
        request_id = None
    error = mcp_types.ErrorData(code=code, message=text)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True
