"""A client by hand of streamable HTTP with a session, which breaks off its connections and comes again."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any, Final

import httpx2

from tests.kit import clients

__all__ = ["Session"]

_VERSION: Final = "2025-11-25"
_TRIES: Final = 240


class Session:
    """One session."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self._numbers = itertools.count(1)
        initialize = {**clients.INITIALIZE, "params": {**clients.INITIALIZE["params"], "protocolVersion": _VERSION}}  # type: ignore[dict-item]
        answer = self._post(self._url, initialize)
        self._headers |= {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": _VERSION}

    def begin(self, script: str) -> str:
        """Sends a script, and hangs up; returns the id of the first event of the answer."""
        params = {"name": "evaluate_script", "arguments": {"script": script}}
        message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": "tools/call", "params": params}
        with httpx2.stream("POST", f"{self._url}/mcp", json=message, headers=self._headers, timeout=60) as answer:
            for line in answer.iter_lines():
                if line.startswith("id:"):
                    return line.removeprefix("id:").strip()
        raise AssertionError("the answer has no event")

    def resume(self, event: str) -> str:
        """Comes again after an event, until the answer is there; returns its text, or the status where there is none."""
        for _ in range(_TRIES):
            found = self._listen(event)
            if found:
                return found
            time.sleep(0.5)  # the server has not yet noticed that the other connection has ended
        raise AssertionError("the stream has no answer")

    def is_known_at(self, url: str) -> bool:
        """Whether the replica at this address has the session."""
        ping = {"jsonrpc": "2.0", "id": next(self._numbers), "method": "ping"}
        return self._post(url, ping).status_code == 200

    def _listen(self, event: str) -> str:
        """What `resume` returns, or nothing where the stream ends before."""
        headers = {**self._headers, "Last-Event-ID": event}
        with httpx2.stream("GET", f"{self._url}/mcp", headers=headers, timeout=60) as answer:
            if answer.status_code != 200:
                return str(answer.status_code)
            for line in answer.iter_lines():
                if line.startswith("data:") and line.removeprefix("data:").strip():
                    message: dict[str, Any] = json.loads(line.removeprefix("data:"))
                    if "result" in message:
                        return str(message["result"]["content"][0]["text"])
        return ""

    def _post(self, url: str, message: object) -> httpx2.Response:
        return httpx2.post(f"{url}/mcp", json=message, headers=self._headers, timeout=60)
