"""A caller who is limited to namespaces: whatever a worker asks of a real API server, nothing of another namespace comes
back, neither an object nor the name of the namespace."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest
import yaml

from kubescript import config, errors, tenant, types
from kubescript.auth import access_rules, user
from kubescript.broker import operation
from kubescript.changes.store import record
from kubescript.cli import demo
from kubescript.cluster import live
from kubescript.output import fencing
from kubescript.policy import policy
from kubescript.toolsets import base, builtin
from kubescript.wire import exchanges
from security_tests import raw_requests, recorder
from tests.kit import clients, fork_servers, kubectl, reading, trails
from tests.kit.controlplane import shared
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-21"), pytest.mark.timeout(300)]

BASE: Final = f"limits-{secrets.token_hex(3)}"
WORD: Final = f"heron{secrets.token_hex(4)}"
"""Stands in all that the caller may not see, and in nothing that a test sends."""
OWN: Final = (f"{BASE}-team-1", f"{BASE}-team-2", f"{BASE}-shared")
OTHER: Final = f"{BASE}-other"
"""A forbidden namespace whose name the caller guesses."""
HIDDEN: Final = f"{BASE}-{WORD}"
"""A forbidden namespace whose name is itself a secret."""
GROUP: Final = f"{BASE}.example"
PATTERNS: Final = (f"{BASE}-team-*", f"{BASE}-shared")
ALICE: Final = user.User("alice", "tokens_file", "uid-alice", ())
TOOLSETS: Final = ("code", "kubectl", "helm", "cluster")


def describe(namespace: str, word: str) -> list[dict[str, Any]]:
    """The objects of one namespace: `target`, whose name a caller guesses, and one named like the word."""
    labels = {"app": "limits", "word": word}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": f"example.test/{word}:1"}]}}
    made: list[dict[str, Any]] = []
    for name in ("target", word):
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        reference = {"kind": "Pod", "name": name, "namespace": namespace}
        made += [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"word": word}},
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {word: word}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]},
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": labels, "ports": [{"port": 80}]}},
            {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": reference, "message": word, "type": "Warning"},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
             "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
             "rules": [{"apiGroups": [""], "resources": ["pods"], "resourceNames": [word], "verbs": ["get"]}]},
            {"apiVersion": f"{GROUP}/v1", "kind": "Parcel", "metadata": metadata, "spec": {"word": word}},
        ]  # fmt: skip
    return made


def define(plural: str, kind: str, scope: str) -> dict[str, Any]:
    """A custom kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": GROUP, "scope": scope, "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec,
    }  # fmt: skip


@dataclass(frozen=True)
class World:
    """A server whose caller is limited, and the one before its limit."""

    limited: tenant.Tenant
    free: tenant.Tenant
    plane: ControlPlane | None

    def run(self, script: str, *, limited: bool = True) -> str:
        """The whole answer to a script."""
        own = self.limited if limited else self.free
        asking = types.Caller("a-session", "a client", "1", "evaluate_script", lasts=False, user=ALICE.name)
        answer = anyio.run(own.evaluator.evaluate, script, 60_000, None, asking)
        return answer.text


def settings(plane: ControlPlane | None, folder: Path, *patterns: str, **more: Any) -> config.Settings:
    """A server for two callers, of whom Alice is limited."""
    file = folder / "tokens.csv"
    file.write_text(f"{secrets.token_hex(16)},alice,uid-alice,\n{secrets.token_hex(16)},bob,uid-bob,\n")
    file.chmod(0o600)
    given: dict[str, Any] = {
        "writes": "plan", "transport": "http", "toolsets": TOOLSETS, "sandbox": {"strict": False},
        "auth": {"tokens_file": file}, "plans": {"store": str(folder / "plans.db"), "follow_s": 0},
        "access": [{"users": ["alice"], "namespaces": patterns or PATTERNS}, {}],
    }  # fmt: skip
    if plane is not None:
        given["kubeconfig"] = plane.kubeconfig
    return config.Settings.model_validate(given | more)


@pytest.fixture(scope="module")
def world(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    plane = shared.attach("scratch", run_folder, run_process)
    writer = Writer(plane.kubeconfig)
    names = (*OWN, OTHER, HIDDEN)
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"base": BASE}}}
        for name in names
    ]
    kinds = [define("parcels", "Parcel", "Namespaced"), define("depots", "Depot", "Cluster")]
    depot = {"apiVersion": f"{GROUP}/v1", "kind": "Depot", "metadata": {"name": WORD}}
    inside = [each for name in names for each in describe(name, WORD if name in (OTHER, HIDDEN) else "otter")]
    writer.create_all([[*namespaces, *kinds], [depot, *inside]])
    bob = user.User("bob", "tokens_file", "uid-bob", ())
    given = settings(plane, tmp_path_factory.mktemp("limits"))
    try:
        with fork_servers.open_application(given) as opened, contextlib.ExitStack() as closing:
            seats = []
            for caller in (ALICE, bob):
                own = opened.tenant(caller, access_rules.narrow(given, caller), opened.operator)
                closing.callback(own.close)
                seats.append(own)
            yield World(seats[0], seats[1], plane)
    finally:
        for each in kinds:
            writer.delete(each)


def read(
    own: tenant.Tenant, call: exchanges.Call, done: operation.Operation | None = None
) -> tuple[exchanges.Reply, str]:
    """What a worker receives that sends this call by itself: the head and the whole body."""
    reply, response = own.contexts.handle(call, done or operation.Operation(), 60)
    if response is None:
        return reply, ""
    with contextlib.closing(response):
        try:
            return reply, b"".join(response.chunks).decode()
        except errors.KubescriptError as error:
            return reply, error.message


KINDS: Final = (
    "api/v1|configmaps", "api/v1|secrets", "api/v1|pods", "api/v1|services", "api/v1|events", "apis/apps/v1|deployments",
    "apis/rbac.authorization.k8s.io/v1|roles", "apis/helm.sh/v1|releases", f"apis/{GROUP}/v1|parcels",
)  # fmt: skip
FORMS: Final[tuple[exchanges.Accept, ...]] = ("json", "table", "metadata", "names")
QUERIES: Final = (
    (), (("limit", "1"),), (("watch", "true"), ("timeoutSeconds", "1")), (("fieldSelector", f"metadata.namespace={OTHER}"),),
    (("fieldSelector", "metadata.name=target"),), (("labelSelector", "app=limits"),), (("resourceVersion", "0"),),
)  # fmt: skip


def split(root: str, *rest: str) -> tuple[str, ...]:
    """The segments of a path."""
    return (*root.split("/"), *rest)


def reads() -> Iterator[exchanges.Call]:
    """Reads of every kind over all namespaces and in a forbidden one, in every form, and of what is in no namespace."""
    for kind in KINDS:
        root, _, plural = kind.partition("|")
        for form in FORMS:
            for query in QUERIES:
                yield exchanges.Call("GET", split(root, plural), query, accept=form)
            yield exchanges.Call("GET", split(root, "namespaces", OTHER, plural), accept=form)
            yield exchanges.Call("GET", split(root, "namespaces", OTHER, plural, "target"), accept=form)
        for middle in (("watch",), ("watch", "namespaces", OTHER)):
            yield exchanges.Call("GET", split(root, *middle, plural), (("timeoutSeconds", "1"),))
    for path in (
        f"api/v1/namespaces/{OTHER}/pods/target/log", f"api/v1/namespaces/{OTHER}/pods/target/status",
        f"apis/apps/v1/namespaces/{OTHER}/deployments/target/scale", f"api/v1/namespaces/{OTHER}", f"api/v1/namespaces/{OTHER}/status",
        f"api/v1/namespaces/{OTHER}/pods/target/proxy", f"api/v1/proxy/namespaces/{OTHER}/pods/target",
        f"api/v1/namespaces/{OWN[0]}/namespaces/{OTHER}", f"apis/{GROUP}/v1/namespaces/{OWN[0]}/depots",
        f"apis/{GROUP}/v1/namespaces/{OWN[0]}", f"apis/{GROUP}/v1/depots", "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "api/v1/nodes", "api/v1/persistentvolumes", "apis/rbac.authorization.k8s.io/v1/clusterroles", "apis/metrics.k8s.io/v1beta1/nodes",
        "apis/metrics.k8s.io/v1beta1/pods", "apis/storage.k8s.io/v1/storageclasses", "apis/project.openshift.io/v1/projects",
        f"apis/project.openshift.io/v1/projects/{OTHER}", "api/v1/lists", f"api/v2/namespaces/{OTHER}/pods", "api/v2/pods",
        "kubescript/nodes/n/summary", "apis/custom.metrics.k8s.io/v1beta2/nodes/*/heat", f"apis/custom.metrics.k8s.io/v1beta2/namespaces/{OTHER}/pods/*/heat",
        f"apis/custom.metrics.k8s.io/v1beta2/namespaces/{OWN[0]}/nodes/*/heat", f"apis/custom.metrics.k8s.io/v1beta2/namespaces/{OTHER}/metrics/heat",
        f"apis/external.metrics.k8s.io/v1beta1/namespaces/{OTHER}/heat",
    ):  # fmt: skip
        yield exchanges.Call("GET", tuple(path.split("/")))
    yield exchanges.Call("GET", ("api", "v1", "watch", "namespaces", OTHER), (("timeoutSeconds", "1"),))
    for own in (
        f"{OWN[0]}/../{OTHER}",
        f"{OWN[0]}%2f..%2f{OTHER}",
        f"{OWN[0]}/pods/../../{OTHER}",
        "*",
        f"{BASE}-*",
        "..",
        ".",
    ):
        yield exchanges.Call("GET", ("api", "v1", "namespaces", own, "configmaps"))


def namespace_reads() -> Iterator[exchanges.Call]:
    """Reads of Namespaces in every form."""
    for form in FORMS:
        for query in (
            *QUERIES,
            (("labelSelector", f"base={BASE}"),),
            (("limit", "1"), ("labelSelector", f"base={BASE}")),
        ):
            yield exchanges.Call("GET", ("api", "v1", "namespaces"), query, accept=form)
    yield exchanges.Call("GET", ("api", "v1", "watch", "namespaces"), (("timeoutSeconds", "1"),))


REVIEW: Final = {"resourceAttributes": {"namespace": OTHER, "verb": "get", "resource": "pods"}}
AUTHORIZATION: Final = ("apis", "authorization.k8s.io", "v1")
WRITES: Final[tuple[tuple[Any, tuple[str, ...], Any, Any], ...]] = (
    ("POST", (*AUTHORIZATION, "selfsubjectaccessreviews"), {"spec": REVIEW}, "json"),
    ("POST", (*AUTHORIZATION, "selfsubjectrulesreviews"), {"spec": {"namespace": OTHER}}, "json"),
    ("POST", (*AUTHORIZATION, "subjectaccessreviews"), {"spec": REVIEW | {"user": "x"}}, "json"),
    ("POST", (*AUTHORIZATION, "namespaces", OTHER, "localsubjectaccessreviews"), {"spec": REVIEW | {"user": "x"}}, "json"),
    ("POST", ("apis", "authentication.k8s.io", "v1", "tokenreviews"), {"spec": {"token": "x"}}, "json"),
    ("POST", ("api", "v1", "namespaces"), {"metadata": {"name": f"{BASE}-team-new"}}, "json"),
    ("PATCH", ("api", "v1", "namespaces", OWN[0]), {"metadata": {"labels": {"a": "b"}}}, "merge-patch"),
    ("DELETE", ("api", "v1", "namespaces", OTHER), {}, "json"),
    ("DELETE", ("api", "v1", "namespaces", OTHER, "configmaps"), {}, "json"),
    ("DELETE", ("api", "v1", "configmaps"), {}, "json"),
    ("POST", ("api", "v1", "namespaces", OTHER, "configmaps"), {"metadata": {"name": "made"}}, "json"),
    ("PATCH", ("api", "v1", "namespaces", OTHER, "configmaps", "target"), {"data": {"a": "b"}}, "merge-patch"),
    ("POST", ("api", "v1", "namespaces", OTHER, "pods", "target", "eviction"), {"metadata": {"name": "target"}}, "json"),
    ("POST", ("api", "v1", "namespaces", OTHER, "pods", "target", "binding"), {"target": {"name": "n"}}, "json"),
    ("POST", ("api", "v1", "namespaces", OTHER, "serviceaccounts", "default", "token"), {"spec": {}}, "json"),
    ("PATCH", ("apis", "apps", "v1", "namespaces", OTHER, "deployments", "target", "scale"), {"spec": {"replicas": 1}}, "merge-patch"),
    ("POST", (*AUTHORIZATION[:1], "rbac.authorization.k8s.io", "v1", "clusterrolebindings"), {"metadata": {"name": BASE}}, "json"),
)  # fmt: skip


REFUSALS: Final = {"policy.namespace", "request.path", "request.release"}


def test_no_read_of_a_worker_leaves_the_namespaces(world: World, attacks: Callable[[int], None]) -> None:
    """All are refused: by the limit, or because no API server would read the path so."""
    calls = list(reads())
    attacks(len(calls))
    for call in calls:
        reply, body = read(world.limited, call)
        # A kind without namespaces is not found in one.
        code = "" if reply.fault is None else reply.fault.code
        assert code in REFUSALS or reply.status == 404, (call, reply)
        assert WORD not in body + str(reply), call
    _, seen = read(world.free, exchanges.Call("GET", ("api", "v1", "configmaps")))
    assert WORD in seen  # who is not limited sees it
    reply, body = read(world.limited, exchanges.Call("GET", ("api", "v1", "namespaces", OWN[0], "configmaps")))
    assert reply.fault is None and "otter" in body


def test_a_list_or_watch_of_namespaces_has_only_the_permitted_ones(
    world: World, attacks: Callable[[int], None]
) -> None:
    """Nothing else of it tells of the others either: no token, no count."""
    calls = list(namespace_reads())
    attacks(len(calls))
    for call in calls:
        reply, body = read(world.limited, call)
        assert WORD not in body + str(reply) and OTHER not in body + str(reply), call
        assert "remainingItemCount" not in body and '"continue":"' not in body, call
    selector = (("labelSelector", f"base={BASE}"), ("limit", "1"))
    _, body = read(world.limited, exchanges.Call("GET", ("api", "v1", "namespaces"), selector))
    found = msgspec.json.decode(body)
    assert sorted(each["metadata"]["name"] for each in found["items"]) == sorted(OWN)
    assert {each["status"]["phase"] for each in found["items"]} == {"Active"}
    reply, body = read(world.limited, exchanges.Call("GET", ("api", "v1", "namespaces", OWN[0])))
    assert reply.fault is None and OWN[0] in body


NAME: Final = "kubernetes.io/metadata.name"
"""A label that each Namespace has."""
GUESSES: Final = tuple(
    (key, term + guess)
    for key, term in (("fieldSelector", "metadata.name="), ("labelSelector", f"{NAME}="), ("labelSelector", f"base={BASE},{NAME}="))
    for guess in (OTHER, HIDDEN, "kube-system", f"{BASE}-absent")
)  # fmt: skip
SELECTED: Final = (
    ("fieldSelector", f"metadata.name={OWN[0]}", OWN[:1]), ("labelSelector", f"{NAME} in ({OWN[1]}, {OTHER})", OWN[1:2]),
    ("labelSelector", f"base={BASE},{NAME}!={OWN[0]}", OWN[1:]), ("labelSelector", "!base", ()),
    ("fieldSelector", "status.phase=Active", OWN), ("fieldSelector", "status.phase!=Active", ()),
)  # fmt: skip
WRONG: Final[tuple[tuple[tuple[str, str], ...], ...]] = (
    (("labelSelector", "a=("),), (("fieldSelector", "spec.finalizers=kubernetes"),), (("watch", "true"), ("labelSelector", "a")),
    (("watch", "true"), ("fieldSelector", "status.phase=Active")),
)  # fmt: skip


def test_no_number_of_a_list_of_namespaces_tells_of_the_others(world: World, attacks: Callable[[int], None]) -> None:
    """Whatever a selector guesses, the same bytes come and count, whether a forbidden Namespace has that name or label
    or none has; of the permitted ones a selector selects as an API server does, or is refused."""
    attacks(len(GUESSES) + len(GUESSES) // 3 + len(WRONG))
    path = ("api", "v1", "namespaces")
    live = (("watch", "true"), ("timeoutSeconds", "1"))
    for guess in GUESSES:
        done = operation.Operation()
        _, body = read(world.limited, exchanges.Call("GET", path, (guess,)), done)
        assert msgspec.json.decode(body)["items"] == [], guess
        assert done.summary.bytes == done.summary.call_records[0].bytes == len(body), guess
    for guess in (each for each in GUESSES if each[0] == "fieldSelector"):
        done = operation.Operation()
        _, body = read(world.limited, exchanges.Call("GET", path, (*live, guess)), done)
        assert (body, done.summary.bytes, done.summary.call_records[0].bytes) == ("", 0, 0), guess
    for query in WRONG:
        reply, _ = read(world.limited, exchanges.Call("GET", path, query))
        assert reply.fault is not None and reply.fault.code == "request.query", query
    for key, value, expected in SELECTED:
        _, body = read(world.limited, exchanges.Call("GET", path, ((key, value),)))
        found = [each["metadata"]["name"] for each in msgspec.json.decode(body)["items"]]
        assert found == sorted(expected), value
    _, body = read(world.limited, exchanges.Call("GET", path, (*live, ("fieldSelector", f"metadata.name={OWN[0]}"))))
    assert OWN[0] in body and OWN[1] not in body


def test_no_write_of_a_worker_leaves_the_namespaces(world: World, attacks: Callable[[int], None]) -> None:
    """Nor does a question about rights, which tells names, or a write of a Namespace itself."""
    attacks(len(WRITES))
    for method, path, body, form in WRITES:
        call = exchanges.Call(method, path, body=msgspec.Raw(msgspec.json.encode(body)), content_type=form)
        reply, seen = read(world.limited, call)
        assert reply.fault is not None and reply.fault.code == "policy.namespace", (call, reply, seen)
    answer = world.run(
        f"k8s.coreV1().create_namespaced_config_map({OWN[0]!r}, {{'metadata': {{'name': 'made'}}}}).metadata.name"
    )
    assert answer.startswith("made")


LISTS: Final = {
    "typed": "[(each.metadata.namespace, each.metadata.name) for each in k8s.coreV1().list_config_map_for_all_namespaces() if each.data.get('word')]",
    "page by page": (
        "page = k8s.coreV1().list_config_map_for_all_namespaces(limit=1)\nassert not page.metadata._continue\n"
        "[(each.metadata.namespace, each.metadata.name) for each in page.items if each.data.get('word')]"
    ),
    "dynamic": "[(each.metadata.namespace, each.metadata.name) for each in k8s.get('configmaps') if (each.get('data') or {}).get('word')]",
    "by label": "[(each.metadata.namespace, each.metadata.name) for each in k8s.get('pods', label_selector='word=otter')]",
    "custom": f"[(each.metadata.namespace, each.metadata.name) for each in k8s.get('parcels.{GROUP}')]",
    "custom, typed": (
        "[(each['metadata']['namespace'], each['metadata']['name']) for each in "
        f"k8s.CustomObjectsApi().list_cluster_custom_object('{GROUP}', 'v1', 'parcels')['items']]"
    ),
    "without decoding": (
        "import json\nraw = k8s.coreV1().list_config_map_for_all_namespaces(_preload_content=False).data\n"
        "[(each['metadata']['namespace'], each['metadata']['name']) for each in json.loads(raw)['items'] if (each.get('data') or {}).get('word')]"
    ),
    "in parallel": (
        "both = k8s.parallel([k8s.coreV1().list_config_map_for_all_namespaces, k8s.coreV1().list_secret_for_all_namespaces])\n"
        "assert {each.metadata.namespace for each in both[1]} == {each.metadata.namespace for each in both[0]}\n"
        "[(each.metadata.namespace, each.metadata.name) for each in both[0] if each.data.get('word')]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", LISTS)
def test_a_list_over_all_namespaces_has_the_permitted_ones_in_order(
    way: str, world: World, attacks: Callable[[int], None]
) -> None:
    """One list for each of them, without what is elsewhere; the script is what it would be without a limit."""
    attacks(1)
    answer = world.run(LISTS[way])
    assert WORD not in answer
    # Notes may follow.
    found, _ = json.JSONDecoder().raw_decode(fencing.unfence(answer))
    assert found == [[name, each] for name in sorted(OWN) for each in ("otter", "target")]
    if way == "typed":
        assert WORD in world.run(LISTS[way], limited=False)


def test_an_answer_and_the_tool_say_that_lists_are_limited(world: World) -> None:
    """A list of less than all must not look like all."""
    note = f"[lists over all namespaces: only {', '.join(PATTERNS)}, to which you are limited]"
    assert note in world.run("len(k8s.coreV1().list_pod_for_all_namespaces())")
    assert note not in world.run(f"len(k8s.coreV1().list_namespaced_pod({OWN[0]!r}))")
    assert note not in world.run("len(k8s.coreV1().list_pod_for_all_namespaces())", limited=False)
    [tool] = [each for each in world.limited.tools() if each.name == "evaluate_script"]
    assert f"only the namespaces {', '.join(PATTERNS)}" in (tool.description or "")


NAMES: Final = {"name", "pod", "deploymentName", "hpaName", "releaseName"}
GIVEN: Final = {
    "resource": "pods",
    "replicas": 2,
    "minReplicas": 1,
    "maxReplicas": 2,
    "includeStats": True,
    "dump": True,
}


def arguments(schema: dict[str, Any], namespace: str | None) -> dict[str, Any]:
    """Arguments of a tool for `target` in a namespace, or for all of them."""
    known = dict.fromkeys(NAMES, "target") | GIVEN
    known |= {"namespace": namespace} if namespace else {"allNamespaces": True}
    # A name and all namespaces contradict each other in some tools.
    if not namespace and "allNamespaces" in schema["properties"]:
        known = {key: value for key, value in known.items() if key != "name"}
    return {key: value for key, value in known.items() if key in schema["properties"]}


async def call_all(own: tenant.Tenant, namespace: str | None) -> dict[str, str]:
    """What each classic tool says."""
    said = {}
    async with clients.joined_as(own) as client:
        for tool in (await client.list_tools()).tools:
            if tool.name != "evaluate_script":
                result = await client.call_tool(tool.name, arguments(tool.input_schema, namespace))
                said[tool.name] = clients.whole(result)
    return said


@pytest.mark.parametrize("namespace", [OTHER, None], ids=["another", "all"])
def test_no_classic_tool_leaves_the_namespaces(
    namespace: str | None, world: World, attacks: Callable[[int], None]
) -> None:
    """Those that read all namespaces show the permitted ones."""
    said = anyio.run(call_all, world.limited, namespace)
    attacks(len(said))
    assert len(said) > 15
    for tool, text in said.items():
        assert WORD not in text, tool
    if namespace is None:
        assert said["kubectl_get"].count("otter") >= len(OWN)
        assert WORD in anyio.run(call_all, world.free, namespace)["kubectl_get"]
    else:
        refusals = [tool for tool, text in said.items() if "policy.namespace" in text]
        assert {"kubectl_get", "kubectl_logs", "kubectl_describe", "helm_list", "kubectl_scale_deployment"} <= {
            *refusals
        }


COMPLETED: Final[tuple[tuple[base.Completes, dict[base.Completes, str]], ...]] = (
    ("namespace", {}), ("namespace", {"namespace": BASE}), ("name", {"kind": "ConfigMap"}), ("name", {"kind": "ConfigMap", "namespace": OTHER}),
    ("name", {"kind": "Namespace"}), ("name", {"kind": "Depot"}),
)  # fmt: skip


def test_no_completion_leaves_the_namespaces(world: World, attacks: Callable[[int], None]) -> None:
    """Names that a client completes come from scripts of ours, under the caller's limit."""
    attacks(len(COMPLETED))
    completions = builtin.completions(world.limited._parts)
    asking = types.Caller("a-session", "a client", "1", "evaluate_script", lasts=False, user=ALICE.name)

    async def ask() -> list[list[str]]:
        return [await completions.names(what, given, asking) for what, given in COMPLETED]

    found = anyio.run(ask)
    assert found[0] == sorted(OWN)
    assert "otter" in found[2]
    assert WORD not in str(found) and OTHER not in str(found)
    completions = builtin.completions(world.free._parts)
    assert WORD in str(anyio.run(ask))


CHANGES: Final = (
    f"k8s.coreV1().create_namespaced_config_map({OWN[2]!r}, {{'metadata': {{'name': 'NAME'}}}})\n"
    f"k8s.scale('Deployment/target', 2, namespace={OWN[0]!r})\n"
    f"k8s.delete('Service/target', namespace={OWN[0]!r})\n1"
)


def test_a_plan_stays_within_the_limit_that_its_author_has_by_now(
    world: World, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """What it tells of its effects is of permitted namespaces, and a limit that came later counts."""
    attacks(2)
    with fork_servers.open_application(settings(world.plane, tmp_path)) as opened:

        def plan(name: str, script: str = CHANGES) -> str:
            own = opened.tenant(ALICE, access_rules.narrow(opened.settings, ALICE), opened.operator)
            with contextlib.closing(own):
                asking = types.Caller("a-session", "a client", "1", "evaluate_script", lasts=False, user=ALICE.name)
                answer = anyio.run(own.evaluator.evaluate, script.replace("NAME", name), 60_000, None, asking)
            assert answer.plan, answer.text
            assert WORD not in answer.text
            return answer.plan

        def apply(plan_id: str) -> str:
            approvals = opened.operator.planning.approvals  # type: ignore[union-attr]
            shown = approvals.get(plan_id)
            assert WORD not in repr(shown)
            approvals.decide(plan_id, record.Decision("user bob", "page", approves=True, hash=shown.plan.hash))
            return approvals.apply(plan_id, lambda _done, _count, _text: None).state

        def reload(*patterns: str) -> None:
            _, adopt = opened.prepare(settings(world.plane, tmp_path, *patterns))
            adopt()

        def undo(plan_id: str) -> str:
            asking = types.Caller("a-session", "a client", "1", "plans undo", lasts=False)
            planning = opened.operator.planning
            assert planning is not None
            return planning.undo(plan_id, asking).plan.id

        early = plan("early")
        reload(PATTERNS[0])
        with pytest.raises(errors.PlanError, match="the policy for writes has changed"):
            apply(early)
        reload()
        assert apply(plan("late")) == "applied"
        # The operator takes it back, with these settings and no others.
        taken = plan("taken-back", CHANGES.splitlines()[0] + "\n1")
        assert apply(taken) == "applied"
        reload(PATTERNS[0])
        with pytest.raises(errors.PlanError, match="the policy for writes has changed"):
            undo(taken)
        reload()
        assert apply(undo(taken)) == "applied"
    found = world.run(
        f"[each.metadata.name for each in k8s.coreV1().list_namespaced_config_map({OWN[2]!r})]", limited=False
    )
    assert "late" in found and "early" not in found and "taken-back" not in found


def test_a_saved_cluster_is_limited_too_and_what_was_read_of_it_is_replayed(
    tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """The same limit stands before every context, also where only metadata of Namespaces is served; the record has what
    a replay needs to make the same lists."""
    attacks(4)
    file = tmp_path / "audit.jsonl"
    metadata = {"group": "", "kind": "Namespace", "serve": "metadata"}
    contexts = {"one": {"snapshot": demo.SNAPSHOT}, "two": {"snapshot": demo.SNAPSHOT, "denied_resources": [metadata]}}
    given = settings(None, tmp_path, "shop*", contexts=contexts, audit={"file": file, "responses": True})
    pods = "sorted({each.metadata.namespace for each in k8s.context('two').coreV1().list_pod_for_all_namespaces()})"
    with fork_servers.open_application(given) as opened:
        own = opened.tenant(ALICE, access_rules.narrow(given, ALICE), opened.operator)
        with contextlib.closing(own):
            world = World(own, opened.operator, None)
            assert "kube-system" in world.run(pods, limited=False)
            assert '["shop"]' in world.run(pods)
            for name in contexts:
                names = f"[each.metadata.name for each in k8s.context({name!r}).coreV1().list_namespace()]"
                assert '["shop"]' in world.run(names)
            assert "policy.namespace" in world.run("k8s.context('two').coreV1().list_node()")
            # Nothing keeps namespaces apart in the saved sources.
            assert (own.contexts.sources, set(opened.operator.contexts.sources)) == ({}, {"prometheus", "loki"})
            for clusters, rule in ((own.contexts, "policy.source"), (opened.operator.contexts, None)):
                call = exchanges.Call("GET", (*exchanges.SOURCES, "loki", "labels"), context="one")
                reply, _ = clusters.handle(call, operation.Operation(), 60)
                assert (reply.fault.code if reply.fault else None) == rule
    replayed = trails.run("audit", "replay", str(file)).stdout.splitlines()
    assert len(replayed) == 5 and all(line.endswith(" same") for line in replayed), replayed
    assert [each["rule"] for each in trails.records(file, "call") if each["decision"] == "deny"] == ["policy.namespace"]


def test_no_default_and_no_refusal_names_a_namespace_that_may_not_be_seen(
    world: World, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """The operator's kubeconfig has a default namespace, and a saved cluster may have been saved in part."""
    attacks(2)
    assert world.plane is not None
    kubeconfig = yaml.safe_load(Path(world.plane.kubeconfig).read_text())
    kubeconfig["contexts"][0]["context"]["namespace"] = HIDDEN
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(kubeconfig))
    saved = tmp_path / "saved" / "namespaces" / HIDDEN / "core" / "pods.yaml"
    saved.parent.mkdir(parents=True)
    saved.write_text("{apiVersion: v1, kind: PodList, items: []}")
    contexts = {"live": {"kubeconfig": file, "context": "test"}, "saved": {"snapshot": tmp_path / "saved"}}
    given = settings(world.plane, tmp_path, contexts=contexts)
    with fork_servers.open_application(given) as opened:
        own = opened.tenant(ALICE, access_rules.narrow(given, ALICE), opened.operator)
        with contextlib.closing(own):
            limited = World(own, opened.operator, None)
            assert HIDDEN in limited.run("namespace", limited=False)
            assert limited.run("namespace") == "default"
            refused = limited.run(f"k8s.context('saved').coreV1().list_namespaced_pod({OWN[0]!r})")
            assert "were not captured" in refused and WORD not in refused


LINES: Final = (
    "get pods -A", "get pods -A -o json", "get configmaps -A --chunk-size=1", f"get pods -n {OTHER}", f"get pod target -n {OTHER} -o yaml",
    "get namespaces", "get namespaces -o wide", "get namespaces -o json", f"get namespace {OTHER}", f"describe namespace {OTHER}",
    f"describe pod target -n {OTHER}", f"logs target -n {OTHER}", "get nodes", "get clusterroles", f"get depots.{GROUP}", f"get parcels.{GROUP} -A",
    f"auth can-i --list -n {OTHER}", f"get events -n {OTHER}", "get all -A", f"scale deployment target --replicas=3 -n {OTHER}",
)  # fmt: skip


def test_no_command_line_of_oc_leaves_the_namespaces(
    world: World, tmp_path: Path, attacks: Callable[[int], None]
) -> None:
    """Its requests go through the same door; those within the namespaces are answered."""
    attacks(len(LINES))
    own = {"toolsets": ("openshift",), "openshift": {"binary": kubectl.program()}}

    async def ask(caller: tenant.Tenant, lines: tuple[str, ...]) -> list[str]:
        async with clients.joined_as(caller) as client:
            answers = [await client.call_tool("openshift-cli", {"command_str": line}) for line in lines]
        return [clients.whole(answer) for answer in answers]

    given = settings(world.plane, tmp_path, **own)
    with fork_servers.open_application(given) as opened:
        limited = opened.tenant(ALICE, access_rules.narrow(given, ALICE), opened.operator, "openshift")
        with contextlib.closing(limited):
            said = anyio.run(ask, limited, LINES)
            [pods, names] = anyio.run(ask, limited, (f"get pods -n {OWN[0]}", "get namespaces"))
        free = opened.tenant(None, given, opened.operator, "openshift")
        with contextlib.closing(free):
            assert WORD in anyio.run(ask, free, ("get namespaces",))[0]
    for line, text in zip(LINES, said, strict=True):
        assert WORD not in text, (line, text)
    assert "otter" in pods
    assert all(name in names for name in OWN)


def paths() -> Iterator[tuple[str, ...]]:
    """Every plausible path with every word in place of every segment."""
    for skeleton in raw_requests.SKELETONS:
        path = skeleton.split("/")
        for place in range(len(path)):
            for word in (*raw_requests.WORDS, *raw_requests.NASTY):
                yield (*path[:place], word, *path[place + 1 :])


def is_within(found: recorder.Info) -> bool:
    """Whether kube-apiserver reads a request as one within the namespace `a`, or one that tells nothing of others."""
    if not found.is_resource:
        return True
    if (found.group, found.resource) == ("", "namespaces"):
        return found.namespace == "a" or found.verb in {"list", "watch"}
    return found.namespace == "a" and found.resource != "namespaces"


def test_no_path_is_read_otherwise_by_another_parser(tmp_path: Path, attacks: Callable[[int], None]) -> None:
    """What reaches the server is within the one permitted namespace, by a reading of its own; much does reach it."""
    tried = list(paths())
    attacks(len(tried))
    reached = []
    with recorder.Recorder() as server:
        cluster = live.Live(server.kubeconfig(tmp_path))
        door = reading.made(cluster, policy.Policy(namespaces=("a",)))
        for path in tried:
            _, response = door.handle(exchanges.Call("GET", path), operation.Operation(), 60)
            if response is not None:
                response.close()
            reached += [recorder.read(seen.line) for seen in server.take()]
        cluster.close()
    strayed = [found for found in reached if not is_within(found)]
    assert strayed == []
    assert len({(found.resource, found.subresource) for found in reached if found.namespace == "a"}) > 20


def test_a_list_of_which_a_part_fails_is_an_error(world: World, tmp_path: Path, attacks: Callable[[int], None]) -> None:
    """Where the cluster itself lets the caller read only some of the namespaces, or the script may not make that many
    calls, the list does not look like a shorter one; the next list is answered."""
    attacks(2)
    assert world.plane is not None
    writer = Writer(world.plane.kubeconfig)
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    for namespace in OWN[:2]:
        metadata = {"name": "reader", "namespace": namespace}
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        subject = {"kind": "User", "name": ALICE.name, "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
        writer.create({**rbac, "kind": "Role", "metadata": metadata, "rules": rules})
        writer.create({**rbac, "kind": "RoleBinding", "metadata": metadata, "subjects": [subject], "roleRef": role})
    script = "pods = k8s.coreV1().list_pod_for_all_namespaces()\nsum(1 for each in pods)"
    for names, more, said in (
        (OWN, {"acts_as": "impersonate"}, f'in the namespace "{OWN[2]}"'),
        (OWN, {"limits": {"api_calls": 2}}, "API calls are used up"),
        (OWN[:2], {"acts_as": "impersonate"}, "4"),
    ):
        given = settings(world.plane, tmp_path, *names, **more)
        with fork_servers.open_application(given) as opened:
            own = opened.tenant(ALICE, access_rules.narrow(given, ALICE), opened.operator)
            with contextlib.closing(own):
                assert said in World(own, world.free, None).run(script)
