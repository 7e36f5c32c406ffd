"""The command lines of the control plane's programs, with the reason for each flag that is not obvious."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import kubelets

ADDRESS = "127.0.0.1"
_STAGES: Final = Path(__file__).parent / "kwok" / "stages.yaml"
_CONTROLLERS: Final = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "statefulset-controller",
)


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


def controllers(programs: Path, folder: Path, kubeconfig: Path) -> list[str]:
    """The controllers that make workloads roll out, and take away what belongs to what is deleted."""
    return [
        str(programs / "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(_CONTROLLERS)}",
        # The only one of its kind; it need not wait for a lease of 15 s, nor write one every 2 s.
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        f"--root-ca-file={folder / 'ca.crt'}",
        "--kube-api-qps=200",
        "--kube-api-burst=300",
        "--min-resync-period=10m",
        # Otherwise a claim waits 15 s for a volume that came after it.
        "--pvclaimbinder-sync-period=1s",
    ]


def scheduler(programs: Path, kubeconfig: Path) -> list[str]:
    """Gives pods their nodes."""
    return [
        str(programs / "kube-scheduler"),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--authentication-skip-lookup",
        "--kube-api-qps=200",
        "--kube-api-burst=300",
    ]


def kwok(programs: Path, kubeconfig: Path) -> list[str]:
    """Plays the kubelet of every node, see `kwok/stages.yaml`."""
    return [
        str(programs / "kwok"),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes",
        f"--config={_STAGES}",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.0/16",
        "--node-ip=10.0.0.1",
    ]
