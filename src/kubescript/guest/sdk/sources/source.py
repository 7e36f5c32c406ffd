"""Provides `Source`, the base of the globals for metrics, alerts, logs and traces: one call for each method.

The host builds the request of fixed parts; a script gives only the values of an operation's arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal, TypeVar

import msgspec

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import labelled, schemas, series, streams, views
from kubescript.guest.sdk.sources import failures, times
from kubescript.guest.sdk.values import lazy_json, masks, names
from kubescript.wire import exchanges

__all__ = ["Source"]

T = TypeVar("T")
_MOST_WARNINGS: Final = 5
"""How many warnings of an answer a script's reader is told."""
_LONGEST: Final = 300
"""How many characters of a warning are shown."""
_ABSENT: Final = msgspec.Raw()
_NO_LABELS: Final = msgspec.Raw(b"{}")
_TIMES: Final = {"time": times.moment, "start": times.moment, "end": times.moment, "step": times.duration}
"""The arguments of all operations that are times."""


class _Answer(msgspec.Struct):
    """What Prometheus and Loki wrap their answers in."""

    status: Literal["success"]
    data: msgspec.Raw = _ABSENT
    warnings: list[str] = []


class _Result(msgspec.Struct, gc=False):
    """One result of a query, whose parts are decoded when a script reads them."""

    metric: msgspec.Raw = _NO_LABELS
    stream: msgspec.Raw = _NO_LABELS
    value: msgspec.Raw = series.NO_POINTS
    values: msgspec.Raw = series.NO_POINTS


class _Results(msgspec.Struct):
    """The data of a query's answer."""

    kind: Literal["vector", "matrix", "streams", "scalar", "string"] = msgspec.field(name="resultType")
    result: list[_Result | float | str]
    """Series or streams; of a scalar or a text, its time and its value."""


class _QueryAnswer(msgspec.Struct):
    """The answer to a query, decoded in one pass: 16 MB take 14 ms."""

    status: Literal["success"]
    data: _Results
    warnings: list[str] = []


_decode_answer: Final = msgspec.json.Decoder(_Answer).decode
_decode_query_answer: Final = msgspec.json.Decoder(_QueryAnswer).decode


class Source:
    """One source of the operator's. Its methods have the names and parameters of its HTTP API."""

    __slots__ = ("_name", "_objects", "_session", "_shape", "_spoken")

    _help: ClassVar[str]
    """A few lines with examples, for `help`; {name} is what a script calls it."""
    _left_out: ClassVar[msgspec.Raw] = _ABSENT
    """What an answer without `data` says, as JSON; empty where it says nothing."""

    def __init__(self, session: session.Session, name: str, spoken: str, objects: labelled.Objects) -> None:
        """`spoken` is what a script calls it, such as `prom`."""
        self._session = session
        self._name = name
        self._spoken = spoken
        self._shape = schemas.answer_of_source(objects.find)
        self._objects = objects

    def __init_subclass__(cls) -> None:
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_"):
                setattr(cls, name, _check_names(method))

    def _ask(self, operation: str, **arguments: Any) -> bytearray:
        """Makes one call. Arguments that are None are left out; those of a list are repeated."""
        query = [(name, text) for name, value in arguments.items() for text in _texts(value, name)]
        call = exchanges.Call("GET", (*exchanges.SOURCES, self._name, operation), tuple(query))
        title = self._title(operation)
        reply, body = self._session.fetch_from_source(call, title)
        if reply.status >= 400:
            raise failures.from_answer(reply.status, reply.reason, body, title)
        return body

    def _ask_for_data(self, operation: str, **arguments: Any) -> msgspec.Raw:
        """Makes one call whose answer has its data in the key `data`; tells of its warnings."""
        body = self._ask(operation, **arguments)
        answer = self._decode(operation, _decode_answer, body)
        self._tell(operation, answer.warnings)
        return self._left_out if answer.data is _ABSENT else answer.data

    def _ask_for_results(self, operation: str, **arguments: Any) -> Any:
        """Makes one query. Returns a list of series or streams; the text of an expression that is one."""
        body = self._ask(operation, **arguments)
        answer = self._decode(operation, _decode_query_answer, body)
        self._tell(operation, answer.warnings)
        found = answer.data.result
        if answer.data.kind == "string":
            return found[-1]
        if answer.data.kind == "scalar":
            # As a series without labels, so that every number is read in the same way.
            point = msgspec.Raw(lazy_json.encode(found))
            return [series.Series(_NO_LABELS, point, self._objects, is_range=False)]
        results = [each for each in found if isinstance(each, _Result)]
        if answer.data.kind == "streams":
            is_forward = arguments.get("direction") == "forward"
            return [streams.Stream(each.stream, each.values, self._objects, is_forward=is_forward) for each in results]
        return [self._series(each) for each in results]

    def _list(self, operation: str, **arguments: Any) -> Any:
        """Makes one call whose answer is a list of what exists."""
        return self._wrap_list(operation, self._ask_for_data(operation, **arguments))

    def _tell(self, operation: str, warnings: list[str]) -> None:
        """Prints what the source says of its answer, such as that a part is missing."""
        for warning in warnings[:_MOST_WARNINGS]:
            self._session.tell(f"{self._title(operation)} warns: {masks.note(warning[:_LONGEST])}")

    def _series(self, found: _Result) -> series.Series:
        is_range = found.values is not series.NO_POINTS
        points = found.values if is_range else found.value
        return series.Series(found.metric, points, self._objects, is_range=is_range)

    def _wrap(self, operation: str, body: Any) -> Any:
        """Returns a JSON answer as objects with attributes, like those of the cluster."""
        return views.wrap(self._decode(operation, lazy_json.decode_all, body), self._shape)

    def _wrap_list(self, operation: str, body: Any, field: str = "") -> Any:
        """Returns the list that a JSON answer is, or has in a field, wrapped. Raises ApiException for an answer without
        one: it does not say that there is nothing."""
        found = self._decode(operation, lazy_json.decode_all, body)
        try:
            listed = found[field] if field else found
        except (KeyError, TypeError):
            listed = ""
        if listed is None:  # an empty list, as programs in Go write it
            listed = []
        if not isinstance(listed, list):
            raise failures.unreadable(self._title(operation), f"no list {field}".strip())
        return views.wrap(listed, self._shape)

    def _decode(self, operation: str, decode: Callable[[Any], T], text: Any) -> T:
        try:
            return decode(text)
        except msgspec.DecodeError as error:
            raise failures.unreadable(self._title(operation), error) from None

    def _title(self, operation: str) -> str:
        where = f"{self._session.context}: " if self._session.context else ""
        return f"{where}{self._spoken}.{operation}"

    def __getattr__(self, name: str) -> Any:
        known = dir(self)
        spelled = names.find_spelling(name, known)
        if name.startswith("_") or spelled is None:
            near = "".join(f"did you mean {each!r}? " for each in names.nearest(name, known))
            raise AttributeError(f"{self._spoken} has no {name!r}; {near}it has {', '.join(known)}")
        return getattr(self, spelled)

    def __dir__(self) -> list[str]:
        return [name for name, _ in inspect.getmembers(type(self), inspect.isfunction) if not name.startswith("_")]

    def __repr__(self) -> str:
        return self._help.format(name=self._spoken)


def _check_names(method: Callable[..., T]) -> Callable[..., T]:
    """Returns a method whose error for an unknown argument names the nearest one."""
    known = [name for name in inspect.signature(method).parameters if name != "self"]

    @functools.wraps(method)
    def call(self: Source, *values: Any, **arguments: Any) -> T:
        for name in arguments.keys() - set(known):
            spoken = f"{self._spoken}.{method.__name__}()"
            raise TypeError(f"{spoken} has no argument {name!r}; {names.suggestion(name, known)}")
        return method(self, *values, **arguments)

    return call


def _texts(value: Any, name: str) -> list[str]:
    """Returns the texts of an argument: none for None, and one for each element of a list."""
    if name in _TIMES:
        value = _TIMES[name](value, name)
    several = value if isinstance(value, list | tuple) else [value]
    return [_text(each, name) for each in several if each is not None]


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if not isinstance(value, str):
        raise TypeError(f"{name} is text, not a {type(value).__name__}")
    return str.__str__(value)
