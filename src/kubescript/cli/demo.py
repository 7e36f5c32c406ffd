"""`kubescript demo`: asks four questions about a bundled snapshot of a broken cluster, and shows what each answer
costs."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubescript.cli import program

if TYPE_CHECKING:
    from kubescript import evaluator, types

__all__ = ["SCRIPTS", "SNAPSHOT", "next_steps", "perform"]

SNAPSHOT: Final = Path(__file__).with_name("demo.tar.gz")
"""Created by `python scripts/generate_demo.py`."""

SCRIPTS: Final = (
    (
        "Which pods are in trouble, and why?",
        """\
        def reason(pod):
            for c in pod.status.init_container_statuses + pod.status.container_statuses:
                if c.state.waiting and c.state.waiting.reason != "PodInitializing":
                    return c.state.waiting.reason
            return pod.status.reason or pod.status.phase

        trouble = {}
        for pod in k8s.coreV1().list_pod_for_all_namespaces():
            if reason(pod) not in ("Running", "Succeeded"):
                trouble.setdefault(reason(pod), []).append(f"{pod.metadata.namespace}/{pod.metadata.name}")
        {why: (len(pods), pods[0]) for why, pods in sorted(trouble.items())}
        """,
    ),
    (
        "Which services have nothing behind them, and which ingresses point at services that do not exist?",
        """\
        backed = {(s.metadata.namespace, s.metadata.labels.get("kubernetes.io/service-name"))
                  for s in k8s.discoveryV1().list_endpoint_slice_for_all_namespaces()
                  if any(e.conditions.ready for e in s.endpoints)}
        services = {(s.metadata.namespace, s.metadata.name): s for s in k8s.coreV1().list_service_for_all_namespaces()}
        dead = sorted("/".join(key) for key, s in services.items() if s.spec.selector and key not in backed)
        dangling = sorted({f"{i.metadata.namespace}/{i.metadata.name} -> {p.backend.service.name}"
                           for i in k8s.networkingV1().list_ingress_for_all_namespaces()
                           for r in i.spec.rules for p in r.http.paths
                           if (i.metadata.namespace, p.backend.service.name) not in services})
        {"services without endpoints": dead, "ingresses to nowhere": dangling}
        """,
    ),
    (
        "How loaded is each node, and which pods sit on nodes that are not ready?",
        """\
        from collections import Counter
        usage = {m.metadata.name: m.usage for m in k8s.metricsV1beta1().list_node_metrics()}
        pods = Counter(p.spec.node_name for p in k8s.coreV1().list_pod_for_all_namespaces())
        for node in k8s.coreV1().list_node():
            name = node.metadata.name
            ready = next(c.status for c in node.status.conditions if c.type == "Ready")
            used = usage.get(name, {})
            load = f"cpu={used.get('cpu', '?')} memory={used.get('memory', '?')}"
            print(f"{name:8} ready={ready:8} pods={pods[name]:<3} {load}")
        """,
    ),
    (
        "Which deployment leaks memory, when is it killed for it, and what does its log say?",
        """\
        memory = {}
        used = 'container_memory_working_set_bytes{namespace="shop"}'
        for s in prom.query_range(used, start="-45m"):
            memory.setdefault(s.pod().metadata.labels["app"], []).append(s)
        app, pods = max(memory.items(), key=lambda item: min(s.rate for s in item[1]))
        deployment = k8s.appsV1().read_namespaced_deployment(app, "shop")
        container = deployment.spec.template.spec.containers[0]
        limit = quantity(container.resources.limits["memory"])
        revision = deployment.metadata.annotations["deployment.kubernetes.io/revision"]
        left = [(limit - s.last) / s.rate / 60 for s in pods if s.last < limit]
        print(f"{app}, revision {revision}, {container.image}: {len(pods) - len(left)} pods are full,")
        print(f"{len(left)} more in {min(left):.0f} to {max(left):.0f} minutes")
        loki.query_range(f'{{namespace="shop", app="{app}"}} |= "level=warn"')[0].lines[0]
        """,
    ),
)


async def perform(session: evaluator.Evaluator, number: int) -> tuple[str, bool]:
    """Asks question `number`; returns the page to show, and whether the answer is an error."""
    question, indented = SCRIPTS[number]
    script = textwrap.dedent(indented)
    answer = await session.evaluate(script, None)
    heading = f"── {number + 1}. {question}"
    shown = textwrap.indent(script, "    ")
    cost = _cost(answer)
    return f"{heading}\n\n{shown}\n{answer.text}\n\n{cost}\n", answer.is_error


def next_steps() -> str:
    """Returns two lines: how to ask one's own cluster, and how to connect a client."""
    command = program.shell_command()
    return (
        f"Next: `{command} doctor` checks the sandbox and your own cluster, which stays read-only.\n"
        f"Then: `{command} client claude-desktop --write`, or claude-code, cursor, vscode; see docs/connect.md."
    )


def _cost(answer: types.Answer) -> str:
    """Returns a line of calls, bytes, time and memory."""
    usage = answer.usage
    returned = len(answer.text.encode())
    fetched = max(1, usage.bytes_fetched)
    share = 100 * returned / fetched
    calls = f"{usage.api_calls} API calls"
    if usage.api_calls == 1:
        calls = "1 API call"
    return (
        f"{calls}, {usage.bytes_fetched:,} bytes fetched, {returned:,} bytes returned "
        f"({share:.1f} %), {usage.wall_ms:.0f} ms, {usage.peak_bytes >> 20} MiB"
    )
