"""Credentials as clusters really give them out, before a real API server: programs, rotated files, a pod's account.

Through real servers and scripts; who the API server took us for is asked of the API server.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import httpx2
import kubernetes.client
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client import Client

from kubescript.cluster import live
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import clients, identities, patience
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane


class Accounts:
    """Service account tokens of the control plane, as a kubelet or a cloud's plugin would ask for them."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.name = f"system:serviceaccount:{namespace}:reader"
        self._namespace = namespace
        api = official_client.connect(plane.kubeconfig)
        client: Any = kubernetes.client
        self._core = client.CoreV1Api(api)
        rbac = client.RbacAuthorizationV1Api(api)
        self._core.create_namespaced_service_account(namespace, {"metadata": {"name": "reader"}})
        role = f"{namespace}-reader"
        rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]}
        rbac.create_cluster_role({"metadata": {"name": role}, "rules": [rule]})
        rbac.create_cluster_role_binding({
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
        })  # fmt: skip

    def token(self, bound_to: str = "") -> str:
        """A new token; gone with the Secret it is bound to."""
        spec: dict[str, Any] = {"expirationSeconds": 3600}
        if bound_to:
            secret = self._core.create_namespaced_secret(self._namespace, {"metadata": {"name": bound_to}})
            spec["boundObjectRef"] = {
                "apiVersion": "v1", "kind": "Secret", "name": bound_to, "uid": secret.metadata.uid,
            }  # fmt: skip
        asked = self._core.create_namespaced_service_account_token("reader", self._namespace, {"spec": spec})
        return str(asked.status.token)

    def revoke(self, bound_to: str, token: str) -> None:
        """End every token bound to this Secret; waits until this one is refused."""
        self._core.delete_namespaced_secret(bound_to, self._namespace)
        context = ssl.create_default_context(cafile=str(self.plane.folder / "ca.crt"))
        with httpx2.Client(
            verify=context, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60
        ) as client:
            # The API server remembers a good token for ten seconds.
            patience.until(lambda: client.get(f"{self.plane.url}/version").status_code == 401)


@pytest.fixture(scope="module")
def accounts(scratch: ControlPlane, namespace: str) -> Accounts:
    return Accounts(scratch, namespace)


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


# --- programs ---


def test_plugins_of_several_contexts_give_each_its_own_identity(
    scratch: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """A token, a certificate, an older API version, cluster information: the API server knows each as who it is."""
    (tmp_path / "token").write_text(accounts.token())
    token, admin = str(tmp_path / "token"), str(scratch.folder / "admin")
    users = {
        "token": plugin(tmp_path / "a", TOKEN, token),
        "certificate": plugin(tmp_path / "b", CERTIFICATE, admin),
        "older": plugin(tmp_path / "c", TOKEN, token, apiVersion="client.authentication.k8s.io/v1beta1"),
        "informed": plugin(tmp_path / "d", TOKEN, token, provideClusterInfo=True),
        "relative": plugin(tmp_path / "e", TOKEN, token, command="e/plugin"),
    }
    path = identities.kubeconfig(scratch, tmp_path / "config", users)
    with identities.asking(path) as ask:
        for _ in range(3):
            assert identities.document(ask(identities.EACH)) == {
                **dict.fromkeys(users, accounts.name),
                "certificate": "admin",
            }
    assert (tmp_path / "a" / "runs").read_text() == "x", "valid credentials are asked for once"
    informed = json.loads((tmp_path / "d" / "asked").read_text())["spec"]
    assert informed["cluster"]["server"] == scratch.url
    assert "cluster" not in json.loads((tmp_path / "a" / "asked").read_text())["spec"]


def test_a_plugin_that_hangs_holds_up_its_own_context_only(
    scratch: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """Whether it hangs at once or when its token is to be renewed: a named fault in time, and the others answer."""
    (tmp_path / "token").write_text(accounts.token())
    later = 'if len((folder / "runs").read_text()) > 1:\n    time.sleep(300)\n' + TOKEN
    token = str(tmp_path / "token")
    path = identities.kubeconfig(scratch, tmp_path / "config", {
        "hangs": plugin(tmp_path / "a", "time.sleep(300)\nstatus = {}"),
        "later": plugin(tmp_path / "b", later, token, expires="2020-01-01T00:00:00Z"),
        "fails": plugin(tmp_path / "c", 'sys.exit("please log in at https://idp.example/secret-code")'),
        "fine": {"token": (tmp_path / "token").read_text()},
    })  # fmt: skip
    config = tmp_path / "kubescript.toml"
    config.write_text("[limits]\npatience_ms = 4000\ndefault_timeout_ms = 300000\n")
    with identities.asking(path, "--config", str(config)) as ask:
        for _ in range(2):
            started = time.monotonic()
            text = ask(identities.EACH)
            assert time.monotonic() - started < 60
            assert identities.document(text) == {
                "hangs": "cluster.auth", "later": "cluster.auth", "fails": "cluster.auth", "fine": accounts.name,
            }  # fmt: skip
            note = text.split("\n", 1)[1]
            assert "cluster.auth" in note and "in clusters hangs, later, fails" in note
            assert "secret-code" not in text


# --- files ---


def test_contexts_with_the_same_inline_certificates_load_side_by_side(
    scratch: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many contexts of one file, asked at the same moment: each is loaded whole, and no key stays on disk."""
    inline = {
        f"client-{part}-data": base64.b64encode((scratch.folder / f"admin.{end}").read_bytes()).decode()
        for part, end in (("certificate", "crt"), ("key", "key"))
    }
    names = [f"c{number}" for number in range(8)]
    path = identities.kubeconfig(scratch, tmp_path / "config", dict.fromkeys(names, inline))
    keys = tmp_path / "keys"
    keys.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(keys))
    call = request.parse(exchanges.Call("GET", ("version",)))

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
    scratch: ControlPlane, accounts: Accounts, tmp_path: Path
) -> None:
    """A pod's token in a kubeconfig's tokenFile: rotated in time nobody notices, rotated late it is a 401 until then."""
    file = tmp_path / "token"
    first = accounts.token("first")
    file.write_text(first)
    users = {"rotating": {"tokenFile": str(file)}, "other": {"token": "no"}}
    path = identities.kubeconfig(scratch, tmp_path / "config", users)
    with identities.asking(path) as ask:
        assert identities.document(ask(identities.EACH)) == {"rotating": accounts.name, "other": 401}
        accounts.revoke("first", first)
        assert identities.document(ask(identities.EACH)) == {"rotating": 401, "other": 401}
        file.write_text(accounts.token("second"))
        assert identities.document(ask("len(k8s.coreV1().list_namespace()) > 0")) is True
        assert identities.document(ask(identities.EACH)) == {"rotating": accounts.name, "other": 401}


# --- in a pod ---

IN_A_POD = """
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
mount --bind "$1" /run/secrets/kubernetes.io/serviceaccount
shift
exec "$@"
"""


@pytest.fixture
def pod(scratch: ControlPlane, tmp_path: Path) -> Callable[..., list[str]]:
    """Makes a command run where a pod's service account files are, with a pod's environment."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare on this machine")
    account = tmp_path / "account"
    account.mkdir()
    shutil.copy(scratch.folder / "ca.crt", account / "ca.crt")
    (account / "namespace").write_text("kube-system")
    home = tmp_path / "home"
    home.mkdir()
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]

    def inside(*command: str) -> list[str]:
        variables = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(scratch.port), "HOME": str(home),
        }  # fmt: skip
        pairs = [f"{name}={value}" for name, value in variables.items()]
        shell = ["sh", "-ec", IN_A_POD, "pod", str(account)]
        return ["unshare", *namespaces, "env", "-u", "KUBECONFIG", *pairs, *shell, *command]

    return inside


CALLS = f"""
def attempt(call):
    try:
        return len(call()) >= 0
    except ApiException as error:
        return error.status
[{identities.WHO}, ctx.name, namespace, k8s.contexts(), attempt(k8s.coreV1().list_node), attempt(k8s.coreV1().list_namespace)]
"""


def test_in_a_pod_the_service_account_is_used(
    accounts: Accounts, pod: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Without a kubeconfig the server is who its pod is, in its pod's namespace, under RBAC; a rotated token is taken
    up. Without its account's files a call is a named fault, never an anonymous request; with them it works."""
    account, token = tmp_path / "account", accounts.token("pod-1")
    files = {"token": token + "\n", "ca.crt": (account / "ca.crt").read_text()}
    (account / "token").write_text(token)
    port = clients.free_port()
    command = pod(clients.INSTALLED, "--toolsets", "code", "--port", str(port), "--log-level", "error")
    with subprocess.Popen(command) as process, start_blocking_portal() as portal:
        try:
            clients._wait(f"http://127.0.0.1:{port}/health", process)
            connecting = portal.wrap_async_context_manager(Client(f"http://127.0.0.1:{port}/mcp"))
            with connecting as client:

                def ask(script: str) -> str:
                    return clients.text(portal.call(clients.evaluate, client, script))

                for lacking, text in itertools.product(files, (None, "")):
                    for name, content in {**files, lacking: text}.items():
                        (account / name).unlink(missing_ok=True)
                        if content is not None:
                            (account / name).write_text(content)
                    said = ask(identities.WHO)
                    assert "cluster.config" in said and "the pod" in said, (lacking, text, said)
                for name, content in files.items():
                    (account / name).write_text(content)
                expected = [accounts.name, "in-cluster", "kube-system", ["in-cluster"], 403, True]
                assert identities.document(ask(CALLS)) == expected
                accounts.revoke("pod-1", token)
                assert "401" in ask(identities.WHO)
                (account / "token").write_text(accounts.token("pod-2"))
                assert identities.document(ask("len(k8s.coreV1().list_namespace()) > 0")) is True
                assert identities.document(ask(CALLS)) == expected
        finally:
            process.terminate()


def test_a_command_in_a_pod_without_its_account_s_files_says_so(pod: Callable[..., list[str]]) -> None:
    """automountServiceAccountToken: false ends it with a remedy."""
    done = subprocess.run(
        pod(clients.INSTALLED, "run", "-"), input=identities.WHO, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1
    assert "cluster.config" in done.stderr and "the pod" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
