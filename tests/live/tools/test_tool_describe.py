"""kubectl_describe and k8s.describe tell what the real kubectl tells, line by line, of objects that fill every field."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kit import clients, tools, trails
from tests.kit.controlplane.fixture import described, facts

ON_THE_CONTRACT = (
    *("pod", "node", "service", "deployment", "configmap", "secret", "serviceaccount"),
    *("clusterrole", "clusterrolebinding"),
)
BESIDES = (
    *("replicaset", "replicationcontroller", "statefulset", "daemonset", "job", "cronjob", "role", "rolebinding"),
    *("persistentvolumeclaim", "persistentvolume", "ingress", "horizontalpodautoscaler", "namespace", "certificates"),
)
MOST_OF_A_KIND = 6
"""Objects of one kind that are compared, the first ones of each namespace before the others."""


@dataclass(frozen=True)
class Difference:
    """Where the answers differ on purpose: lines of either side are rewritten before they are compared."""

    why: str
    pattern: str
    replacement: str = ""
    ours: bool = True
    kubectl: bool = True


DIFFERENCES = (
    Difference("time passes between two commands", r"\(lasts \w+\)", "(lasts …)"),
    Difference(
        "a waiting container says why: kubectl leaves that to events, which are gone after an hour",
        r"(State: +Waiting\n +Reason: .*\n) +Message: .*\n", r"\1", kubectl=False,
    ),
    Difference(
        "so does a condition of a pod that is not met",
        r"(?m)^(  [\w./-]+ +(?:False|Unknown))  +\w+: .*$", r"\1", kubectl=False,
    ),
    Difference("values that are secrets are masked", r"«redacted:[^»]*»", "…", kubectl=False),
    Difference("kubectl shows them", rf"\b{facts.CANARY}[\w-]+", "…", ours=False),
    Difference(
        "kubectl does not look up one label or annotation for a variable",
        r"^( +[A-Z]+: +)\S.*(\(v1:metadata\.(?:labels|annotations)\['\w+'\]\))$", r"\1\2", kubectl=False,
    ),
    Difference("tabs in a value of a ConfigMap stay tabs", r"tabs\s+stay\s+as", "tabs stay as"),
    Difference("kubectl counts no further addresses as well", r" \+ 0 more\.\.\.$", ours=False),
    Difference("a time that is not set is unknown, not the year 1", "Mon, 01 Jan 0001 00:00:00 .0000", "<unknown>"),
    Difference("kubectl lacks this colon", "ISCSIInterface ", "ISCSIInterface: ", ours=False),
    Difference("kubectl writes a reference as Go writes a struct", r"&\w+\{Name:([\w-]+),.*\}", r"\1", ours=False),
    Difference(
        "fields that tell a reader nothing", r"  (?:Generation|Resource Version|UID): .*\n", ours=False
    ),
    Difference("of kubectl's two lines about a quota's scope, the second explains the word", r"  \* Matches.*\n", ours=False),
)  # fmt: skip
"""Beside these: at most 20 events (the newest), 50 pods of a node, 400 lines of a role and 2,000 characters of a value
of a ConfigMap, each with a note; the Node-Local ResourceSlices of a node are not read, since the call fails on clusters
before 1.34; other kinds than those above are described field by field; of Secrets see below."""


@pytest.fixture(scope="module")
def kubeconfig(printed_cluster: Path) -> Path:
    """It has the objects that fill every field, too."""
    return printed_cluster


@pytest.fixture(scope="module")
def call(kubeconfig: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(kubeconfig), toolsets="kubectl,code") as made:
        yield made


def lines(text: str, *, ours: bool) -> list[str]:
    """The lines to compare: without what differs on purpose, without ages, columns two spaces apart."""
    text = "\n".join(line.rstrip() for line in text.split("\n")).rstrip()
    for each in DIFFERENCES:
        if each.ours if ours else each.kubectl:
            text = re.sub(each.pattern, each.replacement, text, flags=re.MULTILINE)
    found, section = [], ""
    for line in text.split("\n"):
        section = line.partition(":")[0] if line[:1].strip() else section
        aged = section in {"Events", "Non-terminated Pods"}
        told = re.sub(r"(?<![\w.])\d+[ydhms](\d+[dhms])?(?![\w.])", "…", line) if aged else line
        found.append(re.sub(r"  +", "  ", re.sub("---+", "---", told)))
    return in_order(found)


def in_order(found: list[str]) -> list[str]:
    """Lines whose order is no promise of kubectl: events of one second, and the resources of a LimitRange."""
    start = next((number for number, line in enumerate(found) if line == "Events:"), len(found))
    limits = [line for line in found if re.match(r" (Container|Pod|PersistentVolumeClaim)  ", line)]
    rest = [line for line in found[:start] if line not in limits]
    return [*rest, *sorted(limits), *found[start : start + 3], *sorted(found[start + 3 :])]


def of_kind(kubeconfig: Path, kind: str) -> list[tuple[str, str]]:
    """Namespace and name of the objects of a kind, those that fill every field first."""
    found = json.loads(tools.typed_by_kubectl(kubeconfig, "get", kind, "-A", "-o", "json"))["items"]
    places = [(each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in found]
    left_out = ("printed-", described.BUSY, described.LONG, "endless")
    places = [place for place in places if not place[1].startswith(left_out)]
    full = [
        place for place in places if described.NAMESPACE in place[0] + place[1] or place[1] in ("tainted", "nobody")
    ]
    others = [place for place in places if place not in full]
    step = max(1, len(others) // MOST_OF_A_KIND)
    return [*full, *others[::step]][: MOST_OF_A_KIND + len(full)]


def by_kubectl(kubeconfig: Path, kind: str, namespace: str, name: str) -> str:
    return tools.typed_by_kubectl(kubeconfig, "describe", kind, name, *(["-n", namespace] if namespace else []))


def all_by_kubectl(kubeconfig: Path, kind: str, places: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Each of several objects, with one command for each namespace."""
    found: dict[tuple[str, str], str] = {}
    for namespace in dict.fromkeys(namespace for namespace, _ in places):
        names = [name for place, name in places if place == namespace]
        # Events are left out of several objects unless they are asked for.
        words = ["describe", kind, *names, "--show-events=true", *(["-n", namespace] if namespace else [])]
        printed = re.split(r"\n\n(?=Name: )", tools.typed_by_kubectl(kubeconfig, *words))
        found |= {(namespace, name): text for name, text in zip(names, printed, strict=True)}
    return found


def ask(call: tools.Call, kind: str, namespace: str, name: str) -> str:
    place = {"namespace": namespace} if namespace else {}
    return tools.text(call("kubectl_describe", resource=kind, name=name, **place))


def run(call: tools.Call, script: str) -> Any:
    return tools.text(call("evaluate_script", script=script))


@pytest.mark.parametrize("kind", [each for each in (*ON_THE_CONTRACT, *BESIDES) if each != "secret"])
def test_a_kind_is_described_as_kubectl_describes_it(call: tools.Call, kubeconfig: Path, kind: str) -> None:
    """Same titles, fields and tables, but for the differences that are listed above."""
    places = of_kind(kubeconfig, kind)
    assert places
    for (namespace, name), printed in all_by_kubectl(kubeconfig, kind, places).items():
        theirs = lines(printed, ours=False)
        ours = lines(ask(call, kind, namespace, name), ours=True)
        assert ours == theirs, "\n".join(difflib.unified_diff(theirs, ours, "kubectl", "ours", n=0, lineterm=""))


@pytest.mark.parametrize(
    ("kind", "name"), [("service", "balanced"), ("clusterrole", "described"), ("clusterrolebinding", "described")]
)
def test_the_layout_is_kubectls(call: tools.Call, kubeconfig: Path, kind: str, name: str) -> None:
    """Columns are as wide as kubectl makes them; only spaces at the end of a line are left out."""
    namespace = described.NAMESPACE if kind == "service" else ""
    theirs = by_kubectl(kubeconfig, kind, namespace, name)
    assert ask(call, kind, namespace, name) == "\n".join(line.rstrip() for line in theirs.split("\n")).strip()


# --- limits ---


def test_the_newest_events_are_told(call: tools.Call) -> None:
    """At most 20, the newest last, with the number of the others."""
    text = ask(call, "pod", described.NAMESPACE, described.BUSY)
    reasons = re.findall(r"Reason(\d\d)", text)
    assert reasons == [f"{number:02}" for number in range(described.EVENTS - 20, described.EVENTS)]
    note = re.search(r"\((\d+) older events are left out; kubectl_get has those of a namespace\)", text)
    assert note is not None and int(note[1]) == described.EVENTS - 20


def test_a_long_value_is_cut(call: tools.Call) -> None:
    """With its length; nothing in the answer names a script, which a client of these tools alone cannot run."""
    text = ask(call, "configmap", described.NAMESPACE, described.LONG)
    assert len(text) < 2_500 and "k8s." not in text
    assert "... (2000 of 15000 characters; kubectl_get_yaml has all of them)" in text


def test_a_rule_of_216000_lines_is_cut(call: tools.Call) -> None:
    """Attack: one rule of many groups, resources and names, which kubectl multiplies out."""
    text = ask(call, "clusterrole", "", "endless")
    assert text.count("\n") < 420 and "the first 400 lines of 1 rules" in text
    assert "secret-reader" in ask(call, "clusterrole", "", "secret-reader")


MILLION_TABS = """
pod = k8s.coreV1().read_namespaced_pod("everything", "described")
pod.spec.containers[0].env = [{"name": "A", "value": "\\t" * 1_000_000 + "x"}] + [{"name": "B" * 1000, "value": "\\t"}] * 2000
len(k8s.describe(pod)) < 4_000_000
"""


def test_a_million_tabs_are_no_million_columns(call: tools.Call) -> None:
    """Attack: every tab of a value begins another column of every line near it."""
    assert run(call, MILLION_TABS) == "true"


# --- what the policy says ---


def test_a_secret_is_metadata(call: tools.Call) -> None:
    """By default: name, labels, annotations and one line that says why there is no more."""
    text = ask(call, "secret", described.NAMESPACE, "login")
    assert lines(text, ours=True) == [
        "Name:  login",
        f"Namespace:  {described.NAMESPACE}",
        "Labels:  a=b",
        "Annotations:  <none>",
        "Data:  <not served: the policy serves only the metadata of a Secret (rule core/Secret)>",
    ]
    assert "token" not in text


def test_a_secret_that_an_operator_serves(kubeconfig: Path, tmp_path: Path) -> None:
    """Keys and sizes as kubectl has them, whether redaction masks the values or not."""
    place = ("secret", described.NAMESPACE, "login")
    theirs = lines(by_kubectl(kubeconfig, *place), ours=False)
    file = tmp_path / "settings.toml"
    for more in ("", "[redaction]\nenabled = false\n"):
        file.write_text(f"deny_defaults = false\n{more}")
        with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(file), toolsets="kubectl") as call:
            assert lines(ask(call, *place), ours=True) == theirs


def test_masks_stay(call: tools.Call) -> None:
    """What redaction has masked in a ConfigMap and in a variable is masked here."""
    configured = ask(call, "configmap", "shop", "legacy-app")
    assert "db.password=«redacted:" in configured and facts.CANARY not in configured
    pods = json.loads(
        run(
            call,
            "[p.metadata.name for p in k8s.coreV1().list_namespaced_pod('shop') if p.metadata.name.startswith('orders')]",
        )
    )
    described_pod = ask(call, "pod", "shop", pods[0])
    assert "DB_PASSWORD:  «redacted:" in re.sub("  +", "  ", described_pod) and facts.CANARY not in described_pod


DENIED = """
[[denied_resources]]
group = ""
kind = "ConfigMap"
[[denied_resources]]
group = ""
kind = "Event"
[[denied_resources]]
group = "discovery.k8s.io"
kind = "EndpointSlice"
"""


def test_a_denied_kind(kubeconfig: Path, tmp_path: Path) -> None:
    """The denial for the kind itself; for what is read beside an object a word in its place. The next call works."""
    file = tmp_path / "settings.toml"
    file.write_text(DENIED)
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(file), toolsets="kubectl") as call:
        denied = call("kubectl_describe", resource="configmap", name="settings", namespace=described.NAMESPACE)
        assert denied.is_error and "policy" in clients.whole(denied)
        text = ask(call, "service", described.NAMESPACE, "balanced")
    assert re.search(r"Events: +<not read: .*denies core/Event", text) and re.search(
        r"Endpoints: +<error: .*denies", text
    )


# --- which object ---


def test_an_object_that_is_not_there(call: tools.Call) -> None:
    """The API server's words, for the name and for the kind; the next call works."""
    for resource, name, words in (
        ("pod", "gone", 'pods "gone" not found'),
        ("certificates.cert-manager.io", "gone", 'certificates.cert-manager.io "gone" not found'),
        ("gizmos", "gone", "Unsupported resource type: gizmos"),
    ):
        refused = call("kubectl_describe", resource=resource, name=name, namespace="shop")
        assert refused.is_error and words in clients.whole(refused)
    assert ask(call, "namespace", "", "shop").startswith("Name:")


def test_any_other_kind(call: tools.Call) -> None:
    """A kind without a module of its own is told field by field."""
    text = ask(call, "poddisruptionbudgets", "shop", "storefront")
    assert "  Min Available:  8" in text and "Kind:         PodDisruptionBudget" in text
    assert "Resource Version" not in text


def test_a_script_describes(call: tools.Call) -> None:
    """`k8s.describe` takes what was read, or kind, name and namespace; the text is the tool's."""
    told = ask(call, "service", described.NAMESPACE, "balanced")
    script = f"""
service = k8s.coreV1().read_namespaced_service("balanced", "{described.NAMESPACE}")
listed = [s for s in k8s.get("services", namespace="{described.NAMESPACE}") if s.metadata.name == "balanced"][0]
texts = [
    k8s.describe(service), k8s.describe(listed), k8s.describe("svc", "balanced", "{described.NAMESPACE}"),
    *k8s.parallel([lambda: k8s.describe(service)]),
    k8s.describe("svc/balanced", namespace="{described.NAMESPACE}"),
]
[len(set(texts)), texts[0]]
"""
    assert json.loads(run(call, script)) == [1, told]
    secret = f'k8s.describe(k8s.coreV1().list_namespaced_secret("{described.NAMESPACE}")[0])'
    assert "the policy serves only the metadata" in run(call, secret)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("k8s.describe('pod', 'a')", "Pod lives in a namespace"),
        ("k8s.describe(7)", "takes one object"),
        ("k8s.describe('pod')", "which pod?"),
        ("k8s.describe(k8s.coreV1().list_node())", "takes one object"),
        ("k8s.describe(k8s.coreV1().list_node()[0].spec)", "no object with kind and name"),
    ],
)
def test_a_script_that_describes_nothing(call: tools.Call, script: str, words: str) -> None:
    """The error shows how it is written."""
    refused = call("evaluate_script", script=script)
    assert refused.is_error and words in clients.whole(refused) and "k8s.describe(pod)" in clients.whole(refused)


@pytest.mark.parametrize(
    ("kind", "name", "calls"),
    [("pod", "everything", 2), ("service", "balanced", 3), ("deployment", "rolled", 3), ("secret", "login", 1)],
)
def test_few_calls(call: tools.Call, kind: str, name: str, calls: int) -> None:
    """The object, its events and what stands beside it; no discovery."""
    script = f"""
before = ctx.budget.api_calls
k8s.tools.kubectl_describe(resource={kind!r}, name={name!r}, namespace={described.NAMESPACE!r})
before - ctx.budget.api_calls
"""
    assert run(call, script) == str(calls)


# --- other clusters ---


OF_ANOTHER = "k8s.describe(k8s.context('saved').coreV1().read_namespaced_pod('web-0', 'shop'))"
"""Its events and the rest of what is read beside it are in another cluster."""


def test_several_contexts(kubeconfig: Path, tmp_path: Path) -> None:
    """`cluster` names the one that is asked, and an unknown one is refused."""
    live = tools.typed_by_kubectl(kubeconfig, "config", "current-context").strip()
    saved = trails.snapshot(tmp_path)
    file = tmp_path / "settings.toml"
    file.write_text(f'context = "{live}"\n[contexts.{live}]\n[contexts.saved]\nsnapshot = "{saved}"\n')
    pod = {"resource": "pod", "name": "web-0", "namespace": "shop"}
    with tools.calling("--kubeconfig", str(kubeconfig), "--config", str(file), toolsets="kubectl,code") as call:
        assert 'pods "web-0" not found' in clients.whole(call("kubectl_describe", **pod))
        text = tools.text(call("kubectl_describe", **pod, cluster="saved"))
        unknown = call("kubectl_describe", **pod, cluster="elsewhere")
        assert ask(call, "pod", described.NAMESPACE, described.POD).startswith("Name:")
        other = call("evaluate_script", script=OF_ANOTHER)
        own = run(call, OF_ANOTHER.replace("k8s.describe", "k8s.context('saved').describe"))
    assert other.is_error and "k8s.context(name).describe(object)" in clients.whole(other)
    assert "web:1" in own
    assert re.search("Image: +web:1", text) and "Events:           <not read: events were not captured" in text
    assert unknown.is_error and "elsewhere" in clients.whole(unknown)


def test_a_snapshot(saved_without_secrets: Path) -> None:
    """Every kind of the contract is described from a saved cluster too; this one has no Secrets."""
    with tools.calling("--snapshot", str(saved_without_secrets), toolsets="kubectl,code") as call:
        assert "not captured" in clients.whole(call("kubectl_describe", resource="secret", name="a", namespace="shop"))
        for kind in {*ON_THE_CONTRACT, "certificates"} - {"secret"}:
            script = f"[[x.metadata.namespace, x.metadata.name] for x in k8s.get({kind!r})][:3]"
            for namespace, name in json.loads(run(call, script)):
                assert ask(call, kind, namespace or "", name).startswith("Name:"), (kind, name)
