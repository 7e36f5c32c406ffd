"""What a hostile cluster can do to the answers of the classic tools: forge a line of them, or end them as a traceback.

The tools run in a real worker; this file is the cluster. The API server of a built-in kind checks the shape of what it
stores; a saved cluster that a stranger made, and an API server of an extension, do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from kubescript import types
from kubescript.output import sanitizing
from kubescript.wire import exchanges
from security_tests import benches

Json = dict[str, Any]
PATHS: Final = {
    "pods": "api/v1/namespaces/a/pods",
    "pod": "api/v1/namespaces/a/pods/p",
    "all-pods": "api/v1/pods",
    "events": "api/v1/namespaces/a/events",
    "all-events": "api/v1/events",
    "log": "api/v1/namespaces/a/pods/p/log",
    "nodes": "api/v1/nodes",
    "node": "api/v1/nodes/n",
    "system": "api/v1/namespaces/kube-system/pods",
    "services": "api/v1/namespaces/kube-system/services",
    "version": "version",
    "node-metrics": "apis/metrics.k8s.io/v1beta1/nodes",
    "releases": "apis/helm.sh/secrets/namespaces/a/releases",
    "ingress": "apis/networking.k8s.io/v1/namespaces/a/ingresses/i",
    "service": "api/v1/namespaces/a/services/s0",
    "slices": "apis/discovery.k8s.io/v1/namespaces/a/endpointslices",
    "release": "apis/helm.sh/secrets/namespaces/a/releases/sh.helm.release.v1.r.v1",
}


class Cluster:
    """Answers by path, of several one for each call; everything else is not found."""

    def __init__(self, bench: benches.Bench) -> None:
        self.bench = bench
        self.answers: dict[str, Any] = {}

    def __call__(self, call: exchanges.Call, _left: float) -> tuple[exchanges.Reply, types.Response | None]:
        found = self.answers.get("/".join(call.path))
        if isinstance(found, Iterator):
            found = next(found)
        found = found if found is not None else {"kind": "Status", "message": "no such thing", "code": 404}
        status = found["code"] if isinstance(found, dict) and found.get("kind") == "Status" else 200
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        response = types.Response(status, "", "application/json", iter([body]), lambda: None, {})
        return exchanges.Reply(status, "", "application/json"), response

    def text(self, script: str, answers: Json, timeout_ms: int = 60_000) -> str:
        """What a client sees of the script's result, over these answers by the names of PATHS."""
        self.answers = {PATHS[name]: answer for name, answer in answers.items()}
        outcome = self.bench(script, timeout_ms)
        assert outcome.fault is None, outcome.fault
        assert outcome.result is not None
        found = json.loads(outcome.result)
        return sanitizing.clean(found if isinstance(found, str) else json.dumps(found))


@pytest.fixture
def cluster(sandbox: benches.Bench) -> Iterator[Cluster]:
    made = Cluster(sandbox)
    sandbox.on_call = made
    yield made
    sandbox.on_call = benches.no_cluster


# --- forged lines -----------------------------------------------------------------------------------------------------

BREAKS: Final = ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")
"""Ends of lines: those that Python knows, and those that the host makes one of."""
FORGED: Final = "Forged"


def table(title: str, name: str, cell: str) -> Json:
    """A Table with one row."""
    columns = [{"name": "Name", "priority": 0}, {"name": title, "priority": 0}]
    row = {"cells": [name, cell], "object": {"metadata": {"name": name, "namespace": name}}}
    return {"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": [row]}


def pod(text: str) -> Json:
    """A pod with a text of its author's in all places."""
    ended = {"exitCode": 1, "reason": text, "message": text}
    return {
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "a", "uid": "u", "annotations": {"k": text}, "labels": {"l": text}},
        "spec": {
            "nodeName": text, "containers": [{
                "name": text, "image": text, "command": [text], "args": [text], "env": [{"name": text, "value": text}],
                "volumeMounts": [{"name": text, "mountPath": text}],
            }],
            "volumes": [{"name": text, "hostPath": {"path": text, "type": text}}], "nodeSelector": {text: text},
            "tolerations": [{"key": text, "value": text}],
        },
        "status": {
            "phase": "Running", "reason": text, "message": text,
            "conditions": [{"type": text, "status": "False", "reason": text, "message": text}],
            "containerStatuses": [{"name": text, "state": {"terminated": ended}, "lastState": {"terminated": ended}}],
        },
    }  # fmt: skip


def events(text: str) -> Json:
    """A list with one event."""
    about = {"kind": "Pod", "name": "p", "namespace": "a", "uid": "u", "fieldPath": text}
    event = {"metadata": {"name": "e", "namespace": "a"}, "involvedObject": about, "reason": text, "message": text}
    return listed([event | {"type": text, "source": {"component": text}, "lastTimestamp": "2026-01-01T00:00:00Z"}])


def node(text: str) -> Json:
    """A node with a text in its conditions."""
    status = {"conditions": [{"type": text, "status": "True", "reason": text, "message": text}], "nodeInfo": {}}
    return {"kind": "Node", "metadata": {"name": text}, "spec": {}, "status": status}


def metrics(name: str) -> Json:
    """What a node uses."""
    return {"metadata": {"name": name}, "usage": {"cpu": "1", "memory": "1"}}


def listed(items: list[Json]) -> Json:
    """A list."""
    return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}


def release(text: str) -> Json:
    """A release of Helm as the broker serves it."""
    chart = {"metadata": {"name": text, "version": text, "appVersion": text}}
    run = {"started_at": text, "completed_at": text, "phase": text}
    hook = {"name": text, "kind": text, "events": ["test", text], "last_run": run}
    info = {"status": text, "description": text, "last_deployed": text, "deleted": text}
    reference = {"kind": text, "apiVersion": text, "name": text}
    return {
        "name": "r", "namespace": "a", "version": 1, "info": info, "chart": chart, "hooks": [hook],
        "resources": [reference],
    }  # fmt: skip


def holder(text: str) -> Json:
    """The list of what holds releases."""
    labels = {"owner": "helm", "name": text, "status": "deployed", "version": "1"}
    name = "sh.helm.release.v1.r.v1"
    return listed([{"metadata": {"name": name, "namespace": "a", "labels": labels}}])


Attack = tuple[str, Callable[[str], Json]]
ROWS: Final[dict[str, Attack]] = {
    # Each worked once with at least one of the breaks.
    "a-title-of-a-crd": ("k8s.tools.kubectl_get('pods', 'a', output='table')", lambda t: {"pods": table(t, "p", "c")}),
    "a-cell": ("k8s.tools.kubectl_get('pods', 'a', output='wide')", lambda t: {"pods": table("S", "p", t)}),
    "a-name": ("k8s.tools.kubectl_get('pods', 'a', output='name')", lambda t: {"pods": table("S", t, "c")}),
    "a-namespace": (
        "k8s.tools.kubectl_get('pods', all_namespaces=True, output='table')",
        lambda t: {"all-pods": table("S", t, "c")},
    ),
    "a-saved-pod": ("k8s.tools.kubectl_get('pods', 'a', output='wide')", lambda t: {"pods": listed([pod(t)])}),
    "an-event": (
        "k8s.tools.kubectl_describe('pod', 'p', 'a').partition('Events:')[2]",
        lambda t: {"pod": pod("x"), "events": events(t)},
    ),
    "a-condition-of-a-node": ("k8s.tools.kubectl_cluster_info()", lambda t: {"nodes": listed([node(t)])}),
    "nodes-of-a-dump": ("k8s.tools.kubectl_cluster_info(dump=True)", lambda t: {"nodes": listed([node(t)])}),
    "events-of-a-dump": ("k8s.tools.kubectl_cluster_info(dump=True)", lambda t: {"all-events": events(t)}),
    "metrics": (
        "k8s.tools.kubectl_top_nodes()",
        lambda t: {"node-metrics": listed([metrics(t)])},
    ),
    "why-nodes-are-not-read": (
        "k8s.tools.kubectl_top_nodes() + '\\n' + k8s.tools.cluster_list(include_stats=True)",
        lambda t: {"node-metrics": listed([metrics("n")]), "nodes": {"kind": "Status", "message": t, "code": 403}},
    ),
    "releases": (
        "k8s.tools.helm_list('a') + k8s.tools.helm_list('a', short=True)",
        lambda t: {"releases": holder(t), "release": release(t)},
    ),
    "a-release": (
        "k8s.tools.helm_status('r', 'a', show_hooks=True, show_resources=True) + k8s.tools.helm_history('r', 'a')",
        lambda t: {"releases": holder("r"), "release": release(t)},
    ),
}


@pytest.mark.promise("O-06")
@pytest.mark.parametrize("name", ROWS)
def test_no_text_is_a_row_of_its_own(name: str, cluster: Cluster) -> None:
    """Whatever ends a line in a text of the cluster, what follows it begins no line of the answer."""
    script, answers = ROWS[name]
    for end in BREAKS:
        shown = cluster.text(script, answers(f"x{end}{FORGED}  1/1  Running"))
        assert not re.search(rf"(?m)^\s*{FORGED}", shown), (end, shown)
    assert FORGED.lower() in shown.lower()
    assert cluster.bench.works()


@pytest.mark.promise("O-06")
def test_no_text_is_a_section_of_its_own(cluster: Cluster) -> None:
    """The second line of a field's text stands below the field, further to the right than its title."""
    script = "k8s.tools.kubectl_describe('pod', 'p', 'a')"
    for end in BREAKS:
        text = f"x{end}{FORGED}:  <none>"
        shown = cluster.text(script, {"pod": pod(text), "events": listed([])})
        assert not re.search(rf"(?m)^{FORGED}", shown), (end, shown)
        assert re.search(r"\nEvents: +<none>\Z", shown), shown
        cluster.text("k8s.tools.kubectl_describe('node', 'n')", {"node": node(text)})
    ended = cluster.text(script, {"pod": pod(f"x\n{FORGED}:")})
    fields = re.findall(rf"(?m)^( *)(?:Reason|Message): +x\n( *){FORGED}", ended)
    assert len(fields) >= 6
    assert all(len(below) > len(field) for field, below in fields), ended


@pytest.mark.promise("O-06")
def test_a_column_cannot_take_the_place_of_the_name(cluster: Cluster) -> None:
    """A definition may call a column "name": the name of the object is the first one."""
    shown = cluster.text("k8s.tools.kubectl_get('pods', 'a')", {"pods": table("name", "own", FORGED)})
    assert json.loads(shown) == {"items": [{"name": "own"}]}


# --- what is missing --------------------------------------------------------------------------------------------------


@pytest.mark.promise("F-01")
def test_nodes_that_are_not_shown_are_counted(cluster: Cluster) -> None:
    """A node that is down has no metrics. Worked once: of 60 nodes 50 were shown, and nothing was said of the others."""
    nodes = listed([node(f"n{number}") for number in range(60)])
    measured = listed([metrics(f"n{number}") for number in range(45)])
    shown = cluster.text("k8s.tools.kubectl_top_nodes()", {"nodes": nodes, "node-metrics": measured})
    assert shown.count("<unknown>") == 5 * 4
    assert "10 nodes without metrics are not shown" in shown


@pytest.mark.promise("R-04")
@pytest.mark.parametrize("end", BREAKS[:3])
def test_the_newest_part_of_a_log_is_shown(end: str, cluster: Cluster) -> None:
    """Worked once: a line of many carriage returns took the places of all later lines."""
    log = end.join(f"{percent}%" for percent in range(2_000)) + "\nthe newest line\n"
    shown = cluster.text("k8s.tools.kubectl_logs('p', 'a', lines=100)", {"log": log}).split("\n")
    assert len(shown) == 101
    assert shown[-1] == "the newest line"
    assert cluster.bench.works()


# --- large objects ----------------------------------------------------------------------------------------------------

MANY: Final = 8_000
"""With as many, what reads each pair of two lists takes minutes."""
TIME_MS: Final = 20_000


def slices(ports: int, endpoints: int) -> Json:
    """The EndpointSlices of a Service, in one."""
    named = [{"name": f"p{number}", "port": number} for number in range(ports)]
    return listed([{"metadata": {"name": "s"}, "ports": named, "endpoints": [{"addresses": ["10.0.0.1"]}] * endpoints}])


def ingress(services: int) -> Json:
    """An Ingress of many paths to so many Services."""
    paths = [
        {"path": f"/{number}", "backend": {"service": {"name": f"s{number % services}", "port": {"number": 1}}}}
        for number in range(MANY)
    ]
    metadata = {"name": "i", "namespace": "a", "uid": "u"}
    return {"kind": "Ingress", "metadata": metadata, "spec": {"rules": [{"http": {"paths": paths}}]}}


def gated() -> Json:
    """A pod with many readiness gates and conditions."""
    gates = [{"conditionType": f"g{number}"} for number in range(2 * MANY)]
    conditions = [{"type": f"c{number}", "status": "True"} for number in range(2 * MANY)]
    return pod("x") | {"spec": {"readinessGates": gates}, "status": {"conditions": conditions}}


def wide() -> Json:
    """A hundred pods, and one of a long name."""
    rows = [table("S", "p", cell)["rows"][0] for cell in ("x" * 1_000_000, *["short"] * 100)]
    columns = [{"name": title} for title in ("Name", "Status", "Age")]
    for row in rows:
        row["cells"].append("5d")
    return {"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": rows}


def service() -> Json:
    """A Service of many ports."""
    ports = [{"name": f"p{number}", "port": number} for number in range(MANY)]
    return {"kind": "Service", "metadata": {"name": "s0", "namespace": "a", "uid": "u"}, "spec": {"ports": ports}}


LARGE: Final[dict[str, tuple[str, Callable[[], Json], str]]] = {
    # Each worked once: the deadline or the limit of the output ended it.
    "paths-of-one-service": (
        "k8s.tools.kubectl_describe('ingress', 'i', 'a')",
        lambda: {"ingress": ingress(1), "service": service(), "slices": slices(2, MANY)},
        f"10.0.0.1:1,10.0.0.1:1,10.0.0.1:1 + {MANY - 3} more...",
    ),
    "paths-of-many-services": (
        "k8s.tools.kubectl_describe('ingress', 'i', 'a')",
        lambda: {"ingress": ingress(MANY)},
        "<not read: more than 50 Services>",
    ),
    "ports-of-a-service": (
        "k8s.tools.kubectl_describe('service', 's0', 'a')",
        lambda: {"service": service(), "slices": slices(MANY, MANY)},
        f"10.0.0.1:7,10.0.0.1:7,10.0.0.1:7 + {MANY - 3} more...",
    ),
    "gates-of-a-pod": (
        "k8s.tools.kubectl_get('pods', 'a', output='wide')",
        lambda: {"pods": listed([gated()])},
        "0/16000",
    ),
    "a-wide-cell": ("k8s.tools.kubectl_get('pods', 'a', output='table')", lambda: {"pods": wide()}, "short"),
}


@pytest.mark.promise("R-01", "R-04")
@pytest.mark.parametrize("name", LARGE)
def test_a_large_object_ends_in_an_answer(name: str, cluster: Cluster) -> None:
    """Twice as many parts take about twice the time, and one wide cell does not widen all the others."""
    script, answers, words = LARGE[name]
    assert words in cluster.text(script, answers(), TIME_MS)
    assert cluster.bench.works()


# --- hostile shapes ---------------------------------------------------------------------------------------------------

SHAPES: Final[tuple[Any, ...]] = (
    None,
    5,
    1.5,
    True,
    "x",
    [],
    {},
    [None],
    ["x"],
    [[]],
    [{}],
    {"a": None},
    "9" * 200,
    10**30,
    "1e999",
)
"""What may stand where Kubernetes has something else."""
MOST_CALLS: Final = 60
"""Answers that one script is given."""
TOOLS: Final = {
    "pods": "k8s.tools.kubectl_get('pods', 'a', output='wide')",
    "pod": "k8s.tools.kubectl_describe('pod', 'p', 'a')",
    "events": "k8s.tools.kubectl_describe('pod', 'p', 'a')",
    "nodes": "k8s.tools.kubectl_cluster_info()",
    "node-metrics": "k8s.tools.kubectl_top_nodes()",
    "release": "k8s.tools.helm_status('r', 'a', show_hooks=True, show_resources=True)",
}
"""A tool for each of the answers that are spoilt."""
WHOLE: Final = {
    "pods": listed([pod("x")]),
    "pod": pod("x"),
    "events": events("x"),
    "nodes": listed([node("x")]),
    "node-metrics": listed([metrics("n")]),
    "releases": holder("r"),
    "release": release("x"),
}
TRIED: Final = """
def ended():
    try:
        return {call} and 'answer'
    except Exception as e:
        return type(e).__name__ + ': ' + str(e)[:80]
[ended() for _ in range({count})]
"""


def spoilt(value: Any, shape: Any) -> Iterator[Any]:
    """The value with the shape in the place of each of its parts."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            for other in [shape, *spoilt(each, shape)]:
                copy: Any = value.copy()
                copy[key] = other
                yield copy


@pytest.mark.promise("R-04")
@pytest.mark.parametrize("name", TOOLS)
def test_an_object_of_any_shape_ends_in_an_answer_or_a_plain_error(
    name: str, cluster: Cluster, attacks: Callable[[int], None]
) -> None:
    """No tool ends as an error of Python in code of ours."""
    hostile = [answer for shape in SHAPES for answer in spoilt(WHOLE[name], shape)]
    for start in range(0, len(hostile), MOST_CALLS):
        some = hostile[start : start + MOST_CALLS]
        script = TRIED.format(call=TOOLS[name], count=len(some))
        endings = json.loads(cluster.text(script, WHOLE | {name: iter(some)}))
        for ending, answer in zip(endings, some, strict=True):
            assert re.match(r"answer|ToolError: |\w*Exception: ", ending), (ending, answer)
    attacks(len(hostile))
    assert cluster.bench.works()
