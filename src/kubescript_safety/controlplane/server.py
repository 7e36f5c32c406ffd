"""A Kubernetes API server: etcd and kube-apiserver, without controllers, and with kubelets that only serve logs.

    with ControlPlane() as plane:
        config.load_kube_config(str(plane.kubeconfig))

Nothing acts on the objects: whatever a controller or a kubelet would write (a Deployment's pods, any `status`) must be
written by the caller, or by the programs of `live`. Container logs come from `kubelets`. Everything is in one temporary
folder, which is deleted when the context ends.
"""

from __future__ import annotations

import contextlib
import http.client
import secrets
import shutil
import socket
import ssl
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kubescript_safety.controlplane import build, child, commands, kubelets, pki, startable
from kubescript_safety.controlplane.commands import ADDRESS

START_SECONDS = 60
# Below the ports that Linux gives to connections, which may take one of those before a program listens on it.
_FIRST_PORT = 16_000
_PORTS = 16_000


class StartError(RuntimeError):
    """The control plane did not become ready; the message contains the end of its logs."""


class ControlPlane(startable.Startable):
    """An API server with a separate store, certificates and port; `flags` are added to kube-apiserver's own."""

    def __init__(self, flags: tuple[str, ...] = (), written: kubelets.Written = kubelets.read_annotation) -> None:
        programs = build.programs()
        # The prefix is short, because a unix socket's path has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-cp-"))
        self.port = free_port()
        self.url = f"https://{ADDRESS}:{self.port}"
        self._authority = pki.Authority()
        self._write_certificates()
        # `system:masters` needs no binding, so it works before there is any RBAC.
        self.kubeconfig = self.kubeconfig_for("admin", ("system:masters",))
        self._kubelets = kubelets.Kubelets(self.folder, written)
        self._etcd = child.Child(commands.etcd(programs, self.folder), self.folder / "etcd.log")
        apiserver = commands.apiserver(programs, self.folder, self.port)
        self._apiserver = child.Child([*apiserver, *flags], self.folder / "kube-apiserver.log")

    def start_all(self) -> None:
        """Starts the store, the kubelets and the API server."""
        self._etcd.start()
        self._kubelets.start(self.kubeconfig)
        self.start()

    def start(self) -> None:
        """Starts the API server, or restarts it after `stop` or `kill` with the same port, data and certificates."""
        self._apiserver.start()
        self._wait_until_ready()

    def stop(self) -> None:
        """Stops the API server gracefully; the store keeps running."""
        self._apiserver.stop()

    def kill(self) -> None:
        """Kills the API server, as in a crash; the store keeps running."""
        self._apiserver.kill()

    def close(self) -> None:
        """Ends all programs and removes all files."""
        self._apiserver.close()
        self._kubelets.close()
        self._etcd.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self) -> list[int]:
        """Returns the process ids of the running programs."""
        found = (self._etcd.pid, self._apiserver.pid)
        return [pid for pid in found if pid is not None]

    def ready(self) -> bool:
        """Says whether /readyz reports readiness."""
        try:
            return self.get("/readyz") == 200
        except OSError:
            return False

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        """Sends a GET request as the administrator; returns the status. Raises OSError."""
        authority = self._authority.certificate.decode()
        context = ssl.create_default_context(cadata=authority)
        context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
        connection = http.client.HTTPSConnection(ADDRESS, self.port, context=context, timeout=5)
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            return connection.getresponse().status
        finally:
            connection.close()

    def kubeconfig_for(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """Writes a kubeconfig for any user; its holder has the rights that RBAC gives to `user` and `groups`."""
        self.certificate_for(user, groups, user)
        # These are files, because the official client copies inline data, including keys, into temporary files.
        credentials = {"client-certificate": f"{self.folder / user}.crt", "client-key": f"{self.folder / user}.key"}
        cluster = {"server": self.url, "certificate-authority": f"{self.folder / 'ca.crt'}"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}],
        }
        path = self.folder / f"{user}.kubeconfig"
        pki.write_private(path, yaml.safe_dump(content).encode())
        return path

    def certificate_for(self, user: str, groups: tuple[str, ...], name: str) -> None:
        """Writes a user's `name.crt` and `name.key` into the folder."""
        identity = self._authority.client(user, groups)
        identity.write(self.folder, name)

    def _wait_until_ready(self) -> None:
        """Waits until both programs answer. Raises StartError."""
        deadline = time.monotonic() + START_SECONDS
        while not self.ready():
            is_late = time.monotonic() > deadline
            # A program that has ended will not become ready: the error comes at once, with its log, and not after a
            # minute.
            has_ended = len(self.pids()) < 2
            if is_late or has_ended:
                logs = f"{self._etcd.tail()}\n{self._apiserver.tail()}"
                raise StartError(f"the control plane did not become ready\n{logs}")
            time.sleep(0.05)

    def _write_certificates(self) -> None:
        """Writes the files that etcd, the API server and the kubelets read."""
        pki.write_private(self.folder / "ca.crt", self._authority.certificate)
        serving = self._authority.serving(["localhost", "kubernetes.default.svc"], [ADDRESS])
        serving.write(self.folder, "serving")
        kubelet = self._authority.serving(["kubelet"], [ADDRESS])
        kubelet.write(self.folder, "kubelet")
        self.certificate_for("apiserver-kubelet-client", ("system:masters",), "kubelet-client")
        # The API server signs tokens with the private key, and verifies them with the public one.
        accounts = ec.generate_private_key(ec.SECP256R1())
        pki.write_private(self.folder / "accounts.key", pki.private_pem(accounts))
        public = accounts.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        pki.write_private(self.folder / "accounts.pub", public)


def free_port() -> int:
    """Returns a port on which nothing listens, and which the kernel gives to no connection meanwhile."""
    while True:
        port = _FIRST_PORT + secrets.randbelow(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((ADDRESS, port))
            return port
