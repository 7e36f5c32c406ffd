"""Whoever may write a hub's objects adds clusters to the fleet, and gains nothing else: no program, no file, no
credentials of this server or of its callers."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from kubescript import app, errors
from kubescript.changes import plan, writer
from kubescript_safety.controlplane import pki
from tests.kit import api_server, callers, clients, cluster_api, commands, patience, planned
from tests.kit.controlplane.server import ControlPlane
from tests.kit.hub import Hub

pytestmark = pytest.mark.cluster

CANARY = "c4n4ry-5e1f"
IDENTITY = "GET /api/v1/namespaces/kube-system HTTP/1.1"
SETTINGS = """
[contexts.home]
kubeconfig = "{kubeconfig}"
context = "test"
[fleet]
source = "secrets"
kubeconfig = "{kubeconfig}"
namespace = "{namespace}"
label_selector = "fleet={label}"
"""
PROVIDER = """
[auth]
audience = ["kubescript"]
[auth.introspection]
url = "http://127.0.0.1:{port}/introspect"
client_id = "kubescript"
client_secret_file = "{secret}"
"""


@pytest.fixture(scope="module")
def hub(scratch: ControlPlane, namespace: str) -> Hub:
    return Hub(scratch.kubeconfig, namespace)


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[tuple[api_server.Server, dict[str, Any]]]:
    """An API server of a stranger's, and the section of a kubeconfig that names it."""
    authority = pki.Authority()
    authority.serving(["stranger"], ["127.0.0.1"]).write(tmp_path, "stranger")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")
    server = api_server.Server(tls)
    yield server, {"server": server.url, "certificate-authority-data": base64.b64encode(authority.certificate).decode()}
    server.close()


def settings(hub: Hub, label: str) -> str:
    """A server's own cluster, and a fleet of the Secrets with this label."""
    return SETTINGS.format(kubeconfig=hub.kubeconfig, namespace=hub.namespace, label=label)


def of(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    """A kubeconfig of these sections."""
    return {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }


def test_only_a_plain_kubeconfig_makes_a_cluster(hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Others are left out and named in the log, without a word of what they have; they end nothing, and one that is
    mended is a cluster at once."""
    touched = tmp_path / "touched"
    cluster, token = hub.cluster(), {"token": CANARY}
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(touched), CANARY]}
    many = {f"label-{number}": "x" for number in range(100)}
    planted: dict[str, tuple[dict[str, object], dict[str, str]]] = {
        "exec": ({"kubeconfig": of(cluster, {"exec": program})}, {}),
        "provider": ({"kubeconfig": of(cluster, {"auth-provider": {"name": "gcp", "config": token}})}, {}),
        "file": ({"kubeconfig": of(cluster, {"tokenFile": f"/{CANARY}"})}, {}),
        "proxy": ({"kubeconfig": of(cluster | {"proxy-url": f"http://{CANARY}"}, token)}, {}),
        "insecure": ({"kubeconfig": of({"server": hub.server, "insecure-skip-tls-verify": True}, token)}, {}),
        "plain": ({"kubeconfig": of({"server": "http://127.0.0.1"}, token)}, {}),
        "query": ({"kubeconfig": of(cluster | {"server": f"{hub.server}/x?{CANARY}="}, token)}, {}),
        "impersonates": ({"kubeconfig": of(cluster, token | {"as": CANARY})}, {}),
        "header": ({"kubeconfig": of(cluster, {"token": f"a\r\n{CANARY}: b"})}, {}),
        "large": ({"kubeconfig": of(cluster, {"token": CANARY * 10_000})}, {}),
        "key": ({"kubeconfig": of(cluster, {"client-key-data": CANARY * 1_000})}, {}),
        "deep": ({"kubeconfig": "[" * 60_000}, {}),
        "alias": ({"kubeconfig": f"a: &a {CANARY}\nb: *a"}, {}),
        "tag": ({"kubeconfig": f"contexts: !!timestamp {CANARY}"}, {}),
        "labels": ({"kubeconfig": of(cluster, token)}, many),
        "empty": ({"a": CANARY, "b": CANARY}, {}),
    }
    label = {"fleet": "plain"}
    for name, (data, labels) in planted.items():
        hub.put(hub.secret(name, data, label | labels))
    hub.put(hub.secret("good", {"kubeconfig": hub.member("good")}, label))
    config = tmp_path / "kubescript.toml"
    config.write_text(settings(hub, "plain"))
    caplog.set_level(logging.WARNING)

    async def ask(opened: app.Application) -> str:
        async with clients.joined(opened) as client:
            return clients.text(await clients.evaluate(client, "k8s.context('good').coreV1().list_node()"))

    with clients.application(["--toolsets", "code", "--config", str(config)]) as opened:
        patience.until(lambda: list(opened.fleet.members()) == ["good"])
        assert f"{hub.namespace}:good" in anyio.run(ask, opened)
        assert opened.load.left_out == len(planted)
        for name in planted:
            assert f"{name} is left out" in caplog.text or f"/{name} is left out" in caplog.text
        hub.put(hub.secret("exec", {"kubeconfig": hub.member("good")}, label))
        patience.until(lambda: list(opened.fleet.members()) == ["exec", "good"])
        patience.until(lambda: opened.load.left_out == len(planted) - 1)
    assert not touched.exists()
    assert CANARY not in caplog.text


def test_a_flood_of_newer_objects_takes_no_members_place(
    hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither of a server that runs nor of one that starts, though the newer ones are first by name; the log and
    a metric say that there are too many."""
    config, label = tmp_path / "kubescript.toml", {"fleet": "flood"}
    config.write_text(settings(hub, "flood") + "max_clusters = 2\n")
    hub.put(hub.secret("z-first", {"kubeconfig": hub.member("first")}, label))
    hub.put(hub.secret("z-second", {"kubeconfig": hub.member("second")}, label))
    _wait_for_a_later_time()
    flood = [hub.secret(f"a-{number}", {"kubeconfig": hub.member("flood")}, label) for number in range(25)]
    with clients.application(["--toolsets", "code", "--config", str(config)]) as running:
        patience.until(lambda: list(running.fleet.members()) == ["z-first", "z-second"])
        assert running.load.is_fleet_ok
        for each in flood:
            hub.put(each)
        patience.until(lambda: "too many secrets" in caplog.text)
        with clients.application(["--toolsets", "code", "--config", str(config)]) as fresh:
            patience.until(lambda: list(fresh.fleet.members()) == ["z-first", "z-second"])
        assert list(running.fleet.members()) == ["z-first", "z-second"]
        assert not running.load.is_fleet_ok


def test_a_flood_of_older_secrets_takes_no_place_of_a_clusters(hub: Hub, tmp_path: Path) -> None:
    """Whoever may make Secrets for Cluster API, and no Clusters, keeps no Cluster out; one that comes after the flood is
    a member too."""
    hub.put(cluster_api.definition())
    contract = {"cluster.x-k8s.io/cluster-name": "flood"}
    for number in range(25):
        hub.put(hub.secret(f"a{number}-kubeconfig", {"value": "x"}, contract))
    _wait_for_a_later_time()
    fleet = {
        "source": "cluster-api",
        "kubeconfig": str(hub.kubeconfig),
        "label_selector": "in=flood",
        "max_clusters": 2,
    }
    config = tmp_path / "kubescript.yaml"
    config.write_text(json.dumps({"fleet": fleet}))
    _provision(hub, "first")
    with clients.application(["--toolsets", "code", "--config", str(config)]) as opened:
        patience.until(lambda: list(opened.fleet.members()) == [f"{hub.namespace}.first"])
        _provision(hub, "second")
        patience.until(
            lambda: list(opened.fleet.members()) == [f"{hub.namespace}.{name}" for name in ("first", "second")]
        )


def _provision(hub: Hub, name: str) -> None:
    """Makes a Cluster of Cluster API, and then its Secret."""
    spec = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
    meta = {"name": name, "namespace": hub.namespace, "labels": {"in": "flood"}}
    kind = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}
    hub.put(kind | {"metadata": meta, "spec": spec, "status": {"phase": "Provisioned"}})
    contract = {"cluster.x-k8s.io/cluster-name": name}
    hub.put(hub.secret(f"{name}-kubeconfig", {"value": hub.member(name)}, contract))


def _wait_for_a_later_time() -> None:
    """An API server's times of creation are whole seconds."""
    now = int(time.time())
    patience.until(lambda: int(time.time()) > now)


def test_a_strangers_server_gets_the_strangers_credentials_alone(
    hub: Hub, stranger: tuple[api_server.Server, dict[str, Any]], tmp_path: Path
) -> None:
    """And where it sends requests on to, none arrives."""
    server, cluster = stranger
    hub.put(hub.secret("theirs", {"kubeconfig": of(cluster, {"token": "their-own"})}, {"fleet": "stranger"}))
    inside = api_server.Server()
    server.steps = [api_server.whole(b"{}", "307 Temporary Redirect", f"Location: {inside.url}/api/v1/secrets")] * 2
    config = tmp_path / "kubescript.toml"
    config.write_text(settings(hub, "stranger"))
    with clients.asking("--config", str(config)) as ask:
        clients.text(ask("k8s.context('theirs').coreV1().list_node()"))
        nodes = "k8s.context('home').coreV1().list_node()"
        assert clients.text(ask(f"len({nodes}.items) >= 0")) == "true"
    inside.close()
    assert server.requests
    assert not inside.requests
    for request in server.requests:
        headers = [line for line in request.splitlines() if line.lower().startswith(("authorization", "imperson"))]
        assert headers == ["Authorization: Bearer their-own"]


class Introspection(http.server.BaseHTTPRequestHandler):
    """Calls each token active, for this server and for clusters."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps({"active": True, "sub": "bob", "aud": ["kubescript", "clusters"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[str]:
    """The settings of a server whose clusters take the callers' tokens by their audience."""
    (tmp_path / "secret").write_text("x")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Introspection) as served:
        threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield PROVIDER.format(port=served.server_port, secret=tmp_path / "secret")
        served.shutdown()


@pytest.mark.parametrize("way", ["token_review", "audience"])
def test_no_callers_token_goes_to_a_strangers_server(
    way: str, hub: Hub, stranger: tuple[api_server.Server, dict[str, Any]], provider: str, tmp_path: Path
) -> None:
    """With `acts_as = "caller"` the server's own cluster gets it, and a found one of which no audience is stated does
    not, though the server's is."""
    server, cluster = stranger
    hub.put(hub.secret("theirs", {"kubeconfig": of(cluster, {"token": "their-own"})}, {"fleet": "callers"}))
    people = callers.Callers(hub.kubeconfig, tmp_path)

    async def ask(port: int) -> tuple[str, str]:
        async with callers.connected(port, people.account_token("bob")) as client:
            theirs = await clients.evaluate(client, "k8s.context('theirs').coreV1().list_node()")
            own = await clients.evaluate(client, "k8s.context('home').coreV1().list_node()")
            return clients.text(theirs), clients.text(own)

    given, known = ("", "[auth]\ntoken_review = true") if way == "token_review" else ('audience = "clusters"', provider)
    with people.serving('acts_as = "caller"', given, settings(hub, "callers"), known) as port:
        theirs, own = anyio.run(ask, port)
    assert "cluster.auth" in theirs
    assert "callers-shop:bob" in own
    assert not server.requests


def test_no_found_cluster_says_who_calls(
    hub: Hub, stranger: tuple[api_server.Server, dict[str, Any]], tmp_path: Path
) -> None:
    """Though it is the default one: it gets no caller's token, and a token of a stranger's lets no caller in. Without a
    cluster of the settings that could say it, the server does not start."""
    server, cluster = stranger
    hub.put(hub.secret("theirs", {"kubeconfig": of(cluster, {"token": "their-own"})}, {"fleet": "reviews"}))
    people = callers.Callers(hub.kubeconfig, tmp_path)
    tables = ('context = "theirs"', settings(hub, "reviews"), "[auth]\ntoken_review = true")

    async def ask(port: int, token: str) -> str:
        async with callers.connected(port, token) as client:
            return clients.text(await clients.evaluate(client, "len(k8s.context('home').coreV1().list_node()) >= 0"))

    with people.serving(*tables) as port:
        assert anyio.run(ask, port, people.account_token("bob")) == "true"
        headers = {"Authorization": "Bearer made-up-by-a-stranger"}
        assert httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, timeout=60).status_code == 401
    assert not server.requests
    alone = (
        "\n".join(tables)
        .replace("[contexts.home]", "")
        .replace(f'kubeconfig = "{hub.kubeconfig}"\ncontext = "test"', "")
    )
    file = tmp_path / "alone.toml"
    file.write_text(alone)
    done = commands.run("--config", str(file), "--port", "0", folder=tmp_path)
    assert done.returncode == 1 and "auth.token_review needs a cluster of the settings" in done.stderr


@contextlib.contextmanager
def planning(hub: Hub, folder: Path, name: str) -> Iterator[tuple[planned.Plans, Callable[[dict[str, Any]], None]]]:
    """Plans for a found cluster of this name, and what gives the name to another kubeconfig."""
    label = {"fleet": name}
    rights = [
        {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["get", "list", "create", "patch"]}
    ]
    hub.bind(name, rights, in_all=True)
    hub.put(hub.secret(name, {"kubeconfig": hub.member(name)}, label))
    config = folder / "kubescript.toml"
    config.write_text(f'writes = "plan"\nplans.store = "{folder}/plans"\n{settings(hub, name)}')
    with clients.application(["--toolsets", "code", "--config", str(config)]) as opened:
        patience.until(lambda: list(opened.fleet.members()) == [name])

        def move(kubeconfig: dict[str, Any]) -> None:
            before = opened.fleet.members()
            hub.put(hub.secret(name, {"kubeconfig": kubeconfig}, label))
            patience.until(lambda: opened.fleet.members() is not before)

        yield planned.Plans(opened, hub.namespace), move


def repeat(server: api_server.Server, shown: plan.Plan) -> None:
    """Lets a server answer with the uids of a plan's cluster and of its object."""
    _, _, cluster = shown.cluster.rpartition(" ")
    of_object = shown.steps[0].precondition

    def answer(sock: socket.socket) -> None:
        kind, uid = "ConfigMap", of_object.uid if of_object is not None else ""
        if "/api/v1/namespaces/kube-system " in server.requests[-1]:
            kind, uid = "Namespace", cluster
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "resourceVersion": "1", "uid": uid}}
        sock.sendall(api_server.whole(json.dumps(body).encode()))

    server.steps = [answer] * 50


def first_lines(server: api_server.Server) -> list[str]:
    """What a server was asked for."""
    return [head.split("\r\n")[0] for head in server.requests]


def test_a_plan_is_applied_to_the_very_server_that_it_was_shown_for(
    hub: Hub, stranger: tuple[api_server.Server, dict[str, Any]], tmp_path: Path
) -> None:
    """A server that takes the cluster's place and repeats its uid gets none of the plan's requests, and neither does one
    behind the same address under another name. In the old place, the plan is applied."""
    server, cluster = stranger
    with planning(hub, tmp_path, "planned") as (plans, move):
        shown = plans.of(
            "api = k8s.context('planned').coreV1()\n"
            "api.create_namespaced_config_map(NAMESPACE, {'metadata': {'name': 'planned'}, 'data': {'a': '1'}})"
        )
        repeat(server, shown)
        move(of(cluster, {"token": "their-own"}))
        with pytest.raises(errors.PlanError, match="for another address of this one"):
            plans.apply(shown)
        assert first_lines(server) == [IDENTITY]
        good = hub.member("planned")
        beside = hub.cluster() | {"tls-server-name": "localhost"}
        move(good | {"clusters": [{"name": "c", "cluster": beside}]})
        with pytest.raises(errors.PlanError, match="for another address of this one"):
            plans.resume(shown)
        move(good)
        assert plans.resume(shown).state == "applied"


def test_a_plan_is_taken_back_on_the_very_server_that_it_has_changed(
    hub: Hub, stranger: tuple[api_server.Server, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes the cluster's place and repeats its uids gets no former value, and no plan is made for it, also
    when it does so while the plan is being taken back. In the old place, the plan is taken back."""
    server, cluster = stranger
    good, theirs = hub.member("undone"), of(cluster, {"token": "their-own"})
    meta = {"name": "undone", "namespace": hub.namespace}
    hub.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"is": "former"}})
    with planning(hub, tmp_path, "undone") as (plans, move):
        done = plans.apply(
            plans.of(
                "api = k8s.context('undone').coreV1()\n"
                "api.patch_namespaced_config_map('undone', NAMESPACE, {'data': {'is': 'new'}})"
            )
        )
        repeat(server, done.plan)
        move(theirs)
        with pytest.raises(errors.PlanError, match="has changed another cluster"):
            plans.undo(done)
        assert first_lines(server) == [IDENTITY]
        move(good)
        try_write = writer.Writer.plan

        def move_after(*arguments: Any) -> bool:
            is_planned = try_write(*arguments)
            move(theirs)
            return is_planned

        with monkeypatch.context() as patched:
            patched.setattr(writer.Writer, "plan", move_after)
            with pytest.raises(errors.PlanError, match="has changed another cluster"):
                plans.undo(done)
        assert all(line.startswith("GET ") for line in first_lines(server))
        move(good)
        assert plans.apply(plans.undo(done)).state == "applied"
