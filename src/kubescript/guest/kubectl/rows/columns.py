"""Prints objects as rows where no API server does, because snapshots contain no tables. 20 kinds have kubectl's
columns, custom resources have those of their definition, and all others have name and age."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows import cells, object_cells, pod_cells, workload_cells
from kubescript.guest.sdk.values import lazy_json

__all__ = ["Column", "Printer", "of_definition", "of_model", "of_objects"]

Json = dict[str, Any]


class Column(NamedTuple):
    """A column. Wide columns are left out of kubectl's default table."""

    name: str
    wide: bool = False


Cells = Callable[[Json], list[Any]]
"""Returns the cells of an object."""


class Printer(NamedTuple):
    """The columns of one kind, and a function from an object to its cells."""

    columns: tuple[Column, ...]
    cells: Cells


def _printer(names: str, print_cells: Cells) -> Printer:
    """Returns a printer. `names` are separated by commas; a star marks a wide column."""
    titles = names.split(",")
    columns = tuple(map(_column, titles))
    return Printer(columns, print_cells)


def _column(name: str) -> Column:
    """Returns a column; a star marks a wide one."""
    is_wide = name.endswith("*")
    return Column(name.rstrip("*"), is_wide)


_WORKLOAD: Final = "Containers*,Images*,Selector*"
_ANY: Final = _printer("Name,Age", object_cells.of_any)
_WITH_READY: Final = _printer("Name,Ready,Age", object_cells.of_conditioned)
_PRINTERS: Final[Mapping[str, Printer]] = {
    "V1Pod": _printer("Name,Ready,Status,Restarts,Age,IP*,Node*,Nominated Node*,Readiness Gates*", pod_cells.cells_of),
    "V1Node": _printer(
        "Name,Status,Roles,Age,Version,Internal-IP*,External-IP*,OS-Image*,Kernel-Version*,Container-Runtime*",
        object_cells.of_node,
    ),
    "V1Deployment": _printer(f"Name,Ready,Up-to-date,Available,Age,{_WORKLOAD}", workload_cells.of_deployment),
    "V1ReplicaSet": _printer(f"Name,Desired,Current,Ready,Age,{_WORKLOAD}", workload_cells.of_replica_set),
    "V1DaemonSet": _printer(
        f"Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,{_WORKLOAD}", workload_cells.of_daemon_set
    ),
    "V1StatefulSet": _printer("Name,Ready,Age,Containers*,Images*", workload_cells.of_stateful_set),
    "V1Job": _printer(f"Name,Status,Completions,Duration,Age,{_WORKLOAD}", workload_cells.of_job),
    "V1CronJob": _printer(
        f"Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age,{_WORKLOAD}", workload_cells.of_cron_job
    ),
    "V2HorizontalPodAutoscaler": _printer(
        "Name,Reference,Targets,MinPods,MaxPods,Replicas,Age", workload_cells.of_autoscaler
    ),
    "V1Service": _printer("Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*", object_cells.of_service),
    "V1Ingress": _printer("Name,Class,Hosts,Address,Ports,Age", object_cells.of_ingress),
    "V1ConfigMap": _printer("Name,Data,Age", object_cells.of_config_map),
    "V1Secret": _printer("Name,Type,Data,Age", object_cells.of_secret),
    "V1PersistentVolume": _printer(
        "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,"
        "VolumeMode*",
        object_cells.of_volume,
    ),
    "V1PersistentVolumeClaim": _printer(
        "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,VolumeMode*",
        object_cells.of_claim,
    ),
    "V1Namespace": _printer("Name,Status,Age", object_cells.of_namespace),
    "CoreV1Event": _printer(
        "Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,Count*,Name*", object_cells.of_event
    ),
    "V1ClusterRole": _printer("Name,Created At", object_cells.of_role),
    "V1ClusterRoleBinding": _printer("Name,Role,Age,Users*,Groups*,ServiceAccounts*", object_cells.of_binding),
}
"""Printers by model. All other kinds, such as ServiceAccount, have the columns name and age."""


def of_model(model: str) -> Printer:
    """Returns a built-in kind's printer; for an unknown model, the printer of name and age."""
    return _PRINTERS.get(model, _ANY)


def of_objects(objects: Sequence[Json]) -> Printer:
    """Returns the printer for custom resources without their definition; it shows the condition Ready if any object has
    it."""
    if any(map(_has_ready, objects)):
        return _WITH_READY
    return _ANY


def _has_ready(obj: Json) -> bool:
    try:
        return bool(cells.condition(obj, "Ready"))
    except (AttributeError, TypeError):
        # A snapshot's file may contain any value as a condition.
        return False


def of_definition(definition: Json, version: str) -> Printer:
    """Returns the printer that a CustomResourceDefinition describes."""
    served = _find_version(definition, version)
    found = cells.elements(served, "additionalPrinterColumns")
    custom = [each for each in found if each.get("jsonPath")]
    if not custom:
        return _ANY

    def print_cells(obj: Json) -> list[Any]:
        values = [_custom_cell(obj, each) for each in custom]
        return [cells.name(obj), *values]

    columns = map(_custom_column, custom)
    return Printer((Column("Name"), *columns), print_cells)


def _find_version(definition: Json, version: str) -> Json:
    """Returns the version of a definition that has this name; an empty map if there is none."""
    for each in cells.elements(definition, "spec.versions"):
        if each.get("name") == version:
            return each  # type: ignore[no-any-return]
    return {}


def _custom_column(column: Json) -> Column:
    # As in kubectl, a column with a priority other than 0, the highest, is printed only in wide tables.
    is_wide = bool(column.get("priority"))
    return Column(str(column.get("name")), is_wide)


def _custom_cell(obj: Json, column: Json) -> Any:
    """Returns a value as the API server prints it for its column's type; None if the type does not match."""
    value = _find_first(obj, column["jsonPath"])
    kind = column.get("type")
    if value is None:
        return None
    if kind == "date" and not isinstance(value, str):
        return "<invalid>"
    if kind == "date":
        return cells.since(value)
    if kind == "string" and not isinstance(value, str):
        return lazy_json.encode(value).decode()
    # type() instead of isinstance(), because a boolean must not count as a number.
    if type(value) not in _TYPES.get(str(kind), (str,)):
        return None
    return value


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}


# One step of a path: `.name`, `['name']`, `[0]`, `[*]`, or `[?(@.name=="text")]`.
_STEP: Final = re.compile(
    r"""\.(?P<key>(?:[\w/-]|\\.)+)|\[(?:'(?P<quoted>[^']*)'|(?P<index>-?\d+|\*)"""
    r"""|\?\(@\.(?P<field>\w+)\s*==\s*["'](?P<text>[^"']*)["']\))\]"""
)
# A path with more characters is cut, since each step is looked up in each object.
_LONGEST_PATH: Final = 500


def _find_first(obj: Any, path: str) -> Any:
    """Returns the first value at a JSON path in the forms that definitions use; None if there is none."""
    found = [obj]
    position = 0
    end = min(len(path), _LONGEST_PATH)
    while position < end:
        step = _STEP.match(path, position)
        if step is None:
            return None
        found = [each for value in found for each in _take_step(value, step)]
        position = step.end()
    if not found:
        return None
    return found[0]


def _take_step(value: Any, step: re.Match[str]) -> list[Any]:
    """Returns the values one step below a value."""
    key = _key(step)
    if key is not None:
        if isinstance(value, dict) and key in value:
            return [value[key]]
        return []
    if not isinstance(value, list):
        return []
    if step["field"]:
        return [each for each in value if _matches(each, step)]
    if step["index"] == "*":
        return value
    place = int(step["index"])
    # A slice, since there may be no such element.
    return value[place:][:1]


def _key(step: re.Match[str]) -> str | None:
    """Returns the key of a step into a map; None for a step into a list."""
    key = step["key"]
    if not key:
        return step["quoted"]
    # A backslash precedes a dot that belongs to the key.
    return key.replace("\\", "")


def _matches(element: Any, step: re.Match[str]) -> bool:
    """Says whether an element of a list has the field of a filter such as `[?(@.type=="Ready")]`."""
    if not isinstance(element, dict):
        return False
    return bool(element.get(step["field"]) == step["text"])
