"""What a server sends to its clusters whose callers act by their own tokens: the API server is a recorder behind TLS that
asks for certificates, and the kubeconfig is full of the server's own credentials."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import anyio
import httpx2
import pytest

from kubescript.auth import claims as token_claims
from kubescript.cluster import acting
from kubescript_safety.controlplane import pki
from security_tests import recorder
from security_tests.identity_provider import AUDIENCE, Provider
from tests.kit import callers, clients, http_server, patience, tls_relay

GKE: Final = "gke_shop-prod_europe-west1_one"
CONTEXTS: Final = ("certified", "filed", "plugged", GKE)
OWN: Final = "own-token-of-the-server"
SCRIPT: Final = f"""
for name in {CONTEXTS!r}:
    core = k8s.context(name).CoreV1Api()
    core.list_namespaced_pod('home'), core.read_namespaced_pod('one', 'home')
    core.read_namespaced_pod_log('one', 'home')
    core.create_namespaced_config_map('home', {{'metadata': {{'name': 'made'}}}})
    for event in watch.Watch().stream(core.list_namespaced_pod, 'home', timeout_seconds=1):
        break
    k8s.context(name).get('things.core.example', namespace='home')
'done'
"""
PLUGIN: Final = f"""#!{sys.executable}
import json, pathlib
pathlib.Path({{marker!r}}).write_text("started")
status = {{{{"token": {OWN!r}, "expirationTimestamp": "2099-01-01T00:00:00Z"}}}}
print(json.dumps({{{{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}}}}))
"""


class Far:
    """The cluster, and a kubeconfig with every kind of credential that a server may have for it."""

    def __init__(self, folder: Path, cluster: recorder.Recorder) -> None:
        self.recorder = cluster
        self.marker = folder / "started"
        authority = pki.Authority()
        (folder / "ca.crt").write_bytes(authority.certificate)
        own = authority.client("own", ("system:masters",))
        self.relay = tls_relay.Relay(cluster.port, folder, authority)
        programs = folder / "bin"
        programs.mkdir()
        for name in ("gke-gcloud-auth-plugin", "plugin"):
            program = programs / name
            program.write_text(PLUGIN.format(marker=str(self.marker)))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        (folder / "own-token").write_text(OWN)
        called = {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "Never"}
        certificate = {
            "client-certificate-data": base64.b64encode(own.certificate).decode(),
            "client-key-data": base64.b64encode(own.key).decode(),
        }
        users: dict[str, dict[str, Any]] = {
            "certified": {**certificate, "token": OWN},
            "filed": {"tokenFile": str(folder / "own-token")},
            "plugged": {"exec": {**called, "command": str(programs / "plugin")}},
            GKE: {"exec": {**called, "command": "gke-gcloud-auth-plugin"}},
        }
        reached = {"server": f"https://127.0.0.1:{self.relay.port}", "certificate-authority": str(folder / "ca.crt")}
        self.kubeconfig = folder / "config"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "certified",
            "clusters": [{"name": "far", "cluster": reached}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [{"name": name, "context": {"cluster": "far", "user": name}} for name in users],
        }))  # fmt: skip

    def flags(self, settings: Path, toolsets: str = "code") -> tuple[str, ...]:
        """Those of a server in front of it, which may write."""
        contexts = ",".join(CONTEXTS)
        return (
            "--toolsets", toolsets, "--kubeconfig", str(self.kubeconfig), "--contexts", contexts, "--writes", "direct",
            "--config", str(settings),
        )  # fmt: skip


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    with recorder.Recorder() as cluster:
        made = Far(tmp_path_factory.mktemp("far"), cluster)
        yield made
        made.relay.close()


@pytest.fixture(scope="module")
def port(far: Far, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server whose callers act by tokens of the provider."""
    settings = tmp_path_factory.mktemp("passing") / "settings.toml"
    auth = f'acts_as = "caller"\n[auth]\nissuer = "{provider.url}"\naudience = ["{AUDIENCE}"]\n'
    contexts = [f'[contexts.{name}]\naudience = "{AUDIENCE}"\n' for name in CONTEXTS]
    settings.write_text("".join((auth, *contexts)))
    with http_server.serving(far.flags(settings, "code,cluster"), PATH=far.path) as opened:
        yield opened


def answered(port: int, token: str, script: str) -> str:
    """What a script answers to a caller."""

    async def ask() -> str:
        async with callers.connected(port, token) as client:
            return clients.text(await clients.evaluate(client, script))

    return anyio.run(ask)


@pytest.mark.promise("H-06")
def test_no_credential_of_the_server_goes_with_a_callers_token(far: Far, provider: Provider, port: int) -> None:
    """By no context and in no request: reads, logs, watches, writes, discovery, and what is sent again after a refusal.
    No plugin runs, nor does a login by a tool."""
    far.recorder.take()
    far.recorder.faults = [("home/pods", 401), ("home/pods", 429), ("/pods/one ", 401), ("/pods/one/log", 401)]
    token = provider.token()
    assert answered(port, token, SCRIPT) == "done"
    assert far.recorder.faults == []
    newest = provider.token(provider.claims(exp=provider.claims()["exp"] + 60))
    assert answered(port, newest, "len(k8s.CoreV1Api().list_namespaced_pod('home').items)") == "1"

    async def log_in() -> str:
        async with callers.connected(port, token) as client:
            given = {"cluster": GKE}
            return clients.whole(await client.call_tool("gke_auth", given))

    assert "keeps its own credentials" in anyio.run(log_in)
    seen = far.recorder.take()
    assert len(seen) >= 30
    for one in seen:
        assert one.header("Authorization") in ([f"Bearer {token}"], [f"Bearer {newest}"]), one.line
        assert OWN not in repr(one)
    assert seen[-1].header("Authorization") == [f"Bearer {newest}"]
    assert far.relay.certificates and not any(far.relay.certificates)
    assert not far.marker.exists()


@pytest.mark.promise("H-06")
def test_a_token_that_runs_out_is_followed_by_none(
    far: Far, provider: Provider, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller's session outlives his token: calls in it fail, and none goes out as somebody else or as nobody."""
    far.recorder.take()
    assert answered(port, provider.token(), "1") == "1"
    claims = provider.claims()
    soon = provider.token(provider.claims(sub="dora", exp=claims["iat"] + 4))
    # His token runs out when the cluster has got the first request, however long a script takes to begin.
    clock = SimpleNamespace(time=lambda: claims["iat"] + 5 * bool(far.recorder.seen))
    monkeypatch.setattr(acting, "time", clock)
    script = "core = k8s.CoreV1Api()\ncore.list_namespaced_pod('home')\ncore.list_namespaced_pod('home')"
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "evaluate_script", "arguments": {"script": script},
    }}  # fmt: skip
    headers = {"Authorization": f"Bearer {soon}", "Accept": "application/json"}
    said = httpx2.post(f"http://127.0.0.1:{port}/mcp", json=call, headers=headers, timeout=60)
    assert "the caller's token has expired" in said.text
    assert [one.header("Authorization") for one in far.recorder.take()] == [[f"Bearer {soon}"]]
    monkeypatch.setattr(token_claims, "LEEWAY_S", 1)  # clocks may differ by ten seconds
    info, bearer = f"http://127.0.0.1:{port}/info", {"Authorization": f"Bearer {soon}"}
    patience.until(lambda: httpx2.get(info, headers=bearer, timeout=60).status_code == 401)
    assert answered(port, provider.token(), "len(k8s.CoreV1Api().list_namespaced_pod('home').items)") == "1"
    assert far.relay.certificates and not any(far.relay.certificates)


REVIEW: Final = "POST /apis/authentication.k8s.io/v1/tokenreviews "


@pytest.mark.promise("H-06")
def test_only_the_question_whose_a_token_is_has_the_servers_credentials(far: Far, tmp_path: Path) -> None:
    """The API server is asked about a stranger's token, with the server's own; of a stranger nothing else is sent."""
    settings = tmp_path / "settings.toml"
    settings.write_text('acts_as = "caller"\n[auth]\ntoken_review = true\n')
    far.recorder.take()
    with http_server.serving(far.flags(settings), PATH=far.path) as port:
        for _ in range(3):
            stranger = {"Authorization": "Bearer token-of-a-stranger"}
            assert httpx2.get(f"http://127.0.0.1:{port}/info", headers=stranger, timeout=60).status_code in {401, 503}
    seen = far.recorder.take()
    assert [one.line for one in seen] == [REVIEW + "HTTP/1.1"], "and once, while its answer counts"
    assert seen[0].header("Authorization") == [f"Bearer {OWN}"]
    assert seen[0].document["spec"] == {"token": "token-of-a-stranger"}
    assert seen[0].header("Impersonate-User") == []
