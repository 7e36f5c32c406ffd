"""Provides `table(rows)`, a global of scripts: rows as compact aligned text, or as tab-separated values. helpers.py
reads rows with `rows_of` too."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk.objects import alerts, cell_text, fields, labelled, object_text, streams, views
from kubescript.guest.sdk.values import ages
from kubescript_sandbox.language import classes
from kubescript_sandbox.library import data_classes

__all__ = ["rows_of", "table"]

NO_ROWS: Final = "(no rows)"
_WIDTH: Final = 60
"""How many characters of a cell are shown; the names of pods are usually shorter."""
_LAST_WIDTH: Final = 120
"""How many characters of a cell are shown in the last column, which pushes no other column aside."""
_NARROW: Final = 30
"""The width in characters to which a column may always be padded."""
MAX_ROWS: Final = 100_000

_USAGE: Final = {
    **dict.fromkeys(("node", "nodes", "no"), "k8s.metricsV1beta1().list_node_metrics()"),
    **dict.fromkeys(("pod", "pods", "po"), "k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces()"),
}
"""Maps arguments of `kubectl top` to the call for its figures."""


class Column(NamedTuple):
    """A heading, and the key by which its cells are read."""

    title: str
    key: fields.Key


def table(
    rows: Any,
    columns: Any = None,
    *,
    tsv: bool = False,
    headers: Any = None,
    header: bool = True,
    width: int | None = None,
    **ignored: Any,
) -> str:
    """Aligned text, or tab-separated, of dicts, tuples, dataclasses or objects of the cluster.

    Columns are names, paths such as "spec.nodeName", numbers, functions, or {title: one of these}. Longer cells than
    60 characters, in the last column 120, end in …; width is another limit, 0 none.
    """
    if unknown := ignored.keys() - {"tablefmt", "title", "showindex", "sep"}:
        raise TypeError(f"table() has no parameter {min(unknown)!r}; it has columns, tsv, headers, header, width")
    found = streams.expand(rows_of(rows))
    if not found:
        return NO_ROWS
    shown = _columns(columns if columns is not None else headers, found)
    body = [[cell_text.write(_cell_value(row, column.key)) for column in shown] for row in found]
    _check_columns(shown, found, body)
    titles = [column.title for column in shown]
    lines = [titles, *body] if header and any(titles) else body
    if tsv:
        return "\n".join("\t".join(line) for line in lines)
    if width is None:
        before_last = len(shown) - 1
        limits = [*[_WIDTH] * before_last, _LAST_WIDTH]
    else:
        limits = [width] * len(shown)
    cut = []
    for line in lines:
        cells = zip(line, limits, strict=True)
        cut.append([_cut(cell, most) for cell, most in cells])
    return _align(cut)


def rows_of(rows: Any) -> list[Any]:
    """Returns the rows of a value: a map of counts gives pairs, one object gives one row."""
    if rows is None:
        return []
    if isinstance(rows, str | bytes):
        # Scripts that mean `kubectl top pods` write top("pods").
        usage = f"; for usage write {_USAGE[rows]}" if rows in _USAGE else ""
        raise TypeError(f"table() and top() take a list of rows, not text{usage}")
    # A whole object or series is one row, not a map of rows.
    if (isinstance(rows, views.View) and "metadata" in rows) or isinstance(rows, labelled.Labelled):
        return [rows]
    if isinstance(rows, Mapping):
        return [_merge(key, rows[key]) for key in list(rows)]
    if not isinstance(rows, Iterable):
        return [rows]
    # A generator may be endless, so at most one row more than the limit is read.
    found = list(itertools.islice(rows, MAX_ROWS + 1))
    if len(found) > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS} rows: aggregate them first")
    return found


def _merge(key: Any, value: Any) -> Any:
    """Returns the row of one entry of a map."""
    if isinstance(value, Mapping):
        return {"key": key, **value}
    return key, value


def _columns(wanted: Any, rows: Sequence[Any]) -> list[Column]:
    """Returns the columns that a script asks for, by default those of the rows."""
    if wanted is None or wanted == "keys":
        return _own_columns(rows)
    if isinstance(wanted, Mapping):
        return [Column(cell_text.write(title), key) for title, key in wanted.items()]
    wanted = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    several: list[Any] = []
    for each in wanted:
        if isinstance(each, Mapping):
            several.extend(each.items())
        else:
            several.append(each)
    first = rows[0]
    # Names are headings for the elements of a plain tuple or list, in their order.
    by_index = isinstance(first, list | tuple) and not hasattr(first, "_fields")
    return [_column(each, index if by_index else None) for index, each in enumerate(several)]


def _column(wanted: Any, index: int | None) -> Column:
    """Returns one column: a pair of title and key, a name, a position or a function."""
    if isinstance(wanted, tuple | list) and len(wanted) == 2:
        title, key = wanted
        return Column(cell_text.write(title), key)
    if isinstance(wanted, str):
        name = wanted.strip()
        return Column(name, name if index is None else index)
    if not callable(wanted):
        return Column(str(wanted), wanted)
    name = getattr(wanted, "__name__", "")
    return Column(name.replace("<lambda>", ""), wanted)


def _own_columns(rows: Sequence[Any]) -> list[Column]:
    """Returns the columns of the rows' own names, in the order in which they first appear."""
    if all(isinstance(row, Mapping) and "metadata" in row for row in rows):
        return _object_columns(rows)
    if all(map(alerts.is_alert, rows)):
        return _alert_columns()
    titles: dict[str, None] = {}
    for row in rows:
        titles.update(dict.fromkeys(_names(row)))
    for title in labelled.find_common(rows):
        del titles[title]
    if titles:
        return [Column(title, title) for title in titles]
    if not isinstance(rows[0], list | tuple):
        return [Column("", _itself)]
    longest = max(len(row) for row in rows if isinstance(row, list | tuple))
    return [Column("", position) for position in range(longest)]


def _names(row: Any) -> list[str]:
    """Returns the names of a row's fields; no names for a list or a value of another kind."""
    if isinstance(row, Mapping):
        return [str(key) for key in row]
    if isinstance(row, tuple):
        return list(getattr(row, "_fields", ()))
    if data_classes.is_instance(row):
        return [field.name for field in data_classes.fields(row)]
    if classes.is_script_class(type(row)):
        return [name for name in vars(row) if not name.startswith("_")]
    return []


def _object_columns(rows: Sequence[Any]) -> list[Column]:
    """Returns columns like those of `kubectl get`: namespace, name, status and age."""
    columns = []
    kinds = {row.get("kind") for row in rows}
    if len(kinds) > 1:
        columns.append(Column("kind", "kind"))
    if any(_namespace(row) for row in rows):
        columns.append(Column("namespace", _namespace))
    columns.append(Column("name", _name))
    columns.append(Column("status", _state))
    columns.append(Column("age", ages.age))
    return columns


def _alert_columns() -> list[Column]:
    """Returns the columns of alerts; other labels follow those that name objects."""

    def describe(alert: Any) -> str:
        labels = alerts.read(alert).labels
        return " ".join(f"{name}={labels[name]}" for name in alerts.order_labels(labels))

    return [
        Column("alert", lambda alert: alert["labels"].get("alertname")),
        Column("severity", lambda alert: alert["labels"].get("severity")),
        Column("state", lambda alert: alerts.read(alert).state),
        Column("since", lambda alert: alerts.read(alert).since),
        Column("labels", describe),
    ]


def _namespace(row: Any) -> Any:
    return row["metadata"].get("namespace")


def _name(row: Any) -> Any:
    return row["metadata"].get("name")


def _state(row: Any) -> str:
    return object_text.state(row)


def _itself(row: Any) -> Any:
    return row


def _cell_value(row: Any, key: fields.Key) -> Any:
    """Returns a cell's value. For a cluster's object, the names "age" and "status" mean kubectl's columns."""
    heading = key.lower() if isinstance(key, str) else ""
    if heading not in ("age", "status"):
        return fields.read(row, key)
    if not isinstance(row, views.View) or not row._shape.name:
        return fields.read(row, key)
    return ages.age(row) if heading == "age" else _state(row)


def _check_columns(columns: Sequence[Column], rows: Sequence[Any], body: Sequence[Sequence[str]]) -> None:
    """Raises KeyError for a column that no row has."""
    for index, column in enumerate(columns):
        key = column.key
        if callable(key):
            continue
        # Any text in a cell shows that the field exists, so it need not be read again from every row.
        if any(line[index] != cell_text.ABSENT for line in body):
            continue
        if all(fields.read(row, key) is fields.MISSING for row in rows):
            raise fields.missing_everywhere(key, rows)


def _cut(cell: str, width: int) -> str:
    if len(cell) <= width or width == 0:
        return cell
    size = max(width - 1, 1)
    return f"{cell[:size]}…"


def _align(lines: Sequence[Sequence[str]]) -> str:
    """Returns the lines with their cells padded to columns."""
    widths = []
    for column in zip(*lines, strict=True):
        lengths = sorted(map(len, column))
        longest = lengths[-1]
        # One long cell must not push all other rows apart, so a wide column fits three quarters of its cells.
        usual = lengths[(len(lengths) - 1) * 3 // 4]
        wanted = max(usual, len(column[0]), _NARROW)
        widths.append(min(longest, wanted))
    padded = []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        padded.append("  ".join(cells).rstrip())
    return "\n".join(padded)
