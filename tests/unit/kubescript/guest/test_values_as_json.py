"""Any script value as JSON: what is kept, what is pruned, and what is refused with its path."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import json
from typing import Any

import pytest

from kubescript.guest.sdk.objects import schemas, serialize, views
from kubescript_sandbox.language import classes
from kubescript_sandbox.library import data_classes
from tests.kit import cases
from tests.kit.sdk_transport import POD, cluster


class Colour(enum.Enum):
    """An enum."""

    RED = "red"


class RowOfAScript(metaclass=classes.ScriptType):
    """Below, a dataclass."""

    name: str
    when: datetime.date


Row: Any = data_classes.dataclass(RowOfAScript)
Point = collections.namedtuple("Point", "x y")


@cases.each(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (Colour.RED, "red"),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Row("a", datetime.date(2026, 1, 2)), {"name": "a", "when": "2026-01-02"}),
        ({1: "a", None: 2, (1, "b"): 3}, {"1": "a", "null": 2, "1/b": 3}),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "2026-01-02T00:00:00Z"),
        (datetime.timedelta(hours=1), "1:00:00"),
        (decimal.Decimal("0.25"), 0.25),
        (decimal.Decimal("3"), 3),
        (decimal.Decimal("0.1234567890123456789"), "0.1234567890123456789"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (2**80, 2**80),
        ((n for n in range(3)), [0, 1, 2]),
        (range(2), [0, 1]),
        (collections.Counter("aa"), {"a": 2}),
        ({}.keys(), []),
        (b"x", "x"),
        (b"\xff\x00", "/wA="),
        ({Colour.RED: {b"k": [datetime.timedelta(days=3, hours=4)]}}, {"red": {"k": ["3 days, 4:00:00"]}}),
        ({decimal.Decimal("1e-30"), decimal.Decimal(2)}, [1e-30, 2]),
        (True, True),
        (ValueError("no"), "ValueError: no"),
    ],
)
def test_python_values_have_a_json_form(value: Any, expected: Any) -> None:
    """Each common Python value is written in the obvious way."""
    assert json.loads(serialize.encode(value)) == expected


def test_objects_lose_their_bookkeeping() -> None:
    """managedFields, resourceVersion, uid, generation and last-applied-configuration cost tokens and go."""
    k8s, _ = cluster()
    for value in (k8s.coreV1().read_namespaced_pod("web", "shop"), k8s.coreV1().list_namespaced_pod("shop")[0]):
        kept = serialize.to_plain({"pod": value})["pod"]["metadata"]
        assert kept.keys() == {"name", "namespace", "creationTimestamp", "labels", "annotations"}
        assert kept["annotations"] == {"keep": "1"}
    assert serialize.to_plain(k8s.coreV1().list_namespaced_pod("shop"))[1]["status"] == POD["status"]


def test_what_is_asked_for_by_name_is_kept() -> None:
    """Pruning drops fields of objects, never a value the script chose."""
    k8s, _ = cluster()
    assert serialize.to_plain({"uid": k8s.coreV1().read_namespaced_pod("web", "shop").metadata.uid}) == {"uid": "u-1"}


def test_returning_does_not_change_the_object() -> None:
    """Pruning works on a copy."""
    k8s, _ = cluster()
    pod = k8s.coreV1().read_namespaced_pod("web", "shop")
    serialize.to_plain(pod)
    assert pod.metadata.uid == "u-1"


def cyclic() -> list[Any]:
    """A list that holds itself."""
    ring: list[Any] = []
    ring.append(ring)
    return ring


def ring_of_dicts() -> Any:
    """A dict that holds itself."""
    ring: dict[str, Any] = {}
    ring["self"] = ring
    return ring


def deep() -> list[Any]:
    """Lists in lists, far beyond what JSON readers take."""
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


@cases.each(
    ("value", "message"),
    [
        ([{"owner": len}], r"result\[0\]\['owner'\] is a builtin_function_or_method"),
        (cyclic(), r"result\[0\] contains itself"),
        (object(), "result is an object"),
        ({"a": [0, 1, 2, {"b": {"c": open}}]}, r"result\['a'\]\[3\]\['b'\]\['c'\] is a builtin_function"),
        (Row("a", ring_of_dicts()), r"result\.when\['self'\] contains itself"),
        (deep(), r"… is nested deeper than 200 levels"),
        (iter(int, 1), "generator that gave more than"),
    ],
)
def test_what_has_no_json_form_is_named_with_its_path(value: Any, message: str) -> None:
    """The error says where in the result the trouble is."""
    with pytest.raises(serialize.NotPlainError, match=message):
        serialize.to_plain(value)


NOISY = {
    "metadata": {"name": "x", "uid": "u", "annotations": {}, "creationTimestamp": None,
                 "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "u"}]},
    "spec": {"template": {"metadata": {"name": "t", "generation": 1, "creationTimestamp": None}, "spec": {
        "volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "c", "resources": {}, "args": [], "tty": False}]}},
        "podSelector": {}, "replicas": 0, "suspend": False, "strategy": {}, "host": ""},
    "involvedObject": {"kind": "Pod", "name": "p", "uid": "u", "resourceVersion": "1"},
    "status": {"loadBalancer": {}},
}  # fmt: skip
QUIET = {
    "metadata": {"name": "x", "ownerReferences": [{"kind": "ReplicaSet", "name": "r"}]},
    "spec": {
        "template": {
            "metadata": {"name": "t"},
            "spec": {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "c", "args": [], "tty": False}]},
        },
        "podSelector": {}, "replicas": 0, "suspend": False, "host": "",
    },
    "involvedObject": {"kind": "Pod", "name": "p"},
}  # fmt: skip


def test_empty_noise_goes_and_empty_meaning_stays() -> None:
    """Nulls, empty resources, status and strategy go, and the uids of references; `emptyDir: {}`, `podSelector: {}`, 0
    and false say something."""
    assert serialize.to_plain(views.wrap(NOISY, schemas.FREE)) == QUIET
    assert serialize.to_plain(NOISY) == NOISY  # a dict of the script's own is what the script says
