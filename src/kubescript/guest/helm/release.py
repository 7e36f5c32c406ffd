"""helm_status, helm_get_values and helm_history: one release, its values, and its objects as the API server prints
them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import msgspec

from kubescript.guest import yaml_text
from kubescript.guest.helm import storage, text
from kubescript.guest.kubectl.rows.cells import line
from kubescript.guest.sdk import client
from kubescript.guest.sdk.discovery import dynamic
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import ages, exceptions
from kubescript.wire.exchanges import Call

__all__ = ["coalesce", "helm_get_values", "helm_history", "helm_status", "history", "status", "values"]

_MAX: Final = 256
_TITLES: Final = ("REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION")
_TEST: Final = "test"


def helm_status(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    show_resources: bool = False,
    show_hooks: bool = False,
) -> str:
    """Returns a release's state, like `helm status`."""
    release = status(k8s, release_name, namespace, revision=revision)
    parts = [_head(release)]
    if show_resources:
        parts.append(f"RESOURCES:\n{_write_tables(k8s, release)}")
    if show_hooks:
        parts.append(_hooks(release))
    if notes := release["info"].get("notes", "").strip():
        parts.append(f"NOTES:\n{notes}")
    return "\n".join(parts)


def helm_get_values(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    output: str = "yaml",
    all_values: bool = False,
) -> str:
    """Returns a release's values, like `helm get values`."""
    found = values(k8s, release_name, namespace, revision=revision, all_values=all_values)
    if output == "table":
        title = "COMPUTED" if all_values else "USER-SUPPLIED"
        return f"{title} VALUES:\n{_yaml(found)}"
    return _encode(found, output)


def helm_history(
    k8s: client.K8s,
    release_name: str,
    namespace: str | None = None,
    *,
    max: int = _MAX,  # noqa: A002 - the argument's name in the contract
    output: str = "table",
) -> str:
    """Returns a release's revisions, like `helm history`."""
    rows = history(k8s, release_name, namespace, most=max)
    if output == "table":
        return text.write_table(_TITLES, rows)
    return _encode(rows, output)


def status(
    k8s: client.K8s, name: str, namespace: str | None = None, *, revision: int = storage.LATEST
) -> storage.Release:
    """Returns one revision of a release: name, namespace, version, info, chart, config, hooks, resources."""
    return storage.find(k8s, name, namespace or storage.NAMESPACE, revision)


def values(
    k8s: client.K8s,
    name: str,
    namespace: str | None = None,
    *,
    revision: int = storage.LATEST,
    all_values: bool = False,
) -> dict[str, Any] | None:
    """Returns the values given to a release; with `all_values`, also those of its chart."""
    release = status(k8s, name, namespace, revision=revision)
    given: dict[str, Any] | None = release.get("config")
    if not all_values:
        return given
    return coalesce(release.get("chart") or {}, given or {})


def history(k8s: client.K8s, name: str, namespace: str | None = None, most: int = _MAX) -> list[dict[str, Any]]:
    """Returns the last revisions of a release, with the fields of `helm history -o json`."""
    known = storage.of_release(k8s, name, namespace or storage.NAMESPACE)
    known.sort(key=lambda each: each.number)
    shown = known[-most:]
    answers = storage.read(k8s, shown)
    rows = []
    for revision, answer in zip(shown, answers, strict=True):
        release = storage.unread(revision, answer) if isinstance(answer, exceptions.ApiException) else answer
        rows.append(_history_row(release))
    return rows


def _history_row(release: storage.Release) -> dict[str, Any]:
    chart, app_version = text.chart_of(release)
    info = release["info"]
    return {
        "revision": release["version"],
        "updated": text.seconds(info.get("last_deployed", "")),
        "status": info.get("status", ""),
        "chart": chart,
        "app_version": app_version,
        "description": info.get("description", ""),
    }


def _head(release: storage.Release) -> str:
    info = release["info"]
    chart, app_version = text.chart_of(release)
    fields = {
        "NAME": release["name"],
        "LAST DEPLOYED": text.seconds(info.get("last_deployed", "")),
        "NAMESPACE": release["namespace"],
        "STATUS": info.get("status", ""),
        "REVISION": release["version"],
        "CHART": chart,
        "APP VERSION": app_version,
        "DESCRIPTION": info.get("description", ""),
        "DELETED": text.seconds(info.get("deleted", "")),
    }
    lines = [f"{title}: {line(value)}" for title, value in fields.items() if value]
    return "\n".join([*lines, *_tests(release)])


def _tests(release: storage.Release) -> list[str]:
    """Returns a line for each of the release's tests that has run."""
    lines = []
    for hook in release.get("hooks") or ():
        run = hook.get("last_run") or {}
        is_test = _TEST in (hook.get("events") or ())
        if not is_test or not run.get("started_at"):
            continue
        started = text.seconds(run["started_at"])
        completed = text.seconds(run.get("completed_at", "")) or "-"
        name = hook.get("name", "")
        phase = run.get("phase", "")
        lines.append(line(f"TEST SUITE: {name}, {phase}, {started} to {completed}"))
    return lines


def _hooks(release: storage.Release) -> str:
    """Returns a table of the release's hooks."""
    hooks = release.get("hooks") or []
    if not hooks:
        return "HOOKS: none"
    rows: list[tuple[str, ...]] = [("KIND", "NAME", "EVENTS", "WEIGHT", "LAST RUN")]
    for hook in hooks:
        run = hook.get("last_run") or {}
        started = text.seconds(run.get("started_at", ""))
        phase = run.get("phase", "")
        last_run = f"{phase} {started}".strip() or "never"
        events = ",".join(hook.get("events") or ())
        weight = str(hook.get("weight", 0))
        rows.append((hook.get("kind", ""), hook.get("name", ""), events, weight, last_run))
    return f"HOOKS:\n{text.align(rows)}"


def _encode(value: Any, output: str) -> str:
    """Returns a value as JSON or as YAML."""
    if output == "json":
        return msgspec.json.encode(value).decode()
    return _yaml(value)


def _yaml(value: Any) -> str:
    """Returns a value as YAML with sorted keys, as Helm prints values."""
    ordered = _sort_keys(value)
    return yaml_text.write(ordered)


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sort_keys(item) for item in value]
    return value


Values = dict[str, Any]


def coalesce(chart: Values, given: Values) -> Values:
    """Returns the values that templates were rendered with, following Helm's CoalesceValues. Modifies `given`.

    A stored release does not contain its chart's dependencies, so they are not handled here. A null among the given
    values removes the chart's value.
    """
    defaults: Values = chart.get("values") or {}
    for key, default in defaults.items():
        if key not in given:
            given[key] = default
        elif given[key] is None:
            del given[key]
        elif isinstance(given[key], dict) and isinstance(default, dict):
            _merge(given[key], default)
    return given


def _merge(given: Values, defaults: Values) -> None:
    """Adds missing keys to a table."""
    for key, default in defaults.items():
        if key not in given:
            given[key] = default
        elif given[key] is None:
            if default is not None:
                del given[key]
        elif isinstance(given[key], dict) and isinstance(default, dict):
            _merge(given[key], default)


_MAX_OBJECTS: Final = 100
"""How many objects are requested at most, with one call each."""
_SHOWN: Final = 0
"""The priority of columns that kubectl shows without `-o wide`."""

_Row = dict[str, str]
"""An object's cells by title."""


def _write_tables(k8s: client.K8s, release: storage.Release) -> str:
    """Returns the tables of a release's objects."""
    references = release.get("resources") or []
    shown = references[:_MAX_OBJECTS]
    paths = [_path(k8s, each, release["namespace"]) for each in shown]
    answers = k8s.parallel([(_row, k8s, path) for path in paths])
    by_kind: defaultdict[str, list[_Row]] = defaultdict(list)
    for reference, answer in zip(shown, answers, strict=True):
        row: _Row = answer
        if isinstance(answer, Exception):
            name = reference.get("name", "")
            row = {"NAME": f"{name} ({_why(answer)})"}
        kind = f"{reference.get('apiVersion', '')}/{reference['kind']}"
        by_kind[kind].append(row)
    parts = [f"==> {line(kind)}\n{_table(rows)}" for kind, rows in by_kind.items()]
    if len(references) > _MAX_OBJECTS:
        parts.append(f"({len(references) - _MAX_OBJECTS} more objects)")
    return "\n\n".join(parts) or "none"


def _path(k8s: client.K8s, reference: dict[str, str], namespace: str) -> str | exceptions.ApiException:
    """Returns an object's path, or the error if there is none."""
    api_version = reference.get("apiVersion", "v1")
    try:
        kind = k8s.dynamic().resources.get(api_version=api_version, kind=reference["kind"])
    except exceptions.ApiException as error:
        return error
    return kind.path(reference.get("name", ""), reference.get("namespace") or namespace)


def _row(k8s: client.K8s, path: str | exceptions.ApiException) -> _Row:
    """Returns the row of one object. Raises ApiException."""
    if isinstance(path, exceptions.ApiException):
        raise path
    segments = tuple(path.strip("/").split("/"))
    found, _ = k8s._session.fetch(Call("GET", segments, accept="table"), schemas.OBJECT)
    # A snapshot contains objects, but no tables.
    if found.get("kind") != "Table":
        return {"NAME": found["metadata"]["name"], "AGE": str(ages.age(found))}
    row: _Row = {}
    cells = found["rows"][0]["cells"]
    for column, cell in zip(found["columnDefinitions"], cells, strict=True):
        if column.get("priority", _SHOWN) == _SHOWN:
            title = column["name"].upper()
            row[title] = str(cell)
    return row


def _table(rows: list[_Row]) -> str:
    """Returns a table of one kind's objects."""
    # An object that could not be read has only a name.
    titles = max((list(row) for row in rows), key=len)
    cells = [[row.get(title, "") for title in titles] for row in rows]
    return text.align([titles, *cells])


def _why(error: Any) -> str:
    """Returns why an object is not shown, in a few words."""
    if error.status != 404:
        return error.message or error.reason or str(error.status)
    if isinstance(error, dynamic.ResourceNotFoundError):
        return "not served"
    return "not found"
