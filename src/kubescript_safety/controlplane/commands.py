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
    """Returns etcd's command line. The store is deleted with its folder, so etcd need not wait for the disk."""
    return [
        str(programs / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        # With a socket in a private folder, no other user of the machine can reach the store and bypass RBAC.
        f"--listen-client-urls=unix://{folder / 'etcd.sock'}",
        # etcd requires host:port addresses to advertise; these two are never used.
        f"--advertise-client-urls=http://{ADDRESS}:0",
        f"--listen-peer-urls=http://{ADDRESS}:0",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def apiserver(programs: Path, folder: Path, port: int) -> list[str]:
    """Returns an API server's command line, with RBAC and the default admission plugins, except those that need
    controllers we do not run."""
    return [
        str(programs / "kube-apiserver"),
        f"--etcd-servers=unix://{folder / 'etcd.sock'}",
        f"--bind-address={ADDRESS}",
        f"--advertise-address={ADDRESS}",
        f"--secure-port={port}",
        # A loopback address may not be in the Endpoints of the service `kubernetes`.
        "--endpoint-reconciler-type=none",
        f"--cert-dir={folder}",
        f"--tls-cert-file={folder / 'serving.crt'}",
        f"--tls-private-key-file={folder / 'serving.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        # Everything in the cluster's network is reached through a socket here: kubelets, and nothing else.
        f"--egress-selector-config-file={folder / kubelets.SELECTION}",
        f"--kubelet-client-certificate={folder / 'kubelet-client.crt'}",
        f"--kubelet-client-key={folder / 'kubelet-client.key'}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        # ServiceAccount waits for a controller that creates `default` accounts; the other one taints every new node and
        # relies on a controller to remove the taint.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        # Events expire after an hour by default; a person may use the cluster for longer.
        "--event-ttl=24h",
        "--profiling=false",
    ]


def controllers(programs: Path, folder: Path, kubeconfig: Path) -> list[str]:
    """Returns the command line for the controllers that roll out workloads, and remove dependents of deleted
    objects."""
    return [
        str(programs / "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(_CONTROLLERS)}",
        # The only instance need not wait 15 s for a lease, nor renew one every 2 s.
        "--leader-elect=false",
        "--secure-port=0",
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        f"--root-ca-file={folder / 'ca.crt'}",
        "--kube-api-qps=200",
        "--kube-api-burst=300",
        "--min-resync-period=10m",
        # Otherwise a claim waits 15 s for a volume created after it.
        "--pvclaimbinder-sync-period=1s",
    ]


def scheduler(programs: Path, kubeconfig: Path) -> list[str]:
    """Returns the scheduler's command line."""
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
    """Returns kwok's command line; it simulates the kubelet of every node, see `kwok/stages.yaml`."""
    return [
        str(programs / "kwok"),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes",
        f"--config={_STAGES}",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.0/16",
        "--node-ip=10.0.0.1",
    ]
