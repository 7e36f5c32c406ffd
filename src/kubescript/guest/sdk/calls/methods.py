"""Provides `Method`, one API method as a script calls it: call_arguments.py makes the request, and session.py makes a
view of the answer. client.py creates methods, and watch.py follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubescript.guest.sdk.calls import batching, call_arguments, futures, session
from kubescript.guest.sdk.objects import helptext, schemas
from kubescript.guest.sdk.values import lazy_json, masks, operations
from kubescript.wire.exchanges import Call, Reply

__all__ = ["HttpAnswer", "Method", "Watchable"]


class Watchable(batching.Sends):
    """The base of the methods that `watch.Watch().stream` can follow."""

    def _watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[session.Session, Call, schemas.Shape]:
        """Returns the session, the watch request and the shape of one object."""
        raise NotImplementedError


class Method(Watchable):
    """One API method."""

    __slots__ = ("_info", "_operation", "_session")

    def __init__(self, session: session.Session, operation: operations.Operation, *, info: bool) -> None:
        self._session = session
        self._operation = operation
        self._info = info

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make the call; with async_req=True, make it when its result is read."""
        if kwargs.pop("async_req", False):
            # Bad arguments raise here, at the line that passes them, and not when the result is read.
            call_arguments.bind(self._operation, args, kwargs)
            return futures.later(self._session.relay, lambda: self(*args, **kwargs))
        if kwargs.pop("_preload_content", True) is False:
            return self._fetch(args, kwargs)
        call = call_arguments.bind(self._operation, args, kwargs)
        value, reply = self._perform(call)
        if self._info:
            return value, reply.status, dict(reply.headers)
        return value

    def _fetch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> HttpAnswer:
        """Makes the call without decoding its answer."""
        call = call_arguments.bind(self._operation, args, kwargs)
        follows = ("follow", "true") in call.query
        return HttpAnswer(self._session, call, follows=follows)

    def _perform(self, call: Call) -> tuple[Any, Reply]:
        """Makes the call. Returns a string, a list or a view, depending on the method's return type."""
        operation = self._operation
        untyped = not operation.returns and operation.verb == "GET"
        if operation.returns == "str" or untyped:
            return self._session.fetch_text(call)
        shape = schemas.shape_of(operation.returns)
        if operation.name.startswith("list_"):
            return self._session.fetch_list(call, _item(shape), shape.name)
        if shape is schemas.FREE:
            shape = schemas.OBJECT
        return self._session.fetch(call, shape)

    def _watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[session.Session, Call, schemas.Shape]:
        operation = self._operation
        # A log is followed line by line; everything else needs the parameter `watch`.
        if self.is_text:
            call = call_arguments.bind(operation, args, kwargs)
            return self._session, call, schemas.FREE
        if "watch" not in operation.parameters:
            raise TypeError(f"{operation.name} cannot be watched; watch a list method, such as list_namespaced_pod")
        call = call_arguments.bind(operation, args, kwargs, watch=True)
        listed = schemas.shape_of(operation.returns)
        return self._session, call, _item(listed)

    @property
    def name(self) -> str:
        """Its official name."""
        return self._operation.name

    @property
    def takes_body(self) -> bool:  # type: ignore[override]
        """Whether it sends an object."""
        return bool(self._operation.body)

    @property
    def is_text(self) -> bool:
        """Whether it returns text, such as a log."""
        return self._operation.returns == "str"

    def __repr__(self) -> str:
        return helptext.method(self._operation)


def _item(shape: schemas.Shape) -> schemas.Shape:
    """Returns the shape of a list's items."""
    # A list of custom resources has no model.
    items = shape.fields.get("items")
    return schemas.OBJECT if items is None else items.shape.element


class HttpAnswer:
    """The answer, undecoded: `.data`, `.status`, `.headers`, `.json()`; a loop over it gives lines."""

    __slots__ = ("_lines", "_text", "headers", "reason", "status")

    def __init__(self, session: session.Session, call: Call, *, follows: bool) -> None:
        self._lines: Iterator[bytes] | None = None
        self._text = b""
        self.status = 200
        self.reason = "OK"
        self.headers: dict[str, str] = {}
        # The call for a followed log is made when its first line is read.
        if follows:
            self._lines = session.lines(call)
            return
        text, reply = session.fetch_text(call)
        self._text = text.encode()
        self.status = reply.status
        self.reason = reply.reason
        self.headers = dict(reply.headers)
        self.headers.setdefault("Content-Type", reply.content_type)

    @property
    def data(self) -> bytes:
        """The whole body."""
        if self._lines is not None:
            self._text = b"\n".join(self._lines)
            self._lines = None
        return masks.note(self._text)

    def read(self, amt: int | None = None, **_options: object) -> bytes:
        """The body, or its first bytes; the next call returns the bytes after them."""
        text = self.data
        taken = text[:amt]
        # As with a real connection, bytes that have been read are gone.
        self._text = text[len(taken) :]
        return taken

    def json(self) -> Any:
        """The body's JSON as plain data."""
        return lazy_json.decode_all(self.data)

    def __iter__(self) -> Iterator[bytes]:
        # The lines of a followed log pass by only once, and are not kept.
        if self._lines is not None:
            return map(masks.note, self._lines)
        return iter(self._text.splitlines(keepends=True))

    def stream(self, *_args: object, **_options: object) -> Iterator[bytes]:
        """Lines as they arrive."""
        return iter(self)

    def getheaders(self) -> dict[str, str]:
        """The headers."""
        return dict(self.headers)

    def getheader(self, name: str, default: str | None = None) -> str | None:
        """One header, in any case."""
        folded = {key.lower(): value for key, value in self.headers.items()}
        wanted = name.lower()
        return folded.get(wanted, default)

    def close(self) -> None:
        """Nothing to close."""

    release_conn = close

    def __repr__(self) -> str:
        size = len(self._text)
        return f"<HTTP answer {self.status}, {size} bytes: .data, .json()>"
