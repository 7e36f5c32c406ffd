"""What both APIs share: a model's turns, the calls in them, and the results that go back to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar

import msgspec

__all__ = [
    "MAX_DEPTH",
    "Asked",
    "Endpoint",
    "EndpointError",
    "Result",
    "Turn",
    "Usage",
    "arguments_of",
    "decode",
    "describe_error",
]

Answer = TypeVar("Answer")
MAX_DEPTH: Final = 64
"""How many levels arguments may have."""
_SHORTEST_KEY: Final = 16
"""The length of the shortest string that is masked as a key; shorter ones are words such as `none`, which occur in
answers."""


class EndpointError(Exception):
    """The endpoint gives no usable answer. The message never contains the key."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the model requests."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None when the arguments cannot be sent to a server: see `arguments_of`."""
    written: str = ""
    """The arguments as the model wrote them, or their type."""


@dataclass(frozen=True, slots=True)
class Result:
    """A call's result as the model gets it."""

    id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """A turn's tokens, as the endpoint counts them."""

    input: int
    """Includes tokens read from or written to a cache."""
    output: int
    cached: int | None
    """Tokens read from a cache. None: the endpoint does not report them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model."""

    text: str
    calls: tuple[Asked, ...]
    usage: Usage | None
    """None: the endpoint does not report it."""
    is_cut: bool
    """Whether the output reached its limit and was cut off, perhaps in the middle of a call."""


class Endpoint(Protocol):
    """A conversation with a model, with its history. Opening it does not connect yet."""

    async def ask(self) -> Turn:
        """Lets the model continue. Raises EndpointError."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Adds the results of all calls of the last turn, in order."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def decode(body: bytes, kind: type[Answer], key: str) -> Answer:
    """Decodes an answer, after masking the key in case the endpoint sent it back. Raises EndpointError."""
    # Attack: an endpoint answers with the key of the request, and the answer goes into the transcript.
    if len(key) >= _SHORTEST_KEY:
        body = body.replace(key.encode(), b"***")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise EndpointError(f"the endpoint's answer cannot be read: {error}") from None


def describe_error(error: Exception, key: str) -> str:
    """Returns a description of a client library's error.

    The cause is named but not quoted: for a key with an invalid character, the cause quotes the header with the key. A
    ValueError or RecursionError means that the key or an earlier answer cannot be encoded.
    """
    if isinstance(error, ValueError | RecursionError):
        return f"the request cannot be sent ({type(error).__name__})"
    text = str(error)
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "***")
    cause = f" ({type(error.__cause__).__name__})" if error.__cause__ else ""
    return f"{text[:1000]}{cause}"


def arguments_of(found: Any) -> dict[str, Any] | None:
    """Returns a call's arguments; None if they are not an object, or are too deeply nested to be sent."""
    if isinstance(found, dict) and _is_flat(found, MAX_DEPTH):
        return found
    return None


def _is_flat(value: Any, levels: int) -> bool:
    """Says whether a value has no more levels than these."""
    if not isinstance(value, dict | list):
        return True
    if levels <= 0:
        return False
    # Attack: an endpoint sends arguments of a thousand levels; encoding them for the server ends with a RecursionError.
    inner = value.values() if isinstance(value, dict) else value
    return all(_is_flat(one, levels - 1) for one in inner)
