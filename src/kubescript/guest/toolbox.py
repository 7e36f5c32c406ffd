"""`k8s.tools`: the classic tools by name. `entry` passes it to the client as an extension.

A tool of the toolsets `kubectl`, `helm`, `cluster`, `gateway` and `observability` is a one-line script that calls one
of these functions. So each tool goes through the broker, its policy, redaction and the audit like any script, and no
code of the host reads a cluster's answers. A function takes the script's `k8s` first, then its own arguments; it
returns text or JSON values, and raises ToolError or ApiException.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from kubescript.guest import cluster_tools, gateway_tools, tool_errors
from kubescript.guest.helm import helm_lists, release
from kubescript.guest.helm import script as helm_script
from kubescript.guest.kubectl import cluster_info, deployments, edit_hpa, get, logs, top
from kubescript.guest.kubectl.describe import describer
from kubescript.guest.observability import alerts, metrics
from kubescript.guest.observability import logs as source_logs
from kubescript.guest.plans import plan_effects, plan_rollouts
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions, names
from kubescript.wire import messages

__all__ = ["EXTENSIONS", "TOOLS", "Toolbox"]

Function = Callable[..., Any]

TOOLS: Final[dict[str, Function]] = {
    "kubectl_describe": describer.kubectl_describe,
    "kubectl_get": get.kubectl_get,
    "kubectl_logs": logs.kubectl_logs,
    "kubectl_cluster_info": cluster_info.kubectl_cluster_info,
    "kubectl_top_nodes": top.kubectl_top_nodes,
    "kubectl_top_pods": top.kubectl_top_pods,
    "kubectl_top_containers": top.kubectl_top_containers,
    "cluster_list": cluster_tools.cluster_list,
    "kubectl_get_yaml": get.kubectl_get_yaml,
    "helm_list": helm_lists.helm_list,
    "helm_status": release.helm_status,
    "helm_get_values": release.helm_get_values,
    "helm_history": release.helm_history,
    "helm_repo_list": helm_lists.helm_repo_list,
    "kubectl_scale_deployment": deployments.kubectl_scale_deployment,
    "kubectl_restart_deployment": deployments.kubectl_restart_deployment,
    "kubectl_edit_hpa": edit_hpa.kubectl_edit_hpa,
    "gke_auth": cluster_tools.gke_auth,
    "k8s_list": gateway_tools.k8s_list,
    "k8s_get": gateway_tools.k8s_get,
    "k8s_list_events": gateway_tools.k8s_list_events,
    "k8s_pod_logs": gateway_tools.k8s_pod_logs,
    "k8s_delete": gateway_tools.k8s_delete,
    "k8s_patch": gateway_tools.k8s_patch,
    "prometheus_query": metrics.prometheus_query,
    "prometheus_query_range": metrics.prometheus_query_range,
    "alerts": alerts.alerts,
    "logs": source_logs.logs,
}
"""Tools by the names that MCP clients use."""

FOR_PLANS: Final[dict[str, Function]] = {
    "plan_effects": plan_effects.plan_effects,
    "plan_rollouts": plan_rollouts.plan_rollouts,
}
"""Functions that the host runs for plans, in separate scripts. No client has them as tools."""


class Toolbox:
    """The kubectl-style tools as functions, such as k8s.tools.kubectl_top_pods(all_namespaces=True); dir(k8s.tools)
    lists them."""

    __slots__ = ("_k8s",)

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s

    def __getattr__(self, name: str) -> Tool:
        if name not in TOOLS and name not in FOR_PLANS:
            hint = names.suggestion(name, TOOLS)
            raise AttributeError(f"k8s.tools has no {name!r}; {hint}")
        return Tool(name, self._k8s)

    def __dir__(self) -> list[str]:
        return list(TOOLS)

    def __repr__(self) -> str:
        return f"k8s.tools: {', '.join(TOOLS)}; help(k8s.tools.<name>)"


class Tool:
    """One tool, as scripts and clients call it."""

    __slots__ = ("_k8s", "_name")

    def __init__(self, name: str, k8s: client.K8s) -> None:
        self._name = name
        self._k8s = k8s

    def __call__(self, *args: object, language: str = "en", **options: object) -> object:
        """Calls the tool; its messages are in `language`."""
        messages.choose(language)
        function = _function(self._name)
        try:
            return function(self._k8s, *args, **options)
        except exceptions.ApiException as error:
            raise tool_errors.of_api(error) from None
        except tool_errors.SHAPE as error:
            # The function was not even entered: an argument is missing or unknown, which is the script's mistake.
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise
            raise tool_errors.of_shape(self._name, error) from None

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        # `help` prints this docstring, so it describes the tool and not this class.
        description = inspect.cleandoc(_function(self._name).__doc__ or "")
        return f"{self!r}: {description}"

    def __repr__(self) -> str:
        signature = inspect.signature(_function(self._name))
        return f"k8s.tools.{self._name}{signature}"


def _function(name: str) -> Function:
    if name in TOOLS:
        return TOOLS[name]
    return FOR_PLANS[name]


EXTENSIONS: Final[dict[str, Callable[[client.K8s], Any]]] = {
    "describe": describer.Describe,
    "helm": helm_script.Helm,
    "tools": Toolbox,
}
"""The attributes of `k8s` besides the API clients, by name; each is created from the `k8s` to which it belongs."""
