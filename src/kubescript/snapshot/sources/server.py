"""What the saved sources of all kinds have in common: a request with its arguments comes in, an answer goes out."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubescript import errors, types
from kubescript.request import request
from kubescript.snapshot import collection, responses
from kubescript_sandbox.host import cancellation

__all__ = ["LABEL_VALUES", "Arguments", "Saved", "list_dicts", "write_data"]

LABEL_VALUES: Final = re.compile(r"label/([^/]+)/values")
"""The operation of Prometheus and Loki that lists the values of a label."""


class Arguments:
    """The arguments of one request. The door writes them: numbers are valid, and a range has its beginning and end."""

    def __init__(self, query: tuple[tuple[str, str], ...]) -> None:
        self._query = query

    def list(self, name: str) -> list[str]:
        """Returns all values of a name."""
        return [text for own, text in self._query if own == name]

    def text(self, name: str) -> str:
        """Returns the value of a name; empty if there is none."""
        return next(iter(self.list(name)), "")


Answer = Callable[[str, Arguments, collection.Check], types.Response]
"""Answers an operation, whose path is below the source's own API. Raises KubescriptError."""


class Saved:
    """A server of `base.Server` over one saved source."""

    def __init__(self, prefix: str, answer: Answer) -> None:
        """`prefix` is the path of the API."""
        self._prefix = prefix
        self._answer = answer

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Answers a call; see `base.Server`. Raises ClusterError (cluster.not_captured) for what was not captured."""
        check = collection.Deadline(time.monotonic() + timeout_s, cancel)
        operation = call.path.removeprefix(self._prefix)
        try:
            return self._answer(operation, Arguments(call.query), check)
        except RecursionError:
            raise errors.ClusterError("an answer in the snapshot is nested too deep", code="cluster.broken") from None

    def close(self) -> None:
        """Does nothing: no file stays open."""


def list_dicts(value: Any) -> list[dict[str, Any]]:
    """Returns the objects in a list of a stranger's document; empty if it is none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def write_data(data: Any, warning: str = "") -> types.Response:
    """Returns an answer as Prometheus and Loki frame it."""
    return responses.pieces([msgspec.json.encode({"status": "success", "data": data})], warning)
