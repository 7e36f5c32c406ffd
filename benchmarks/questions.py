"""Five questions about a broken cluster: as a script, and as the calls of each peer and of kubectl.

The others are asked the way their tools offer, at the least that answers: a list as its table, a field selector where
there is one, columns of kubectl's where the table lacks the field, and single objects where there are no such columns.
Whether a certificate is ready is read from the table, as cert-manager's own definition has that column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["QUESTIONS", "Call", "Calls", "Question"]

Call = tuple[str, dict[str, Any]]

_LIMITS = (
    "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,"
    "LIMITS:.spec.template.spec.containers[*].resources.limits"
)


@dataclass(frozen=True, slots=True)
class Calls:
    """What is called, and what more once the first answer is there."""

    first: tuple[Call, ...]
    then: Callable[[str], Sequence[Call]] = lambda _: ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question, as a script and as calls by the name of the peer."""

    what: str
    script: str
    calls: Mapping[str, Calls]


def _kubectl(line: str) -> Call:
    return "kubectl", {"command": f"kubectl {line}"}


def _get(resource: str, **more: Any) -> Call:
    """A list of kubectl-mcp-server."""
    return "kubectl_get", {"resource_type": resource, **more}


def _table(resource: str, **more: Any) -> Call:
    """A list of mcp-server-kubernetes as kubectl's plain table, its shortest."""
    return "kubectl_generic", {"command": "get", "resourceType": resource, **more}


def _each_deployment(table: str) -> list[Call]:
    """A call for every line of a table that begins with namespace, version, kind, name."""
    calls: list[Call] = []
    for line in table.splitlines()[1:]:
        namespace, version, kind, name, *_ = line.split()
        arguments = {"apiVersion": version, "kind": kind, "namespace": namespace, "name": name}
        calls.append(("resources_get", arguments))
    return calls


def _on_sick_nodes(call: Callable[[str], Call]) -> Callable[[str], list[Call]]:
    """A call for every node that a table of nodes has as not ready, with its field selector."""

    def calls(answer: str) -> list[Call]:
        # kubectl-mcp-server puts kubectl's table into JSON.
        table: str = json.loads(answer)["output"] if answer.startswith("{") else answer
        nodes = []
        for line in table.splitlines():
            nodes += [name for name, status in pairwise(line.split()) if status.startswith("NotReady")]
        return [call(f"spec.nodeName={node}") for node in nodes]

    return calls


QUESTIONS = (
    Question(
        "which pods restarted, how often",
        """\
rows = [(p.metadata.namespace, p.metadata.name, sum(c.restart_count for c in p.status.container_statuses))
        for p in k8s.coreV1().list_pod_for_all_namespaces()]
sorted((r for r in rows if r[2]), key=lambda r: -r[2])
""",
        {
            "kubernetes-mcp-server": Calls((("pods_list", {}),)),
            "mcp-server-kubernetes": Calls((_table("pods", allNamespaces=True),)),
            "kubectl-mcp-server": Calls((_get("pods", all_namespaces=True),)),
            "kubectl": Calls((_kubectl("get pods -A"),)),
        },
    ),
    Question(
        "how many pods sit on nodes that are not ready",
        """\
from collections import Counter
core = k8s.coreV1()
sick = {n.metadata.name for n in core.list_node() for c in n.status.conditions if c.type == "Ready" and c.status != "True"}
Counter(p.spec.node_name for p in core.list_pod_for_all_namespaces() if p.spec.node_name in sick)
""",
        {
            "kubernetes-mcp-server": Calls(
                (("resources_list", {"apiVersion": "v1", "kind": "Node"}),),
                _on_sick_nodes(lambda selector: ("pods_list", {"fieldSelector": selector})),
            ),
            "mcp-server-kubernetes": Calls(
                (_table("nodes"),),
                _on_sick_nodes(lambda selector: _table("pods", allNamespaces=True, flags={"field-selector": selector})),
            ),
            "kubectl-mcp-server": Calls(
                (_get("nodes"),),
                _on_sick_nodes(lambda selector: _get("pods", all_namespaces=True, field_selector=selector)),
            ),
            "kubectl": Calls(
                (_kubectl("get nodes"),),
                _on_sick_nodes(lambda selector: _kubectl(f"get pods -A --field-selector {selector}")),
            ),
        },
    ),
    Question(
        "which deployments lack limits",
        """\
[f"{d.metadata.namespace}/{d.metadata.name}" for d in k8s.appsV1().list_deployment_for_all_namespaces()
 if any(not c.resources.limits for c in d.spec.template.spec.containers)]
""",
        {
            "kubernetes-mcp-server": Calls(
                (("resources_list", {"apiVersion": "apps/v1", "kind": "Deployment"}),), _each_deployment
            ),
            "mcp-server-kubernetes": Calls((_table("deployments", allNamespaces=True, flags={"output": _LIMITS}),)),
            "kubectl-mcp-server": Calls((("kubectl_generic", {"command": f"get deployments -A -o {_LIMITS}"}),)),
            "kubectl": Calls((_kubectl(f"get deployments -A -o '{_LIMITS}'"),)),
        },
    ),
    Question(
        "which certificates are not ready",
        """\
certs = k8s.dynamic().resources.get(api_version="cert-manager.io/v1", kind="Certificate").get()
[(c.metadata.namespace, c.metadata.name) for c in certs.items
 if any(x.type == "Ready" and x.status != "True" for x in c.status.conditions)]
""",
        {
            "kubernetes-mcp-server": Calls(
                (("resources_list", {"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}),)
            ),
            "mcp-server-kubernetes": Calls((_table("certificates", allNamespaces=True),)),
            "kubectl-mcp-server": Calls((_get("certificates", all_namespaces=True),)),
            "kubectl": Calls((_kubectl("get certificates -A"),)),
        },
    ),
    Question(
        "what do warning events say",
        """\
from collections import Counter
events = k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning")
Counter((e.reason, e.involved_object.kind, e.metadata.namespace) for e in events).most_common()
""",
        {
            "kubernetes-mcp-server": Calls((("events_list", {"fieldSelector": "type=Warning"}),)),
            "mcp-server-kubernetes": Calls(
                (_table("events", allNamespaces=True, flags={"field-selector": "type=Warning"}),)
            ),
            "kubectl-mcp-server": Calls((_get("events", all_namespaces=True, field_selector="type=Warning"),)),
            "kubectl": Calls((_kubectl("get events -A --field-selector type=Warning"),)),
        },
    ),
)
