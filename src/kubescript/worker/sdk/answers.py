"""The answer to a call with `_preload_content=False`: bytes and headers, as urllib3 gives them officially."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubescript.wire.protocol import Call
from kubescript.worker.sdk import lazy_json, session

__all__ = ["HttpAnswer"]


class HttpAnswer:
    """What came, undecoded: `.data`, `.status`, `.headers`, `.json()`; looping over it gives lines."""

    __slots__ = ("_lines", "_text", "headers", "reason", "status")

    def __init__(self, session: session.Session, call: Call, *, follows: bool) -> None:
        self._lines = session.lines(call) if follows else None
        self._text = b""
        self.status, self.reason, self.headers = 200, "OK", {}
        if not follows:
            text, reply = session.fetch_text(call)
            self._text = text.encode()
            self.status, self.reason, self.headers = reply.status, reply.reason, dict(reply.headers)
            self.headers.setdefault("Content-Type", reply.content_type)

    @property
    def data(self) -> bytes:
        """The whole body."""
        if self._lines is not None:
            self._text, self._lines = b"\n".join(self._lines), None
        return self._text

    def read(self, amt: int | None = None, **_options: object) -> bytes:
        """The body, or its first bytes; what was read is gone."""
        taken, self._text = self.data[:amt], self.data[len(self.data[:amt]) :]
        return taken

    def json(self) -> Any:
        """The body's JSON as plain data."""
        return lazy_json.decode_all(self.data)

    def __iter__(self) -> Iterator[bytes]:
        if self._lines is not None:
            return self._lines
        return iter(self._text.splitlines(keepends=True))

    def stream(self, *_args: object, **_options: object) -> Iterator[bytes]:
        """Lines as they come."""
        return iter(self)

    def getheaders(self) -> dict[str, str]:
        """The headers."""
        return dict(self.headers)

    def getheader(self, name: str, default: str | None = None) -> str | None:
        """One header, in any case."""
        return {key.lower(): value for key, value in self.headers.items()}.get(name.lower(), default)

    def close(self) -> None:
        """Nothing to close."""

    release_conn = close

    def __repr__(self) -> str:
        return f"<HTTP answer {self.status}, {len(self._text)} bytes: .data, .json()>"
