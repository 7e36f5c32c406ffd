"""Prints objects as rows where no API server does, because snapshots contain no tables. 20 kinds have kubectl's
columns, custom resources those of their definition, all others name and age."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows import cells, object_cells, pod_cells, workload_cells
from kubescript.guest.sdk.values import lazy_json

__all__ = ["Column", "Printer", "of_definition", "of_model", "of_objects"]

Json = dict[str, Any]


class Column(NamedTuple):
    """A column; a wide one is left out of kubectl's default table."""

    name: str
    wide: bool = False


class Printer(NamedTuple):
    """The columns of one kind, and a function from an object to its cells."""

    columns: tuple[Column, ...]
    cells: Callable[[Json], list[Any]]


def _printer(names: str, function: Callable[[Json], list[Any]]) -> Printer:
    """Returns a printer. `names` are separated by commas; a star marks a wide column."""
    return Printer(tuple(Column(each.rstrip("*"), each.endswith("*")) for each in names.split(",")), function)


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
"""Printers by model. All other kinds, such as ServiceAccounts, have name and age."""


def of_model(model: str) -> Printer:
    """Returns a built-in kind's printer; name and age for an unknown model."""
    return _PRINTERS.get(model, _ANY)


def of_objects(objects: Sequence[Json]) -> Printer:
    """Returns the printer for custom resources without their definition; it shows a condition Ready if any object has
    it."""
    return _WITH_READY if any(_has_ready(each) for each in objects) else _ANY


def _has_ready(obj: Json) -> bool:
    try:
        return bool(cells.condition(obj, "Ready"))
    except (AttributeError, TypeError):
        # A file may contain any value as a condition.
        return False


def of_definition(definition: Json, version: str) -> Printer:
    """Returns the printer that a CustomResourceDefinition describes."""
    served: Json = next(
        (each for each in cells.elements(definition, "spec.versions") if each.get("name") == version), {}
    )
    found = [each for each in cells.elements(served, "additionalPrinterColumns") if each.get("jsonPath")]
    if not found:
        return _ANY
    wide = tuple(Column(str(each.get("name")), bool(each.get("priority"))) for each in found)
    return Printer((Column("Name"), *wide), lambda obj: [object_cells.of_any(obj)[0], *_custom(obj, found)])


def _custom(obj: Json, columns: list[Json]) -> list[Any]:
    return [_cell(_first(obj, each["jsonPath"]), each.get("type")) for each in columns]


def _cell(value: Any, kind: Any) -> Any:
    """Returns a value as the API server prints it for this type; None if the type does not match."""
    if value is None:
        return None
    if kind == "date":
        return cells.since(value) if isinstance(value, str) else "<invalid>"
    if kind == "string" and not isinstance(value, str):
        return lazy_json.encode(value).decode()
    # type() instead of isinstance(), because a boolean is not a number.
    return value if type(value) in _TYPES.get(str(kind), (str,)) else None


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}


# One step of a path: `.name`, `['name']`, `[0]`, `[*]`, or `[?(@.name=="text")]`.
_STEP: Final = re.compile(
    r"""\.(?P<key>(?:[\w/-]|\\.)+)|\[(?:'(?P<quoted>[^']*)'|(?P<index>-?\d+|\*)"""
    r"""|\?\(@\.(?P<field>\w+)\s*==\s*["'](?P<text>[^"']*)["']\))\]"""
)
_LONGEST_PATH: Final = 500


def _first(obj: Any, path: str) -> Any:
    """Returns the first value at a JSON path in the forms that definitions use; None if there is none."""
    found, at = [obj], 0
    while at < min(len(path), _LONGEST_PATH):
        step = _STEP.match(path, at)
        if step is None:
            return None
        found = [each for value in found for each in _below(value, step)]
        at = step.end()
    return found[0] if found else None


def _below(value: Any, step: re.Match[str]) -> list[Any]:
    key = step["key"].replace("\\", "") if step["key"] else step["quoted"]
    if key is not None:
        return [value[key]] if isinstance(value, dict) and key in value else []
    if not isinstance(value, list):
        return []
    if step["field"]:
        return [each for each in value if isinstance(each, dict) and each.get(step["field"]) == step["text"]]
    if step["index"] == "*":
        return value
    place = int(step["index"])
    return value[place:][:1]
