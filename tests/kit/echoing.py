"""A server whose toolsets `openstack` and `openshift` say what they are given: `python tests/kit/echoing.py FLAGS`.

It is the whole server: only the two toolsets are others. With `toolsets()` they are in this process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final
from unittest import mock

import anyio.to_thread
import mcp_types

from kubescript import errors, types
from kubescript.cli import main
from kubescript.commands import request_credentials
from kubescript.toolsets import base, builtin

__all__ = ["CALL", "COMMAND", "LIST", "toolsets"]

COMMAND: Final = (sys.executable, "-P", __file__)
"""Starts it. Without -P, modules of this folder would stand before those of the standard library."""
CALL: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "openstack-cli", "arguments": {}}}
LIST: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
"""Requests that a client without a session sends."""


_NAMES: Final = ("openstack", "openshift")


def _said() -> str:
    found = request_credentials.current()
    return json.dumps({name: value for name, value in dataclasses.asdict(found).items() if value})


async def _echo(
    _arguments: Mapping[str, Any], _on_progress: types.OnProgress | None, caller: types.Caller
) -> types.Answer:
    try:
        here = _said()
        await anyio.sleep(0.05)  # another caller's request comes meanwhile
        there = await anyio.to_thread.run_sync(_said)
    except errors.RequestError as error:
        return types.Answer(error.explained, is_error=True, code=error.code)
    return types.Answer(here if here == there else "the thread was given something else", is_error=here != there)


def _toolset(name: str, _parts: builtin.Parts) -> base.Toolset:
    definition = mcp_types.Tool(
        name=f"{name}-cli", description=f"Says what {name} is given.", input_schema={"type": "object"}
    )
    return base.Toolset(name, f"an echo of {name}", (base.Tool(definition, _echo),))


@contextlib.contextmanager
def toolsets() -> Iterator[None]:
    """The applications of this process have the two."""
    with mock.patch.dict(builtin.TOOLSETS, {name: functools.partial(_toolset, name) for name in _NAMES}):
        yield


if __name__ == "__main__":
    with toolsets():
        main.main()
