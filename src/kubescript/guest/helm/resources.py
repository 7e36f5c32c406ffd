"""Owns what helm_status says of the objects of a release: their rows as the API server prints them, kind by kind."""

from __future__ import annotations

import functools
from collections import defaultdict
from typing import Any, Final

from kubescript.guest.helm import storage, text
from kubescript.guest.kubectl.rows.cells import line
from kubescript.guest.sdk import client
from kubescript.guest.sdk.discovery import dynamic
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import ages, exceptions
from kubescript.wire.exchanges import Call

__all__ = ["tables"]

_MAX: Final = 100
"""Objects that are asked for, each by a call."""
_SHOWN: Final = 0
"""The priority of a column that kubectl shows without `-o wide`."""

_Row = dict[str, str]
"""The cells of an object by their titles."""


def tables(k8s: client.K8s, release: storage.Release) -> str:
    """Returns the tables of a release's objects."""
    references = release.get("resources") or []
    shown = references[:_MAX]
    paths = [_path(k8s, each, release["namespace"]) for each in shown]
    answers = k8s.parallel([functools.partial(_row, k8s, path) for path in paths])
    by_kind: defaultdict[str, list[_Row]] = defaultdict(list)
    for reference, answer in zip(shown, answers, strict=True):
        row = {"NAME": f"{reference.get('name', '')} ({_why(answer)})"} if isinstance(answer, Exception) else answer
        by_kind[f"{reference.get('apiVersion', '')}/{reference['kind']}"].append(row)
    parts = [f"==> {line(kind)}\n{_table(rows)}" for kind, rows in by_kind.items()]
    if len(references) > _MAX:
        parts.append(f"({len(references) - _MAX} more objects)")
    return "\n\n".join(parts) or "none"


def _path(k8s: client.K8s, reference: dict[str, str], namespace: str) -> str | exceptions.ApiException:
    """Returns the path of an object, or why there is none."""
    try:
        kind = k8s.dynamic().resources.get(api_version=reference.get("apiVersion", "v1"), kind=reference["kind"])
    except exceptions.ApiException as error:
        return error
    return kind.path(reference.get("name", ""), reference.get("namespace") or namespace)


def _row(k8s: client.K8s, path: str | exceptions.ApiException) -> _Row:
    """Returns the row of one object. Raises ApiException."""
    if isinstance(path, exceptions.ApiException):
        raise path
    found, _ = k8s._session.fetch(Call("GET", tuple(path.strip("/").split("/")), accept="table"), schemas.OBJECT)
    if found.get("kind") != "Table":  # a snapshot has objects, and no tables of them
        return {"NAME": found["metadata"]["name"], "AGE": str(ages.age(found))}
    row: _Row = {}
    for column, cell in zip(found["columnDefinitions"], found["rows"][0]["cells"], strict=True):
        if column.get("priority", _SHOWN) == _SHOWN:
            row[column["name"].upper()] = str(cell)
    return row


def _table(rows: list[_Row]) -> str:
    titles = max((list(row) for row in rows), key=len)
    return text.aligned([titles, *([row.get(title, "") for title in titles] for row in rows)])


def _why(error: Any) -> str:
    if error.status == 404:
        return "not served" if isinstance(error, dynamic.ResourceNotFoundError) else "not found"
    return error.message or error.reason or str(error.status)
