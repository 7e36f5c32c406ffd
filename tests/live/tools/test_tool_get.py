"""kubectl_get and kubectl_get_yaml, beside the real kubectl, on a live cluster and on a saved one."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies

from kubescript.guest import yaml_text
from tests.kit import clients, tools
from tests.kit.controlplane import writer
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane

# Where the kinds of the contract have objects, and no more of them than are shown.
KINDS = {
    "pods": "default",
    "nodes": "",
    "deployments": "default",
    "services": "default",
    "replicasets": "shop",
    "daemonsets": "monitoring",
    "statefulsets": "payments",
    "jobs": "batch",
    "cronjobs": "batch",
    "configmaps": "default",
    "pv": "",
    "pvc": "default",
    "ingress": "default",
    "hpa": "default",
    "namespaces": "",
    "events": "default",
    "serviceaccounts": "shop",
    "clusterroles": "",
    "clusterrolebindings": "",
}
"""The contract's kinds but Secrets, which the policy serves as metadata."""
OTHERS = {"gadgets": "default", "netpol": "payments", "sc": "", "crd": "", "endpointslices": "shop", "pdb": "payments"}
"""Kinds that the contract does not name: the API server prints them too."""


@pytest.fixture(scope="module")
def live(printed_cluster: Path) -> Path:
    """A cluster with objects in every state that a column tells."""
    return printed_cluster


@pytest.fixture(scope="module")
def call(live: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(live)) as made:
        yield made


@pytest.fixture(scope="module")
def saved(live: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tools.Call]:
    """The same cluster from a file, which has no Tables: the columns are those of `columns.py`."""
    file = tmp_path_factory.mktemp("saved") / "cluster.json"
    kinds = ",".join([*KINDS, "gadgets", "crd", "leases"])
    file.write_text(tools.typed_by_kubectl(live, "get", kinds, "-A", "-o", "json"))
    with tools.calling("--snapshot", str(file)) as made:
        yield made


AGE = re.compile(r"\b(?:\d+[ydhms])+\b|<invalid>")


def rows(table: str) -> list[list[str]]:
    """The cells of a table, by the places of its titles; times that have passed are all the same."""
    head, *lines = table.splitlines()
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S+(?: \S+)*", head)]
    ends = [*starts[1:], None]
    return [
        [AGE.sub("<age>", line[start:end].strip()) for start, end in zip(starts, ends, strict=True)]
        for line in (head, *lines)
    ]


def arguments(kind: str) -> dict[str, Any]:
    namespace = (KINDS | OTHERS)[kind]
    return {"resource": kind} | ({"namespace": namespace} if namespace else {})


@functools.cache
def typed(kubeconfig: Path, kind: str, *more: str) -> str:
    namespace = (KINDS | OTHERS)[kind]
    return tools.typed_by_kubectl(kubeconfig, "get", kind, *(("-n", namespace) if namespace else ()), *more)


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_a_table_is_kubectls(call: tools.Call, live: Path, kind: str) -> None:
    """Cell by cell, and in the same order."""
    told = rows(tools.text(call("kubectl_get", output="wide", **arguments(kind))))
    expected = rows(typed(live, kind, "-o", "wide"))
    if kind == "events":
        # Warnings come first here.
        told[1:], expected[1:] = sorted(told[1:]), sorted(expected[1:])
    assert len(told) > 1 and told == expected


@pytest.mark.parametrize("kind", ["pods", "services", "events", "gadgets"])
def test_a_table_without_its_wide_columns(call: tools.Call, live: Path, kind: str) -> None:
    """The columns that kubectl prints when nobody asks for more."""
    assert rows(tools.text(call("kubectl_get", output="table", **arguments(kind)))) == rows(typed(live, kind))


@pytest.mark.parametrize("kind", [*KINDS, "gadgets"])
def test_a_table_of_a_saved_cluster_is_kubectls(saved: tools.Call, live: Path, kind: str) -> None:
    """Where no API server prints, the tool prints as one does."""
    told = rows(tools.text(saved("kubectl_get", output="wide", **arguments(kind))))
    expected = rows(typed(live, kind, "-o", "wide"))
    assert told[0] == expected[0] and sorted(told) == sorted(expected)


ROW = {"name", "ready", "status", "restarts", "age", "node"}


def test_a_list_is_json_that_says_nothing_twice(call: tools.Call, saved: tools.Call) -> None:
    """The contract's answer: a map for each row, without cells that say nothing; of a file as of a cluster."""
    for ask in (call, saved):
        answer = tools.told(ask("kubectl_get", resource="pods", namespace="payments"))
        assert answer.keys() == {"items"} and len(answer["items"]) == facts.pods_by_namespace()["payments"]
        assert all(each.keys() <= ROW for each in answer["items"])
        named = {each["name"]: each for each in answer["items"]}
        assert {"ready": "1/1", "status": "Running"}.items() <= named["ledger-0"].items()
        assert {each["status"] for each in answer["items"]} >= {"Init:Error", "Terminating", "ContainerCreating"}


def test_all_namespaces_are_named_and_counted(call: tools.Call, saved: tools.Call, live: Path) -> None:
    """Of more rows than are shown, those in unusual states come first, and all are counted."""
    for ask in (call, saved):
        answer = tools.told(ask("kubectl_get", resource="pods", allNamespaces=True))
        items, states = answer["items"], answer["status"]
        assert len(items) == 100 and answer["total"] == sum(states.values()) > facts.PODS
        assert {each["namespace"] for each in items} > {"shop", "payments", "staging"}
        broken = [is_broken(each) for each in items]
        assert broken == sorted(broken, reverse=True) and 0 < broken.count(True) < len(items)
        everyone = rows(tools.typed_by_kubectl(live, "get", "pods", "-A"))[1:]
        keys = ("namespace", "name", "ready", "status")
        assert broken.count(True) == sum(is_broken(dict(zip(keys, row, strict=False))) for row in everyone)
        head, _, hidden = answer["note"].partition(": ")
        assert head == (
            f"100 of {answer['total']} shown, unusual states first. Narrow with namespace, labelSelector or name. "
            "Not shown"
        )
        said, _, places = hidden.partition(": ")
        assert said == f"{answer['total'] - 100} as they should be"
        counts = [int(each.rpartition(" ")[2]) for each in places.split(", ")]
        assert sum(counts) == answer["total"] - 100 and len(counts) <= 13


def is_broken(pod: dict[str, Any]) -> bool:
    """A pod that has not ended well and is not ready."""
    ready, _, wanted = pod["ready"].partition("/")
    return pod["status"] != "Completed" and (pod["status"] != "Running" or int(ready) < int(wanted))


MANY = 620


@pytest.fixture(scope="module")
def crowded(scratch: ControlPlane, namespace: str) -> Path:
    """A cluster with more objects of a kind than one list is asked for; other tests have none of this kind."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"other-{namespace}"}}
    made = [
        {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": f"many-{number}", "namespace": (namespace, f"other-{namespace}")[number % 2]},
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
        }
        for number in range(MANY)
    ]
    writer.Writer(scratch.kubeconfig).create_all([[other], made])
    return scratch.kubeconfig


def test_many_objects_are_listed_by_namespace(crowded: Path, tmp_path: Path) -> None:
    """At the same time, which is faster by far; in one list where the namespaces may not be read. Rows are the same."""
    file = tmp_path / "kubescript.toml"
    asked = {"resource": "podtemplates", "allNamespaces": True}
    counted = len(tools.typed_by_kubectl(crowded, "get", "podtemplates", "-A", "-o", "name").splitlines())
    answers = []
    for denied in ("", '[[denied_resources]]\nkind = "Namespace"\n'):
        file.write_text(f'kubeconfig = "{crowded}"\n{denied}')
        with tools.calling("--config", str(file)) as ask:
            answers.append(rows(clients.text(ask("kubectl_get", output="table", **asked))))
            # Behind the answer stands that namespaces could not be listed.
            text = tools.text(ask("kubectl_get", **asked))
            assert json.JSONDecoder().raw_decode(text)[0]["total"] == counted == MANY
    typed = rows(tools.typed_by_kubectl(crowded, "get", "podtemplates", "-A"))
    assert [line[:-1] for line in answers[0][:101]] == [line[:-1] for line in answers[1][:101]]
    assert [line[:-1] for line in answers[0][:101]] == [line[:-1] for line in typed[:101]]


def test_many_saved_objects_are_one_list(tmp_path: Path) -> None:
    """A snapshot may hold some namespaces only, and is asked for what it holds."""
    file = tmp_path / "many.json"
    places = ["bulk"] * MANY + ["shop"]
    pods: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"many-{at}", "namespace": namespace}}
        for at, namespace in enumerate(places)
    ]
    known = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("bulk", "shop", "other")
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*pods, *known]}))
    with tools.calling("--snapshot", str(file)) as ask:
        assert tools.told(ask("kubectl_get", resource="pods", allNamespaces=True))["total"] == len(places)


def test_other_keys_are_made_of_titles(call: tools.Call) -> None:
    """Every kind has keys that read as JSON names do."""
    [service] = tools.told(call("kubectl_get", resource="svc", namespace="default", labels={"app": "whoami"}))["items"]
    assert service.keys() == {"name", "type", "clusterIP", "ports", "age", "selector"}
    deployment = tools.told(call("kubectl_get", resource="deploy", namespace="shop"))["items"][0]
    assert deployment.keys() == {"name", "ready", "upToDate", "available", "age", "images", "selector"}
    gadgets = {each["name"]: each for each in tools.told(call("kubectl_get", resource="gg"))["items"]}
    assert gadgets["printed-bare"].keys() == {"name", "age"}
    assert {"size": 3, "on": True, "ready": "False"}.items() <= gadgets["printed-full"].items()


NAMES = {
    "po": "pods",
    "Pod": "pods",
    "deployments.apps": "deployments",
    "deploy.v1.apps": "deployments",
    "Ingress": "ingresses",
    "gadget": "gadgets",
    "Gadget": "gadgets",
    "gadgets.example.com": "gadgets",
    "certificates.cert-manager.io": "certificates",
}
"""Names that kubectl knows."""


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_has_the_names_that_kubectl_knows(call: tools.Call, live: Path, name: str) -> None:
    """Short, singular, with a group, as in manifests."""
    typed = tools.typed_by_kubectl(live, "get", name, "-o", "name").splitlines()
    assert tools.text(call("kubectl_get", resource=name, output="name")).splitlines() == typed or not typed


def test_a_kind_that_is_not_served_is_refused(call: tools.Call) -> None:
    """In the contract's words, with the nearest names."""
    refused = call("kubectl_get", resource="gadgetz")
    assert refused.is_error and clients.text(refused) == "Error: Unsupported resource type: gadgetz; near: gadgets"
    one = "name one kind in each call, such as pods, deployments or services"
    custom = "a custom resource is named plural.group, such as certificates.cert-manager.io"
    for nothing, hint in {"xyzzyqwv": custom, "all": one, "pods,services": one, "gadgetz": "near: gadgets"}.items():
        expected = f"Error: Unsupported resource type: {nothing}; {hint}"
        assert clients.text(call("kubectl_get", resource=nothing)) == expected
        described = call("kubectl_describe", resource=nothing, name="a", namespace="shop")
        assert described.is_error and clients.text(described) == expected
    assert tools.told(call("kubectl_get", resource="nodes"))["items"]


SELECTIONS = ("app=cart", "app in (cart, search),!nothing", "app!=cart,app", "app notin (cart)")


@pytest.mark.parametrize("selector", SELECTIONS)
def test_selectors_select_as_in_kubectl(call: tools.Call, saved: tools.Call, live: Path, selector: str) -> None:
    """Set-based ones too."""
    typed = tools.typed_by_kubectl(live, "get", "pods", "-n", "shop", "-l", selector, "-o", "name")
    asked = {"resource": "pods", "namespace": "shop", "labelSelector": selector, "output": "name"}
    for ask in (call, saved):
        assert sorted(tools.text(ask("kubectl_get", **asked)).splitlines()) == sorted(typed.splitlines())


def test_labels_are_a_selector(call: tools.Call) -> None:
    """A map selects as its pairs do, and not beside a selector."""
    asked = {"resource": "pods", "namespace": "shop"}
    by_map = call("kubectl_get", labels={"app": "cart", "app.kubernetes.io/part-of": "shop"}, **asked)
    by_text = call("kubectl_get", labelSelector="app=cart,app.kubernetes.io/part-of=shop", **asked)
    names = [[each["name"] for each in tools.told(answer)["items"]] for answer in (by_map, by_text)]
    assert names[0] == names[1] != []
    assert call("kubectl_get", labels={"a": "b"}, labelSelector="a=b", **asked).is_error


def test_a_namespace_is_the_default_one_or_means_nothing(call: tools.Call, live: Path) -> None:
    """As in the contract; a kind without namespaces takes any, as in kubectl."""
    answer = tools.text(call("kubectl_get", resource="pods", output="name"))
    assert answer == tools.typed_by_kubectl(live, "get", "pods", "-n", "default", "-o", "name").strip()
    everywhere = [call("kubectl_get", resource="nodes", output="name", **each) for each in ({}, {"namespace": "shop"})]
    assert tools.text(everywhere[0]) == tools.text(everywhere[1]) != ""


def test_nothing_is_said_as_kubectl_says_it(call: tools.Call) -> None:
    """An empty list is no error."""
    asked = {"resource": "cronjobs", "namespace": "monitoring"}
    nothing = "No resources found in monitoring namespace."
    assert tools.told(call("kubectl_get", **asked)) == {"items": [], "note": nothing}
    for output in ("table", "wide", "name", "yaml"):
        assert tools.text(call("kubectl_get", output=output, **asked)) == nothing


NOISE = re.compile("managedFields|resourceVersion|generation|last-applied|terminationMessage|schedulerName|uid")


def test_one_object_is_pruned(call: tools.Call, live: Path) -> None:
    """What says nothing is left out; what says something stays, though it is empty or as usual."""
    answer = call("kubectl_get", resource="pod", name="redis-0", namespace="shop")
    assert not NOISE.search(tools.text(answer)) and len(tools.text(answer)) < 3_000
    pod, typed = tools.told(answer), tools.typed_by_kubectl(live, "get", "pod", "redis-0", "-n", "shop", "-o", "json")
    assert pod["metadata"]["labels"] == json.loads(typed)["metadata"]["labels"]
    assert {"name": "tmp", "emptyDir": {}} in pod["spec"]["volumes"]
    odd = tools.told(call("kubectl_get", resource="pod", name="printed-sidecar"))
    assert odd["spec"]["initContainers"][1]["restartPolicy"] == "Always" and "restartPolicy" not in odd["spec"]
    ended = tools.told(call("kubectl_get", resource="pod", labels={"app": "backfill"}, namespace="batch"))["items"][0][
        "name"
    ]
    assert (
        tools.told(call("kubectl_get", resource="pod", name=ended, namespace="batch"))["spec"]["restartPolicy"]
        == "Never"
    )
    same = yaml.safe_load(tools.text(call("kubectl_get_yaml", resource="pod", name="printed-sidecar")))
    assert same == odd and list(same) == ["apiVersion", "kind", "metadata", "spec", "status"]


def toleration(key: str, **seconds: int) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute"} | seconds


TROUBLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
OWN = [toleration(TROUBLE[0], tolerationSeconds=30), toleration(TROUBLE[1]), toleration("mine", tolerationSeconds=300)]


def test_tolerations_of_the_users_own_stay(tmp_path: Path) -> None:
    """Those alone are left out that the API server gives every pod."""
    file = tmp_path / "tolerating.json"
    given = {"usual": [toleration(key, tolerationSeconds=300) for key in TROUBLE], "own": OWN}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [], "tolerations": tolerations},
        }
        for name, tolerations in given.items()
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    with tools.calling("--snapshot", str(file)) as ask:
        shown = {name: tools.told(ask("kubectl_get", resource="pod", name=name))["spec"] for name in given}
    assert shown["own"]["tolerations"] == OWN and "tolerations" not in shown["usual"]


WHOLE = {"pods": "shop", "deployments": "payments", "configmaps": "shop", "crd": "", "nodes": "", "netpol": "payments"}


@pytest.mark.parametrize("kind", WHOLE)
def test_yaml_reads_back_as_what_kubectl_gives(call: tools.Call, live: Path, kind: str) -> None:
    """Whatever stands in it is in the object; nothing is made up, and no document is cut."""
    namespace = {"namespace": WHOLE[kind]} if WHOLE[kind] else {}
    answer = tools.text(call("kubectl_get_yaml", resource=kind, **namespace))
    more = ("-n", WHOLE[kind]) if WHOLE[kind] else ()
    listed = json.loads(tools.typed_by_kubectl(live, "get", kind, *more, "-o", "json"))["items"]
    by_name = {each["metadata"]["name"]: each for each in listed}
    documents = list(yaml.safe_load_all(re.sub(r"\n\[partial: .*\]\Z", "", answer)))
    assert documents and len(answer.splitlines()) < 500
    for each in documents:
        assert_within(each, by_name[each["metadata"]["name"]])
    assert (len(documents) < len(listed)) == answer.startswith(
        f"# the first {len(documents)} of {len(listed)}; for others give name"
    )
    assert bool(namespace) or "or namespace" not in answer.partition("\n")[0]


def test_yaml_of_a_selection_says_that_there_are_more(call: tools.Call) -> None:
    """An API server does not count what a selector leaves for the next page."""
    for selector, total in (("app!=nothing", r"20\+"), ("", r"\d\d+")):
        asked = {"labelSelector": selector} if selector else {}
        answer = tools.text(call("kubectl_get", resource="pods", allNamespaces=True, output="yaml", **asked))
        assert re.match(rf"# the first \d+ of {total}; for others ", answer)


def assert_within(part: Any, whole: Any) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            assert_within(value, whole[key])
    elif isinstance(part, list):
        rest = iter(whole)
        for each in part:
            assert any(_is_within(each, other) for other in rest)
    else:
        assert part == whole or "«redacted:" in str(part)


def _is_within(part: Any, whole: Any) -> bool:
    try:
        assert_within(part, whole)
    except (AssertionError, KeyError, TypeError):
        return False
    return True


TEXTS = strategies.text(max_size=12) | strategies.sampled_from(
    ["yes", "1e3", "0x1f", "2026-01-02", "1:30", "a: b", "a #b", "-", "---", "? x", "a\n b\n", "\n", "a\n\n", "~", "100m",
     "10.0.0.1", "1.5", "<<", "=", "*a", "&a", "!a", "[", "{a", "'", "%a", "@", "`", "a\tb\nc", "a\nb\n", "a\n", "- a", "\ufeff", "\x85", "a\u2028b\n", "1_000"]
)  # fmt: skip
VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda each: strategies.lists(each, max_size=4) | strategies.dictionaries(TEXTS, each, max_size=4),
)


@hypothesis.given(VALUES)
@hypothesis.settings(deadline=None, max_examples=200)
def test_any_value_is_read_back(value: Any) -> None:
    """A reader of YAML 1.1 finds the same value: no text becomes a number, a time, a switch or another line."""
    assert yaml.safe_load(yaml_text.write(value)) == value


def test_a_name_that_is_not_there(call: tools.Call) -> None:
    """An error that says so, and the next call works."""
    for tool in ("kubectl_get", "kubectl_get_yaml"):
        missing = call(tool, resource="pod", name="redis-9", namespace="shop")
        assert missing.is_error and '"redis-9" not found' in clients.text(missing)
    elsewhere = clients.text(call("kubectl_get", resource="deployment", name="checkout"))
    assert "not found; there are in namespace 'default': " in elsewhere
    assert tools.told(call("kubectl_get", resource="pod", name="redis-0", namespace="shop"))["kind"] == "Pod"


def test_a_name_in_all_namespaces(call: tools.Call) -> None:
    """It may be that of several objects."""
    answer = tools.told(call("kubectl_get", resource="sa", name="default", allNamespaces=True))
    assert {each["namespace"] for each in answer["items"]} > {"shop", "kube-system"}
    assert {each["name"] for each in answer["items"]} == {"default"}


ODD: list[dict[str, Any]] = [
    {"status": "Running"},
    {"spec": {"containers": [7]}, "status": {"containerStatuses": {"a": 1}}},
    {"spec": {"containers": "x"}, "status": {"containerStatuses": ["x"]}},
    {"status": {"containerStatuses": [{"restartCount": "many", "state": {"terminated": {"exitCode": "x"}}}]}},
    {"metadata": {"creationTimestamp": "yesterday"}},
]
"""What a file may hold under the name of a pod."""


def test_a_saved_object_of_no_sense_hides_no_other(tmp_path: Path) -> None:
    """Its row has its name at least."""
    file = tmp_path / "odd.json"
    pods = [
        {
            **odd,
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"odd-{at}", "namespace": "default"} | odd.get("metadata", {}),
        }
        for at, odd in enumerate(ODD)
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    with tools.calling("--snapshot", str(file)) as ask:
        items = tools.told(ask("kubectl_get", resource="pods"))["items"]
        assert [each["name"] for each in items] == [f"odd-{at}" for at in range(len(ODD))]
        for output in ("wide", "yaml", "name"):
            assert all(f"odd-{at}" in tools.text(ask("kubectl_get", resource="pods", output=output)) for at in range(5))


def test_what_a_snapshot_does_not_hold_is_no_fault_of_a_cluster(saved_without_secrets: Path) -> None:
    """Nobody is sent to look after an API server; the next call works."""
    with tools.calling("--snapshot", str(saved_without_secrets)) as ask:
        missing = ask("kubectl_get", resource="secrets", namespace="shop")
        assert missing.is_error and "secrets were not captured" in clients.text(missing)
        assert "errorType" not in (missing.meta or {})
        assert tools.told(ask("kubectl_get", resource="nodes"))["items"]


def test_secrets_are_listed_without_what_is_in_them(call: tools.Call) -> None:
    """Name and age, and one sentence why there is no more; no value in any form."""
    answer = tools.told(call("kubectl_get", resource="secrets", namespace="shop"))
    assert {"cart-db", "checkout-keys"} <= {each["name"] for each in answer["items"]}
    assert all(each.keys() == {"name", "age"} for each in answer["items"])
    assert answer["note"].startswith("Secret: metadata only by policy (")
    for output in ("json", "table", "wide", "name", "yaml"):
        for name in ({}, {"name": "cart-db"}):
            text = tools.text(call("kubectl_get", resource="secrets", namespace="shop", output=output, **name))
            assert "cart-db" in text and facts.CANARY not in text
            assert not re.search(r"\b(?:data|type|stringData)\b[\":]", text)
            assert output in ("table", "wide", "name") or "metadata only by policy" in text


def test_a_denied_kind_is_denied(live: Path, tmp_path: Path) -> None:
    """By any name and in any form; other kinds are as before."""
    file = tmp_path / "kubescript.toml"
    file.write_text(f'kubeconfig = "{live}"\n[[denied_resources]]\nkind = "ConfigMap"\n')
    with tools.calling("--config", str(file)) as ask:
        for output in ("json", "table", "name", "yaml"):
            for given in ({}, {"name": "printed-both"}, {"allNamespaces": True}):
                denied = ask("kubectl_get", resource="cm", output=output, **given)
                assert denied.is_error and "policy.denied_resource" in clients.text(denied)
        assert tools.told(ask("kubectl_get", resource="nodes"))["items"]


def test_secrets_that_the_operator_serves_whole(live: Path, tmp_path: Path) -> None:
    """The row is kubectl's, and values are masked."""
    file = tmp_path / "kubescript.toml"
    file.write_text(f'kubeconfig = "{live}"\ndeny_defaults = false\n')
    with tools.calling("--config", str(file)) as ask:
        asked = {"resource": "secrets", "namespace": "shop"}
        typed = tools.typed_by_kubectl(live, "get", "secrets", "-n", "shop")
        assert rows(tools.text(ask("kubectl_get", output="table", **asked))) == rows(typed)
        text = tools.text(ask("kubectl_get_yaml", name="cart-db", **asked))
        assert "«redacted:" in text and facts.CANARY not in text


def test_each_cluster_has_its_own_objects(saved: tools.Call, live: Path, tmp_path: Path) -> None:
    """`cluster` names a context, and another one is never asked instead."""
    other = tmp_path / "other.json"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "only-here", "namespace": "default"}}
    other.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}))
    file = tmp_path / "kubescript.toml"
    file.write_text(
        f'[contexts.live]\nkubeconfig = "{live}"\ncontext = "test"\n[contexts.saved]\nsnapshot = "{other}"\n'
    )
    with tools.calling("--config", str(file)) as ask:
        names = [
            tools.text(ask("kubectl_get", resource="pods", output="name", **each))
            for each in ({}, {"cluster": "live"}, {"cluster": "saved"})
        ]
        assert names[2] == "pod/only-here" and names[0] == names[1] and "only-here" not in names[0]
        assert ask("kubectl_get", resource="pods", cluster="nowhere").is_error
