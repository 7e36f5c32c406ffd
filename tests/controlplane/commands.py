"""The command lines of etcd and kube-apiserver, with the reason for each flag that is not obvious."""

from __future__ import annotations

from pathlib import Path

from tests.controlplane import kubelets

ADDRESS = "127.0.0.1"


def etcd(programs: Path, folder: Path) -> list[str]:
    """A store that forgets with its folder, so it need not wait for the disk."""
    return [
        str(programs / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        # A socket in a folder of ours: no other user of the machine can reach the store behind RBAC's back.
        f"--listen-client-urls=unix://{folder / 'etcd.sock'}",
        # etcd insists on announcing addresses of the form host:port; nobody ever uses these two.
        f"--advertise-client-urls=http://{ADDRESS}:0",
        f"--listen-peer-urls=http://{ADDRESS}:0",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def apiserver(programs: Path, folder: Path, port: int) -> list[str]:
    """An API server with RBAC and its usual admission, but for what counts on controllers we do not run."""
    return [
        str(programs / "kube-apiserver"),
        f"--etcd-servers=unix://{folder / 'etcd.sock'}",
        f"--bind-address={ADDRESS}",
        f"--advertise-address={ADDRESS}",
        f"--secure-port={port}",
        # The address is a loopback one, which may not be in the Endpoints of the service `kubernetes`.
        "--endpoint-reconciler-type=none",
        f"--cert-dir={folder}",
        f"--tls-cert-file={folder / 'serving.crt'}",
        f"--tls-private-key-file={folder / 'serving.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        # Whatever lies in the cluster's network is reached through a socket of ours: kubelets, and nothing else.
        f"--egress-selector-config-file={folder / kubelets.SELECTION}",
        f"--kubelet-client-certificate={folder / 'kubelet-client.crt'}",
        f"--kubelet-client-key={folder / 'kubelet-client.key'}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        # ServiceAccount waits for a controller that makes `default` accounts; the other one taints every new
        # node and counts on a controller that takes the taint away.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        # Events go after an hour by default; a person may play longer than that.
        "--event-ttl=24h",
        "--profiling=false",
    ]
