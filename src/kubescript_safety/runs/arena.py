"""The arena: one control plane with its gate and the programs that act in it. Runs use it in sequence."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import yaml

from kubescript_safety import scenario
from kubescript_safety.autopsy import goal
from kubescript_safety.cluster import history, snapshot, steps
from kubescript_safety.cluster.api import Api, ApiError, Kind, Object
from kubescript_safety.cluster.gate import Certificates, Gate
from kubescript_safety.cluster.pristine import Pristine
from kubescript_safety.controlplane import live

__all__ = ["USER", "Arena", "open_arena"]

USER: Final = "agent"
"""The name of the agent's user, shared by all runs, because they use the arena in sequence."""
_POLL_S: Final = 0.2
_BROKEN_S: Final = 120
"""How long a busy machine may need until a scenario's set-up is as it should be; an idle one needs one or two seconds.
If it takes longer than this, the scenario is wrong."""


class Arena:
    """A cluster for runs."""

    def __init__(self, cluster: live.Cluster, cache: Path) -> None:
        self.cache = cache
        """The `.cache` folder in the home of servers under test. Runs share it, as on a normal machine: without it,
        kubescript compiles its patterns for three seconds each time."""
        self._plane = cluster.plane
        self._audit = cluster.log
        self.api = Api(self._plane.kubeconfig)
        self.steps = steps.Steps(self.api, self._plane.kubeconfig)
        self.pristine = Pristine(self.api)
        for groups, name in (((), USER), (("system:masters",), f"{USER}-admin")):
            self._plane.certificate_for(USER, groups, name)
        folder = self._plane.folder
        self.gate = Gate(
            self._plane.url, Certificates(folder / "ca.crt", folder / "serving.crt", folder / "serving.key")
        )
        self.log = history.History(cluster.log.file, self.gate.content_type)

    def close(self) -> None:
        """Closes the gate."""
        self.gate.close()

    def populate(self, given: scenario.Scenario) -> None:
        """Sets up the scenario's cluster, and waits until it is broken as the scenario says. Raises ApiError."""
        self.pristine.restore()
        self.log.forget()
        self.steps = steps.Steps(self.api, self._plane.kubeconfig)
        for thing in (*given.setup, *given.rights):
            kind = self.steps.apply(thing)
            # The API server accepts a status only in a separate request.
            if "status" in thing:
                self.api.apply(kind, thing, subresource="status")
        for step in given.steps:
            self.steps.carry_out(step)
        kinds = self.api.kinds()
        by_name = {kind.name: kind for kind in kinds}
        for target in given.deleted:
            path = by_name[target.resource].path(target.namespace, target.name)
            self.api.send("DELETE", path)
        condition = goal.Condition(given.broken)
        _wait(
            f"scenario {given.id}: the cluster does not become what `broken` says",
            lambda: condition.holds(self.objects(), {}, ""),
        )
        by_kind = {(kind.api_version, kind.kind): kind for kind in kinds}
        refused = [(by_kind[thing["apiVersion"], thing["kind"]], thing) for thing in given.refused]
        _wait(
            f"scenario {given.id}: the cluster does not refuse what `refused` says",
            lambda: not any(self._would_take(kind, thing) for kind, thing in refused),
        )

    def _would_take(self, kind: Kind, thing: Object) -> bool:
        """Says whether the API server would accept an apply of the object."""
        try:
            self.api.apply(kind, thing, is_dry_run=True)
        except ApiError:
            return False
        return True

    def objects(self) -> snapshot.Snapshot:
        """Returns the cluster's objects, except those that it had before any run."""
        now = snapshot.take(self.api, self.api.kinds())
        changed, _ = snapshot.difference(self.pristine.objects, now)
        return changed

    def certificate(self, *, is_admin: bool) -> tuple[Path, Path]:
        """Returns the files of the agent's certificate and key."""
        # Both certificates are for the same user, so the audit log has one name for both.
        name = f"{USER}-admin" if is_admin else USER
        folder = self._plane.folder
        return folder / f"{name}.crt", folder / f"{name}.key"

    def kubeconfig(self, folder: Path, token: Path) -> Path:
        """Writes the kubeconfig for a server under test, with only the gate and a token."""
        cluster = {"server": self.gate.url, "certificate-authority": str(self._plane.folder / "ca.crt")}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": USER, "user": {"tokenFile": str(token)}}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": USER, "namespace": "default"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return path

    def settle(self) -> None:
        """Waits until everything that was answered is in the audit log."""
        self._audit.settle(self._plane)


def _wait(failure: str, holds: Callable[[], bool]) -> None:
    """Waits until a condition holds. Raises ApiError with this message on timeout."""
    # In a cluster that was not broken yet, there would be nothing to repair.
    end = time.monotonic() + _BROKEN_S
    while not holds():
        if time.monotonic() > end:
            raise ApiError(failure)
        time.sleep(_POLL_S)


@contextlib.contextmanager
def open_arena() -> Iterator[Arena]:
    """Starts a cluster and its arena."""
    with tempfile.TemporaryDirectory() as folder, live.Cluster(Path(folder), (USER,)) as cluster:
        cache = Path(folder) / "cache"
        cache.mkdir()
        arena = Arena(cluster, cache)
        try:
            yield arena
        finally:
            arena.close()
