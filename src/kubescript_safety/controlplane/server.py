"""A Kubernetes API server: etcd and kube-apiserver, no controllers, of kubelets the logs only.

    with ControlPlane() as plane:
        config.load_kube_config(str(plane.kubeconfig))

Nothing acts on the objects: what a controller or a kubelet would write (pods of a Deployment, any `status`) has to be
written by whoever uses it, or by the programs of `live`. What containers log is said by `kubelets`. Everything is in
one temporary folder, which goes when the context ends.
"""

from __future__ import annotations

import http.client
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


class StartError(RuntimeError):
    """The control plane did not become ready; the message has the end of its logs."""


class ControlPlane(startable.Startable):
    """One API server with its own store, certificates and port; `flags` are added to kube-apiserver's own."""

    def __init__(self, flags: tuple[str, ...] = (), written: kubelets.Written = kubelets.read_annotation) -> None:
        programs = build.programs()
        # Short: the path of a unix socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-cp-"))
        self.port = _free_port()
        self.url = f"https://{ADDRESS}:{self.port}"
        self._authority = pki.Authority()
        self._write_certificates()
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
        """Starts the API server, again after `stop` or `kill`: same port, data and certificates."""
        self._apiserver.start()
        self._wait_until_ready()

    def stop(self) -> None:
        """Stops the API server in the orderly way, and leaves the store running."""
        self._apiserver.stop()

    def kill(self) -> None:
        """Kills the API server as a crash would, and leaves the store running."""
        self._apiserver.kill()

    def close(self) -> None:
        """Ends both programs and removes every file."""
        self._apiserver.close()
        self._kubelets.close()
        self._etcd.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self) -> list[int]:
        """The process ids of what runs."""
        return [pid for pid in (self._etcd.pid, self._apiserver.pid) if pid is not None]

    def ready(self) -> bool:
        """Whether /readyz says so to the administrator."""
        try:
            return self.get("/readyz") == 200
        except OSError:
            return False

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> int:
        """Asks as the administrator; returns the status. Raises OSError."""
        context = ssl.create_default_context(cadata=self._authority.certificate.decode())
        context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
        connection = http.client.HTTPSConnection(ADDRESS, self.port, context=context, timeout=5)
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            return connection.getresponse().status
        finally:
            connection.close()

    def kubeconfig_for(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """Writes a kubeconfig for any user: who holds it has the rights that RBAC gives to `user` and `groups`."""
        self.certificate_for(user, groups, user)
        # Files, not inline data: the official client copies inline data into temporary files, keys included.
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
        """Writes `name.crt` and `name.key` for a user into the folder."""
        self._authority.client(user, groups).write(self.folder, name)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.ready():
            if time.monotonic() > deadline or len(self.pids()) < 2:
                logs = f"{self._etcd.tail()}\n{self._apiserver.tail()}"
                raise StartError(f"the control plane did not become ready\n{logs}")
            time.sleep(0.05)

    def _write_certificates(self) -> None:
        pki.write_private(self.folder / "ca.crt", self._authority.certificate)
        self._authority.serving(["localhost", "kubernetes.default.svc"], [ADDRESS]).write(self.folder, "serving")
        self._authority.serving(["kubelet"], [ADDRESS]).write(self.folder, "kubelet")
        self._authority.client("apiserver-kubelet-client", ("system:masters",)).write(self.folder, "kubelet-client")
        accounts = ec.generate_private_key(ec.SECP256R1())
        pki.write_private(self.folder / "accounts.key", pki.private_pem(accounts))
        public = accounts.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        pki.write_private(self.folder / "accounts.pub", public)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port
