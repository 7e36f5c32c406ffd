"""Which cluster the tests talk to: the one that was named, else `kind`, else a control plane of our own."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kubescript_safety.controlplane import build
from tests.kit.controlplane import server

KIND_NAME = "kubescript-test"


@contextlib.contextmanager
def acquire() -> Iterator[Path]:
    """The kubeconfig of an administrator of the cluster to test against."""
    if given := elsewhere():
        yield given
    else:
        with server.ControlPlane() as plane:
            yield plane.kubeconfig


def elsewhere() -> Path | None:
    """The kubeconfig of a cluster that the environment asks for; None means a control plane of our own.

    The tests write to it. On a cluster with controllers the fixture does not stay as it was loaded.
    """
    named = os.environ.get("KUBESCRIPT_TEST_KUBECONFIG") or os.environ.get("KUBECONFIG_TEST")
    if named:
        return Path(named)
    return _kind() if os.environ.get("KUBESCRIPT_TEST_CLUSTER") == "kind" else None


def _kind() -> Path:
    """A kind cluster, kept for the next run: `kind delete cluster --name kubescript-test` removes it."""
    folder = build.cache() / "kind"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kubeconfig = folder / "kubeconfig"
    known = subprocess.run(["kind", "get", "clusters"], capture_output=True, text=True, check=True).stdout.split()
    verb = ["export", "kubeconfig"] if KIND_NAME in known else ["create", "cluster", "--wait=120s"]
    subprocess.run(["kind", *verb, "--name", KIND_NAME, "--kubeconfig", str(kubeconfig)], check=True)
    return kubeconfig
