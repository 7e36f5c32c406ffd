"""Clients of every kind that run scripts all the time, each the next one when it has an answer, while a test does something
to the servers.

with Crowd(port, tokens, script, 100) as crowd:
    ...
assert not crowd.failures
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Self

import httpx2
from anyio.from_thread import start_blocking_portal

from tests.kit import callers, clients, patience

__all__ = ["KINDS", "Crowd"]

_CALL_S: Final = 120
_Run = Callable[[str], Awaitable[str]]
"""Runs a script, and returns the answer's text. Raises whatever the client does."""


class Crowd:
    """The clients, and what they heard."""

    def __init__(self, port: int, tokens: Sequence[str], script: str, size: int) -> None:
        """Every script ends with `{number}`, its answer."""
        self.answers = 0
        self.restarts = 0
        """How often a client had to begin a new session."""
        self.failures: list[tuple[int, str]] = []
        """What clients heard in place of an answer, each with the client's number."""
        self._port = port
        self._tokens = tokens
        self._script = script
        self._size = size
        self._numbers = itertools.count(1)
        self._begun = 0
        """How many scripts have been sent."""
        self._is_over = False
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> Self:
        portal = self._closing.enter_context(start_blocking_portal())
        self._ended = portal.start_task_soon(self._run)
        patience.until(lambda: self._begun >= self._size or bool(self.failures), 180)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        with self._closing:
            self._ended.result()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            kinds = itertools.cycle(KINDS)
            tokens = itertools.cycle(self._tokens)
            for number, kind, token in zip(range(self._size), kinds, tokens, strict=False):
                tasks.create_task(self._stay(number, kind, token))

    async def _stay(self, number: int, kind: str, token: str) -> None:
        """One client, which comes again when its session has ended."""
        while not self._is_over:
            try:
                async with KINDS[kind](self._port, token) as run:
                    await self._ask(run)
            except Exception as error:
                text = _text(error)
                if kind == "session" and "Session" in text:
                    self.restarts += 1
                else:
                    self.failures.append((number, f"{kind}: {text}"))
                    await asyncio.sleep(1)

    async def _ask(self, run: _Run) -> None:
        """Runs scripts."""
        while not self._is_over:
            number = next(self._numbers)
            self._begun = max(self._begun, number)
            answer = await run(self._script.format(number=number))
            if answer != str(number):
                raise RuntimeError(answer)
            self.answers += 1


def _text(error: BaseException) -> str:
    """What a client says of an error, or of the first one in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


@contextlib.asynccontextmanager
async def _by_sdk(port: int, token: str, mode: str) -> AsyncIterator[_Run]:
    async with callers.connected(port, token, mode=mode) as client:

        async def run(script: str) -> str:
            return clients.text(await clients.evaluate(client, script))

        yield run


@contextlib.asynccontextmanager
async def _by_one_request(port: int, token: str) -> AsyncIterator[_Run]:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=_CALL_S) as http:

        async def run(script: str) -> str:
            params = {"name": "evaluate_script", "arguments": {"script": script}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer: Any = (await http.post(f"http://127.0.0.1:{port}/mcp", json=message)).json()
            return str(answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"])

        yield run


_Open = Callable[[int, str], contextlib.AbstractAsyncContextManager[_Run]]
KINDS: Final[dict[str, _Open]] = {
    "session": lambda port, token: _by_sdk(port, token, "legacy"),
    "modern": lambda port, token: _by_sdk(port, token, "2026-07-28"),
    "one request": _by_one_request,
}
"""Kinds of clients: with a session; of the protocol without sessions; without either, such as curl."""
