"""B5: what a conversation pays in o200k tokens: the tools' definitions, and five questions with their calls and
answers.

The peer is asked the way its tools offer: a list as its table, and single objects where the table lacks the field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import clusters, npm, report, servers, stdio

__all__ = ["run"]

GOAL = 900

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Question:
    """One question: as a script, and as the peer's calls; `then` makes more calls from the first answer."""

    what: str
    script: str
    calls: tuple[Call, ...]
    then: Callable[[str], Sequence[Call]] = lambda _: ()


def _each_deployment(table: str) -> list[Call]:
    """A call for every line of a table that begins with namespace, version, kind, name."""
    calls: list[Call] = []
    for line in table.splitlines()[1:]:
        namespace, version, kind, name, *_ = line.split()
        arguments = {"apiVersion": version, "kind": kind, "namespace": namespace, "name": name}
        calls.append(("resources_get", arguments))
    return calls


QUESTIONS = (
    Question(
        "which pods restarted, how often",
        """\
rows = [(p.metadata.namespace, p.metadata.name, sum(c.restart_count for c in p.status.container_statuses))
        for p in k8s.coreV1().list_pod_for_all_namespaces()]
sorted((r for r in rows if r[2]), key=lambda r: -r[2])
""",
        (("pods_list", {}),),
    ),
    Question(
        "how many pods sit on nodes that are not ready",
        """\
from collections import Counter
core = k8s.coreV1()
sick = {n.metadata.name for n in core.list_node() for c in n.status.conditions if c.type == "Ready" and c.status != "True"}
Counter(p.spec.node_name for p in core.list_pod_for_all_namespaces() if p.spec.node_name in sick)
""",
        (("resources_list", {"apiVersion": "v1", "kind": "Node"}), ("pods_list", {})),
    ),
    Question(
        "which deployments lack limits",
        """\
[f"{d.metadata.namespace}/{d.metadata.name}" for d in k8s.appsV1().list_deployment_for_all_namespaces()
 if any(not c.resources.limits for c in d.spec.template.spec.containers)]
""",
        (("resources_list", {"apiVersion": "apps/v1", "kind": "Deployment"}),),
        _each_deployment,
    ),
    Question(
        "which certificates are not ready",
        """\
certs = k8s.dynamic().resources.get(api_version="cert-manager.io/v1", kind="Certificate").get()
[(c.metadata.namespace, c.metadata.name) for c in certs.items
 if any(x.type == "Ready" and x.status != "True" for x in c.status.conditions)]
""",
        (("resources_list", {"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}),),
    ),
    Question(
        "what do warning events say",
        """\
from collections import Counter
events = k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning")
Counter((e.reason, e.involved_object.kind, e.metadata.namespace) for e in events).most_common()
""",
        (("events_list", {}),),
    ),
)


def run() -> Iterator[report.Row | str]:
    """The rows of B5."""
    npm.peer()  # Unavailable before anything is started
    with (
        clusters.broken() as kubeconfig,
        servers.kubescript(kubeconfig) as subject,
        servers.peer(kubeconfig) as peer,
    ):
        ours, theirs = npm.count_tokens([_definitions(subject), _definitions(peer)])
        yield report.Row("b5", "definition of the tools", "tokens", ours, theirs, "peer", "value_at_most", GOAL)
        texts: list[str] = []
        for question in QUESTIONS:
            texts += _ask(subject, [("evaluate_script", {"script": question.script})], lambda _: ())
            texts += _ask(peer, question.calls, question.then)
    yield from _rows(npm.count_tokens(texts))


def _rows(counts: Sequence[int]) -> Iterator[report.Row]:
    """`counts` has four per question: our calls and answers, the peer's calls and answers."""
    mine = 0
    other = 0
    groups = zip(counts[::4], counts[1::4], counts[2::4], counts[3::4], strict=True)
    for question, (our_calls, ours, peer_calls, theirs) in zip(QUESTIONS, groups, strict=True):
        mine += our_calls + ours
        other += peer_calls + theirs
        yield report.Row("b5", f"answer: {question.what}", "tokens", ours, theirs, "peer")
    yield report.Row("b5", "five questions, calls and answers", "tokens", mine, other, "peer")


def _ask(server: stdio.Server, calls: Sequence[Call], then: Callable[[str], Sequence[Call]]) -> tuple[str, str]:
    """The calls as JSON, and the text of the answers."""
    answers = [stdio.text(server.call(*call)) for call in calls]
    # What an agent asks next depends on the first answer.
    more = list(then(answers[0]))
    answers += [stdio.text(server.call(*call)) for call in more]
    sent = [{"name": name, "arguments": arguments} for name, arguments in [*calls, *more]]
    return _json(sent), "\n".join(answers)


def _definitions(server: stdio.Server) -> str:
    """All tools as a client sees them: name, title, description, schema, annotations."""
    listed = server.request("tools/list", {})
    tools = listed.result["tools"]
    return "\n".join(map(_json, tools))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
