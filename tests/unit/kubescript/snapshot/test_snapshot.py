"""Saved clusters, taken and served: what an API server would answer, and never an empty list for a hole in the
capture."""

from __future__ import annotations

import json
import os
import stat
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescript import errors, types
from kubescript.broker import operation, summary
from kubescript.capture import capture
from kubescript.kube import selectors
from kubescript.policy import denied_resources, policy
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import reading


def ask(cluster: Any, path: str, query: str = "", accept: str = "json") -> tuple[int, Any]:
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    parsed = request.parse(exchanges.Call("GET", tuple(path.split("/")), pairs, accept=accept))  # type: ignore[arg-type]
    response = cluster.perform(parsed, 5, cancellation.Cancellation())
    body = b"".join(response.chunks)
    return response.status, json.loads(body) if "json" in response.content_type and not body.startswith(
        b'{"type"'
    ) else body.decode()


def hole(cluster: Any, path: str, query: str = "") -> str:
    with pytest.raises(errors.ClusterError) as caught:
        ask(cluster, path, query)
    assert caught.value.code == "cluster.not_captured"
    return caught.value.message


def names(answer: tuple[int, Any]) -> list[str]:
    assert answer[0] == 200, answer
    return [item["metadata"]["name"] for item in answer[1]["items"]]


def pod(name: str, namespace: str, node: str = "n1", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "managedFields": [{"manager": "x" * 500}],
                     "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "keep": "me"}},
        "spec": {"nodeName": node, "containers": [{"name": "main"}, {"name": "side"}]}, "status": {"phase": "Running"},
    }  # fmt: skip


PODS = [
    pod("p1", "a", app="web", tier="1"),
    pod("p2", "a", "n2", app="web"),
    pod("p3", "a", app="db", tier="3"),
    pod("q1", "b", app="web"),
]
WIDGET = {
    "apiVersion": "acme.io/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "a"},
    "spec": {"size": 3},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {}}
LOG = b"".join(b"2026-01-31T12:00:%02d.123456789Z line %d\n" % (second, second) for second in range(60))


class FakeApi:
    """As much of an API server as a capture asks: discovery, paged lists, logs; some of it refused."""

    name = "fake"
    address = "https://127.0.0.1:6443"
    namespace = "a"
    is_named_by_data = False

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = ""
        self.expires = False
        self.lists: dict[str, tuple[str, list[Any]]] = {
            "/api/v1/pods": ("Pod", PODS), "/api/v1/nodes": ("Node", [NODE]), "/apis/acme.io/v1/widgets": ("Widget", [WIDGET]),
            "/api/v1/namespaces/a/pods": ("Pod", PODS[:3]), "/apis/acme.io/v1/namespaces/a/widgets": ("Widget", [WIDGET]),
        }  # fmt: skip

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        self.asked.append(call.path)
        if self.broken and self.broken in call.path:
            return self._answer(500, {"message": "etcd is down"})
        if call.path in self.lists:
            return self._page(*self.lists[call.path], dict(call.query))
        documents: dict[str, dict[str, Any]] = {
            "/version": {"gitVersion": "v1.36.3"}, "/api": {"versions": ["v1"]},
            "/apis": {"groups": [{"name": "acme.io", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
                                 {"name": "down.io", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}]},
            "/api/v1": self._resources("v1", ("pods", "Pod", True), ("secrets", "Secret", True), ("nodes", "Node", False), ("events", "Event", True)),
            "/apis/acme.io/v1": self._resources("acme.io/v1", ("widgets", "Widget", True)),
        }  # fmt: skip
        if call.path in documents:
            return self._answer(200, documents[call.path])
        if call.path.endswith("/a/pods/p1/log"):
            return types.Response(200, "OK", "text/plain", iter([LOG]), lambda: None)
        status = 403 if "events" in call.path else 503
        return self._answer(status, {"message": "no"})

    @staticmethod
    def _resources(version: str, *entries: tuple[str, str, bool]) -> dict[str, Any]:
        resources = [{"name": n, "kind": k, "namespaced": ns, "verbs": ["get", "list"]} for n, k, ns in entries]
        resources.append({"name": f"{entries[0][0]}/status", "kind": "X", "namespaced": True, "verbs": ["get"]})
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}

    def _page(self, kind: str, items: list[Any], options: dict[str, str]) -> types.Response:
        if self.expires and "continue" in options:
            return self._answer(410, {"message": "expired"})
        start = int(options.get("continue", "0"))
        metadata = {"resourceVersion": "9", **({"continue": str(start + 2)} if len(items) > start + 2 else {})}
        bare = [
            {k: v for k, v in item.items() if kind == "Widget" or k not in {"kind", "apiVersion"}}
            for item in items[start : start + 2]
        ]
        return self._answer(200, {"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": bare})

    @staticmethod
    def _answer(status: int, body: dict[str, Any]) -> types.Response:
        return types.Response(status, "", "application/json", iter([json.dumps(body).encode()]), lambda: None)

    def close(self) -> None:
        pass


@pytest.fixture
def taken(tmp_path: Path) -> tuple[capture.Report, snapshot.Snapshot]:
    door = reading.made(FakeApi(), policy.Policy(rules=(denied_resources.DeniedResource("core", kind="Secret"),)))
    report = capture.capture(door, tmp_path / "out", cluster="prod", namespace="a", logs=100)
    return report, snapshot.Snapshot(tmp_path / "out")


def test_capture_and_serve(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """What was captured, page by page, is served again as the API server gave it, without its bookkeeping."""
    report, cluster = taken
    assert (report.objects, report.logs.saved, cluster.name, cluster.namespace) == (6, 2, "prod", "a")
    status, listed = ask(cluster, "api/v1/pods")
    assert (status, listed["kind"], listed["apiVersion"]) == (200, "PodList", "v1")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["p1", "p2", "p3", "q1"]
    assert "kind" not in listed["items"][0] and "managedFields" not in listed["items"][0]["metadata"]
    assert listed["items"][0]["metadata"]["annotations"] == {"keep": "me"}
    one = ask(cluster, "api/v1/namespaces/a/pods/p1")[1]
    assert list(one)[:2] == ["kind", "apiVersion"] and one["kind"] == "Pod" and one["spec"] == PODS[0]["spec"]
    assert ask(cluster, "apis/acme.io/v1/widgets")[1]["items"][0]["kind"] == "Widget"
    assert ask(cluster, "version")[1] == {"gitVersion": "v1.36.3"}
    assert ask(cluster, "api/v1")[1]["groupVersion"] == "v1" and ask(cluster, "apis")[1]["groups"]


def test_denied_resources_are_never_written(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """Secrets are not asked for, not saved, and known to be missing because of the policy; so is what RBAC refused."""
    report, cluster = taken
    assert (
        "the operator denies" in report.missing["secrets"]
        and "403" in report.missing["events"]
        and "down.io/v1" in report.missing
    )
    assert not list(report.path.rglob("secrets*"))
    assert "the operator denies" in hole(cluster, "api/v1/secrets") and "403" in hole(
        cluster, "api/v1/namespaces/a/events"
    )


def test_files_are_private(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """Only the owner can read a snapshot."""
    for path in [taken[0].path, *taken[0].path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_logs(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """Logs answer like the API server's, tail, time and timestamps included; what was not captured says so."""
    _, cluster = taken
    base = "api/v1/namespaces/a/pods/p1/log"
    assert ask(cluster, base, "container=main&tailLines=2") == (200, "line 58\nline 59\n")
    assert ask(cluster, base, "container=main&tailLines=1&timestamps=true")[1].startswith("2026-01-31T12:00:59")
    assert ask(cluster, base, "container=side&sinceTime=2026-01-31T12:00:57Z")[1] == "line 57\nline 58\nline 59\n"
    at_once = "container=side&sinceTime=2026-01-31T12:00:58.123456789Z"
    assert ask(cluster, base, at_once)[1] == "line 58\nline 59\n", "a line of that very moment is one"
    assert ask(cluster, base, "container=main&limitBytes=10")[1] == "line 0\nlin"
    assert ask(cluster, base)[0] == 400 and "choose one of: [main side]" in ask(cluster, base)[1]["message"]
    assert ask(cluster, base, "container=nope")[0] == 400
    assert "previous log" in hole(cluster, base, "container=main&previous=true")
    assert "pods were captured, but the log" in hole(cluster, "api/v1/namespaces/b/pods/q1/log", "container=main")
    assert ask(cluster, "api/v1/namespaces/a/pods/none/log")[0] == 404


def test_not_found_or_not_captured(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """A captured kind answers 404 and empty lists like the API server; one that was not is a fault with words."""
    _, cluster = taken
    status, body = ask(cluster, "api/v1/namespaces/a/pods/nope")
    assert (status, body["kind"], body["reason"], body["message"]) == (
        404,
        "Status",
        "NotFound",
        'pods "nope" not found',
    )
    assert names(ask(cluster, "api/v1/namespaces/empty/pods")) == []
    assert "did you mean pods" in hole(cluster, "api/v1/pod")
    assert "captured as version v1" in hole(cluster, "apis/acme.io/v1beta1/widgets")
    hole(cluster, "openapi/v2")
    hole(cluster, "readyz")
    with pytest.raises(errors.ClusterError, match="only what was captured"):
        cluster.perform(request.parse(exchanges.Call("DELETE", ("api", "v1", "pods"))), 5, cancellation.Cancellation())


LABELS = [
    ("app=web", "p1 p2 q1"), ("app==web", "p1 p2 q1"), ("app!=web", "p3"), ("app in (web, db)", "p1 p2 p3 q1"), ("app notin (web)", "p3"),
    ("tier", "p1 p3"), ("!tier", "p2 q1"), ("app=web,tier", "p1"), ("app in (web),!tier", "p2 q1"), ("tier>1", "p3"), ("tier<3", "p1"),
    ("tier notin (1)", "p2 p3 q1"), (" app = web , tier ", "p1"), ("app=", ""), ("tier!=", "p1 p2 p3 q1"), ("app in ()", ""), ("", "p1 p2 p3 q1"),
]  # fmt: skip


@pytest.mark.parametrize(("selector", "expected"), LABELS)
def test_label_selectors(selector: str, expected: str) -> None:
    """The whole grammar of label selectors picks what the API server would."""
    pick = selectors.labels(selector)
    assert " ".join(one["metadata"]["name"] for one in PODS if pick is None or pick(one)) == expected


@pytest.mark.parametrize(
    "selector", ["app=web,", ",", "app in web", "=x", "app=a b", "a,,b", "app in (a", "!", "tier>x", "-a=b"]
)
def test_bad_label_selectors(selector: str, taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """A selector the API server would refuse is a 400, and the next list works."""
    assert ask(taken[1], "api/v1/pods", f"labelSelector={selector}")[0] == 400
    assert len(names(ask(taken[1], "api/v1/pods"))) == 4


FIELDS = [
    ("metadata.name=p1", "p1"), ("metadata.name!=p1", "p2 p3 q1"), ("metadata.namespace=b", "q1"), ("spec.nodeName=n2", "p2"),
    ("status.phase=Running,spec.nodeName!=n2", "p1 p3 q1"), ("spec.hostNetwork=false", "p1 p2 p3 q1"), ("status.podIP=", "p1 p2 p3 q1"),
]  # fmt: skip


@pytest.mark.parametrize(("selector", "expected"), FIELDS)
def test_field_selectors(selector: str, expected: str, taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """The fields Kubernetes indexes can be selected by; any other is the API server's 400."""
    assert " ".join(names(ask(taken[1], "api/v1/pods", f"fieldSelector={selector}"))) == expected
    status, body = ask(taken[1], "api/v1/pods", "fieldSelector=spec.priority=1")
    assert (status, body["message"]) == (400, "field label not supported: spec.priority")


def test_pages(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """limit and continue give every object once; a continue token of another server is refused."""
    first = ask(taken[1], "api/v1/pods", "limit=3")[1]
    assert first["metadata"]["remainingItemCount"] == 1
    second = ask(taken[1], "api/v1/pods", f"limit=3&continue={first['metadata']['continue']}")
    assert names((200, first)) + names(second) == ["p1", "p2", "p3", "q1"] and "continue" not in second[1]["metadata"]
    assert "remainingItemCount" not in ask(taken[1], "api/v1/pods", "limit=1&labelSelector=app")[1]["metadata"]
    for token in ("x", "eyJzdGFydCI6LTF9", "W10="):
        assert ask(taken[1], "api/v1/pods", f"limit=1&continue={token}")[0] == 400


def test_representations(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """Metadata-only answers are made; a Table is not, so the plain list comes, as Accept permits; a watch adds all and
    ends."""
    listed = ask(taken[1], "api/v1/pods", "", "metadata")[1]
    assert listed["kind"] == "PartialObjectMetadataList" and "spec" not in listed["items"][0]
    assert ask(taken[1], "api/v1/namespaces/a/pods/p1", "", "metadata")[1]["kind"] == "PartialObjectMetadata"
    assert ask(taken[1], "api/v1/pods", "", "table")[1]["kind"] == "PodList"
    lines = ask(taken[1], "api/v1/namespaces/a/pods", "watch=true")[1].splitlines()
    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == ["p1", "p2", "p3"]


@pytest.mark.parametrize("form", ["tar.gz", "zip", "nested.tar.gz"])
def test_archives(form: str, taken: tuple[capture.Report, snapshot.Snapshot], tmp_path: Path) -> None:
    """The same folder is served from one archive file, which leaves nothing behind."""
    out, archive = taken[0].path, tmp_path / f"snap.{form}"
    if form == "zip":
        with zipfile.ZipFile(archive, "w") as bundle:
            for file in out.rglob("*"):
                bundle.write(file, file.relative_to(out))
    else:
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(out, "prod" if form.startswith("nested") else ".")
    cluster = snapshot.Snapshot(archive)
    assert len(names(ask(cluster, "api/v1/pods"))) == 4
    unpacked = cluster._store.temporary
    cluster.close()
    assert unpacked is not None and not unpacked.exists()


def test_archive_stays_inside(tmp_path: Path) -> None:
    """An archive that would unpack outside its folder is refused."""
    victim = tmp_path / "file"
    victim.write_text("x")
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(victim, "../../evil", recursive=False)
    with pytest.raises(errors.ClusterError, match="leads out"):
        snapshot.Snapshot(archive)


def test_capture_of_namespaces(tmp_path: Path) -> None:
    """A capture of one namespace knows it is no more than that: others are a fault, a list of all carries a warning."""
    api = FakeApi()
    capture.capture(reading.made(api, policy.Policy()), tmp_path / "out", namespaces=["a"])
    assert "/api/v1/pods" not in api.asked
    cluster = snapshot.Snapshot(tmp_path / "out")
    assert names(ask(cluster, "api/v1/namespaces/a/pods")) == ["p1", "p2", "p3"] and names(
        ask(cluster, "api/v1/nodes")
    ) == ["n1"]
    assert "of namespace b were not captured" in hole(cluster, "api/v1/namespaces/b/pods")
    tally = summary.Summary()
    reading.made(cluster, policy.Policy()).handle(
        exchanges.Call("GET", ("api", "v1", "pods")), operation.Operation(tally), 5
    )
    assert list(map(str, tally.warnings)) == ["the snapshot holds pods of these namespaces only: a"]


def test_half_a_list_is_no_list(tmp_path: Path) -> None:
    """A list whose second page fails is missing as a whole."""
    api = FakeApi()
    api.expires = True
    report = capture.capture(reading.made(api, policy.Policy()), tmp_path / "out")
    assert "expired" in report.missing["pods"] and "expired" in hole(snapshot.Snapshot(tmp_path / "out"), "api/v1/pods")


def test_a_list_of_something_else_is_missing_alone(tmp_path: Path) -> None:
    """An extension API whose items are no objects of Kubernetes costs its own list, and no other."""
    api = FakeApi()
    api.lists["/apis/acme.io/v1/widgets"] = ("Widget", [{"spec": {}}])
    report = capture.capture(reading.made(api, policy.Policy()), tmp_path / "out")
    assert report.missing["widgets.acme.io"] == "the answer was not a list"
    assert names(ask(snapshot.Snapshot(tmp_path / "out"), "api/v1/pods"))


def test_capture_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, an existing target or a cluster without discovery leave no folder behind and say why."""
    door = reading.made(FakeApi(), policy.Policy())
    real = os.open
    written: list[Any] = []

    def full(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT and len(written) > 3:
            raise OSError(28, "No space left on device")
        written.append(path)
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(errors.ConfigError, match="No space left"):
        capture.capture(door, tmp_path / "out")
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())
    api = FakeApi()
    api.broken = "/api"
    with pytest.raises(errors.ClusterError, match="etcd is down"):
        capture.capture(reading.made(api, policy.Policy()), tmp_path / "out")
    assert not list(tmp_path.iterdir())
    capture.capture(door, tmp_path / "out")
    with pytest.raises(errors.ConfigError, match="exists already"):
        capture.capture(door, tmp_path / "out")


def test_server_cannot_name_files(tmp_path: Path) -> None:
    """An API server that invents names with slashes or dots writes no file outside the snapshot, and none is asked for
    by them."""
    api = FakeApi()
    evil = pod("p1", "a")
    evil["spec"]["containers"] = [{"name": "../../../../evil"}]
    api.lists["/api/v1/pods"] = ("Pod", [evil, pod("../../evil", "a"), pod("evil", "..")])
    with pytest.raises(errors.ClusterError, match="cannot be a file name"):
        capture.capture(reading.made(api, policy.Policy()), tmp_path / "out", logs=1)
    assert not list(tmp_path.iterdir()) and not [path for path in api.asked if ".." in path]


def kubectl(folder: Path, form: str) -> Path:
    items = [*PODS, NODE, WIDGET]
    if form == "json":
        path = folder / "all.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    elif form == "typed":
        path = folder / "pods.json"
        bare = [{k: v for k, v in item.items() if k not in {"kind", "apiVersion"}} for item in PODS]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": bare}))
    elif form == "yaml":
        path = folder / "all.yaml"
        path.write_text(yaml.safe_dump_all(items))
    else:
        path = folder / "dir"
        (path / "deep").mkdir(parents=True)
        for number, item in enumerate(items):
            (path / "deep" / f"{number}.yaml").write_text(yaml.safe_dump(item))
        (path / "notes.txt").write_text("not an object")
    return path


@pytest.mark.parametrize("form", ["json", "typed", "yaml", "dir"])
def test_kubectl_output(form: str, tmp_path: Path) -> None:
    """Files as kubectl prints them are served; a namespace without objects in them was perhaps never asked for, so it
    is a fault."""
    cluster = snapshot.Snapshot(kubectl(tmp_path, form))
    assert names(ask(cluster, "api/v1/namespaces/a/pods")) == ["p1", "p2", "p3"]
    assert ask(cluster, "api/v1/namespaces/a/pods/p1")[1]["kind"] == "Pod"
    assert "of namespace c were not captured" in hole(cluster, "api/v1/namespaces/c/pods")
    if form != "typed":
        assert ask(cluster, "apis/acme.io/v1/namespaces/a/widgets/w")[1]["spec"] == {"size": 3}
        assert [group["name"] for group in ask(cluster, "apis")[1]["groups"]] == ["acme.io"]
        assert {one["name"] for one in ask(cluster, "api/v1")[1]["resources"]} == {"pods", "nodes"}


def test_must_gather(tmp_path: Path) -> None:
    """An unpacked must-gather is served with its logs; what it does not hold is a fault."""
    root = tmp_path / "must-gather.local.1" / "quay-io-openshift"
    spaces = root / "namespaces" / "a"
    logs = spaces / "pods" / "p1" / "main" / "main" / "logs"
    logs.mkdir(parents=True)
    (logs / "current.log").write_bytes(LOG)
    (spaces / "pods" / "p1" / "p1.yaml").write_text(yaml.safe_dump(PODS[0]))
    (spaces / "core").mkdir()
    (spaces / "core" / "pods.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "PodList", "items": PODS[:2]})
    )
    (spaces / "core" / "events.yaml").write_text("apiVersion: v1\nitems: []\nkind: EventList\n")
    (spaces / "acme.io" / "widgets").mkdir(parents=True)
    (spaces / "acme.io" / "widgets" / "w.yaml").write_text(yaml.safe_dump(WIDGET))
    (root / "cluster-scoped-resources" / "core" / "nodes").mkdir(parents=True)
    (root / "cluster-scoped-resources" / "core" / "nodes" / "n1.yaml").write_text(yaml.safe_dump(NODE))
    cluster = snapshot.Snapshot(tmp_path / "must-gather.local.1")
    assert names(ask(cluster, "api/v1/namespaces/a/pods")) == ["p1", "p2"]
    assert names(ask(cluster, "api/v1/nodes")) == ["n1"] and names(
        ask(cluster, "apis/acme.io/v1/namespaces/a/widgets")
    ) == ["w"]
    assert names(ask(cluster, "api/v1/namespaces/a/events")) == []
    assert ask(cluster, "api/v1/namespaces/a/pods/p1/log", "container=main&tailLines=1")[1] == "line 59\n"
    assert "not captured" in hole(cluster, "api/v1/namespaces/b/pods")
    hole(cluster, "api/v1/namespaces/a/pods/p2/log", "container=main")


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)
)
BAD_FILES = [
    ("x.json", "{"), ("x.yaml", "a: ["), ("x.yaml", BOMB), ("x.yaml", "!!python/object/apply:os.system [id]"), ("x.json", "[]"),
    ("x.yaml", "just text"), ("x.tgz", "not an archive"), ("snapshot.json", '{"format": "other/9"}'), ("snapshot.json", "{"),
    ("snapshot.json", '{"format": "kubescript-snapshot/1", "resources": [{"group": "../..", "version": "v1", "resource": "x"}]}'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), BAD_FILES)
def test_bad_files(name: str, text: str, tmp_path: Path) -> None:
    """A file that is no saved cluster is refused with words when it is opened."""
    (tmp_path / name).write_text(text)
    with pytest.raises(errors.ClusterError) as caught:
        snapshot.Snapshot(tmp_path / name if name.startswith("x.") else tmp_path)
    assert caught.value.code == "cluster.config"
    with pytest.raises(errors.ClusterError, match="no snapshot at"):
        snapshot.Snapshot(tmp_path / "none")


def test_damaged_list(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """A saved list that was cut off on disk is a fault, not a short list; the others still answer."""
    file = taken[0].path / "resources" / "core" / "v1" / "pods.json"
    file.write_bytes(file.read_bytes()[:-40])
    cluster = snapshot.Snapshot(taken[0].path)
    for _ in range(2):
        with pytest.raises(errors.ClusterError) as caught:
            ask(cluster, "api/v1/pods")
        assert caught.value.code == "cluster.broken"
    assert names(ask(cluster, "api/v1/nodes")) == ["n1"]


def test_many_threads(taken: tuple[capture.Report, snapshot.Snapshot]) -> None:
    """Sixteen first readers at once all get the whole list."""
    results: list[int] = []
    cluster = snapshot.Snapshot(taken[0].path)
    threads = [
        threading.Thread(target=lambda: results.append(len(names(ask(cluster, "api/v1/pods"))))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4] * 16
