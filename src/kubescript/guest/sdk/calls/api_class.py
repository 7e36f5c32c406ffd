"""Provides `Api`, an API class of the official client, whose methods make calls to the cluster."""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.sdk.calls import method_hints, methods, session
from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import names, operations

__all__ = ["Api"]

_INFO: Final = "withhttpinfo"

# metrics.k8s.io has no official Python client, so scripts guess the names of its methods.
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


class Api:
    """One API class, such as CoreV1Api. A call returns the class itself, so `k8s.coreV1().x` and `k8s.coreV1.x` are the
    same."""

    __slots__ = ("_name", "_session")

    def __init__(self, session: session.Session, name: str) -> None:
        self._session = session
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Returns the same class, since there is one connection. `k8s.logs("web-0", "shop")` returns a pod's log."""
        if self._name == "LogsApi" and (args or kwargs):
            return Api(self._session, "CoreV1Api").read_namespaced_pod_log(*args, **kwargs)
        if args and isinstance(args[0], str):
            own = f"k8s.{helptext.accessor(self._name)}()"
            raise TypeError(f"{own} takes no arguments; call its methods, or k8s.get('pods', namespace=...)")
        return self

    def __getattr__(self, name: str) -> methods.Method:
        found, info = self._find(name)
        if found is None:
            # `k8s.core()` means the stable version: CoreApi itself has only the list of versions.
            current = method_hints.stable(self._name)
            if current:
                return getattr(Api(self._session, current), name)  # type: ignore[no-any-return]
        if found is None or name.startswith("__"):
            raise AttributeError(method_hints.missing_method(self._name, name))
        operation = operations.operation(self._name, found)
        return methods.Method(self._session, operation, info=info)

    def _find(self, name: str) -> tuple[str | None, bool]:
        """Returns the official name of a method, and whether a call returns status and headers too."""
        known = operations.operations(self._name)
        if name in known:
            return name, False
        # The official client has each method also as `…_with_http_info`, which returns status and headers as well.
        wanted = names.fold(name)
        info = wanted.endswith(_INFO)
        wanted = wanted.removesuffix(_INFO)
        aliases = _METHOD_ALIASES.get(self._name, {})
        if wanted in aliases:
            return aliases[wanted], info
        for each in known:
            if names.fold(each) == wanted:
                return each, info
        return None, info

    def __dir__(self) -> list[str]:
        return list(operations.operations(self._name))

    def __repr__(self) -> str:
        return helptext.api(self._name)
