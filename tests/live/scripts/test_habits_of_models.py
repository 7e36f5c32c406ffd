"""Habits that models bring along, on the real API server: what once was silently wrong, or cost another round trip."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.kit import clients, patience

POD = 'p = next(p for p in k8s.coreV1().list_namespaced_pod("shop") if p.metadata.labels["app"] == "cart")\n'
PENDING = "p = next(p for p in k8s.coreV1().list_pod_for_all_namespaces() if not p.spec.node_name)\n"

ANSWERS: dict[str, str] = {
    # JSON has one spelling, at every depth and of every kind of object
    POD + "list(json.loads(json.dumps(p.spec))['containers'][0]['resources'])": '["limits","requests"]',
    POD + "s = json.dumps(p)\n['imagePullPolicy' in s, 'image_pull_policy' in s]": "[true,false]",
    POD + "'imagePullPolicy' in json.dumps(p.spec.containers), 'imagePullPolicy' in json.dumps([p.spec])": "[true,true]",
    'd = json.loads(json.dumps(k8s.coreV1().list_node()))\n[d["apiVersion"], "nodeInfo" in d["items"][0]["status"]]': '["v1",true]',
    # `default` is for what the official client needs it for, and makes no text of a map
    POD + "json.loads(json.dumps({'l': p.metadata.labels}, default=str))['l']['app']": "cart",
    POD + "d = json.loads(json.dumps({'t': p.metadata.creation_timestamp, 'p': p}, default=str))\n[d['t'][:2], d['p']['spec']['containers'][0]['name']]": '["20","cart"]',
    POD + "d = json.loads(json.dumps([p], default=lambda o: o.to_dict() if hasattr(o, 'to_dict') else str(o)))\n'node_name' in d[0]['spec']": "true",
    "class A:\n    pass\njson.dumps([A()], default=lambda o: 'a')": '["a"]',
    # a map is changed in place, by whatever name it goes
    POD + "labels = p.metadata.labels\nlabels |= {'x': 'y'}\np.metadata.labels['x']": "y",
    POD + "wanted = p.spec.node_selector\nwanted |= {'disk': 'ssd'}\np.spec.node_selector": '{"disk":"ssd"}',
    POD + "p.metadata.annotations.clear()\n[len(p.metadata.annotations), p.metadata.labels.popitem()[0] in p.metadata.labels]": "[0,false]",
    # what is not there can be aligned in a table of one's own
    PENDING + 'f"{p.spec.node_name:<6}|{p.status.pod_ip:>6}|{p.spec.init_containers:>4}|"': "None  |  None|  []|",
    POD + 't = p.metadata.creation_timestamp\n[f"{t:<30}|" == f"{str(t):<30}|", f"{t:%Y}" == str(t.year), f"{timedelta(1):>16}", f"{1.5:.2f}", len(f"{p:>60}")]': '[true,true,"  1 day, 0:00:00","1.50",60]',
    '"{:<6}|{:>5}|{:.1f}".format(None, [1], 2), format(None, ">6"), f"{None!r:>6}"': '["None  |  [1]|2.0","  None","  None"]',
    # a list answer is a list
    'pods = k8s.coreV1().list_namespaced_pod("shop")\npods.sort(key=lambda p: p.metadata.name, reverse=True)\n[p.metadata.name for p in pods] == sorted((p.metadata.name for p in pods), reverse=True), pods.index(pods[3])': "[true,3]",
    'v1 = k8s.coreV1()\na, b = v1.list_namespaced_pod("shop"), v1.list_namespaced_pod("payments")\na.items += b.items\nn = len(a)\na.items = [p for p in a.items if p.metadata.namespace == "shop"]\n[n, len(a), a[0].metadata.namespace]': '[73,50,"shop"]',
    # a selector in each of its spellings
    'd = k8s.appsV1().read_namespaced_deployment("cart", "shop").spec.selector\nf = lambda s: len(k8s.coreV1().list_namespaced_pod("shop", label_selector=s))\n[f(d), f(d.match_labels), f({"app": ["cart", "orders"]}), f(["app=cart", "app"]), f({}), f({"match_expressions": [{"key": "app", "operator": "DoesNotExist"}]})]': "[6,6,12,6,50,0]",
    # names of kubectl, of kr8s and of the official client, without an import
    'k8s.get("deploy/cart", namespace="shop").metadata.name': "cart",
    'len(k8s.get("/api/v1/nodes"))': "6",
    POD + "p.raw.status.phase, p.raw['status']['phase']": '["Running","Running"]',
    "config.load_kube_config()\nlen(client.CoreV1Api().list_node().items)": "6",
    'k8s.explain("apps/v1.Deployment.spec.strategy")[:24]': "Deployment.spec.strategy",
    'get = k8s.get\n[each.kind for each in (get(kind="pods", namespace="shop")[0], get("v1", "Pod", namespace="shop")[0], get("apps/v1", "Deployment", "shop")[0], get(api_version="v1", kind="Pod")[0], get("deployment.apps")[0], get("deploy.apps")[0])]': '["Pod","Pod","Deployment","Pod","Deployment","Deployment"]',
    "k8s.core().list_node()[0].metadata.name, len(k8s.apps().list_namespaced_deployment('shop')) > 0, k8s.apps().get_api_group().name": '["node-a1",true,"apps"]',
    "@dataclass\nclass A:\n    x: Optional[int] = None\nasdict(A(3)), Decimal('1.5'), deque([1])": '[{"x":3},1.5,[1]]',
    # what stands round a script elsewhere is not there, and asking for it harms nothing
    'import os, traceback\nfrom os.path import exists\nNS = os.environ.get("NAMESPACE", "shop")\nif exists("/var/run/secrets/token"):\n    config.load_incluster_config()\ntry:\n    1 / 0\nexcept Exception:\n    NS += traceback.format_exc().strip()\nNS': "shopZeroDivisionError: division by zero",
    "import os\nos.environ['A'] = 'b'\nos.getenv('A'), os.getenv('KUBECONFIG', 1), os.path.expanduser('~/.kube/config')": '["b",1,"~/.kube/config"]',
    "import os\nlist(os.environ)": "[]",
    "for n in range(3):\n    if n:\n        exit(f'at {n}')": "at 1",
    # classes and results
    "class A:\n    __slots__ = ('a', '_b')\n    def __init__(self):\n        self.a, self._b = 1, 2\nA().a": "1",
    "import ipaddress\nfrom fractions import Fraction\n[ipaddress.ip_network('10.0.0.0/8'), Fraction(1, 3)]": '["10.0.0.0/8","1/3"]',
    '{8080: "a", "8080": "b"}, {("a/b", "c"): 1, ("a", "b/c"): 2}': '[{"8080":"a","8080 (str)":"b"},{"a/b/c":1,"a/b/c (tuple)":2}]',
    'class P:\n    def __repr__(self):\n        return "P?"\nclass Q:\n    def to_dict(self):\n        return {"a": 1}\nclass R:\n    pass\n[P(), Q(), R()]': '["P?",{"a":1},{}]',
    "[chr(0xD800), {chr(0xD800): 1}]": '["?",{"?":1}]',
    'table([{"a": 1, "b": 2}], columns=["a", {"B": "b"}, ("C", "a")])': "a  B  C\n1  2  1",
}  # fmt: skip

TOLD: dict[str, str] = {
    # an argument by place would be `pretty`: a filter that does not filter
    'k8s.coreV1().list_namespaced_pod("shop", "app=cart")': "list_namespaced_pod(namespace) takes 1 arguments without a name; write label_selector='app=cart'",
    'k8s.coreV1().read_namespaced_pod_log("web", "shop", "cart")': "write container='cart'",
    'k8s.coreV1().list_namespaced_pod(label_selector="app=cart")': "is missing 'namespace'; for all namespaces use list_pod_for_all_namespaces()",
    # a namespace of this name is not there, and its list would be empty
    'k8s.coreV1().list_namespaced_pod("all")': "namespace must be one name, not 'all'; for all namespaces use list_pod_for_all_namespaces()",
    'k8s.get("pods", namespace="*")': "namespace must be one name, not '*'; for all namespaces leave it out",
    'k8s.coreV1().list_namespaced_pod("shop", field_selector="status.reason=Evicted")': "filter in the script: [x for x in … if …]",
    # lists and objects
    "next(k8s.coreV1().list_node())": "write pods[0], or next(iter(pods))",
    "k8s.coreV1().list_node().head(5)": "write [p for p in pods if …], sorted(…), Counter(…)",
    "[p for p in k8s.coreV1().list_node()].name": "it is a list, write [x.name for x in it], or it[0].name",
    "sum(n.status.capacity['cpu'] for n in k8s.coreV1().list_node())": "quantities are text: write quantity(x)",
    POD + "p.spec.containers.name": "this is a list of V1Container, it has no 'name': write [each.name for each in it], or it[0].name",
    "k8s.coreV1().list_node().items.items": "this is a list of V1Node already: leave .items out",
    "sorted(k8s.coreV1().list_node())": "give a key: sorted(pods, key=lambda p: p.metadata.name)",
    PENDING + "max(c.restart_count for c in p.status.container_statuses)": "write max(..., default=0)",
    PENDING + "p.status.container_statuses[0].ready": "missing lists are empty: write `x[0] if x else None`",
    PENDING + 'f"{p.spec.priority_class_name:.2f}"': "missing fields are None: write {x or 0:…}",
    "for name in k8s.contexts: pass": "call it: write () after its name",
    POD + "p.spec.nope": "host_users, hostname, hostname_override, … (",
    POD + "p.spec.node_selector.disk": "this object has no field 'disk'; it is empty; if it may be absent, use .get('disk')",
    POD + "p.restarts = 3": "values of your own go into a dict",
    # kubectl
    'k8s.get("pods,svc", namespace="shop")': "ask kind by kind: [k8s.get(kind, namespace=...) for kind in ['pods', 'svc']]",
    'k8s.get("all", namespace="shop")': "ask kind by kind: k8s.get('pods', namespace=...)",
    'k8s.get("--raw /api/v1/nodes")': "paths and flags are not read here: name the kind, such as k8s.get('nodes')",
    'k8s.get(namespace="shop")': "k8s.get() takes a kind: k8s.get('pods', namespace=...)",
    'k8s.raw("/api/v1/nodes")': "k8s has no 'raw'; write k8s.get('pods'): any kind by name",
    "pd.DataFrame([])": "write lists and dicts, Counter, statistics, table(rows)",
    "k8s.coreV1().api_client": "json.dumps(obj) and obj.to_dict() give plain data",
    'k8s.get("pods -n shop")': "name the kind alone, and namespace=..., label_selector=... beside it",
    'k8s.top("pods")': "for usage write k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces()",
    'k8s.logs("nope", "shop")': 'GET /api/v1/namespaces/shop/pods/nope/log: pods "nope" not found',
    'k8s.describe("pod", "web")': "Pod lives in a namespace: k8s.describe(pod) or k8s.describe('pod', ",
    "k8s.nodes()": "k8s has no 'nodes'; write k8s.get('nodes')",
    "k8s.v1.list_node()": "k8s has no 'v1'; write k8s.coreV1()",
    'k8s.coreV1("shop")': "k8s.coreV1() takes no arguments",
    "help(ctx)": ".name, .remaining_ms, .budget, .progress(done, total, text)",
    'help("list_namespaced_pod")': "list_namespaced_pod(namespace, ",
    'age("2026-01-01") > 300': "compare with timedelta(hours=1), or take .total_seconds()",
    'age("2026-01-01").hours': "write x.total_seconds() / 3600 for hours, x.days for days",
    POD + "p.age": "write age(pod)",
    'k8s.customObjects().list_cluster_custom_object("cert-manager.io", "v1", "certs")': "the cluster serves no such kind; k8s.search('words') or",
    # results
    "class A:\n    pass\n[A]": "result[0] is a class, A: return objects of it, or its name",
    "x = 1\nfor _ in range(300):\n    x = [x]\nx": "… is nested deeper than 200 levels; return a part of it",
}  # fmt: skip


async def _ask(kubeconfig: Path) -> dict[str, str]:
    async with clients.connect("memory", ["--kubeconfig", str(kubeconfig), "--log-level", "error"]) as client:
        return {script: clients.text(await clients.evaluate(client, script)) for script in (*ANSWERS, *TOLD)}


@pytest.fixture(scope="module")
def answers(kubeconfig: Path) -> dict[str, str]:
    """What each script gave; one server, so that every error is followed by a call that must work."""
    return anyio.run(_ask, kubeconfig)


@pytest.mark.parametrize("script", ANSWERS)
def test_a_habit_gives_what_it_means(script: str, answers: dict[str, str]) -> None:
    """Exactly this, as the official client or plain Python would have it."""
    assert answers[script] == ANSWERS[script]


@pytest.mark.parametrize("script", TOLD)
def test_what_cannot_be_meant_says_what_to_write(script: str, answers: dict[str, str]) -> None:
    """In a line or two."""
    assert TOLD[script] in answers[script], answers[script]
    assert len(answers[script]) < 700 and len(answers[script].splitlines()) <= 4


def test_printed_metadata_has_no_bookkeeping(kubeconfig: Path) -> None:
    """`managedFields` are most of an object's metadata, and nobody's question; asked for by name they are there."""

    async def ask() -> tuple[str, str]:
        async with clients.connect("memory", ["--kubeconfig", str(kubeconfig), "--log-level", "error"]) as client:
            printed = clients.text(await clients.evaluate(client, POD + "print(p.metadata)"))
            return printed, clients.text(await clients.evaluate(client, POD + "len(p.metadata.managed_fields) > 0"))

    printed, asked = anyio.run(ask)
    assert "'name': 'cart-" in printed and "managed" not in printed
    assert asked == "true"


def test_a_watch_ends_before_its_script(kubeconfig: Path) -> None:
    """A watch for ten minutes in a script of some seconds gives what it has seen, instead of nothing at the deadline."""
    script = "n = 0\nfor e in watch.Watch().stream(k8s.coreV1().list_namespaced_pod, 'shop', timeout_seconds=600):\n    n += 1\nn"

    async def ask() -> tuple[str, str]:
        async with clients.connect("memory", ["--kubeconfig", str(kubeconfig), "--log-level", "error"]) as client:
            timeout = min(patience.scaled_ms(4_000), 20_000)
            seen = clients.text(await clients.evaluate(client, script, timeout=timeout))
            return seen, clients.text(await clients.evaluate(client, 'len(k8s.coreV1().list_namespaced_pod("shop"))'))

    seen, counted = anyio.run(ask)
    assert seen == counted == "50"
