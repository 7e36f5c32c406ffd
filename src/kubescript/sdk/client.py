"""The `k8s` object: `k8s.coreV1().list_namespaced_pod("shop")`. Every API class and method comes from operations.json.

Names are found in any case, with or without underscores; a name that does not exist is refused with the nearest that
does.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.sdk import discovery, dynamic, guesses, helptext, methods, names, session, tables

__all__ = ["Api", "K8s"]

_INFO: Final = "withhttpinfo"

_ALIASES: Final = {
    "rbacv1": "RbacAuthorizationV1Api",
    "rbac": "RbacAuthorizationV1Api",
    "metrics": "MetricsV1beta1Api",
    "metricsv1": "MetricsV1beta1Api",
    "flowcontrolv1": "FlowcontrolApiserverV1Api",
    "events": "EventsV1Api",
    "metricsv1beta1client": "MetricsV1beta1Api",
}
"""Folded names besides each class's own. `k8s.core()` and its like mean the stable version, not the list of
versions."""

_METHOD_ALIASES: Final = {
    "MetricsV1beta1Api": {
        "listnodemetricses": "list_node_metrics",
        "listnodes": "list_node_metrics",
        "getnodemetrics": "list_node_metrics",
        "nodes": "list_node_metrics",
        "topnodes": "list_node_metrics",
        "listpods": "list_pod_metrics_for_all_namespaces",
        "listpodmetrics": "list_pod_metrics_for_all_namespaces",
        "listpodmetricses": "list_pod_metrics_for_all_namespaces",
        "getpodmetrics": "list_pod_metrics_for_all_namespaces",
        "pods": "list_pod_metrics_for_all_namespaces",
        "toppods": "list_pod_metrics_for_all_namespaces",
        "listnamespacedpodmetricses": "list_namespaced_pod_metrics",
        "readpodmetrics": "read_namespaced_pod_metrics",
        "getnamespacedpodmetrics": "read_namespaced_pod_metrics",
    },
}
"""metrics.k8s.io has no official Python client, so scripts guess."""


class Api:
    """One API class, such as CoreV1Api. Calling it gives itself, so `k8s.coreV1().x` and `k8s.coreV1.x` are the
    same."""

    __slots__ = ("_name", "_session")

    def __init__(self, session: session.Session, name: str) -> None:
        self._session = session
        self._name = name

    def __call__(self, *_args: object, **_kwargs: object) -> Api:
        """The same class: there is one connection."""
        return self

    def __getattr__(self, name: str) -> methods.Method:
        found, info = self._find(name)
        if found is None or name.startswith("__"):
            raise AttributeError(guesses.missing_method(self._name, name))
        return methods.Method(self._session, tables.operation(self._name, found), info=info)

    def _find(self, name: str) -> tuple[str | None, bool]:
        known = tables.operations(self._name)
        if name in known:
            return name, False
        wanted = names.fold(name)
        info = wanted.endswith(_INFO)
        wanted = wanted.removesuffix(_INFO)
        alias = _METHOD_ALIASES.get(self._name, {}).get(wanted)
        return alias or next((each for each in known if names.fold(each) == wanted), None), info

    def __dir__(self) -> list[str]:
        return list(tables.operations(self._name))

    def __repr__(self) -> str:
        return helptext.api(self._name)


class K8s:
    """The cluster, as a script sees it."""

    __slots__ = ("_apis", "_discovery", "_dynamic", "_session")

    def __init__(self, session: session.Session) -> None:
        self._session = session
        self._apis = _accessors()
        self._discovery: discovery.Discovery | None = None
        self._dynamic: dynamic.DynamicClient | None = None

    def discovery(self) -> discovery.Discovery:
        """Which kinds this cluster serves; asked once per script."""
        if self._discovery is None:
            self._discovery = discovery.Discovery(self._session)
        return self._discovery

    def dynamic(self, *_args: object, **_kwargs: object) -> dynamic.DynamicClient:
        """Any kind by apiVersion and kind or by resource name, custom resources too."""
        if self._dynamic is None:
            self._dynamic = dynamic.DynamicClient(self._session, self.discovery())
        return self._dynamic

    def get(self, resource: str, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Like kubectl: `k8s.get("pods", namespace="shop")`, or with a name, `k8s.get("pods", "web", "shop")`."""
        return self.dynamic().get(resource, name=name, namespace=namespace, **options)

    def api(self, name: str) -> Api:
        """An API class by its official name."""
        return Api(self._session, name)

    def __getattr__(self, name: str) -> Any:
        wanted = names.fold(name)
        if wanted in self._apis and not name.startswith("_"):
            return self.api(self._apis[wanted])
        if wanted in ("dynamicclient", "dynamic"):
            return self.dynamic
        if wanted in ("discoveryclient", "discovery"):
            return self.discovery
        raise AttributeError(guesses.missing_client(name, self._apis, dir(self)))

    def __dir__(self) -> list[str]:
        return sorted([*(helptext.accessor(api) for api in tables.apis()), "discovery", "dynamic", "get"])

    def __repr__(self) -> str:
        return helptext.k8s()


def _accessors() -> dict[str, str]:
    """Every folded spelling of every API class: CoreV1Api is corev1 and corev1api."""
    found: dict[str, str] = {}
    for api in tables.apis():
        found[names.fold(api)] = found[names.fold(api.removesuffix("Api"))] = api
    return found | _ALIASES
