"""Command lines of `openstack` and `oc` as tools, beside the plain programs: the first call of a server, later
ones, and sixteen at once.

The plain `openstack` is started anew each time, as a person does; so is the plain `kubectl`, which keeps what it has
learned of the cluster in a folder, and once more without that folder, which ours never has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks import clusters, report, stdio
from tests.kit import kubectl
from tests.kit.openstack import services

__all__ = ["run"]

ROUNDS: Final = 7
AT_ONCE: Final = 16
PLACES: Final = 4
OPENSTACK: Final = ("project", "list", "-f", "json")
OC: Final = ("get", "pods", "-n", "shop", "-o", "name")
_LOOK_S: Final = 0.005


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with services.Services() as cloud:
            yield from _openstack(cloud, folder)
        with clusters.broken() as kubeconfig:
            yield from _oc(kubeconfig, folder)


def _openstack(cloud: services.Services, folder: Path) -> Iterator[report.Row | str]:
    clouds = folder / "clouds.yaml"
    clouds.write_text(cloud.clouds("admin"))
    plain = (str(Path(sys.executable).with_name("openstack")), *OPENSTACK)
    environment = {"OS_CLIENT_CONFIG_FILE": str(clouds), "OS_CLOUD": "test", "HOME": str(folder)}
    with stdio.Server(_command(folder, "openstack", f'[openstack]\nclouds_file = "{clouds}"\n')) as server:
        first = server.call("openstack-cli", {"command_str": " ".join(OPENSTACK)}).seconds
        yield report.Row("openstack: first call", "ms", first * 1000, None, "", "value_at_most", 2_000)
        later, cold = _turns(lambda: _call(server, "openstack-cli", OPENSTACK), lambda: _plain(plain, environment))
        yield report.Row("openstack: later call", "ms", later, cold, "plain openstack", "at_most", 0.25)
        yield from _at_once(server)


def _oc(kubeconfig: Path, folder: Path) -> Iterator[report.Row | str]:
    program = kubectl.program()
    plain = (str(program), "--kubeconfig", str(kubeconfig), *OC)
    command = _command(folder, "openshift", f'[openshift]\nbinary = "{program}"\n', "--kubeconfig", str(kubeconfig))
    with stdio.Server(command) as server:
        first = server.call("openshift-cli", {"command_str": " ".join(OC)}).seconds
        yield report.Row("oc: first call", "ms", first * 1000)
        homes: dict[str, Callable[[], str]] = {
            "plain kubectl": lambda: str(folder),
            "plain kubectl, nothing kept": lambda: tempfile.mkdtemp(dir=folder),
        }
        for name, home in homes.items():
            later, cold = _turns(lambda: _call(server, "openshift-cli", OC), _start_at(home, plain))
            yield report.Row("oc: later call", "ms", later, cold, name)


def _at_once(server: stdio.Server) -> Iterator[report.Row | str]:
    """Sixteen calls of one client, and the most processes that there were for them."""
    most = [0]
    stop = threading.Event()
    watching = threading.Thread(target=_watch, args=(server.pid, most, stop))
    watching.start()
    call = {"command_str": " ".join(OPENSTACK)}
    answers = server.burst("openstack-cli", [call] * AT_ONCE)
    stop.set()
    watching.join()
    # The last answer ends the work of all.
    last = max(answer.seconds for answer in answers)
    each = last * 1000 / AT_ONCE
    yield report.Row(f"openstack: {AT_ONCE} at once, each", "ms", each)
    yield report.Row("openstack: most processes", "", most[0], PLACES, "places", "at_most", 1)


def _watch(host: int, most: list[int], stop: threading.Event) -> None:
    """Counts the processes of command lines, which are children of a child of the host."""
    while not stop.wait(_LOOK_S):
        for launcher in _children(host):
            if b"launcher.start" not in _command_line(launcher):
                continue
            running = len(_children(launcher))
            most[0] = max(most[0], running)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _turns(ours: Callable[[], float], plain: Callable[[], float]) -> tuple[float, float]:
    """Milliseconds of both, which take turns."""
    mine = []
    others = []
    for _ in range(ROUNDS):
        mine.append(ours())
        others.append(plain())
    return report.median(mine) * 1000, report.median(others) * 1000


def _call(server: stdio.Server, tool: str, words: Sequence[str]) -> float:
    line = " ".join(words)
    answer = server.call(tool, {"command_str": line})
    return answer.seconds


def _start_at(home: Callable[[], str], command: Sequence[str]) -> Callable[[], float]:
    """A cold start of the command, with a home that may be another one each time."""
    return lambda: _plain(command, {"HOME": home()})


def _plain(command: Sequence[str], environment: Mapping[str, str]) -> float:
    # Nothing of this process's own environment.
    whole = {**environment, "PATH": os.defpath}
    started = time.perf_counter()
    subprocess.run(command, env=whole, capture_output=True, check=True)
    return time.perf_counter() - started


def _command(folder: Path, toolset: str, settings: str, *flags: str) -> list[str]:
    """The command that serves one toolset."""
    pool = f"processes_pool_size = {PLACES}\n"
    file = folder / f"{toolset}.toml"
    file.write_text(pool + settings)
    program = Path(sys.executable).with_name("kubescript")
    return [str(program), "serve", "--toolsets", toolset, "--config", str(file), *flags]
