"""Code mode: the one tool `evaluate_script`.

Its whole definition is paid for by every conversation, so it teaches only what a model that knows Python and the official Kubernetes
client cannot guess. Everything else is found inside the sandbox, or in an error that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types

from kubescript import config, session, types
from kubescript.toolsets import base

__all__ = ["NAME", "toolset"]

NAME: Final = "code"

_DESCRIPTION: Final = """\
Run a Python script against the Kubernetes cluster; the value of the last expression is the answer (like a REPL). Fetch, join, \
filter and aggregate in ONE script and end it with a small value: a list of dicts, a count, a string. print() output comes first.

Globals: k8s (API clients), namespace (default namespace), ctx (context name, time left).
k8s.coreV1(), appsV1(), batchV1(), networkingV1(), rbacV1(), autoscalingV2(), policyV1(), storageV1(), … have the official Python \
client's methods and parameters, any case. k8s.metricsV1beta1(): list_node_metrics(), list_pod_metrics_for_all_namespaces(). \
k8s.dynamic().resources.get(api_version=…, kind=…).get(namespace=…) for CRDs. k8s.discovery(): api_resources(), groups(). \
`from kubernetes import client, config, dynamic, watch` works too; load_kube_config() does nothing.

Differences: synchronous, no async/await. Objects are JSON views: pod.status.pod_ip, pod.status.podIP and pod["status"]["podIP"] all \
work; missing fields are None, missing lists and maps empty. snake_case timestamps are datetimes. Lists iterate directly and hold \
the whole answer; no paging needed. Errors raise ApiException (.status, .reason), catchable. Common stdlib imports work (json, re, \
datetime, collections, …); no files, network, sleep or subprocess. help(k8s) and help(method) explain more.
{access} Limits: {memory} MiB memory, {calls} API calls, {output} KiB answer.

Examples:
[p.metadata.name for p in k8s.coreV1().list_namespaced_pod(namespace) if p.status.phase != "Running"]
Counter(p.spec.node_name for p in k8s.coreV1().list_pod_for_all_namespaces())
[(d.metadata.name, d.status.ready_replicas, d.spec.replicas) for d in k8s.appsV1().list_deployment_for_all_namespaces()]
k8s.coreV1().read_namespaced_pod_log("web-0", "shop", tail_lines=50, previous=True)
[{{"cert": c.metadata.name, "cond": c.status.conditions}} for c in k8s.dynamic().resources.get(kind="Certificate").get()]\
"""

_READ_ONLY: Final = "Read-only: writes, exec and Secrets are refused."
_READ_WRITE: Final = "Writes change the cluster at once; exec and Secrets are refused."


def toolset(settings: config.Settings, evaluator: session.Session) -> base.Toolset:
    """The code toolset for these settings."""

    async def evaluate_script(arguments: Mapping[str, Any], on_progress: session.OnProgress | None) -> types.Answer:
        return await evaluator.evaluate(arguments["script"], arguments.get("timeout"), on_progress)

    tool = base.Tool(_definition(settings), evaluate_script)
    return base.Toolset(NAME, "evaluate a Python script in a sandbox beside the API server", (tool,))


def _definition(settings: config.Settings) -> mcp_types.Tool:
    limits = settings.limits
    return mcp_types.Tool(
        name="evaluate_script",
        title="Evaluate a Kubernetes script",
        description=_DESCRIPTION.format(
            access=_READ_ONLY if settings.read_only else _READ_WRITE,
            memory=limits.memory_mib,
            calls=limits.api_calls,
            output=limits.output_kib,
        ),
        input_schema={
            "type": "object",
            "properties": {
                "script": {"type": "string", "description": "Python; the last expression is returned", "minLength": 1},
                "timeout": {
                    "type": "integer",
                    "description": "milliseconds",
                    "default": limits.default_timeout_ms,
                    "minimum": 1,
                    "maximum": limits.max_timeout_ms,
                },
            },
            "required": ["script"],
            "additionalProperties": False,
        },
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=settings.read_only,
            destructive_hint=not settings.read_only,
            idempotent_hint=settings.read_only,
            open_world_hint=True,
        ),
    )
