"""An API server's answer to a write, or to a read for one. The host reads only a few marks of it, and no object."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kubescript import errors, types
from kubescript.output import sanitizing

__all__ = [
    "find_message",
    "find_warnings",
    "hold",
    "is_object",
    "is_taken",
    "knows_dry_runs",
    "move",
    "read_whole",
    "rename",
]

# etcd accepts only half of this.
_MAX_BODY: Final = 3 * 1024 * 1024
"""The maximum size of one object in bytes."""
_DRY_RUN: Final = b'"dryRun"'
"""The query parameter's name in the description of an API that supports dry runs."""
_TAKEN: Final = b'"reason":"AlreadyExists"'
"""The reason in an API server's answer to the creation of an object that exists."""
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,600})')
"""The message in an API server's error."""
# A header may contain several warnings, separated by commas.
_WARNING: Final = re.compile(r'\b\d{3} [^ ",]{1,200} "((?:[^"\\]|\\.)*)"')
"""One HTTP warning: its code, its agent, and the text."""


def find_message(text: str) -> str:
    """Returns the message in an API server's error as one line."""
    found = _MESSAGE.search(text)
    message = text[:600] if found is None else found[1].replace('\\"', '"')
    # Attack: a later line of the answer forges the end of a plan at a terminal.
    return sanitizing.printable(message.strip())


def find_warnings(response: types.Response) -> list[str]:
    """Returns an answer's warnings, without duplicates and cleaned for display."""
    header = response.headers.get("warning", "")
    texts = [text.replace('\\"', '"') for text in _WARNING.findall(header)]
    if not texts:
        texts = [header]
    clean = map(sanitizing.clean, texts)
    unique = dict.fromkeys(clean)
    return [text for text in unique if text]


def read_whole(response: types.Response) -> bytes:
    """Returns an answer's whole body. Raises ClusterError when it is larger than any object."""
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in response.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > _MAX_BODY:
                raise errors.ClusterError("the object is larger than 3 MiB", code="cluster.too_large")
    finally:
        response.close()
    return b"".join(parts)


def hold(response: types.Response, content: bytes) -> types.Response:
    """Returns an answer that was already read in a form that can be read once more."""
    return replace(response, chunks=iter((content,)), close=_close_nothing)


def is_object(content: bytes) -> bool:
    """Says whether an answer may be an object of the API, or a Status."""
    return content.lstrip().startswith(b"{") and b'"apiVersion"' in content


def is_taken(status: int, content: bytes) -> bool:
    """Says whether the API server refuses a creation only because there is an object of its name: it looks for one when
    it has defaulted, admitted and validated everything."""
    return status == 409 and _TAKEN in content


def rename(response: types.Response, name: str, real_name: str) -> types.Response:
    """Returns an answer about an object as if the object had its real name. Raises ClusterError."""
    # The API server may have put the name elsewhere too, such as into a label of a Job's pods.
    content = read_whole(response).replace(name.encode(), real_name.encode())
    headers = {key: value.replace(name, real_name) for key, value in response.headers.items()}
    return hold(replace(response, headers=headers), content)


def move(response: types.Response, name: str, namespace: str, real_namespace: str) -> types.Response:
    """Returns an answer with the object of this name, which stands in for its own, as if it were in its real namespace.
    Raises PlanError if the answer does not have the two together."""
    # API servers write an object's name and its namespace one after the other, and nothing else of this object has this
    # name and a namespace.
    start = f'"name":"{name}","namespace":'
    shown = f'{start}"{namespace}"'.encode()
    content = read_whole(response)
    if content.count(shown) != 1:
        raise errors.PlanError(
            f"this cannot be shown as it would be in its namespace: the API server's answer from namespace {namespace} "
            "has not the usual form; create the namespace in one script, and this in the next",
            code="plan.untried",
        )
    return hold(response, content.replace(shown, f'{start}"{real_namespace}"'.encode()))


def knows_dry_runs(response: types.Response) -> bool:
    """Says whether an API's description names the parameter for dry runs. Closes the response."""
    with contextlib.closing(response):
        if response.status != 200:
            return False
        return _contain(response.chunks, _DRY_RUN)


def _contain(chunks: Iterator[bytes], text: bytes) -> bool:
    """Says whether the chunks contain these bytes, even if split between two of them."""
    end = b""
    for chunk in chunks:
        if text in end + chunk:
            return True
        end = chunk[-len(text) :]
    return False


def _close_nothing() -> None:
    pass
