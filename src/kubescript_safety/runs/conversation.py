"""The conversation with a server under test: every tool call is recorded with its answer."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import string
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import msgspec
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import MCPError, StdioServerParameters
from mcp.client import Client
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import stdio_client

from kubescript_safety import transcript
from kubescript_safety.servers import setup

__all__ = ["Conversation", "ServerError", "Tell", "open_conversation", "text_of"]

_START_S: Final = 300
"""How long a server may take to start and to list its tools. npx may have to download it first."""
_MAX_RESULT: Final = 1_000_000
_MAX_QUESTION: Final = 10_000
_YES: Final = frozenset({"accept", "allow", "apply", "approve", "confirm", "yes"})
Tell = Callable[[transcript.Record], None]


class ServerError(Exception):
    """The server under test does not respond properly; the message contains the end of its log."""


class Conversation:
    """A client of one server. Only one thread at a time may use it."""

    def __init__(self, portal: BlockingPortal, client: Client, started: StdioServerParameters, tell: Tell) -> None:
        """`tell` is called with each call."""
        self._portal = portal
        self._client = client
        self._tell = tell
        self.started = started
        """The command and environment that started the server, for starting another like it."""
        self._numbers = itertools.count(1)

    def tools(self) -> tuple[transcript.Tool, ...]:
        """Returns the tools that the server lists. Raises ServerError."""
        try:
            listed = self._portal.call(self._client.list_tools)
        except Exception as error:  # the SDK raises various exceptions for a malformed list
            raise ServerError(f"it does not list its tools: {str(error)[:2000]}") from None
        return tuple(transcript.Tool(one.name, one.description or "", dict(one.input_schema)) for one in listed.tools)

    @property
    def instructions(self) -> str:
        """The server's instructions for its clients."""
        return self._client.instructions or ""

    def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> transcript.Call:
        """Calls a tool and records the call. Raises TimeoutError if no answer comes in time."""
        given = dict(arguments)
        number = str(next(self._numbers))
        sent = transcript.Call(at=time.time(), id=number, tool=tool, arguments=given)
        self._tell(sent)  # so that the call is recorded even if the run is killed now
        text, is_error = self._portal.call(self._answer, tool, given, seconds)
        done = msgspec.structs.replace(sent, ended=time.time(), result=text, is_error=is_error)
        self._tell(done)
        return done

    async def _answer(self, tool: str, arguments: dict[str, Any], seconds: float) -> tuple[str, bool]:
        """Calls a tool; returns the text of its answer, and whether it is an error."""
        # The SDK's own limit would make the call look like an error of the server, so it is later than ours.
        patience = seconds + _START_S
        try:
            with anyio.fail_after(seconds):
                answer = await self._client.call_tool(tool, arguments, read_timeout_seconds=patience)
        except MCPError as error:  # a refused call is an answer too
            return _cut(str(error)), True
        return _cut(text_of(answer)), bool(answer.is_error)


def _cut(text: str) -> str:
    """Returns the text for the transcript and the agent. Attack: a server returns forty results of a hundred
    megabytes."""
    if len(text) <= _MAX_RESULT:
        return text
    begin = text[:_MAX_RESULT]
    return f"{begin}\n[cut by the benchmark: the first {_MAX_RESULT} of {len(text)} characters]"


def text_of(answer: mcp_types.CallToolResult) -> str:
    """Returns an answer's text as a model gets it."""
    texts = [part.text for part in answer.content if isinstance(part, mcp_types.TextContent)]
    # Clients show the model the text; if a server sends none, its structured content is read.
    if not texts and answer.structured_content is not None:
        texts = [json.dumps(answer.structured_content, ensure_ascii=False)]
    return "\n".join(texts)


@contextlib.contextmanager
def open_conversation(server: setup.Setup, folder: Path, kubeconfig: Path, tell: Tell) -> Iterator[Conversation]:
    """Starts the server with `folder` as its home, and connects to it. Raises ServerError if it does not start."""
    config = folder / "config.toml"
    values = {"python": sys.executable, "kubeconfig": str(kubeconfig), "config": str(config), "folder": str(folder)}
    # `safe_substitute` is used because a configuration may have dollar signs of its own.
    config.write_text(string.Template(server.config).safe_substitute(values))
    program, *arguments = server.argv(values)
    # The server gets nothing of the benchmark's own environment, which contains keys of models, and perhaps a
    # kubeconfig.
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], **server.environment}
    started = StdioServerParameters(command=program, args=arguments, env=environment, cwd=folder)
    with contextlib.ExitStack() as kept, (folder / "server.log").open("w+") as said:
        portal = kept.enter_context(start_blocking_portal())
        client = Client(
            stdio_client(started, said),
            elicitation_callback=_person(server, tell),
            read_timeout_seconds=_START_S,
        )
        try:
            kept.enter_context(portal.wrap_async_context_manager(client))
        except Exception as error:  # the SDK raises various exceptions for a program that ends or writes nonsense
            said.seek(0)
            raise ServerError(f"{server.name} did not start: {error}\n{said.read()[-2000:]}") from None
        yield Conversation(portal, client, started, tell)


def _person(server: setup.Setup, tell: Tell) -> ElicitationFnT | None:
    """Returns the handler that stands for the person behind the agent: it accepts all forms and declines everything
    else."""
    if server.approver == "nobody":
        return None

    async def answer(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        if isinstance(params, mcp_types.ElicitRequestFormParams):
            given = mcp_types.ElicitResult(action="accept", content=_fill(params.requested_schema))
        else:
            # A link would need a browser.
            given = mcp_types.ElicitResult(action="decline")
        tell(transcript.Asked(at=time.time(), message=params.message[:_MAX_QUESTION], answer=given.action))
        return given

    return answer


def _fill(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a form filled in with consent: yes to every boolean, and to choices yes or else the first."""
    content: dict[str, Any] = {}
    for name, field in schema.get("properties", {}).items():
        if field.get("type") == "boolean":
            content[name] = True
        elif choices := field.get("enum") or [one["const"] for one in field.get("oneOf", ())]:
            content[name] = next((one for one in choices if one in _YES), choices[0])
        # Optional fields are left out.
        elif name in schema.get("required", ()):
            content[name] = "yes"
    return content
