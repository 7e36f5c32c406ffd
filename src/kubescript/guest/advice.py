"""kubescript's advice on a script's mistakes, where the language alone has no suggestion."""

from __future__ import annotations

from typing import Final

from kubescript_sandbox.language.advice import Advice

__all__ = ["ADVICE"]

_SYNC = "the SDK is synchronous: drop `await` and `async`, and call the method directly"
_NO_FILES = "there are no files here: read with `k8s`, and return the result"
_OWN_NAMES = "names are simply there: use k8s, namespace, ctx; keep your own in a dict"
_CLUSTER = "the cluster is reached through `k8s`"
_LOOP = "write k8s.parallel([lambda n=n: read(n) for n in names])"
_NO_SOURCE = "there is none that you may use ([sources] of the server's settings)"
_PLAIN = "use lists, dicts, collections, statistics and table(rows)"
_TABLE = "write table(rows), it is there without an import"
_OTHER = "use k8s.get('pods', namespace=...)"
_NO_NET = f"there is no network here: {_CLUSTER}"
_NO_PROCESS = "no process can be started: write k8s.get('pods', namespace=...)"
_RETURNED = "use json, or return the object: the result is written for you"
_GET = "write k8s.get('pods', namespace=namespace)"
_TIMES = "camelCase and item timestamps are text; use .creation_timestamp, or datetime.fromisoformat(text)"
_QUANTITIES = "quantities are text: write quantity(x)"
_ZERO = "missing fields are None: write `x or 0`"
_EMPTY = "missing fields are None: write `x or ''`"

_MODULES: Final[dict[str, str]] = {
    "os": "there are no files, environment variables or processes here: " + _CLUSTER,
    **dict.fromkeys(("pathlib", "shutil", "tempfile", "fileinput", "shelve", "io.open"), _NO_FILES),
    **dict.fromkeys(("subprocess", "sh", "os.system", "os.popen"), _NO_PROCESS),
    **dict.fromkeys(("multiprocessing", "threading", "concurrent"), _LOOP),
    "asyncio": _SYNC,
    **dict.fromkeys(("requests", "httpx", "aiohttp", "http", "socket", "ssl"), _NO_NET),
    "urllib.request": "there is no network here: use `k8s`; urllib.parse is there",
    **dict.fromkeys(("yaml", "ruamel"), _RETURNED),
    **dict.fromkeys(("pandas", "numpy", "polars"), _PLAIN),
    **dict.fromkeys(("tabulate", "prettytable", "rich", "texttable"), _TABLE),
    **dict.fromkeys(("kr8s", "lightkube", "pykube", "hikaru"), _OTHER),
    "pick": "nobody can be asked: k8s.contexts() names the clusters",
    "humanize": "use age(obj), which prints like 3d4h, and quantity('1Gi')",
    "dateutil": "use datetime.datetime.fromisoformat; it reads Kubernetes timestamps",
    "uuid": "use random.getrandbits, or metadata.uid of an object",
    "platform": "this is the sandbox; nodes are at k8s",
    "kubernetes.stream": "exec, attach and port-forward are refused: read logs, events and status",
    "kubernetes.informer": "list once, or use watch.Watch().stream(method, …)",
    "kubernetes.leaderelection": "read the holder with k8s.get('leases')",
    "kubernetes.aio": "the SDK is synchronous: call the method directly",
    "kubernetes_asyncio": "use `from kubernetes import client`; calls are synchronous",
    "openshift": "use k8s: it serves every API of the cluster",
}
_CLIENTS = (
    ("coreV1", "v1 core core_v1 core_v1_api core_api api v1_api"),
    ("appsV1", "apps apps_v1 apps_v1_api apps_api"),
    ("batchV1", "batch batch_v1 batch_v1_api batch_api"),
    ("networkingV1", "networking networking_v1 net_v1 networking_v1_api"),
    ("rbacV1", "rbac rbac_v1 rbac_v1_api"),
    ("customObjects", "custom custom_api custom_objects custom_objects_api crd_api"),
)
_NAMES: Final[dict[str, str]] = {
    "open": _NO_FILES,
    **dict.fromkeys(("globals", "locals"), _OWN_NAMES),
    **dict.fromkeys(("kubectl", "kr8s", "oc"), _GET),
    "tabulate": "write table(rows)",
    **dict.fromkeys(("pd", "np", "pl"), "write lists and dicts, Counter, statistics, table(rows)"),
    "humanize": "age(obj) prints like 3d4h",
    "prom": f"{_NO_SOURCE}; k8s.metricsV1beta1() has the current usage of pods and nodes",
    "prometheus": "where there is one, it is called prom",
    "loki": f"{_NO_SOURCE}; k8s.coreV1().read_namespaced_pod_log(name, namespace) reads one pod's log",
    **dict.fromkeys(("alertmanager", "tempo"), _NO_SOURCE),
    "parse_cpu": "write quantity(text)",
    "parse_memory": "write quantity(text)",
    "kubernetes_client": "use k8s, or `from kubernetes import client` first",
}
_TYPE_ERRORS: Final = (
    (("format string passed to NoneType",), "missing fields are None: write {x or 0:…}"),
    (
        ("not supported between instances of 'View' and 'View'",),
        "give a key: sorted(pods, key=lambda p: p.metadata.name)",
    ),
    (("'View' object is not callable",), "it is an object: read a field of it"),
    (("unhashable type: 'View'",), "take a name: p.metadata.name"),
    (("unhashable type: 'ListView'",), "take a tuple of what you compare"),
    (("'Age'", " between "), "compare with timedelta(hours=1), or take .total_seconds()"),
    (("'ListObject' object is not an iterator",), "write pods[0], or next(iter(pods))"),
    (("for +: 'int' and 'str'",), _QUANTITIES),
    (("for +: 'float' and 'str'",), _QUANTITIES),
    (("'Quantity' and 'str'",), _QUANTITIES),
    (("'str' and 'Quantity'",), _QUANTITIES),
    (("timedelta", "Quantity"), "write float(x)"),
    (("conversion from Quantity to Decimal",), "a Decimal is parse_quantity(text); quantity() counts exactly, too"),
    (("between instances of 'str' and 'int'",), _QUANTITIES),
    (("between instances of 'int' and 'str'",), _QUANTITIES),
    (("'NoneType'", "'datetime."), "missing fields are None: leave them out with `if x`"),
    (("'NoneType'", "'str'", " between "), _EMPTY),
    (("'NoneType'", " between "), _ZERO),
    (("'NoneType'", "'str'", "operand type"), _EMPTY),
    (("'NoneType'", "operand type"), _ZERO),
    (("'datetime.datetime'", "'str'"), _TIMES),
)

ADVICE: Final = Advice(
    syntax=dict.fromkeys(("AsyncFunctionDef", "Await", "AsyncFor", "AsyncWith"), _SYNC),
    names=_NAMES,
    modules=_MODULES,
    definitions={name: f"k8s.{accessor}()" for accessor, usual in _CLIENTS for name in usual.split()},
    values={"list index out of range": "; missing lists are empty: write `x[0] if x else None`"},
    type_errors=_TYPE_ERRORS,
    times=_TIMES,
    command=': this is a shell command; write Python, such as `k8s.get("pods", namespace=namespace)`',
    commands=("kubectl ", "$ kubectl", "oc ", "helm "),
    homes={
        "parse_quantity": "kubernetes.utils",
        "ApiException": "kubernetes.client.exceptions",
        **dict.fromkeys(("client", "config", "dynamic", "watch"), "kubernetes"),
    },
    packages=("kubernetes", "kubernetes.client"),
)
