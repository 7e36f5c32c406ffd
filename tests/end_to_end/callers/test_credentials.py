"""Credentials as clusters really give them out, before a real API server: programs, rotated files, a pod's account.

Through real servers and scripts; who the API server took us for is asked of the API server.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import anyio
import kubernetes.client
import kubernetes.config
import pytest
import yaml
from mcp.client import Client

from kubescript import cancellation
from kubescript.cluster import live
from kubescript.request import request
from kubescript.wire import protocol
from tests.kit import clients, patience
from tests.kit.controlplane.server import ControlPlane

WHO = "k8s.authenticationV1().create_self_subject_review({}).status.user_info.username"
EACH = """
def who(name):
    try:
        return k8s.context(name).authenticationV1().create_self_subject_review({}).status.user_info.username
    except ApiException as error:
        return error.code or error.status
{name: who(name) for name in k8s.contexts()}
"""
ACCOUNT = "system:serviceaccount:default:reader"


class Accounts:
    """Service account tokens of the control plane, as a kubelet or a cloud's plugin would ask for them."""

    def __init__(self, plane: ControlPlane) -> None:
        api: Any = kubernetes.config.new_client_from_config(str(plane.kubeconfig))  # type: ignore[no-untyped-call]
        client: Any = kubernetes.client
        self._core = client.CoreV1Api(api)
        rbac = client.RbacAuthorizationV1Api(api)
        self._core.create_namespaced_service_account("default", {"metadata": {"name": "reader"}})
        rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]}
        rbac.create_cluster_role({"metadata": {"name": "reader"}, "rules": [rule]})
        rbac.create_cluster_role_binding({
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        })  # fmt: skip

    def token(self, bound_to: str = "") -> str:
        """A new token; gone with the Secret it is bound to."""
        spec: dict[str, Any] = {"expirationSeconds": 3600}
        if bound_to:
            secret = self._core.create_namespaced_secret("default", {"metadata": {"name": bound_to}})
            spec["boundObjectRef"] = {
                "apiVersion": "v1", "kind": "Secret", "name": bound_to, "uid": secret.metadata.uid,
            }  # fmt: skip
        asked = self._core.create_namespaced_service_account_token("reader", "default", {"spec": spec})
        return str(asked.status.token)

    def revoke(self, bound_to: str) -> None:
        """End every token bound to this Secret."""
        self._core.delete_namespaced_secret(bound_to, "default")


@pytest.fixture(scope="module")
def accounts(control_plane: ControlPlane) -> Accounts:
    return Accounts(control_plane)


def kubeconfig(plane: ControlPlane, path: Path, users: dict[str, dict[str, Any]]) -> Path:
    """A context for each user, all of this control plane, with its CA in the file."""
    authority = base64.b64encode((plane.folder / "ca.crt").read_bytes()).decode()
    cluster = {"server": plane.url, "certificate-authority-data": authority}
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(users)),
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
    }))  # fmt: skip
    return path


PLUGIN = """#!{python}
import json, os, pathlib, sys, time
folder = pathlib.Path(__file__).parent
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
(folder / "asked").write_text(json.dumps(asked))
with (folder / "runs").open("a") as runs:
    runs.write("x")
{body}
print(json.dumps({{"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": status}}))
"""
TOKEN = 'status = {"token": pathlib.Path(sys.argv[1]).read_text(), "expirationTimestamp": os.environ["EXPIRES"]}'
CERTIFICATE = (
    'status = {"clientCertificateData": pathlib.Path(sys.argv[1] + ".crt").read_text(),'
    ' "clientKeyData": pathlib.Path(sys.argv[1] + ".key").read_text()}'
)


def plugin(folder: Path, body: str, *arguments: str, expires: str = "2099-01-01T00:00:00Z", **more: Any) -> Any:
    """A user whose credentials come from a program."""
    folder.mkdir()
    program = folder / "plugin"
    program.write_text(PLUGIN.format(python=sys.executable, body=body))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    called: dict[str, Any] = {
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": str(program),
        "args": list(arguments), "env": [{"name": "EXPIRES", "value": expires}],
    }  # fmt: skip
    return {"exec": called | more}


def served(path: Path, names: str, *flags: str) -> Any:
    return clients.serving(["--toolsets", "code", "--kubeconfig", str(path), "--contexts", names, *flags])


def ask(port: int, script: str = EACH, timeout: int = 20_000) -> str:
    """One script to a running server."""

    async def run() -> str:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return clients.text(await clients.evaluate(client, script, timeout=timeout))

    return anyio.run(run)


def answer(text: str) -> Any:
    return json.loads(text.splitlines()[0])


# --- programs ---


def test_plugins_of_several_contexts_give_each_its_own_identity(
    control_plane: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """A token, a certificate, an older API version, cluster information: the API server knows each as who it is."""
    (tmp_path / "token").write_text(accounts.token())
    token, admin = str(tmp_path / "token"), str(control_plane.folder / "admin")
    path = kubeconfig(control_plane, tmp_path / "config", {
        "token": plugin(tmp_path / "a", TOKEN, token),
        "certificate": plugin(tmp_path / "b", CERTIFICATE, admin),
        "older": plugin(tmp_path / "c", TOKEN, token, apiVersion="client.authentication.k8s.io/v1beta1"),
        "informed": plugin(tmp_path / "d", TOKEN, token, provideClusterInfo=True),
        "relative": plugin(tmp_path / "e", TOKEN, token, command="e/plugin"),
    })  # fmt: skip
    with served(path, "token,certificate,older,informed,relative") as port:
        for _ in range(3):
            assert answer(ask(port)) == {
                "token": ACCOUNT, "certificate": "admin", "older": ACCOUNT, "informed": ACCOUNT, "relative": ACCOUNT,
            }  # fmt: skip
    assert (tmp_path / "a" / "runs").read_text() == "x", "valid credentials are asked for once"
    informed = json.loads((tmp_path / "d" / "asked").read_text())["spec"]
    assert informed["cluster"]["server"] == control_plane.url
    assert "cluster" not in json.loads((tmp_path / "a" / "asked").read_text())["spec"]


def test_a_plugin_that_hangs_holds_up_its_own_context_only(
    control_plane: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """Whether it hangs at once or when its token is to be renewed: a named fault in time, and the others answer."""
    (tmp_path / "token").write_text(accounts.token())
    later = 'if len((folder / "runs").read_text()) > 1:\n    time.sleep(60)\n' + TOKEN
    token = str(tmp_path / "token")
    path = kubeconfig(control_plane, tmp_path / "config", {
        "hangs": plugin(tmp_path / "a", "time.sleep(60)\nstatus = {}"),
        "later": plugin(tmp_path / "b", later, token, expires="2020-01-01T00:00:00Z"),
        "fails": plugin(tmp_path / "c", 'sys.exit("please log in at https://idp.example/secret-code")'),
        "fine": {"token": (tmp_path / "token").read_text()},
    })  # fmt: skip
    config = tmp_path / "kubescript.toml"
    config.write_text(f"[limits]\npatience_ms = {patience.scaled_ms(1_500)}\n")
    with served(path, "hangs,later,fails,fine", "--config", str(config)) as port:
        for _ in range(2):
            started = time.monotonic()
            text = ask(port, timeout=300_000)
            assert time.monotonic() - started < patience.scaled(9)
            assert answer(text) == {
                "hangs": "cluster.auth", "later": "cluster.auth", "fails": "cluster.auth", "fine": ACCOUNT,
            }  # fmt: skip
            assert "hangs: cluster.auth" in text.split("\n", 1)[1]
            assert "secret-code" not in text


# --- files ---


def test_contexts_with_the_same_inline_certificates_load_side_by_side(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many contexts of one file, asked at the same moment: each is loaded whole, and no key stays on disk."""
    inline = {
        f"client-{part}-data": base64.b64encode((control_plane.folder / f"admin.{end}").read_bytes()).decode()
        for part, end in (("certificate", "crt"), ("key", "key"))
    }
    names = [f"c{number}" for number in range(8)]
    path = kubeconfig(control_plane, tmp_path / "config", dict.fromkeys(names, inline))
    keys = tmp_path / "keys"
    keys.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(keys))
    call = request.parse(protocol.Call("GET", ("version",)))

    def status(cluster: live.Live, barrier: threading.Barrier) -> int:
        barrier.wait()
        response = cluster.perform(call, 30, cancellation.Cancellation())
        assert b"gitVersion" in b"".join(response.chunks)
        return response.status

    with futures.ThreadPoolExecutor(len(names)) as pool:
        for _ in range(12):
            clusters, barrier = [live.Live(path, name) for name in names], threading.Barrier(len(names))
            assert list(pool.map(status, clusters, [barrier] * len(names))) == [200] * len(names)
            for cluster in clusters:
                cluster.close()
            assert list(keys.iterdir()) == []


def test_a_token_file_is_read_anew_when_its_token_is_revoked(
    control_plane: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """A pod's token in a kubeconfig's tokenFile: rotated in time nobody notices, rotated late it is a 401 until then."""
    file = tmp_path / "token"
    file.write_text(accounts.token("first"))
    path = kubeconfig(
        control_plane, tmp_path / "config", {"rotating": {"tokenFile": str(file)}, "other": {"token": "no"}}
    )
    with served(path, "rotating,other") as port:
        assert answer(ask(port)) == {"rotating": ACCOUNT, "other": 401}
        accounts.revoke("first")
        _until(lambda: answer(ask(port)) == {"rotating": 401, "other": 401})
        file.write_text(accounts.token("second"))
        assert answer(ask(port, "len(k8s.coreV1().list_namespace()) > 0")) is True
        assert answer(ask(port)) == {"rotating": ACCOUNT, "other": 401}


def _until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """The API server remembers a good token for ten seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.5)


# --- in a pod ---

IN_A_POD = """
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
mount --bind "$1" /run/secrets/kubernetes.io/serviceaccount
shift
exec "$@"
"""


@pytest.fixture
def pod(control_plane: ControlPlane, tmp_path: Path) -> Callable[..., list[str]]:
    """Makes a command run where a pod's service account files are, with a pod's environment."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare on this machine")
    account = tmp_path / "account"
    account.mkdir()
    shutil.copy(control_plane.folder / "ca.crt", account / "ca.crt")
    (account / "namespace").write_text("kube-system")
    home = tmp_path / "home"
    home.mkdir()
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]

    def inside(*command: str) -> list[str]:
        variables = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(control_plane.port), "HOME": str(home),
        }  # fmt: skip
        pairs = [f"{name}={value}" for name, value in variables.items()]
        shell = ["sh", "-ec", IN_A_POD, "pod", str(account)]
        return ["unshare", *namespaces, "env", "-u", "KUBECONFIG", *pairs, *shell, *command]

    return inside


def test_in_a_pod_the_service_account_is_used(
    accounts: Accounts, pod: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Without a kubeconfig the server is who its pod is, in its pod's namespace, under RBAC; a rotated token is
    taken up."""
    token = tmp_path / "account" / "token"
    token.write_text(accounts.token("pod-1") + "\n")
    script = f"""
def attempt(call):
    try:
        return len(call()) >= 0
    except ApiException as error:
        return error.status
[{WHO}, ctx.name, namespace, k8s.contexts(), attempt(k8s.coreV1().list_node), attempt(k8s.coreV1().list_namespace)]
"""
    port = clients.free_port()
    command = pod(
        clients.KUBESCRIPT, "--toolsets", "code", "--transport", "http", "--port", str(port), "--log-level", "error"
    )
    with subprocess.Popen(command) as process:
        try:
            clients._wait(f"http://127.0.0.1:{port}/health", process)
            expected = [ACCOUNT, "in-cluster", "kube-system", ["in-cluster"], 403, True]
            assert answer(ask(port, script)) == expected
            accounts.revoke("pod-1")
            _until(lambda: "401" in ask(port, WHO))
            token.write_text(accounts.token("pod-2"))
            assert answer(ask(port, "len(k8s.coreV1().list_namespace()) > 0")) is True
            assert answer(ask(port, script)) == expected
        finally:
            process.terminate()


@pytest.mark.parametrize("lacking", ["token", "ca.crt"])
def test_a_pod_without_its_account_s_files_is_an_error_of_the_call(
    lacking: str, accounts: Accounts, pod: Callable[..., list[str]], tmp_path: Path
) -> None:
    """automountServiceAccountToken: false is a named fault, never an anonymous request; with the file it works."""
    (tmp_path / "account" / "token").write_text(accounts.token())
    kept = (tmp_path / "account" / lacking).read_text()
    for text in (None, ""):
        (tmp_path / "account" / lacking).unlink(missing_ok=True)
        if text is not None:
            (tmp_path / "account" / lacking).write_text(text)
        done = subprocess.run(
            pod(clients.KUBESCRIPT, "run", "-"), input=WHO, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 1
        assert "cluster.config" in done.stderr and "the pod" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    (tmp_path / "account" / lacking).write_text(kept)
    done = subprocess.run(pod(clients.KUBESCRIPT, "run", "-"), input=WHO, capture_output=True, text=True, timeout=240)
    assert done.stdout.strip() == ACCOUNT, done
