"""Provides the global `k8s` of scripts: `k8s.coreV1().list_namespaced_pod("shop")`. API classes and methods come from
operations.json.

Names are found in any case, with or without underscores. The error for a name that does not exist suggests the nearest
one that does.
"""

from __future__ import annotations

import builtins
import urllib.parse
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import msgspec

from kubescript.guest.sdk import intents, nodes, runbooks
from kubescript.guest.sdk.calls import api_class, method_hints, parallel, session
from kubescript.guest.sdk.discovery import discovery, dynamic, explain, openapi, search
from kubescript.guest.sdk.objects import helpers, helptext, schemas
from kubescript.guest.sdk.sources import kinds, named_objects
from kubescript.guest.sdk.values import names, operations
from kubescript.wire import exchanges

__all__ = ["Contexts", "K8s"]

T = TypeVar("T")

_ALIASES: Final = {
    "rbacv1": "RbacAuthorizationV1Api",
    "rbac": "RbacAuthorizationV1Api",
    "metrics": "MetricsV1beta1Api",
    "metricsv1": "MetricsV1beta1Api",
    "flowcontrolv1": "FlowcontrolApiserverV1Api",
    "events": "EventsV1Api",
    "metricsv1beta1client": "MetricsV1beta1Api",
}
"""Other folded names of API classes. `method_hints.stable` maps `k8s.core()` to the stable version."""


class Contexts(Generic[T]):
    """The clusters of one script by context name, the default one first."""

    def __init__(self, default: T, make: Callable[[str], T]) -> None:
        self._make = make
        self._default = default
        self.names: tuple[str, ...] = ("",)
        self.is_open = False
        """Whether there may be clusters that have no name here; the host knows all of them."""
        self._made: dict[str, T] = {}

    def announce(self, known: tuple[str, ...]) -> None:
        """Takes the context names that the host sends before the script begins."""
        self.is_open = exchanges.MORE in known
        self.names = tuple(name for name in known if name != exchanges.MORE) or ("",)
        self._made = {}

    @property
    def several(self) -> bool:
        """Whether there may be more than one cluster; each call then names its cluster."""
        return self.is_open or len(self.names) > 1

    def get(self, name: object = None) -> T:
        """Returns the cluster of that name; None is the default one. Raises ValueError, which names the nearest
        ones."""
        if name is None or name == self.names[0]:
            return self._default
        # Names are compared exactly: the names of two clusters may differ only in case.
        is_known = isinstance(name, str) and (self.is_open or name in self.names)
        if not isinstance(name, str) or not is_known:
            raise ValueError(f"there is no context {name!r}; {names.suggestion(str(name), self.names)}")
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]


class K8s:
    """The cluster, as a script sees it."""

    __slots__ = ("_apis", "_contexts", "_discovery", "_dynamic", "_extensions", "_named", "_openapi", "_session")

    def __init__(
        self,
        session: session.Session,
        known: Contexts[K8s] | None = None,
        extensions: Mapping[str, Callable[[K8s], Any]] = MappingProxyType({}),
    ) -> None:
        """`extensions` are further attributes; each is made from the `K8s` from which a script reads it."""
        self._session = session
        self._extensions = extensions
        self._contexts: Contexts[K8s] = known or Contexts(self, self._beside)
        self._apis = _accessors()
        self._discovery: discovery.Discovery | None = None
        self._dynamic: dynamic.DynamicClient | None = None
        self._openapi = openapi.OpenApi(session)
        self._named = named_objects.NamedObjects(self.list)

    @property
    def name(self) -> str:
        """The context of this cluster."""
        return self._session.context or self._contexts.names[0]

    def contexts(self, label_selector: str = "", group: str = "") -> builtins.list[str]:
        """The clusters this script may name, the default one first; k8s.contexts(label_selector="env=prod") and
        k8s.contexts(group="prod"): those with these labels, or of a group that the operator has named."""
        if not isinstance(label_selector, str) or not isinstance(group, str):
            raise TypeError('k8s.contexts() takes texts: k8s.contexts(label_selector="env=prod")')
        if not (self._contexts.is_open or label_selector or group):
            return list(self._contexts.names)
        query = ("labelSelector", label_selector), ("group", group)
        text, _ = self._session.fetch_text(exchanges.Call("GET", exchanges.CONTEXTS, query))
        found: builtins.list[str] = msgspec.json.decode(text)
        return found

    def context(self, name: str | None = None) -> K8s:
        """Another cluster, with the same methods: `k8s.context("prod-eu").coreV1().list_node()`."""
        return self._contexts.get(name)

    def source(self, name: str) -> Any:
        """A source of metrics, alerts, logs or traces by its name: `k8s.source("logs-eu").query_range(...)`. The first
        of each kind is the global prom, alertmanager, loki or tempo."""
        return kinds.open_source(self._session.sources, name, self._session, self._named)

    def node_logs(
        self, node: Any, query: str = "kubelet", tail: int = 200, since: Any = None, pattern: str | None = None
    ) -> str:
        """The last lines of a service's log on a node, where the operator permits it: k8s.node_logs("node-0",
        "containerd", since="1h", pattern="(?i)error"). `since` and `pattern` choose among its last 10,000 lines."""
        return nodes.read_logs(self._session, node, query, tail, since, pattern)

    def node_summary(self, node: Any) -> Any:
        """What a node and its pods use, as its kubelet measures it, where the operator permits it:
        k8s.node_summary("node-0").node.fs.availableBytes."""
        return nodes.read_summary(self._session, node)

    def _announce(self, known: tuple[str, ...]) -> None:
        """Takes the context names that the host sends before the script begins."""
        self._contexts.announce(known)
        # With several clusters, errors name the default one too.
        if self._contexts.several:
            self._session.context = known[0]

    def _beside(self, name: str) -> K8s:
        """Returns the `k8s` of another cluster."""
        session = self._session.beside(name)
        return K8s(session, self._contexts, self._extensions)

    def discovery(self) -> discovery.Discovery:
        """Which kinds this cluster serves; asked once per script."""
        if self._discovery is None:
            self._discovery = discovery.Discovery(self._session, self.api("DiscoveryV1Api"))
        return self._discovery

    def dynamic(self, *_args: object, **_kwargs: object) -> dynamic.DynamicClient:
        """Any kind by apiVersion and kind or by resource name, custom resources too."""
        if self._dynamic is None:
            self._dynamic = dynamic.DynamicClient(self._session, self.discovery())
        return self._dynamic

    def get(self, resource: str = "", name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Like kubectl: `k8s.get("pods", namespace="shop")`, or with a name, `k8s.get("pods", "web", "shop")`; a path
        such as `k8s.get("/apis/apps/v1?limit=5")` is read as with kubectl get --raw."""
        if not resource and not options.keys() & {"kind", "api_version"}:
            raise TypeError("k8s.get() takes a kind: k8s.get('pods', namespace=...)")
        if resource.startswith("/"):
            if name is not None or namespace is not None or options:
                raise TypeError("k8s.get() takes a path alone: k8s.get('/api/v1/pods?labelSelector=app=web')")
            return self._read(resource)
        return self.dynamic().get(resource, name=name, namespace=namespace, **options)

    def _read(self, path: str) -> Any:
        """Returns the answer to a GET of a path, with its query."""
        path, _, query = path.partition("?")
        pairs = tuple(urllib.parse.parse_qsl(query, keep_blank_values=True))
        segments = tuple(path.strip("/").split("/"))
        found, _ = self._session.fetch(exchanges.Call("GET", segments, pairs), schemas.OBJECT)
        return found

    def list(self, resource: str, namespace: str | None = None, **options: Any) -> Any:
        """Like `get` without a name: `k8s.list("pods", "shop")`."""
        return self.dynamic().list(resource, namespace=namespace, **options)

    def runbooks(self) -> builtins.list[dict[str, Any]]:
        """The reviewed scripts that this server runs by name: a dict of name, description and arguments for each."""
        found: builtins.list[dict[str, Any]] = runbooks.list_all(self._session)
        return found

    def runbook(self, name: str, /, **arguments: Any) -> Any:
        """k8s.runbook("restart-web", namespace="shop"): runs a reviewed script and returns the value of its last
        expression. Its changes are planned like those of this script; where it alone changes something, it may be
        approved in advance."""
        return runbooks.run(self._session, name, arguments)

    def explain(self, path: str, *more: str, api_version: str | None = None) -> str:
        """k8s.explain("deployment.spec.strategy"): a field's type, meaning and parts, from the cluster's OpenAPI."""
        explainer = explain.Explainer(self.discovery(), self._openapi)
        return explainer.explain(path, *more, api_version=api_version)

    def search(self, words: str) -> str:
        """k8s.search("token review"): methods and kinds with these words in their names, best first."""
        return search.search(words, self.discovery())

    @property
    def parallel(self) -> parallel.Parallel:
        """Several calls at the same time: `k8s.parallel([lambda ns=ns: k8s.coreV1().list_namespaced_pod(ns) for ns in
        names])`."""
        return parallel.Parallel(self._session.relay)

    def api(self, name: str) -> api_class.Api:
        """An API class by its official name."""
        return api_class.Api(self._session, name)

    def __getattr__(self, name: str) -> Any:
        if name in self._extensions:
            return self._extensions[name](self)
        wanted = names.fold(name)
        if wanted in self._apis and not name.startswith("_"):
            return self.api(self._apis[wanted])
        if wanted in ("dynamicclient", "dynamic"):
            return self.dynamic
        if wanted in ("discoveryclient", "discovery"):
            return self.discovery
        if wanted in helpers.BY_NAME:
            return helpers.BY_NAME[wanted]
        if wanted in intents.BY_NAME:
            offered = intents.Intents(self._session, self.dynamic())
            return getattr(offered, intents.BY_NAME[wanted])
        raise AttributeError(method_hints.missing_client(name, self._apis, dir(self)))

    def __dir__(self) -> builtins.list[str]:
        listed = ["context", "contexts", "discovery", "dynamic", "explain", "get", "list", "parallel", "search"]
        listed += ["node_logs", "node_summary", "runbook", "runbooks", "source"]
        listed.extend(helptext.accessor(api) for api in operations.apis() if helptext.has_objects(api))
        listed.extend(self._extensions)
        listed.extend(helpers.GLOBALS)
        # Several names may mean one intent.
        listed.extend(set(intents.BY_NAME.values()))
        return sorted(listed)

    def __repr__(self) -> str:
        return helptext.k8s()


def _accessors() -> dict[str, str]:
    """Maps the folded spellings of every API class to its name: CoreV1Api is found as corev1 and corev1api."""
    found: dict[str, str] = {}
    for api in operations.apis():
        short = api.removesuffix("Api")
        found[names.fold(api)] = api
        found[names.fold(short)] = api
    return found | _ALIASES
