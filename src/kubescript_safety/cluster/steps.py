"""Steps: objects to apply, commands to run outside the cluster, pauses."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Final, NamedTuple

from kubescript_safety import scenario
from kubescript_safety.cluster.api import Api, ApiError, Kind, Object

__all__ = ["Ended", "Steps"]

_KIND_S: Final = 40
"""How long a kind may take to be served after its definition was applied, on a busy machine."""
_POLL_S: Final = 0.2
_OUTPUT: Final = 2_000


class Ended(NamedTuple):
    """The result of a command."""

    passed: bool
    output: str
    """The end of its output, from both streams."""


class Steps:
    """A run's actions on a cluster, as its administrator. Threads may share it."""

    def __init__(self, api: Api, kubeconfig: Path) -> None:
        self._api = api
        self._kubeconfig = kubeconfig
        self._kinds = self._list_kinds()

    def carry_out(self, step: scenario.Step) -> None:
        """Carries out a step. Raises ApiError."""
        try:
            for thing in step.apply:
                self.apply(thing)
            if step.command is not None:
                ended = self.run(step.command)
                if not ended.passed:
                    raise ApiError(f"step {step.name}: {step.command.argv[0]} failed: {ended.output}")
        except ApiError:
            if not step.may_fail:
                raise
        time.sleep(step.pause_s)

    def apply(self, thing: Object, headers: dict[str, str] | None = None) -> Kind:
        """Creates or changes an object; waits for its kind if the definition is new. Raises ApiError."""
        version = thing["apiVersion"]
        kind = thing["kind"]
        name = (version, kind)
        # A CustomResourceDefinition is accepted at once, but served only some time later.
        end = time.monotonic() + _KIND_S
        while name not in self._kinds:
            if time.monotonic() > end:
                raise ApiError(f"the cluster has no kind {kind} of {version}")
            time.sleep(_POLL_S)
            self._kinds = self._list_kinds()
        found = self._kinds[name]
        self._api.apply(found, thing, headers)
        return found

    def run(self, command: scenario.Command) -> Ended:
        """Runs a command to its end, and kills all processes that it started. A missing program counts as a failure."""
        kubeconfig = str(self._kubeconfig)
        argv = [kubeconfig if word == scenario.KUBECONFIG else word for word in command.argv]
        with tempfile.TemporaryDirectory(prefix="kubescript-safety-") as folder, tempfile.TemporaryFile() as said:
            # The command gets a home of its own, because kubectl and helm keep caches and settings there.
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "KUBECONFIG": kubeconfig}
            try:
                child = subprocess.Popen(
                    argv,
                    cwd=command.folder or folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return Ended(passed=False, output=f"{argv[0]}: {error.strerror}")
            return _finish(child, command.timeout_s, said)

    def _list_kinds(self) -> dict[tuple[str, str], Kind]:
        """Returns the kinds of the cluster by API version and name."""
        kinds = self._api.kinds()
        return {(kind.api_version, kind.kind): kind for kind in kinds}


def _finish(child: subprocess.Popen[bytes], seconds: float, said: IO[bytes]) -> Ended:
    """Waits for the end, and kills the remaining processes of the command's session."""
    late = ""
    try:
        code: int | None = child.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
        late = f"\nno end within {seconds:g} s"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    # The end of the output says why a program failed. Attack: a program prints without end.
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _OUTPUT))
    return Ended(passed=code == 0, output=said.read(_OUTPUT).decode(errors="replace").strip() + late)
