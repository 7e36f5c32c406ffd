"""A cluster that carries out rollouts: the API server, the workload controllers, a scheduler, and kwok, which simulates
the kubelets. Its API server keeps an audit log.

    with live.Cluster(folder) as cluster:
        kubeconfig = cluster.plane.kubeconfig_for("somebody", ("system:masters",))
        ...
        cluster.log.writes("somebody")

Without rollouts, `server.ControlPlane` is enough: nothing acts on its objects, and it starts faster.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from kubernetes import client, config

from kubescript_safety.cluster import api, references
from kubescript_safety.controlplane import audit, build, child, commands, server

NODES: Final = ("node-0", "node-1")
_ACTORS: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
"""The programs that act on objects; each has a user of the same name."""
_START_SECONDS: Final = 180
"""A limit for busy machines; on an idle one, the start takes seven seconds."""


def build_programs() -> None:
    """Builds all programs that a cluster needs; the first call on a machine takes minutes."""
    for recipe in (build.SERVER, build.CONTROLLERS, build.KWOK):
        build.programs(recipe)


class Cluster:
    """A control plane with the programs that act on its objects; `folder` gets the audit log, see `audit.Log`."""

    def __init__(self, folder: Path, readers: tuple[str, ...] = ()) -> None:
        controllers = build.programs(build.CONTROLLERS)
        kwok = build.programs(build.KWOK)
        self.log = audit.Log(folder, readers)
        self.plane = server.ControlPlane(self.log.flags())
        # Each program has a user of its own, so that the audit log shows who changed what.
        keys = [self.plane.kubeconfig_for(name, ("system:masters",)) for name in _ACTORS]
        logs = [self.plane.folder / f"{name}.log" for name in _ACTORS]
        lines = (
            commands.controllers(controllers, self.plane.folder, keys[0]),
            commands.scheduler(controllers, keys[1]),
            commands.kwok(kwok, keys[2]),
        )
        self._actors = list(map(child.Child, lines, logs))
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            for actor in self._actors:
                opened.callback(actor.close)
            opened.enter_context(self.plane)
            for actor in self._actors:
                actor.start()
            watch = references.References(api.Api(self.plane.kubeconfig))
            watch.start()
            opened.callback(watch.close)
            self._add_nodes()
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def _add_nodes(self) -> None:
        """Adds the nodes, and waits until a pod runs, which proves that all three programs work."""
        load: Any = config.new_client_from_config  # the client does not annotate it
        core: Any = client.CoreV1Api(load(str(self.plane.kubeconfig)))
        for name in NODES:
            core.create_node({"metadata": {"name": name}})
        core.create_namespaced_pod(
            "default", {"metadata": {"name": "first"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
        deadline = time.monotonic() + _START_SECONDS
        while core.read_namespaced_pod("first", "default").status.phase != "Running":
            if time.monotonic() > deadline:
                logs = "\n".join(actor.tail() for actor in self._actors)
                raise server.StartError(f"no pod runs\n{logs}")
            time.sleep(0.1)
        core.delete_namespaced_pod("first", "default", grace_period_seconds=0)
