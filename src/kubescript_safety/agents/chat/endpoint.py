"""What both APIs have in common: turns of a model, the calls in them, and what it is told of them."""

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
"""Of arguments, in levels."""
_SHORTEST_KEY: Final = 16
"""Shorter ones are words that stand for no key, such as `none`, and occur in answers."""


class EndpointError(Exception):
    """The endpoint gives no answer that can be used. The message has no key in it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None when they cannot be sent to a server: see `arguments_of`."""
    written: str = ""
    """What they are instead."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the model is told of a call."""

    id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a turn, as the endpoint counts them."""

    input: int
    """With what came from a cache or was put there."""
    output: int
    cached: int | None
    """Read from a cache. None: the endpoint does not say."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model."""

    text: str
    calls: tuple[Asked, ...]
    usage: Usage | None
    """None: the endpoint does not say."""
    is_cut: bool
    """Whether it ends where the output was too long, perhaps in the middle of a call."""


class Endpoint(Protocol):
    """A conversation with a model. It remembers what was said; opening it connects to nothing yet."""

    async def ask(self) -> Turn:
        """Lets the model go on. Raises EndpointError."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Adds the results of all calls of the last turn, in their order."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def decode(body: bytes, kind: type[Answer], key: str) -> Answer:
    """Reads an answer, in which a key that was sent back is masked. Raises EndpointError."""
    if len(key) >= _SHORTEST_KEY:
        body = body.replace(key.encode(), b"***")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise EndpointError(f"the endpoint's answer cannot be read: {error}") from None


def describe_error(error: Exception, key: str) -> str:
    """Returns what an error of a client library says.

    Its cause is named and not quoted: that of a key with an odd character in it is an illegal header, with the key.
    What is no error of the library comes from a key or an earlier answer that cannot be encoded.
    """
    if isinstance(error, ValueError | RecursionError):
        return f"the request cannot be sent ({type(error).__name__})"
    text = str(error)
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "***")
    cause = f" ({type(error.__cause__).__name__})" if error.__cause__ else ""
    return f"{text[:1000]}{cause}"


def arguments_of(found: Any) -> dict[str, Any] | None:
    """Returns the arguments of a call. None: they are no object, or nested so deeply that what sends them fails."""
    return found if isinstance(found, dict) and _is_flat(found, MAX_DEPTH) else None


def _is_flat(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)
