"""Several clusters in one script, each behind its own policy: which are served, who may reach what, and what becomes of
a script when some of them are dead, slow or refuse us.

Through a real MCP client, before a real API server, a saved cluster, and sockets that behave as broken clusters do.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import yaml

from tests.kit import clients, commands, listener, paths, patience
from tests.kit.controlplane.server import ControlPlane

PATIENCE_MS = min(patience.scaled_ms(1_500), 6_000)
"""Which a cluster that lives does not use up, and those that are dead do."""
NODES = """
found, faults = {}, {}
for name in k8s.contexts():
    try:
        found[name] = sorted(n.metadata.name for n in k8s.context(name).coreV1().list_namespace() if n.metadata.name == "default")
    except ApiException as error:
        faults[name] = str(error)
{"found": found, "faults": faults}
"""


# --- clusters that misbehave ---


class Odd:
    """A listening socket whose every connection is treated by `behave`."""

    def __init__(self, behave: Callable[[socket.socket], None]) -> None:
        self._behave = behave
        self._open: list[socket.socket] = []
        self._listener = listener.Listener(self._serve)
        self.url = f"http://127.0.0.1:{self._listener.port}"

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self._open)

    def _serve(self, sock: socket.socket) -> None:
        self._open.append(sock)
        self._behave(sock)

    def close(self) -> None:
        self._listener.close()
        for sock in self._open:
            sock.close()


def silent(sock: socket.socket) -> None:
    """Takes the request and says nothing, until the other side hangs up."""
    while sock.recv(65_536):
        pass


def drip(sock: socket.socket) -> None:
    """A head, one byte at a time, without end."""
    sock.recv(65_536)
    sock.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        sock.sendall(b"x")
        time.sleep(0.1)


def trickle(sock: socket.socket) -> None:
    """A quick head, and a body that never ends."""
    sock.recv(65_536)
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while True:
        sock.sendall(b" ")
        time.sleep(0.1)


@dataclass
class Places:
    """The contexts of these tests, in files as an operator writes them."""

    kubeconfig: Path
    snapshot: Path
    plane: ControlPlane
    odd: dict[str, Odd]

    def config(self, folder: Path, text: str) -> Path:
        """A configuration file that serves some of them."""
        path = folder / "kubescript.toml"
        path.write_text(f'kubeconfig = "{self.kubeconfig}"\nlog_level = "error"\n{text}')
        return path


def entry(name: str, server: dict[str, Any], user: dict[str, Any], namespace: str = "default") -> dict[str, Any]:
    """A context with a cluster and a user of its own."""
    return {
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
    }


def write(path: Path, *entries: dict[str, Any], current: str = "") -> Path:
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": current}
    for key in ("clusters", "users", "contexts"):
        merged[key] = [each for one in entries for each in one[key]]
    path.write_text(yaml.safe_dump(merged))
    return path


@pytest.fixture(scope="module")
def places(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """One kubeconfig: the real API server under several names, a dead port, three kinds of slow, a wrong token."""
    folder = tmp_path_factory.mktemp("contexts")
    plane = control_plane
    control_plane.kubeconfig_for("stranger")
    ca = {"certificate-authority": str(plane.folder / "ca.crt")}
    live = {"server": plane.url, **ca}
    admin = {
        "client-certificate": str(plane.folder / "admin.crt"),
        "client-key": str(plane.folder / "admin.key"),
    }
    stranger = {
        "client-certificate": str(plane.folder / "stranger.crt"),
        "client-key": str(plane.folder / "stranger.key"),
    }
    odd = {name: Odd(behave) for name, behave in (("silent", silent), ("drip", drip), ("trickle", trickle))}
    kubeconfig = write(
        folder / "config",
        entry("prod-eu", live, admin),
        entry("prod-us", live, admin, "kube-system"),
        entry("lab", live, admin),
        entry("stranger", live, stranger),
        entry("wrong", live, {"token": "not-the-token"}),
        entry("dead", {"server": f"http://127.0.0.1:{clients.free_port()}"}, {}),
        *(entry(name, {"server": each.url}, {}) for name, each in odd.items()),
        entry("unlisted", live, admin),
        current="unlisted",
    )
    saved = folder / "incident"
    saved.mkdir()
    (saved / "namespaces.json").write_text(json.dumps({
        "apiVersion": "v1", "kind": "List",
        "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}],
    }))  # fmt: skip
    yield Places(kubeconfig, saved, plane, odd)
    for each in odd.values():
        each.close()


FLEET = """
context = "prod-eu"
[limits]
patience_ms = {patience_ms}
[contexts.prod-eu]
[contexts.incident-42]
snapshot = "{snapshot}"
[contexts.dead]
[contexts.silent]
[contexts.wrong]
"""


def evaluate(transport: str, flags: list[str], script: str, **arguments: object) -> tuple[bool, str]:
    """One script through a real client: is it an error, and its text."""

    async def run() -> tuple[bool, str]:
        async with clients.connect(transport, flags) as client:
            result = await clients.evaluate(client, script, **arguments)
            return bool(result.is_error), clients.text(result)

    return anyio.run(run)


@contextlib.contextmanager
def server(config: Path) -> Iterator[Callable[..., str]]:
    """Asks one server, script after script."""
    with clients.application(["--toolsets", "code", "--config", str(config)]) as opened:

        def ask(script: str, timeout: int = 120_000) -> str:
            async def run() -> str:
                async with clients.joined(opened) as client:
                    return clients.text(await clients.evaluate(client, script, timeout=timeout))

            return anyio.run(run)

        yield ask


def answer(text: str) -> Any:
    """The value of an answer, without the notes under it."""
    return json.loads(text.splitlines()[0])


def run(*flags: str, script: str = "k8s.contexts()", **variables: str) -> subprocess.CompletedProcess[str]:
    """`kubescript run -` with these flags."""
    return commands.run("run", "-", *flags, script=script, environment={**commands.BARE, **variables})


# --- partial failure ---


@pytest.mark.promise("F-09")
@pytest.mark.parametrize("transport", clients.TRANSPORTS)
def test_of_five_clusters_the_good_ones_answer_and_the_others_are_named(
    transport: str, places: Places, tmp_path: Path
) -> None:
    """One dead, one silent, one 401: the live one and the saved one answer, each fault names its context, and the
    receipt says so once more."""
    config = places.config(tmp_path, FLEET.format(snapshot=places.snapshot, patience_ms=PATIENCE_MS))
    started = time.monotonic()
    is_error, text = evaluate(transport, ["--config", str(config)], NODES, timeout=300_000)
    assert not is_error, text
    assert time.monotonic() - started < 120  # without patience, the silent one would take half of five minutes
    value = answer(text)
    assert value["found"] == {"prod-eu": ["default"], "incident-42": ["default"]}
    assert list(value["faults"]) == ["dead", "silent", "wrong"]
    for name, words in (("dead", "cluster.unreachable"), ("silent", "cluster.timeout"), ("wrong", "401")):
        assert f"{name}: GET /api/v1/namespaces" in value["faults"][name]
        assert words in value["faults"][name]
        assert f"{name}: {words} list namespaces" in text.split("\n", 1)[1]
    assert "prod-eu:" not in text.split("\n", 1)[1]


@pytest.mark.promise("F-09")
@pytest.mark.parametrize("slow", ["silent", "drip", "trickle"])
def test_a_slow_cluster_leaves_time_for_the_others(slow: str, places: Places, tmp_path: Path) -> None:
    """However a cluster fills the time, at most half of it is lost, and the next one answers in the same script."""
    limits = f"[limits]\npatience_ms = {PATIENCE_MS}\n"
    config = places.config(tmp_path, f"{limits}[contexts.{slow}]\n[contexts.prod-eu]\n")
    # Patience ends the wait for a head. A body may take half of the time, which is what is left to the next cluster.
    timeout = 4 * PATIENCE_MS if slow == "trickle" else 120_000
    with server(config) as ask:
        for _ in range(2):
            text = ask(NODES, timeout=timeout)
            value = answer(text)
            assert value["found"] == {"prod-eu": ["default"]}
            assert "cluster.timeout" in value["faults"][slow]
            assert f"failed: {slow}: cluster.timeout list namespaces" in text


@pytest.mark.promise("F-09")
def test_with_default_settings_a_silent_cluster_costs_no_more_than_its_patience(places: Places, tmp_path: Path) -> None:
    """Without any limit in the file the default script still hears from every cluster that lives."""
    config = places.config(tmp_path, "[contexts.silent]\n[contexts.prod-eu]\n")
    with server(config) as ask:
        started = time.monotonic()
        value = answer(ask(NODES, timeout=240_000))
        assert value["found"] == {"prod-eu": ["default"]}
        assert time.monotonic() - started < 90  # without patience, it would be half of four minutes


@pytest.mark.promise("F-09")
def test_a_cluster_that_comes_back_is_asked_again(places: Places, tmp_path: Path) -> None:
    """One that refuses connections is not remembered: the next script that names it gets its answer."""
    config = places.config(tmp_path, "[contexts.dead]\n[contexts.prod-eu]\n")
    address = yaml.safe_load(places.kubeconfig.read_text())["clusters"]
    port = int(next(each for each in address if each["name"] == "dead")["cluster"]["server"].rpartition(":")[2])
    with server(config) as ask:
        assert "cluster.unreachable" in ask(NODES)
        body = b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"default"}}]}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        with socket.create_server(("127.0.0.1", port)) as listener:

            def serve() -> None:
                sock, _ = listener.accept()
                sock.recv(65_536)
                sock.sendall(head + body)

            threading.Thread(target=serve, daemon=True).start()
            assert answer(ask(NODES))["found"] == {"dead": ["default"], "prod-eu": ["default"]}


def test_objects_of_several_clusters_mix_in_one_result(places: Places, tmp_path: Path) -> None:
    """Lists read in turns, item by item, keep their clusters apart; the result may hold both."""
    config = places.config(
        tmp_path, f'[contexts.prod-eu]\n[contexts.prod-us]\n[contexts.incident]\nsnapshot = "{places.snapshot}"\n'
    )
    script = """
lists = [iter(k8s.context(c).coreV1().list_namespace()) for c in k8s.contexts()]
firsts = [next(each) for each in lists]
rest = [len(list(each)) for each in lists]
[[n.metadata.name for n in firsts], rest, firsts[0].kind, k8s.context("incident").name, k8s.name]
"""
    with server(config) as ask:
        names, rest, *_, incident, own = answer(ask(script))
        assert names[0] == names[1]  # of one API server, in which other tests make namespaces too
        assert (names[2], incident, own) == ("default", "incident", "prod-eu")
        assert rest[0] == rest[1] > rest[2] == 0


def test_prepared_calls_may_name_different_clusters(places: Places, tmp_path: Path) -> None:
    """A function made for each context asks its own, whenever it is called."""
    config = places.config(tmp_path, f'[contexts.prod-eu]\n[contexts.incident]\nsnapshot = "{places.snapshot}"\n')
    script = "calls = [lambda c=c: k8s.context(c).coreV1().list_namespace() for c in k8s.contexts()]\n"
    with server(config) as ask:
        assert answer(ask(script + "[len(call()) for call in reversed(calls)]"))[0] == 1


# --- which contexts there are ---


def test_without_a_list_there_is_one_context(places: Places) -> None:
    """A server that nobody gave a list serves the current context, by its name, and reaches no other."""
    script = """
def attempt(name):
    try:
        return len(k8s.context(name).coreV1().list_namespace()) > 0
    except ValueError as error:
        return str(error)
[k8s.contexts(), k8s.name, ctx.name, attempt("unlisted"), attempt("prod-eu")]
"""
    done = run("--kubeconfig", str(places.kubeconfig), script=script)
    names, own, known, listed, other = json.loads(done.stdout)
    assert names == ["unlisted"]
    assert (own, known, listed) == ("unlisted", "unlisted", True)
    assert "there is no context 'prod-eu'" in other


def test_the_list_comes_from_flag_variable_or_file(places: Places, tmp_path: Path) -> None:
    """Names in a flag, in a variable, or in the file; the default one is --context, else the first."""
    where = ("--kubeconfig", str(places.kubeconfig))
    assert json.loads(run(*where, "--contexts", "lab, prod-us").stdout) == ["lab", "prod-us"]
    assert json.loads(run(*where, KUBESCRIPT_CONTEXTS="prod-us,lab").stdout) == ["prod-us", "lab"]
    assert json.loads(run(*where, "--contexts", "lab,prod-us", "--context", "prod-us").stdout) == ["prod-us", "lab"]
    for number, text in enumerate(('contexts = ["prod-eu", "lab"]', "[contexts.prod-eu]\n[contexts.lab]\n")):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        assert json.loads(run(*where, "--config", str(file)).stdout) == ["prod-eu", "lab"]


def test_a_flag_chooses_among_the_tables_of_the_file(places: Places, tmp_path: Path) -> None:
    """`--contexts` takes some of the file's contexts, with their tables; it adds none without one."""
    config = places.config(tmp_path, "[contexts.lab]\ndeny_defaults = false\n[contexts.prod-eu]\n[contexts.prod-us]\n")
    script = "[k8s.contexts(), len(k8s.coreV1().list_secret_for_all_namespaces()) >= 0]"
    answer = run("--config", str(config), "--contexts", "lab,prod-us", script=script).stdout
    assert json.loads(answer.partition("\n")[0]) == [["lab", "prod-us"], True]  # then what was masked, if there was any
    refused = run("--config", str(config), "--contexts", "lab,prod-uk")
    assert refused.returncode == 1
    assert "no table for context `prod-uk`" in refused.stderr and "did you mean `prod-us`" in refused.stderr


REFUSED = {
    "an unknown name": ("[contexts.prod-uk]", "context prod-uk", "did you mean prod-us?"),
    "a snapshot that is not there": ('[contexts.old]\nsnapshot = "/nowhere"', "context old", "no snapshot at /nowhere"),
    "a kubeconfig that is not there": ('[contexts.x]\nkubeconfig = "/nowhere"', "context x", "/nowhere"),
    "a default that is not listed": ('context = "lab"\n[contexts.prod-eu]', "`lab` is not among `contexts`", "prod-eu"),
    "a snapshot for all": ('snapshot = "/x"\n[contexts.prod-eu]', "cannot be combined", "snapshot"),
    "a snapshot and a kubeconfig": (
        '[contexts.a]\nsnapshot = "/x"\nkubeconfig = "/y"',
        "`contexts.a`",
        "not both",
    ),
    "a misspelt rule": ("[contexts.lab]\nread_onyl = true", "`contexts.lab.read_onyl`", "`read_only`"),
    "a misspelt denial": (
        "[contexts.lab]\ndenied_resources = [{kin = 'Secret'}]",
        "`contexts.lab.denied_resources.0.kin`",
        "`kind`",
    ),
    "an empty name": ('[contexts.""]', "cannot be a context's name", ""),
    "a name with a line break": ('[contexts."a\\nb"]', "cannot be a context's name", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_list_stops_the_start(case: str, places: Places, tmp_path: Path) -> None:
    """A name that does not exist, or settings that contradict each other, are an exact error before anything is
    served; a right list then works."""
    text, *words = REFUSED[case]
    config = tmp_path / "kubescript.toml"
    config.write_text(f'kubeconfig = "{places.kubeconfig}"\n' * ("kubeconfig = " not in text.split("[")[0]) + text)
    done = run("--config", str(config))
    assert done.returncode == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(run("--kubeconfig", str(places.kubeconfig), "--contexts", "lab,dead").stdout) == ["lab", "dead"]


def test_what_holds_for_one_context_is_not_in_the_environment(places: Places) -> None:
    """A variable cannot open a context: its settings are in the file alone."""
    done = run("--kubeconfig", str(places.kubeconfig), "--contexts", "lab", KUBESCRIPT_CONTEXTS__LAB__READ_ONLY="false")
    assert done.returncode == 1
    assert "KUBESCRIPT_CONTEXTS__LAB__READ_ONLY" in done.stderr and "[contexts.<name>]" in done.stderr


def test_a_listed_cluster_that_is_down_does_not_stop_the_start(places: Places) -> None:
    """Connections are made when a script asks: a dead cluster on the list costs the start nothing."""
    before = {name: each.connections for name, each in places.odd.items()}
    done = run("--kubeconfig", str(places.kubeconfig), "--contexts", "dead,silent,drip")
    assert json.loads(done.stdout) == ["dead", "silent", "drip"]
    assert {name: each.connections for name, each in places.odd.items()} == before


def test_two_kubeconfigs_may_use_the_same_name(places: Places, tmp_path: Path) -> None:
    """`context` in a table says what the kubeconfig calls it, when the list calls it otherwise."""
    admin = str(places.plane.kubeconfig)  # its only context is called "test", as in the other one
    stranger = str(places.plane.folder / "stranger.kubeconfig")
    config = places.config(
        tmp_path,
        f'[contexts.one]\nkubeconfig = "{admin}"\ncontext = "test"\n'
        f'[contexts.two]\nkubeconfig = "{stranger}"\ncontext = "test"\n',
    )
    done = run("--config", str(config), script=NODES)
    value = json.loads(done.stdout.splitlines()[0])
    assert value["found"] == {"one": ["default"]}
    assert value["faults"]["two"].startswith("403 Forbidden: two: GET /api/v1/namespaces")


# --- each its own policy ---


POLICIES = """
[[denied_resources]]
kind = "ConfigMap"
[[denied_resources]]
group = ""
kind = "Secret"
[contexts.prod-eu]
[contexts.lab]
writes = "direct"
denied_resources = []
[contexts.prod-us]
deny_defaults = false
denied_resources = [{group = "", kind = "Pod"}]
"""
VERDICTS = """
def attempt(call):
    try:
        call()
        return "ok"
    except ApiException as error:
        return error.code or error.status
made = {"metadata": {"name": "made-by-contexts"}, "spec": {"limits": []}}
{c: {
    "secrets": attempt(lambda: k8s.context(c).coreV1().list_namespaced_secret("default")),
    "configmaps": attempt(lambda: k8s.context(c).coreV1().list_namespaced_config_map("default")),
    "pods": attempt(lambda: k8s.context(c).coreV1().list_namespaced_pod("default")),
    "write": attempt(lambda: k8s.context(c).coreV1().create_namespaced_limit_range("default", made)),
    "delete": attempt(lambda: k8s.context(c).coreV1().delete_namespaced_limit_range("made-by-contexts", "default")),
    "generic": attempt(lambda: k8s.context(c).get("secrets", namespace="default")),
} for c in k8s.contexts()}
"""


def test_each_context_has_its_own_policy(places: Places, tmp_path: Path) -> None:
    """Secrets permitted beside Secrets denied, a writable beside a read-only one, in one script; what a table does not
    say is as for the server."""
    config = places.config(tmp_path, POLICIES)
    denied, closed = "policy.denied_resource", "policy.read_only"
    with server(config) as ask:
        text = ask(VERDICTS)
        assert answer(text) == {
            "prod-eu": {
                "secrets": denied, "configmaps": denied, "pods": "ok", "write": closed, "delete": closed, "generic": denied,
            },
            "lab": {"secrets": "ok", "configmaps": "ok", "pods": "ok", "write": "ok", "delete": "ok", "generic": "ok"},
            "prod-us": {
                "secrets": "ok", "configmaps": "ok", "pods": denied, "write": closed, "delete": closed, "generic": "ok",
            },
        }  # fmt: skip
        assert "calls denied: prod-eu: list secrets in namespace default (policy.denied_resource) x2" in text
        assert "lab: list secrets" not in text
        assert "prod-us: list pods in namespace default (policy.denied_resource)" in text


MODES = """
[plans]
store = "{store}"
page = false
[[write_policy.approvals]]
namespaces = ["kube-*"]
count = 2
[contexts.prod-eu]
writes = "plan"
[contexts.lab]
writes = "direct"
"""
TRIED = """
def attempt(context, namespace="default"):
    try:
        made = {{"metadata": {{"name": "made-by-" + context}}, "spec": {{"limits": []}}}}
        k8s.context(context).coreV1().create_namespaced_limit_range(namespace, made)
        return "ok"
    except ApiException as error:
        return error.code or error.status
[{attempts}, sorted(each.metadata.name for each in k8s.context("lab").coreV1().list_namespaced_limit_range("default"))]
"""


@pytest.mark.parametrize("first", ["lab", "prod-eu"])
def test_one_script_either_plans_its_writes_or_sends_them(first: str, places: Places, tmp_path: Path) -> None:
    """The second of the two is refused, before it is sent; and the next script may do it."""
    config = places.config(tmp_path, MODES.format(store=tmp_path / "plans.db"))
    second = {"lab": "prod-eu", "prod-eu": "lab"}[first]
    there = {"lab": ["made-by-lab"], "prod-eu": []}
    clean = "k8s.context('lab').coreV1().delete_namespaced_limit_range('made-by-lab', 'default').kind"
    with server(config) as ask:
        text = ask(TRIED.format(attempts=f"attempt({first!r}), attempt({second!r})"))
        assert answer(text) == ["ok", "plan.overlap", there[first]]
        assert ("waits for a person" in text) == (first == "prod-eu"), text
        text = ask(TRIED.format(attempts=f"attempt({second!r})"))
        assert answer(text)[0] == "ok" and ("waits for a person" in text) == (second == "prod-eu"), text
        ask(clean)


def test_what_people_must_approve_is_not_sent_without_them(places: Places, tmp_path: Path) -> None:
    """A cluster of direct writes refuses what `approvals` names; where plans are made, they ask for the people."""
    config = places.config(tmp_path, MODES.format(store=tmp_path / "plans.db"))
    with server(config) as ask:
        text = ask(TRIED.format(attempts='attempt("lab", "kube-system")'))
        assert answer(text) == ["writes.approvals", []]
        refused = ask('k8s.context("lab").coreV1().delete_namespaced_config_map("a", "kube-public")')
        assert 'the operator can set `writes = "plan"`' in refused
        text = ask(TRIED.format(attempts='attempt("prod-eu", "kube-system")'))
        assert answer(text) == ["ok", []] and "waits for a person" in text


def test_read_only_on_the_command_line_closes_every_context(places: Places, tmp_path: Path) -> None:
    """The flag and the variable come before the file's tables; the opposite flag opens none that a table closes."""
    config = places.config(tmp_path, "[contexts.lab]\nread_only = false\n[contexts.prod-eu]\nread_only = true\n")
    script = """
def attempt(c):
    try:
        made = {"metadata": {"name": "x"}, "spec": {"limits": []}}
        return k8s.context(c).coreV1().create_namespaced_limit_range("default", made, dry_run="All").kind
    except ApiException as error:
        return error.code
[attempt(c) for c in k8s.contexts()]
"""
    where = ("--config", str(config))
    closed = "policy.read_only"
    assert answer(run(*where, script=script).stdout) == ["LimitRange", closed]
    assert answer(run(*where, "--read-only", script=script).stdout) == [closed, closed]
    assert answer(run(*where, script=script, KUBESCRIPT_READ_ONLY="true").stdout) == [closed, closed]
    assert answer(run(*where, "--no-read-only", script=script).stdout) == ["LimitRange", closed]


def test_a_server_with_one_writable_context_promises_no_read_only_tool(places: Places, tmp_path: Path) -> None:
    """Annotations and definition speak for the most that a script may do, and name the contexts."""

    async def definition(text: str) -> Any:
        async with clients.connect("memory", ["--config", str(places.config(tmp_path, text))]) as client:
            return (await client.list_tools()).tools[0]

    closed = anyio.run(definition, "[contexts.prod-eu]\n[contexts.lab]\n")
    assert closed.annotations.read_only_hint is True
    assert "Clusters: prod-eu, lab; k8s is the first." in closed.description
    mixed = anyio.run(definition, "[contexts.prod-eu]\n[contexts.lab]\nread_only = false\n")
    assert (mixed.annotations.read_only_hint, mixed.annotations.destructive_hint) == (False, True)
    assert "writes reach lab" in mixed.description
    single = anyio.run(definition, "")
    assert "Clusters:" not in single.description


# --- what people and machines are told ---


def test_info_and_health_say_nothing_of_the_clusters(places: Places, tmp_path: Path) -> None:
    """Who can reach the port learns neither a context's name nor an address; only whether anything can be written."""
    config = places.config(tmp_path, "[contexts.prod-eu]\n[contexts.lab]\nread_only = false\n")
    with clients.serving(["--toolsets", "code", "--config", str(config)]) as port:
        info, health = (httpx2.get(f"http://127.0.0.1:{port}/{page}", timeout=60).text for page in ("info", "health"))
    assert '"read_only":false' in info
    assert not any(word in info for word in ("prod-eu", '"lab"', "context"))
    assert not any(word in info + health for word in ("prod-eu", '"lab"', f":{places.plane.port}"))


def test_doctor_lists_the_contexts(places: Places, tmp_path: Path) -> None:
    """Each with its source and its rules; one that does not exist is named, and nobody is connected to."""
    config = places.config(
        tmp_path, f'[contexts.silent]\n[contexts.incident]\nsnapshot = "{places.snapshot}"\nread_only = false\n'
    )
    done = commands.run("doctor", "--offline", "--config", str(config))
    permitted = "read-only, denied: core/serviceaccounts/token; only metadata: core/Secret, core/secrets"
    assert f"ok      silent: kubeconfig {places.kubeconfig}, context silent, {permitted}; not asked" in done.stdout
    assert f"ok      incident: snapshot {places.snapshot}, writes wait for a person's approval" in done.stdout
    flags = ["--offline", "--kubeconfig", str(places.kubeconfig), "--contexts", "lab,prod-uk"]
    done = commands.run("doctor", "--json", *flags)
    report = json.loads(done.stdout)
    assert (done.returncode, report["healthy"]) == (1, False)
    assert [each["problem"] for each in report["contexts"]] == [
        "",
        "the kubeconfig has no context 'prod-uk'; did you mean prod-us?; `kubectl config get-contexts` lists its contexts",
    ]


def test_every_log_line_of_a_call_names_its_context(places: Places, tmp_path: Path) -> None:
    """One record per call, with the context it was for; with one cluster there is no such field."""
    config = places.config(tmp_path, "[contexts.prod-eu]\n[contexts.dead]\n")
    done = run("--config", str(config), "--log-level", "info", script=NODES)
    records = [json.loads(line) for line in done.stderr.splitlines() if '"broker.call"' in line]
    assert [(each["context"], each.get("status"), each.get("fault")) for each in records] == [
        ("prod-eu", 200, None),
        ("dead", 0, "cluster.unreachable"),
    ]
    alone = run("--kubeconfig", str(places.kubeconfig), "--log-level", "info", script=NODES)
    assert all("context" not in json.loads(line) for line in alone.stderr.splitlines() if '"broker.call"' in line)


# --- as scripts write it ---


def test_an_unknown_name_gets_the_nearest(places: Places, tmp_path: Path) -> None:
    """In the SDK, before any call; the script may go on."""
    config = places.config(tmp_path, "[contexts.prod-eu]\n[contexts.lab]\n")
    script = """
found = []
for name in ("prod-ue", "PROD-EU", "", None, 3, "unlisted"):
    try:
        found.append(k8s.context(name).name)
    except ValueError as error:
        found.append(str(error))
found
"""
    with server(config) as ask:
        assert answer(ask(script)) == [
            "there is no context 'prod-ue'; did you mean 'prod-eu'?",
            "there is no context 'PROD-EU'; did you mean 'prod-eu'?",
            "there is no context ''; there are: lab, prod-eu",
            "prod-eu",
            "there is no context 3; there are: lab, prod-eu",
            "there is no context 'unlisted'; there are: lab, prod-eu",
        ]


def test_each_context_has_its_own_discovery(places: Places, tmp_path: Path) -> None:
    """What one cluster serves is not taken for what another serves, in either order."""
    config = places.config(tmp_path, f'[contexts.prod-eu]\n[contexts.incident]\nsnapshot = "{places.snapshot}"\n')
    script = """
kinds = {c: len(k8s.context(c).discovery().api_resources()) for c in k8s.contexts()}
[kinds["prod-eu"] > 20, kinds["incident"], len(k8s.context("incident").get("namespaces")), k8s.context("prod-eu").get("ns")[0].kind]
"""
    with server(config) as ask:
        assert answer(ask(script)) == [True, 1, 1, "Namespace"]


OFFICIAL = {
    "the loop over contexts": """
contexts, active = config.list_kube_config_contexts()
result = [active["name"], {c["name"]: who(client.CoreV1Api(api_client=config.new_client_from_config(context=c["name"]))) for c in contexts}]
""",
    "loading one after the other": """
seen = {}
for name in ("lab", "incident", "prod-eu"):
    config.load_kube_config(context=name)
    seen[name] = who(client.CoreV1Api())
config.load_kube_config()
result = ["prod-eu" if who(client.CoreV1Api()) == seen["prod-eu"] else "?", seen]
""",
    "clients that outlive the next load": """
made = {}
for name in ("prod-eu", "incident", "lab"):
    config.load_kube_config(None, name)
    made[name] = client.CoreV1Api(client.ApiClient())
result = ["prod-eu", {name: who(api) for name, api in made.items()}]
""",
    "a configuration each": """
seen = {}
for name in ("prod-eu", "incident", "lab"):
    configuration = client.Configuration()
    config.load_kube_config(context=name, client_configuration=configuration)
    configuration.verify_ssl = False
    with client.ApiClient(configuration) as api:
        seen[name] = who(client.CoreV1Api(api))
result = ["prod-eu" if who(client.CoreV1Api()) == seen["prod-eu"] else "?", seen]
""",
    "a default configuration": """
seen = {}
for name in ("prod-eu", "incident", "lab"):
    configuration = client.Configuration()
    config.load_kube_config(context=name, client_configuration=configuration)
    client.Configuration.set_default(configuration)
    seen[name] = who(client.CoreV1Api())
result = ["prod-eu", seen]
""",
    "the dynamic client": """
from kubernetes import dynamic
seen = {}
for name in ("prod-eu", "incident", "lab"):
    api = dynamic.DynamicClient(config.new_client_from_config(context=name)).resources.get(api_version="v1", kind="Namespace")
    seen[name] = count(api.get().items)
result = ["prod-eu", seen]
""",
}  # fmt: skip


@pytest.mark.parametrize("way", OFFICIAL)
def test_the_official_ways_to_choose_a_cluster_choose_it(way: str, places: Places, tmp_path: Path) -> None:
    """Loaders, api_client, Configuration: what is made for a context asks that context, as in the official client."""
    config = places.config(
        tmp_path,
        f'[contexts.prod-eu]\n[contexts.incident]\nsnapshot = "{places.snapshot}"\n'
        "[contexts.lab]\ndenied_resources = [{kind = 'Namespace'}]\n",
    )
    script = f"""
from kubernetes import client, config
def count(items):
    return "one" if len(items) == 1 else "many"
def who(api):
    try:
        return count(api.list_namespace().items)
    except client.ApiException as error:
        return error.code
try:
{chr(10).join("    " + line for line in OFFICIAL[way].splitlines())}
except client.ApiException as error:
    result = str(error)
result
"""
    done = run("--config", str(config), script=script)
    expected = {"prod-eu": "many", "incident": "one", "lab": "policy.denied_resource"}
    if way == "the dynamic client":
        assert "lab: list namespaces" in done.stdout and "policy.denied_resource" in done.stdout
    else:
        assert answer(done.stdout) == ["prod-eu", expected], done.stdout


def test_a_loader_refuses_a_context_that_is_not_listed(places: Places, tmp_path: Path) -> None:
    """`load_kube_config(context=…)` for another cluster is an error a script can catch, never the wrong cluster."""
    config = places.config(tmp_path, "[contexts.prod-eu]\n[contexts.lab]\n")
    script = """
from kubernetes import client, config
found = []
for load in (config.load_kube_config, config.new_client_from_config):
    try:
        found.append(load(context="prod-us"))
    except config.ConfigException as error:
        found.append(str(error))
found
"""
    with server(config) as ask:
        assert answer(ask(script)) == ["there is no context 'prod-us'; did you mean 'prod-eu'?"] * 2
    alone = run("--kubeconfig", str(places.kubeconfig), "--context", "lab", script=script)
    assert answer(alone.stdout) == ["there is no context 'prod-us'; there are: lab"] * 2


# --- the page about it ---

PAGE = paths.ROOT / "docs" / "configure.md"


def block(language: str) -> str:
    """The one example in this language of what the page says of several clusters."""
    text = PAGE.read_text("utf-8").partition("## Several clusters\n")[2].partition("### A fleet\n")[0]
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


def test_the_example_of_the_page_does_what_the_page_says(places: Places, tmp_path: Path) -> None:
    """docs/configure.md: its configuration serves four clusters, each as its comment says, and its script runs."""
    text = block("toml").replace("/var/lib/kubescript/incident-42", str(places.snapshot))
    text = text.replace("/etc/kubescript/us.kubeconfig", str(places.plane.kubeconfig)).replace("admin@us", "test")
    config = places.config(tmp_path, text)
    with server(config) as ask:
        value = answer(ask(block("python")))
        assert list(value["nodes"]) == ["prod-eu", "prod-us", "lab"]
        assert "cluster.not_captured" in value["down"]["incident-42"]
        verdicts = answer(ask(VERDICTS))
        allowed = {name: [what for what, verdict in each.items() if verdict == "ok"] for name, each in verdicts.items()}
        assert allowed == {
            "prod-eu": ["secrets", "pods", "generic"],
            "prod-us": ["secrets", "configmaps", "pods", "generic"],
            "incident-42": [],
            "lab": ["secrets", "pods", "write", "generic"],  # what is only planned is not there to be deleted
        }


# --- names that do not resolve ---

DEAF = """
mount --bind "$1" /etc/resolv.conf
shift
exec "$@"
"""


@pytest.mark.promise("F-09")
@pytest.mark.skipif(os.geteuid() != 0, reason="a name server listens on a privileged port")
def test_a_name_server_that_is_silent_costs_no_more_than_patience(places: Places, tmp_path: Path) -> None:
    """A cluster whose name nobody resolves, as when a VPN is down, is a named fault in time; the others answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.9", 53))
        resolver = tmp_path / "resolv.conf"
        resolver.write_text("nameserver 127.0.0.9\noptions timeout:30 attempts:5\n")
        far = write(tmp_path / "far", entry("far", {"server": "https://api.far.example:6443"}, {}))
        config = places.config(
            tmp_path,
            f"[limits]\ndefault_timeout_ms = 300000\npatience_ms = {PATIENCE_MS}\n"
            f'[contexts.far]\nkubeconfig = "{far}"\n[contexts.prod-eu]\n',
        )
        # The installed program: a warm process is in another mount namespace.
        command = ["unshare", "--mount", "sh", "-ec", DEAF, "deaf", str(resolver), clients.INSTALLED, "run", "-"]
        started = time.monotonic()
        done = subprocess.run(
            [*command, "--config", str(config)], input=NODES, capture_output=True, text=True, timeout=240
        )
        took = time.monotonic() - started
        assert deaf.recv(512), "the name server was asked"
    value = answer(done.stdout)
    assert value["found"] == {"prod-eu": ["default"]}
    assert "cluster.timeout" in value["faults"]["far"]
    assert took < 100, took  # the resolver would take 150 s
