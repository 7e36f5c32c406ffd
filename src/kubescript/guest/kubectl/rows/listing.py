"""`Listing`, the rows of a list or of one object: the API server's Table if there is one, or else the rows of
columns.py."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kubescript.guest.kubectl.rows import cells, columns
from kubescript.guest.kubectl.rows.columns import Column, Printer
from kubescript.guest.kubectl.tool_kinds import Kind
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import base_view, list_objects, schemas
from kubescript.guest.sdk.values import exceptions, lazy_json
from kubescript.wire.exchanges import Accept, Call

__all__ = ["Listing", "Row", "Scope", "read", "strip"]

# From this many objects on, a kind is listed namespace by namespace, in parallel.
LARGE: Final = 500
MOST_NAMESPACES: Final = 100
_DEFINITIONS: Final = ("apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions")


Parameter = tuple[str, str]
"""A parameter of a request: its name and its value."""


class Scope(NamedTuple):
    """The requested objects."""

    kind: Kind
    namespace: str | None
    """None means all namespaces."""
    name: str | None = None
    selector: str = ""

    @property
    def every_namespace(self) -> bool:
        """Whether the objects may be in several namespaces."""
        return self.kind.namespaced and self.namespace is None

    @property
    def single(self) -> bool:
        """Whether a single object is requested; one name in all namespaces may match several objects."""
        return self.name is not None and not self.every_namespace

    def call(self, accept: Accept, *query: Parameter) -> Call:
        """Returns the request for the objects."""
        if self.single:
            path = self.kind.path(self.namespace, self.name)
            return Call("GET", path, query, accept=accept)
        path = self.kind.path(self.namespace)
        return Call("GET", path, (*self._selectors(), *query), accept=accept)

    def _selectors(self) -> list[Parameter]:
        """Returns the parameters that select objects of a list."""
        selectors = []
        if self.selector:
            selectors.append(("labelSelector", self.selector))
        if self.name is not None:
            selectors.append(("fieldSelector", f"metadata.name={self.name}"))
        return selectors


class Row(NamedTuple):
    """One object's row. Name and namespace are empty if they were not requested."""

    name: str
    namespace: str
    cells: list[Any]

    def cell(self, place: int) -> Any:
        """Returns the cell in a column; None if the row is too short."""
        if place >= len(self.cells):
            return None
        return self.cells[place]


class Listing(NamedTuple):
    """Rows, and their columns."""

    columns: list[Column]
    rows: list[Row]
    metadata_rule: str = ""
    """The policy's rule by which this kind is served without its data; empty if it is served in full."""


class _Column(msgspec.Struct):
    name: str
    priority: int = 0


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Row(msgspec.Struct):
    cells: list[Any]
    object: _Object | None = None


class _Table(msgspec.Struct):
    """The parts of a Table that are read here."""

    columnDefinitions: list[_Column]  # noqa: N815 - the JSON name
    rows: list[_Row] | None = None


_table: Final = msgspec.json.Decoder(_Table).decode


def read(k8s: client.K8s, scope: Scope, *, named: bool) -> Listing:
    """Reads the rows from the cluster. `named` requests name and namespace in addition to the cells."""
    if not scope.every_namespace:
        return _read_list(k8s, scope, named=named)
    namespaces = _split(k8s, scope)
    if not namespaces:
        return _read_list(k8s, scope, named=True)

    def read_namespace(namespace: str) -> Listing:
        return _read_list(k8s, scope._replace(namespace=namespace), named=False)

    parts: list[Listing] = k8s.parallel(read_namespace, namespaces, return_exceptions=False)
    rows = [row for part in parts for row in part.rows]
    return parts[0]._replace(rows=rows)


def _split(k8s: client.K8s, scope: Scope) -> list[str]:
    """Returns the namespaces in which to list a large kind one by one; an empty list if a single request is as fast."""
    # A Table contains namespaces only together with every object's metadata, which takes the API server as long to
    # write as the objects: 3.0 s for 5,000 pods, and 0.2 s without metadata. When the rows are printed here, the
    # columns depend on the objects of all namespaces together.
    if scope.selector or scope.name or not scope.kind.model:
        return []
    # The session lists by namespace anyway where the script is limited to some.
    if k8s._session.limited is not None:
        return []
    try:
        if not _is_large(k8s, scope):
            return []
        namespaces = k8s.coreV1().list_namespace()
        names = sorted(each.metadata.name for each in namespaces)
    except exceptions.ApiException:
        # The caller may list the objects, but not the namespaces.
        return []
    if len(names) > MOST_NAMESPACES:
        return []
    return names


def _is_large(k8s: client.K8s, scope: Scope) -> bool:
    """Says whether there are so many objects that a single list is slow. The first page tells how many there are."""
    first, reply = k8s._session.fetch(scope.call("names", ("limit", "1")), schemas.OBJECT)
    # A snapshot of only some namespaces has a warning about this in its answers, and rejects requests for other
    # namespaces.
    if "warning" in reply.headers:
        return False
    remaining = first.metadata.get("remainingItemCount") or 0
    return bool(remaining >= LARGE)


def _read_list(k8s: client.K8s, scope: Scope, *, named: bool) -> Listing:
    """Reads the rows in one call, and prints them if the answer is no Table."""
    include = "Metadata" if named else "None"
    call = scope.call("table", ("includeObject", include))
    answer, reply = k8s._session.fetch(call, schemas.OBJECT)
    if isinstance(answer, list_objects.ListObject):
        objects = [strip(each) for each in answer]
    elif answer.get("kind") == "Table":
        return _read_table(base_view.unwrap(answer), scope)
    else:
        objects = [strip(answer)]
    printer = _find_printer(k8s, scope.kind, objects, reply.metadata_rule)
    rows = [_print_row(printer, each) for each in objects]
    return Listing(list(printer.columns), rows, reply.metadata_rule)


def strip(view: Any) -> dict[str, Any]:
    """Returns a view's plain data."""
    # Masks in the data are only shown, never compared, so the answer needs no note about them.
    data = base_view.unwrap(view)
    found: dict[str, Any] = lazy_json.whole(data)
    return found


def _read_table(answer: dict[str, Any], scope: Scope) -> Listing:
    """Returns the rows of the API server's Table."""
    table = _table(lazy_json.encode(answer))
    shown = [Column(each.name, each.priority > 0) for each in table.columnDefinitions]
    rows = [_table_row(each, scope) for each in table.rows or ()]
    return Listing(shown, rows)


def _table_row(row: _Row, scope: Scope) -> Row:
    """Returns a row of the API server's Table."""
    if row.object is None:
        return Row("", scope.namespace or "", row.cells)
    metadata = row.object.metadata
    return Row(metadata.name, metadata.namespace, row.cells)


def _print_row(printer: Printer, obj: dict[str, Any]) -> Row:
    """Returns the row of an object that no API server has printed."""
    name = cells.at(obj, "metadata.name", "")
    namespace = cells.at(obj, "metadata.namespace", "")
    try:
        found = printer.cells(obj)
    except (AttributeError, KeyError, TypeError, ValueError):
        # A snapshot's file may contain any value under a kind's name. The other rows are still worth reading.
        found = [name if column.name == "Name" else None for column in printer.columns]
    return Row(name, namespace, found)


def _find_printer(k8s: client.K8s, kind: Kind, objects: list[dict[str, Any]], metadata_rule: str) -> Printer:
    """Returns the printer of a kind; the printer of name and age if only the metadata of its objects is served."""
    if not kind.model:
        return _read_printer(k8s, kind) or columns.of_objects(objects)
    if metadata_rule:
        return columns.of_model("")
    return columns.of_model(kind.model)


def _read_printer(k8s: client.K8s, kind: Kind) -> Printer | None:
    """Returns a custom resource's printer; None if its definition cannot be read."""
    call = Call("GET", (*_DEFINITIONS, kind.full_name))
    try:
        definition, _ = k8s._session.fetch(call, schemas.OBJECT)
    except exceptions.ApiException:
        return None
    return columns.of_definition(strip(definition), kind.version)
